#include "docs.h"
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

/* Calls fn for every flag; is_file: for the -file form of a secret. */
static void each_flag(
	struct text *t, void (*fn)(struct text *t, const struct flag *f, bool is_file))
{
	for (const struct flag_set *s = nl6_flags; s->flags; s++)
		for (const struct flag *f = s->flags; f->name; f++) {
			fn(t, f, false);
			if (flag_is_secret(f))
				fn(t, f, true);
		}
}

static void put_bash_case(struct text *t, const struct flag *f, bool is_file)
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

static void put_bash_word(struct text *t, const struct flag *f, bool is_file)
{
	text_printf(t, " -%s%s", f->name, is_file ? "-file" : "");
}

void docs_bash(struct text *t)
{
	text_put(t, "# bash completion for nl6(1)\n"
		    "_nl6() {\n"
		    "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
		    "\tCOMPREPLY=()\n"
		    "\tcase $prev in\n");
	each_flag(t, put_bash_case);
	text_put(t, "\tesac\n\tmapfile -t COMPREPLY < <(compgen -W \"");
	each_flag(t, put_bash_word);
	text_put(t, "\" -- \"$cur\")\n}\ncomplete -F _nl6 nl6\n");
}

/* The help, with what a shell's quotes or zsh's brackets would take for their own left out. */
static void put_help(struct text *t, const struct flag *f)
{
	for (const char *s = f->help; *s; s++)
		if (!strchr("`'\"[]:\\$", *s))
			text_write(t, s, 1);
}

static void put_zsh_flag(struct text *t, const struct flag *f, bool is_file)
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

void docs_zsh(struct text *t)
{
	text_put(t, "#compdef nl6\n_arguments");
	each_flag(t, put_zsh_flag);
	text_put(t, "\n");
}

static void put_fish_flag(struct text *t, const struct flag *f, bool is_file)
{
	text_printf(t, "complete -c nl6 -o %s%s", f->name, is_file ? "-file" : "");
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

void docs_fish(struct text *t)
{
	text_put(t, "# fish completion for nl6(1)\ncomplete -c nl6 -f\n");
	each_flag(t, put_fish_flag);
}
