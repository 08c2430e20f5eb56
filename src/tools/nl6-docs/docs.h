/* The documents that are made from the program's tables. Each function appends one to a text, whose
 * err also tells what else failed. */
#pragma once
#include "base/flag.h"
#include "base/text.h"

void docs_flags_md(struct text *t);
void docs_metrics_md(struct text *t);
void docs_oids_md(struct text *t);
void docs_openapi_json(struct text *t);
void docs_man(struct text *t);
void docs_bash(struct text *t);
void docs_zsh(struct text *t);
void docs_fish(struct text *t);
/* Likewise of nl6-pprof-link. */
void docs_link_flags_md(struct text *t);
void docs_link_man(struct text *t);
void docs_link_bash(struct text *t);
void docs_link_zsh(struct text *t);
void docs_link_fish(struct text *t);
/* Likewise of nl6-check. */
void docs_check_flags_md(struct text *t);
void docs_check_man(struct text *t);
void docs_check_bash(struct text *t);
void docs_check_zsh(struct text *t);
void docs_check_fish(struct text *t);

/* An option in a man page. */
void docs_man_flag(const struct flag *f, struct text *t);
