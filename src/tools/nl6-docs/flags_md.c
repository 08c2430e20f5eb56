#include "docs.h"
#include "nl6-check/conf.h"
#include "nl6-pprof-link/conf.h"
#include "tables.h"
#include <stdio.h>

/* A cell with the variable, where the program reads variables. */
static void put_variable(const char *name, bool has_env, struct text *t)
{
	char env[FLAG_ENV_BYTES];
	if (has_env)
		text_printf(t, " `%s` |", flag_env_name(name, env));
	text_put(t, "\n");
}

static void put_flag(const struct flag *f, bool has_env, struct text *t)
{
	char meta[FLAG_META_BYTES], def[FLAG_DEFAULT_BYTES], allowed[FLAG_ALLOWED_BYTES];
	const char *value = flag_meta(f, meta), *given = flag_default(f, def);
	text_printf(t, "| `-%s%s%s` | ", f->name, value[0] ? " " : "", value);
	flag_help_text(f, t);
	text_printf(t, " | %s | ", f->kind == FLAG_KIND_BOOL ? "" : flag_allowed(f, allowed));
	if (given && given[0])
		text_printf(t, "`%s`", given);
	text_put(t, " |");
	put_variable(f->name, has_env, t);
	if (!flag_is_secret(f))
		return;
	char name[FLAG_ENV_BYTES];
	(void)snprintf(name, sizeof(name), "%s-file", f->name);
	text_printf(t, "| `-%s FILE` | Like `-%s`, read from a file%s | a path | |", name, f->name,
		f->kind == FLAG_KIND_SECRETS ? ", a line each" : " of one line");
	put_variable(name, has_env, t);
}

static void put_others(enum flag_other_kind kind, struct text *t)
{
	bool first = true;
	for (const struct flag_other *o = nl6_other_flags; o->name; o++) {
		if (o->kind != kind)
			continue;
		text_printf(t, "%s`-%s`", first ? "" : ", ", o->name);
		if (o->why)
			text_printf(t, " (%s)", o->why);
		first = false;
	}
	text_put(t, ".\n");
}

void docs_flags_md(struct text *t)
{
	text_put(t,
		"# Flags\n"
		"\n"
		"Made from the program's tables by `ninja -C build docs`.\n"
		"\n"
		"Write `-flag value`, `-flag=value` or with two dashes; a flag without a value in "
		"the\n"
		"tables is a boolean, which is only written `-flag` or `-flag=false`. `--` ends "
		"the\n"
		"flags, and nothing may follow. A duration is a number of seconds or a text such "
		"as\n"
		"`1m30s`; a list repeats its flag or separates items by commas.\n"
		"\n"
		"Every flag may also come from the environment variable of the last column, or "
		"from a\n"
		"file that `-config` names, with one `flag = value` a line (no dash; `#` begins a\n"
		"line of comment). The command line wins over the environment, that over the "
		"file,\n"
		"that over the default. What loses is checked all the same.\n"
		"\n"
		"An unknown flag or a value that is not allowed ends the program with status 2 and "
		"a\n"
		"message that names the nearest flag or what is allowed. An unknown variable\n"
		"`NL6_...` is a warning. `NL6_PORT` is left alone when its value begins with\n"
		"`tcp://`: container orchestrators set it so.\n"
		"\n"
		"A secret can come from a file, the environment or the command line; there it is\n"
		"overwritten as soon as it is read, but whoever looked earlier has seen it.\n");
	for (const struct flag_set *s = nl6_flags; s->flags; s++) {
		text_printf(t,
			"\n## %s\n\n"
			"| flag | what it does | allowed | default | variable |\n"
			"|---|---|---|---|---|\n",
			s->title);
		for (const struct flag *f = s->flags; f->name; f++)
			put_flag(f, true, t);
	}
	text_put(t, "\n## Accepted with a warning\n\n"
		    "Flags of the original that have no meaning here: ");
	put_others(FLAG_MEANINGLESS, t);
	text_put(t,
		"\n## Refused\n\n"
		"Flags of the original whose part is not in this build; each is refused by name\n"
		"with status 2: ");
	put_others(FLAG_NOT_BUILT, t);
}

/* The flags of a tool, which reads neither variables nor a file of settings. */
static void put_tool(const char *name, const struct flag_set *sets, struct text *t)
{
	text_printf(t,
		"# Flags of %s\n"
		"\n"
		"Made from the program's tables by `ninja -C build docs`; what they are for is in\n"
		"[%s.md](%s.md). They are written as those of nl6\n"
		"([flags.md](flags.md)); no variables and no file are read.\n",
		name, name, name);
	for (const struct flag_set *s = sets; s->flags; s++) {
		text_printf(t,
			"\n## %s\n\n"
			"| flag | what it does | allowed | default |\n"
			"|---|---|---|---|\n",
			s->title);
		for (const struct flag *f = s->flags; f->name; f++)
			put_flag(f, false, t);
	}
}

void docs_link_flags_md(struct text *t)
{
	put_tool("nl6-pprof-link", link_flags, t);
}

void docs_check_flags_md(struct text *t)
{
	put_tool("nl6-check", check_flags, t);
}
