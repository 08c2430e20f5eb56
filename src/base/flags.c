#include "base/flags.h"
#include "base/flagbag.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FILE_MAX_BYTES (1u << 20)
#define SECRET_MAX_BYTES 4096u
#define ORIGIN_BYTES 512

struct flags {
	struct flagbag bag;
	const char **warnings;
	uint32_t warnings_n;
	const char **files;
	uint32_t files_n;
};
struct parser {
	const struct flags_env *env;
	const struct flags_ask *ask;
	struct flags *f;
	struct fault *fault;
};
struct found {
	const struct flag *flag;
	const struct flag_other *other;
	bool is_path;
};

struct flags *flags_free(struct flags *f)
{
	if (!f)
		return NULL;
	const struct mem *mem = f->bag.mem;
	flagbag_done(&f->bag);
	(void)mem_free(mem, f->warnings);
	(void)mem_free(mem, f->files);
	return mem_free(mem, f);
}

static int warn(struct parser *p, const char *text)
{
	struct flags *f = p->f;
	const char **list = mem_resize(p->env->mem, f->warnings, f->warnings_n + 1u, sizeof(*list));
	if (!list)
		return -ENOMEM;
	f->warnings = list;
	int r = flagbag_keep(&f->bag, text, strlen(text), &list[f->warnings_n]);
	if (r == 0)
		f->warnings_n++;
	return r;
}

uint32_t flags_count(const struct flag *table)
{
	uint32_t n = 0;
	while (table[n].name)
		n++;
	return n;
}

const struct flag *flags_find(
	const struct flag_set *sets, const char *name, const struct flag_set **ret_set)
{
	for (const struct flag_set *s = sets; s->flags; s++)
		for (const struct flag *f = s->flags; f->name; f++)
			if (strcmp(f->name, name) == 0) {
				if (ret_set)
					*ret_set = s;
				return f;
			}
	return NULL;
}

static struct found find(const struct parser *p, const char *name)
{
	struct found found = {.flag = flags_find(p->ask->sets, name, NULL)};
	if (found.flag)
		return found;
	size_t n = strlen(name);
	char stem[FLAG_ENV_BYTES];
	if (n > 5 && n < sizeof(stem) && strcmp(name + n - 5, "-file") == 0) {
		memcpy(stem, name, n - 5);
		stem[n - 5] = 0;
		const struct flag *f = flags_find(p->ask->sets, stem, NULL);
		if (f && flag_is_secret(f))
			return (struct found){.flag = f, .is_path = true};
	}
	for (const struct flag_other *o = p->ask->others; o && o->name; o++)
		if (strcmp(o->name, name) == 0)
			return (struct found){.other = o};
	return found;
}

/* The known name nearest to an unknown one, as text in buf, or "". */
static int nearest(struct parser *p, const char *name, char buf[static FLAG_ENV_BYTES])
{
	size_t n = 0;
	for (const struct flag_set *s = p->ask->sets; s->flags; s++)
		n += 2u * flags_count(s->flags);
	for (const struct flag_other *o = p->ask->others; o && o->name; o++)
		n++;
	const char **names = mem_array(p->env->mem, n + 1, sizeof(*names));
	char(*paths)[FLAG_ENV_BYTES] = mem_array(p->env->mem, n + 1, sizeof(*paths));
	if (!names || !paths) {
		(void)mem_free(p->env->mem, names);
		(void)mem_free(p->env->mem, paths);
		return -ENOMEM;
	}
	n = 0;
	for (const struct flag_set *s = p->ask->sets; s->flags; s++)
		for (const struct flag *f = s->flags; f->name; f++) {
			names[n++] = f->name;
			if (flag_is_secret(f)) {
				(void)snprintf(paths[n], FLAG_ENV_BYTES, "%s-file", f->name);
				names[n] = paths[n];
				n++;
			}
		}
	for (const struct flag_other *o = p->ask->others; o && o->name; o++)
		names[n++] = o->name;
	const char *best = num_nearest(name, names, n);
	(void)snprintf(buf, FLAG_ENV_BYTES, "%s", best ? best : "");
	(void)mem_free(p->env->mem, names);
	(void)mem_free(p->env->mem, paths);
	return 0;
}

static int refuse_unknown(struct parser *p, const char *name, const char *field, const char *dash)
{
	char near[FLAG_ENV_BYTES];
	int r = nearest(p, name, near);
	if (r < 0)
		return r;
	if (!near[0])
		return fault_set(p->fault, -EINVAL, field, NULL, "unknown flag");
	return fault_set(
		p->fault, -EINVAL, field, NULL, "unknown flag, did you mean %s%s?", dash, near);
}

static int accept_other(
	struct parser *p, const struct flag_other *o, const char *field, const char *value)
{
	static const struct flag boolean = {.kind = FLAG_KIND_BOOL};
	if (o->kind == FLAG_NOT_BUILT)
		return fault_set(p->fault, -EINVAL, field, NULL, "not in this build");
	union flag_value ignored;
	int r = flag_judge(&boolean, value ? value : "true", field, &ignored, p->fault);
	if (r < 0)
		return r;
	char text[320];
	(void)snprintf(text, sizeof(text), "%s has no effect: %s", field, o->why);
	return warn(p, text);
}

static int read_file(struct parser *p, const char *field, const char *path, size_t max,
	char **ret_bytes, size_t *ret_len)
{
	int r = p->env->read_file(p->env->arg, p->env->mem, path, max, ret_bytes, ret_len);
	if (r < 0 && r != -ENOMEM)
		return fault_set(p->fault, r, field, NULL, "%.160s: %s", path, strerrordesc_np(-r));
	if (r == 0 && strlen(*ret_bytes) != *ret_len) {
		*ret_bytes = mem_free(p->env->mem, *ret_bytes);
		return fault_set(
			p->fault, -EINVAL, field, NULL, "%.160s: the file has a NUL byte", path);
	}
	return r;
}

/* Each line that is not empty. */
static int add_lines(struct parser *p, const struct flagbag_setting *s, char *bytes)
{
	int r = 0;
	struct flagbag_setting secret = *s;
	uint32_t n = 0;
	for (char *rest = bytes, *line; r == 0 && (line = strsep(&rest, "\r\n"));) {
		secret.value = line;
		if (!line[0])
			continue;
		r = flagbag_add(&p->f->bag, &secret);
		n++;
	}
	return r == 0 && !n ? fault_set(p->fault, -EINVAL, s->origin, "a line each",
				      "%.160s: the file has no line", s->value)
			    : r;
}

static int add_only_line(struct parser *p, const struct flagbag_setting *s, char *bytes, size_t len)
{
	size_t n = strcspn(bytes, "\r\n");
	if (strspn(bytes + n, "\r\n") != len - n)
		return fault_set(p->fault, -EINVAL, s->origin, "one line",
			"%.160s: the file has more than one line", s->value);
	bytes[n] = 0;
	struct flagbag_setting secret = *s;
	secret.value = bytes;
	return flagbag_add(&p->f->bag, &secret);
}

/* A secret is the only line of its file, unless it may be repeated. */
static int add_secret(struct parser *p, const struct flagbag_setting *s)
{
	char *bytes;
	size_t len;
	int r = read_file(p, s->origin, s->value, SECRET_MAX_BYTES, &bytes, &len);
	if (r < 0)
		return r;
	r = s->flag->kind == FLAG_KIND_SECRETS ? add_lines(p, s, bytes)
					       : add_only_line(p, s, bytes, len);
	explicit_bzero(bytes, len);
	(void)mem_free(p->env->mem, bytes);
	return r;
}

static int add(struct parser *p, const struct found *found, const struct flagbag_setting *s)
{
	return found->is_path ? add_secret(p, s) : flagbag_add(&p->f->bag, s);
}

/* What other users can read in /proc as long as the program runs: a secret is overwritten. */
static int add_shown(
	struct parser *p, const struct found *found, const struct flagbag_setting *s, char *value)
{
	int r = add(p, found, s);
	if (flag_is_secret(found->flag) && !found->is_path)
		memset(value, '*', strlen(value));
	return r;
}

/* One argument that begins with a dash, and perhaps the next; *at is the index, moved on. */
static int parse_argument(struct parser *p, int *at)
{
	char *arg = p->ask->argv[*at], *name = arg + 1 + (arg[1] == '-');
	char *equals = strchr(name, '='), *value = equals ? equals + 1 : NULL;
	size_t n = equals ? (size_t)(equals - name) : strlen(name);
	char stem[FLAG_ENV_BYTES], field[FLAG_ENV_BYTES + 1];
	if (n == 0 || n >= sizeof(stem) || name[0] == '-')
		return fault_set(p->fault, -EINVAL, arg, "-flag value, -flag=value",
			"not the form of a flag");
	memcpy(stem, name, n);
	stem[n] = 0;
	if (strcmp(stem, "h") == 0 && !find(p, "h").flag)
		(void)snprintf(stem, sizeof(stem), "help");
	(void)snprintf(field, sizeof(field), "-%.62s", stem);
	struct found found = find(p, stem);
	if (found.other)
		return accept_other(p, found.other, field, value);
	if (!found.flag)
		return refuse_unknown(p, stem, field, "-");
	if (!value && found.flag->kind == FLAG_KIND_BOOL)
		value = "true";
	if (!value) {
		if (*at + 1 >= p->ask->argc) {
			char allowed[FLAG_ALLOWED_BYTES];
			return fault_set(p->fault, -EINVAL, field,
				flag_allowed(found.flag, allowed), "needs a value");
		}
		value = p->ask->argv[++*at];
	}
	return add_shown(p, &found,
		&(struct flagbag_setting){found.flag, field, value, FLAGBAG_LINE}, value);
}

static bool last_was_bool(const struct flagbag *b)
{
	return b->n && b->settings[b->n - 1].flag->kind == FLAG_KIND_BOOL;
}

static int take_file(struct parser *p, const char *arg)
{
	struct flags *f = p->f;
	const char **list = mem_resize(p->env->mem, f->files, f->files_n + 1u, sizeof(*list));
	if (!list)
		return -ENOMEM;
	f->files = list;
	f->files[f->files_n++] = arg;
	return 0;
}

static int take_files(struct parser *p, int from)
{
	int r = 0;
	for (int i = from; i < p->ask->argc && r == 0; i++)
		r = take_file(p, p->ask->argv[i]);
	return r;
}

static int parse_line(struct parser *p)
{
	for (int i = 1; i < p->ask->argc; i++) {
		const char *arg = p->ask->argv[i];
		if (p->ask->takes_files && strcmp(arg, "--") == 0)
			return take_files(p, i + 1);
		if (p->ask->takes_files && (arg[0] != '-' || !arg[1])) {
			int r = take_file(p, arg);
			if (r < 0)
				return r;
			continue;
		}
		bool ends = strcmp(arg, "--") == 0;
		if (ends && ++i >= p->ask->argc)
			return 0;
		if (ends || arg[0] != '-' || !arg[1]) {
			arg = p->ask->argv[i];
			bool after_bool = !ends && last_was_bool(&p->f->bag);
			return fault_set(p->fault, -EINVAL, arg, NULL,
				after_bool ? "stray argument, a boolean flag takes its value as "
					     "-flag=false"
					   : "stray argument, only flags are taken");
		}
		int r = parse_argument(p, &i);
		if (r < 0)
			return r;
	}
	return 0;
}

/* NL6_AUTO_COUNT to auto-count. */
static void env_to_name(const char *var, size_t n, char buf[static FLAG_ENV_BYTES])
{
	n = MIN(n, (size_t)FLAG_ENV_BYTES - 1);
	for (size_t i = 0; i < n; i++) {
		char c = var[i];
		buf[i] = c == '_' ? '-' : c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
	}
	buf[n] = 0;
}

static int warn_unknown_variable(struct parser *p, const char *field, const char *name)
{
	char near[FLAG_ENV_BYTES], var[FLAG_ENV_BYTES], text[320];
	int r = nearest(p, name, near);
	if (r < 0)
		return r;
	if (near[0])
		(void)snprintf(text, sizeof(text),
			"environment variable %s is unknown, did you mean %s?", field,
			flag_env_name(near, var));
	else
		(void)snprintf(text, sizeof(text), "environment variable %s is unknown", field);
	return warn(p, text);
}

static int parse_variable(struct parser *p, char *entry)
{
	char *equals = strchr(entry, '=');
	if (strncmp(entry, "NL6_", 4) != 0 || !equals)
		return 0;
	char field[FLAG_ENV_BYTES], name[FLAG_ENV_BYTES], exact[FLAG_ENV_BYTES];
	(void)snprintf(field, sizeof(field), "%.*s", (int)(equals - entry), entry);
	/* Container orchestrators set this for a service called nl6. */
	if (strcmp(field, "NL6_PORT") == 0 && strncmp(equals + 1, "tcp://", 6) == 0)
		return 0;
	env_to_name(entry + 4, (size_t)(equals - entry - 4), name);
	struct found found = {0};
	if (strcmp(flag_env_name(name, exact), field) == 0)
		found = find(p, name);
	if (found.other)
		return accept_other(p, found.other, field, equals + 1);
	if (!found.flag)
		return warn_unknown_variable(p, field, name);
	char *value = equals + 1;
	return add_shown(
		p, &found, &(struct flagbag_setting){found.flag, field, value, FLAGBAG_ENV}, value);
}

static int parse_env(struct parser *p)
{
	for (char *const *e = p->ask->envp; e && *e; e++) {
		int r = parse_variable(p, *e);
		if (r < 0)
			return r;
	}
	return 0;
}

static char *trim(char *s)
{
	s += strspn(s, " \t\r");
	size_t n = strlen(s);
	while (n && strchr(" \t\r", s[n - 1]))
		n--;
	s[n] = 0;
	return s;
}

static int refuse_repeated(struct parser *p, const struct flag *flag, const char *field)
{
	for (uint32_t i = 0; i < p->f->bag.n; i++) {
		const struct flagbag_setting *s = &p->f->bag.settings[i];
		if (s->source == FLAGBAG_FILE && s->flag == flag && flag->kind != FLAG_KIND_LIST &&
			flag->kind != FLAG_KIND_SECRETS)
			return fault_set(
				p->fault, -EINVAL, field, NULL, "already set in line %u", s->line);
	}
	return 0;
}

static int parse_file_line(struct parser *p, const char *path, uint32_t line_no, char *line)
{
	char field[ORIGIN_BYTES];
	line = trim(line);
	if (!line[0] || line[0] == '#')
		return 0;
	char *equals = strchr(line, '=');
	(void)snprintf(field, sizeof(field), "%s:%u", path, line_no);
	if (!equals)
		return fault_set(p->fault, -EINVAL, field, "flag = value", "the line has no =");
	*equals = 0;
	const char *name = trim(line), *value = trim(equals + 1);
	(void)snprintf(field, sizeof(field), "%.400s:%u: %.60s", path, line_no, name);
	struct found found = find(p, name);
	if (found.other)
		return accept_other(p, found.other, field, value);
	if (!found.flag)
		return refuse_unknown(p, name, field, "");
	if (strcmp(found.flag->name, p->ask->config) == 0)
		return fault_set(
			p->fault, -EINVAL, field, NULL, "a configuration file cannot name another");
	int r = refuse_repeated(p, found.flag, field);
	if (r < 0)
		return r;
	return add(p, &found,
		&(struct flagbag_setting){found.flag, field, value, FLAGBAG_FILE, line_no});
}

static int parse_file(struct parser *p, const struct flagbag_setting *config)
{
	char *bytes;
	size_t len;
	const char *path = config->value;
	int r = read_file(p, config->origin, path, FILE_MAX_BYTES, &bytes, &len);
	if (r < 0)
		return r;
	uint32_t line_no = 0;
	for (char *line = bytes, *next; line && r == 0; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		r = parse_file_line(p, path, ++line_no, line);
	}
	(void)mem_free(p->env->mem, bytes);
	return r;
}

static int parse_config(struct parser *p)
{
	const struct flag *flag =
		p->ask->config ? flags_find(p->ask->sets, p->ask->config, NULL) : NULL;
	const struct flagbag_setting *s = flag ? flagbag_winner(&p->f->bag, flag) : NULL;
	if (!s || !s->value[0])
		return 0;
	/* The list of settings moves while the file adds to it. */
	struct flagbag_setting config = *s;
	return parse_file(p, &config);
}

static bool is_alone(const struct parser *p)
{
	for (const char *const *a = p->ask->alone; a && *a; a++) {
		const struct flag *flag = flags_find(p->ask->sets, *a, NULL);
		const struct flagbag_setting *s = flag ? flagbag_winner(&p->f->bag, flag) : NULL;
		union flag_value on = {0};
		if (s && flag_judge(flag, s->value, s->origin, &on, NULL) == 0 && on.num)
			return true;
	}
	return false;
}

static int apply_all(struct parser *p, bool check, void *conf)
{
	for (const struct flag_set *s = p->ask->sets; s->flags; s++)
		for (const struct flag *f = s->flags; f->name; f++) {
			int r = flagbag_store(&p->f->bag, f, (char *)conf + s->offset, p->fault);
			if (r < 0)
				return r;
		}
	for (const struct flag_set *s = p->ask->sets; check && s->flags; s++) {
		int r = s->check ? s->check((char *)conf + s->offset, p->fault) : 0;
		if (r < 0)
			return r;
	}
	return 0;
}

int flags_parse(const struct flags_env *env, const struct flags_ask *ask, void *conf,
	struct flags **ret_flags, struct fault *reterr_fault)
{
	AUTO(flags) struct flags *f = mem_zalloc(env->mem, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->bag.mem = env->mem;
	struct parser p = {env, ask, f, reterr_fault};
	int r = parse_line(&p);
	bool alone = r == 0 && is_alone(&p);
	if (r == 0 && !alone)
		r = parse_env(&p);
	if (r == 0 && !alone)
		r = parse_config(&p);
	if (r == 0)
		r = apply_all(&p, !alone, conf);
	if (r < 0)
		return r;
	*ret_flags = TAKE(f);
	return 0;
}

bool flags_is_set(const struct flags *f, const char *name)
{
	for (uint32_t i = 0; i < f->bag.n; i++)
		if (strcmp(f->bag.settings[i].flag->name, name) == 0)
			return true;
	return false;
}

const char *flags_file(const struct flags *f, uint32_t i)
{
	return i < f->files_n ? f->files[i] : NULL;
}

uint32_t flags_warnings(const struct flags *f)
{
	return f->warnings_n;
}

const char *flags_warning(const struct flags *f, uint32_t i)
{
	assert(i < f->warnings_n);
	return f->warnings[i];
}

static void help_flag(const struct flag *f, struct text *t)
{
	char meta[FLAG_META_BYTES], buf[FLAG_DEFAULT_BYTES], allowed[FLAG_ALLOWED_BYTES];
	const char *value = flag_meta(f, meta), *def = flag_default(f, buf);
	text_printf(t, "  -%s%s%s\n        ", f->name, value[0] ? " " : "", value);
	flag_help_text(f, t);
	if (f->kind == FLAG_KIND_NUM || f->kind == FLAG_KIND_ENUM)
		text_printf(t, ": %s", flag_allowed(f, allowed));
	if (def && def[0] && !flag_is_secret(f))
		text_printf(t, " (default %s)", def);
	text_put(t, "\n");
	if (flag_is_secret(f))
		text_printf(t, "  -%s-file FILE\n        Like -%s, read from a file%s\n", f->name,
			f->name, f->kind == FLAG_KIND_SECRETS ? ", a line each" : "");
}

void flags_help(const struct flag_set *sets, const char *usage, struct text *t)
{
	text_put(t, usage);
	for (const struct flag_set *s = sets; s->flags; s++) {
		text_printf(t, "\n%s:\n", s->title);
		for (const struct flag *f = s->flags; f->name; f++)
			help_flag(f, t);
	}
}
