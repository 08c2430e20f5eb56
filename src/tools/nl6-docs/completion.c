#include "docs.h"
#include "nl6-check/conf.h"
#include "nl6-pprof-link/conf.h"
#include "tables.h"
#include <string.h>

/* What comes after a flag: the three shells' forms of choices, a file, a directory, or nothing. */
static bool is_dir(const struct flag *f)
{
	char meta[FLAG_META_BYTES];
	return strcmp(flag_meta(f, meta), "DIR") == 0;
}

static void put_choices(struct text *t, const struct flag *f)
{
	for (const struct flag_choice *c = f->choices; c->name; c++)
		text_printf(t, "%s%s", c == f->choices ? "" : " ", c->name);
}

struct program {
	const char *name, *function; /* of bash */
	const struct flag_set *flags;
	bool takes_files;
};
static const struct program nl6 = {"nl6", "_nl6", nl6_flags};
static const struct program pprof_link = {"nl6-pprof-link", "_nl6_pprof_link", link_flags};
static const struct program check = {"nl6-check", "_nl6_check", check_flags, true};

/* Calls fn for every flag; is_file: for the -file form of a secret. */
static void each_flag(const struct program *p, struct text *t,
	void (*fn)(const struct program *p, struct text *t, const struct flag *f, bool is_file))
{
	for (const struct flag_set *s = p->flags; s->flags; s++)
		for (const struct flag *f = s->flags; f->name; f++) {
			fn(p, t, f, false);
			if (flag_is_secret(f))
				fn(p, t, f, true);
		}
}

static void put_bash_case(
	const struct program *p UNUSED, struct text *t, const struct flag *f, bool is_file)
{
	const char *suffix = is_file ? "-file" : "";
	if (f->kind == FLAG_KIND_BOOL)
		return;
	text_printf(t, "\t-%s%s | --%s%s)\n", f->name, suffix, f->name, suffix);
	if (f->kind == FLAG_KIND_ENUM) {
		text_put(t, "\t\tmapfile -t COMPREPLY < <(compgen -W \"");
		put_choices(t, f);
		text_put(t, "\" -- \"$cur\")\n");
	} else if (is_file || f->kind == FLAG_KIND_PATH) {
		text_printf(t, "\t\tmapfile -t COMPREPLY < <(compgen -%c -- \"$cur\")\n",
			is_dir(f) ? 'd' : 'f');
	}
	text_put(t, "\t\treturn\n\t\t;;\n");
}

static void put_bash_word(
	const struct program *p UNUSED, struct text *t, const struct flag *f, bool is_file)
{
	text_printf(t, " -%s%s", f->name, is_file ? "-file" : "");
}

static void put_bash(const struct program *p, struct text *t)
{
	text_printf(t, "# bash completion for %s(1)\n%s() {\n", p->name, p->function);
	text_put(t, "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
		    "\tCOMPREPLY=()\n"
		    "\tcase $prev in\n");
	each_flag(p, t, put_bash_case);
	text_put(t, "\tesac\n\tmapfile -t COMPREPLY < <(compgen -W \"");
	each_flag(p, t, put_bash_word);
	text_printf(t, "\" -- \"$cur\")\n}\ncomplete%s -F %s %s\n",
		p->takes_files ? " -o default" : "", p->function, p->name);
}

void docs_bash(struct text *t)
{
	put_bash(&nl6, t);
}

void docs_link_bash(struct text *t)
{
	put_bash(&pprof_link, t);
}

void docs_check_bash(struct text *t)
{
	put_bash(&check, t);
}

/* The help, with what a shell's quotes or zsh's brackets would take for their own left out. */
static void put_help(struct text *t, const struct flag *f)
{
	for (const char *s = f->help; *s; s++)
		if (!strchr("`'\"[]:\\$", *s))
			text_write(t, s, 1);
}

static void put_zsh_flag(
	const struct program *p UNUSED, struct text *t, const struct flag *f, bool is_file)
{
	char meta[FLAG_META_BYTES];
	bool repeats = f->kind == FLAG_KIND_LIST || f->kind == FLAG_KIND_SECRETS;
	const char *repeat = repeats ? "*" : "";
	text_printf(t, " \\\n\t'%s-%s%s[", repeat, f->name, is_file ? "-file" : "");
	put_help(t, f);
	text_put(t, is_file ? " (file)]" : "]");
	if (f->kind == FLAG_KIND_BOOL) {
		text_put(t, "'");
		return;
	}
	text_printf(t, ":%s:", is_file ? "FILE" : flag_meta(f, meta));
	if (f->kind == FLAG_KIND_ENUM) {
		text_put(t, "(");
		put_choices(t, f);
		text_put(t, ")");
	} else if (is_file || f->kind == FLAG_KIND_PATH) {
		text_put(t, is_dir(f) ? "_files -/" : "_files");
	}
	text_put(t, "'");
}

static void put_zsh(const struct program *p, struct text *t)
{
	text_printf(t, "#compdef %s\n_arguments", p->name);
	each_flag(p, t, put_zsh_flag);
	text_put(t, p->takes_files ? " \\\n\t'*:FILE:_files'\n" : "\n");
}

void docs_zsh(struct text *t)
{
	put_zsh(&nl6, t);
}

void docs_link_zsh(struct text *t)
{
	put_zsh(&pprof_link, t);
}

void docs_check_zsh(struct text *t)
{
	put_zsh(&check, t);
}

static void put_fish_flag(
	const struct program *p, struct text *t, const struct flag *f, bool is_file)
{
	text_printf(t, "complete -c %s -o %s%s", p->name, f->name, is_file ? "-file" : "");
	if (is_file || f->kind == FLAG_KIND_PATH)
		text_put(t, is_dir(f) ? " -xa '(__fish_complete_directories)'" : " -rF");
	else if (f->kind != FLAG_KIND_BOOL)
		text_put(t, " -x");
	if (f->kind == FLAG_KIND_ENUM) {
		text_put(t, " -a '");
		put_choices(t, f);
		text_put(t, "'");
	}
	text_put(t, " -d '");
	put_help(t, f);
	text_put(t, is_file ? " (file)'\n" : "'\n");
}

static void put_fish(const struct program *p, struct text *t)
{
	text_printf(t, "# fish completion for %s(1)\ncomplete -c %s -f\n", p->name, p->name);
	each_flag(p, t, put_fish_flag);
}

void docs_fish(struct text *t)
{
	put_fish(&nl6, t);
}

void docs_link_fish(struct text *t)
{
	put_fish(&pprof_link, t);
}

void docs_check_fish(struct text *t)
{
	put_fish(&check, t);
}
