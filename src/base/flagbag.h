/* What was set by the command line, the environment and the file, before it is stored into the
 * conf; owns all strings that the conf will point to. Used by flags.c alone; one thread. */
#pragma once
#include "base/flag.h"

enum flagbag_source { FLAGBAG_FILE, FLAGBAG_ENV, FLAGBAG_LINE }; /* the later wins */
struct flagbag_setting {
	const struct flag *flag;
	const char *origin; /* what a fault names: "-port", "NL6_PORT", "lab.conf:3: port" */
	const char *value;
	enum flagbag_source source;
	uint32_t line; /* FLAGBAG_FILE */
};
struct flagbag {
	const struct mem *mem; /* borrowed */
	void **kept;	       /* every block this owns */
	uint32_t kept_n, n;
	struct flagbag_setting *settings;
};
void flagbag_done(struct flagbag *b);

/* A copy of n bytes with a NUL that lives as long as the bag. -ENOMEM. */
MUST_CHECK int flagbag_keep(struct flagbag *b, const char *s, size_t n, const char **ret_s);
/* Adds a setting; origin and value are copied. -ENOMEM. */
MUST_CHECK int flagbag_add(struct flagbag *b, const struct flagbag_setting *s);
/* The setting of a flag that counts: of the highest source the last; NULL: none. */
const struct flagbag_setting *flagbag_winner(const struct flagbag *b, const struct flag *flag);
/* Judges every setting of a flag, also those that lose, and stores the one that counts, or the
 * default, into the module's conf. -EINVAL, -ERANGE with a fault; -ENOMEM. */
MUST_CHECK int flagbag_store(
	struct flagbag *b, const struct flag *flag, void *conf, struct fault *reterr_fault);
