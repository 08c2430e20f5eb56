#include "base/flags.h"
#include "fake.h"
#include <errno.h>
#include <stdio.h>

struct part {
	uint16_t port;
	struct flag_list hosts;
	struct addr listen;
	const char *token;
	struct flag_list keys;
};
struct lab {
	bool quiet, help;
	uint32_t count;
	const char *name, *note, *config;
	uint64_t wait_ns;
};
struct conf {
	struct lab lab;
	struct part part;
};
static const struct flag lab_flags[] = {FLAG_BOOL(struct lab, quiet, "quiet", false, "Says little"),
	FLAG_BOOL(struct lab, help, "help", false, "Shows help"),
	FLAG_U32(struct lab, count, "auto-count", 3, 0, 1000, "Devices"),
	FLAG_STR(struct lab, name, "name", "nl6sim", "A `NAME`"),
	FLAG_STR(struct lab, note, "note", NULL, "A note"),
	FLAG_PATH(struct lab, config, "config", NULL, "Settings"),
	FLAG_DURATION(struct lab, wait_ns, "wait", "1s", 0, UINT64_MAX, "Wait"), {0}};
static const struct flag part_flags[] = {
	FLAG_U16(struct part, port, "port", 8080, 0, 65535, "TCP port"),
	FLAG_LIST(struct part, hosts, "host", "a,b", "Hosts"),
	FLAG_ADDR(struct part, listen, "listen", NULL, "Address"),
	FLAG_SECRET(struct part, token, "token", NULL, "Token"),
	FLAG_SECRETS(struct part, keys, "key", NULL, "Key"), {0}};

static int check_part(const void *conf, struct fault *reterr_fault)
{
	const struct part *p = conf;
	if (p->port == 13)
		return fault_set(reterr_fault, -EINVAL, "-port", NULL, "13 brings bad luck");
	return 0;
}

static const struct flag_set sets[] = {{lab_flags, offsetof(struct conf, lab), "Lab", NULL},
	{part_flags, offsetof(struct conf, part), "API", check_part}, {0}};
static const struct flag_other others[] = {{"trap-collector", FLAG_NOT_BUILT, NULL},
	{"force-gc", FLAG_MEANINGLESS, "there is no collector"}, {0}};
static const char *const alone[] = {"help", NULL};

/* Files that a test offers: name and content. */
struct file {
	const char *name, *bytes;
	size_t len;
};

static int read_fake(void *arg, const struct mem *mem, const char *path, size_t max,
	char **ret_bytes, size_t *ret_len)
{
	for (const struct file *f = arg; f && f->name; f++) {
		size_t n = f->len ? f->len : strlen(f->bytes);
		if (strcmp(f->name, path) != 0)
			continue;
		if (n > max)
			return -EFBIG;
		char *copy = mem_alloc(mem, n + 1);
		if (!copy)
			return -ENOMEM;
		memcpy(copy, f->bytes, n);
		copy[n] = 0;
		*ret_bytes = copy;
		*ret_len = n;
		return 0;
	}
	return -ENOENT;
}

struct run {
	struct fake fake;
	struct conf conf;
	struct fault fault;
	struct flags *flags;
	int r;
	char line[16][64]; /* writable arguments */
};

/* Parses; words of line and env are separated by blanks. */
static struct run *parse(const char *line, const char *env, const struct file *files)
{
	static struct run run;
	run = (struct run){.fake = fake_make()};
	char *argv[17], *envp[17], store[512];
	int argc = 0, envc = 0;
	(void)snprintf(store, sizeof(store), "nl6 %s", line);
	for (char *save, *w = strtok_r(store, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		(void)snprintf(run.line[argc], sizeof(run.line[0]), "%s", w);
		argv[argc] = run.line[argc];
		argc++;
	}
	argv[argc] = NULL;
	(void)snprintf(store, sizeof(store), "%s", env);
	for (char *save, *w = strtok_r(store, " ", &save); w; w = strtok_r(NULL, " ", &save))
		envp[envc++] = w;
	envp[envc] = NULL;
	struct flags_env fenv = {run.fake.mem, read_fake, (void *)(uintptr_t)files};
	struct flags_ask ask = {sets, others, argc, argv, envp, alone, "config"};
	run.r = flags_parse(&fenv, &ask, &run.conf, &run.flags, &run.fault);
	return &run;
}

static void done(struct run *run)
{
	(void)flags_free(run->flags);
	fake_done(&run->fake);
}

static void ck_refused(const char *line, const char *env, const struct file *files, int r,
	const char *field, const char *text)
{
	struct run *run = parse(line, env, files);
	ck_assert_msg(run->r == r, "%s | %s: %d, %s", line, env, run->r, run->fault.text);
	ck_assert_str_eq(run->fault.field, field);
	ck_assert_str_eq(run->fault.text, text);
	done(run);
}

START_TEST(defaults)
{
	struct run *run = parse("", "HOME=/root", NULL);
	ck_assert_int_eq(run->r, 0);
	ck_assert(!run->conf.lab.quiet);
	ck_assert_uint_eq(run->conf.lab.count, 3);
	ck_assert_str_eq(run->conf.lab.name, "nl6sim");
	ck_assert_ptr_null(run->conf.lab.config);
	ck_assert_uint_eq(run->conf.lab.wait_ns, 1000000000);
	ck_assert_uint_eq(run->conf.part.port, 8080);
	ck_assert_uint_eq(run->conf.part.hosts.n, 2);
	ck_assert_str_eq(run->conf.part.hosts.items[1], "b");
	struct addr none = {{0}};
	ck_assert(addr_eq(&run->conf.part.listen, &none));
	ck_assert_ptr_null(run->conf.part.token);
	ck_assert_uint_eq(flags_warnings(run->flags), 0);
	ck_assert(!flags_is_set(run->flags, "port"));
	done(run);
}
END_TEST

START_TEST(go_forms_of_the_command_line)
{
	struct run *run =
		parse("-auto-count 7 --name=x=y -quiet=false -port=0 --quiet -host c -host d,e --",
			"", NULL);
	ck_assert_msg(run->r == 0, "%s", run->fault.text);
	ck_assert_uint_eq(run->conf.lab.count, 7);
	ck_assert_str_eq(run->conf.lab.name, "x=y");
	ck_assert(run->conf.lab.quiet);
	ck_assert_uint_eq(run->conf.part.port, 0);
	ck_assert_uint_eq(run->conf.part.hosts.n, 3);
	ck_assert_str_eq(run->conf.part.hosts.items[0], "c");
	ck_assert_str_eq(run->conf.part.hosts.items[2], "e");
	ck_assert(flags_is_set(run->flags, "port"));
	done(run);
	run = parse("-name -quiet -note=", "", NULL);
	ck_assert_int_eq(run->r, 0);
	ck_assert_str_eq(run->conf.lab.name, "-quiet");
	ck_assert_ptr_null(run->conf.lab.note);
	ck_assert(!run->conf.lab.quiet);
	done(run);
}
END_TEST

START_TEST(wrong_command_lines)
{
	ck_refused("-prot 1", "", NULL, -EINVAL, "-prot", "unknown flag, did you mean -port?");
	ck_refused("-tokn-file x", "", NULL, -EINVAL, "-tokn-file",
		"unknown flag, did you mean -token-file?");
	ck_refused("-port-file x", "", NULL, -EINVAL, "-port-file",
		"unknown flag, did you mean -token-file?");
	ck_refused("--completely-else", "", NULL, -EINVAL, "-completely-else", "unknown flag");
	ck_refused("-trap-colector x", "", NULL, -EINVAL, "-trap-colector",
		"unknown flag, did you mean -trap-collector?");
	ck_refused("-trap-collector x", "", NULL, -EINVAL, "-trap-collector", "not in this build");
	ck_refused("-port", "", NULL, -EINVAL, "-port", "needs a value");
	ck_refused("-port x", "", NULL, -EINVAL, "-port", "\"x\" is not a valid value");
	ck_refused("-port 1 extra", "", NULL, -EINVAL, "extra",
		"stray argument, only flags are taken");
	ck_refused("-quiet false", "", NULL, -EINVAL, "false",
		"stray argument, a boolean flag takes its value as -flag=false");
	ck_refused("-- -port", "", NULL, -EINVAL, "-port", "stray argument, only flags are taken");
	ck_refused("-", "", NULL, -EINVAL, "-", "stray argument, only flags are taken");
	ck_refused("---port 1", "", NULL, -EINVAL, "---port", "not the form of a flag");
	ck_refused("-=1", "", NULL, -EINVAL, "-=1", "not the form of a flag");
	ck_refused("-name=", "", NULL, -EINVAL, "-name", "the value is empty");
	ck_refused("-port 13", "", NULL, -EINVAL, "-port", "13 brings bad luck");
	ck_refused("-host a,,b", "", NULL, -EINVAL, "-host", "the value is empty");
	ck_refused("-force-gc=perhaps", "", NULL, -EINVAL, "-force-gc",
		"\"perhaps\" is not a valid value");
}
END_TEST

START_TEST(files_are_kept_where_they_are_taken)
{
	char *argv[] = {"x", "-port", "5", "a", "-quiet", "-", "-name=n", "b", "--", "-port", "--"};
	struct fake f = fake_make();
	struct flags_env env = {f.mem, NULL, NULL};
	struct flags_ask ask = {.sets = sets, .argc = 3, .argv = argv, .takes_files = true};
	struct conf c;
	struct flags *flags;
	struct fault fault;
	ck_assert_int_eq(flags_parse(&env, &ask, &c, &flags, &fault), 0);
	ck_assert_ptr_null(flags_file(flags, 0));
	(void)flags_free(flags);
	ask.argc = ARRAY_SIZE(argv);
	ck_assert_int_eq(flags_parse(&env, &ask, &c, &flags, &fault), 0);
	static const char *const want[] = {"a", "-", "b", "-port", "--"};
	for (uint32_t i = 0; i < ARRAY_SIZE(want); i++)
		ck_assert_str_eq(flags_file(flags, i), want[i]);
	ck_assert_ptr_null(flags_file(flags, ARRAY_SIZE(want)));
	ck_assert(flags_is_set(flags, "quiet"));
	(void)flags_free(flags);
	fake_done(&f);
}
END_TEST

static const struct file files[] = {
	{"lab.conf", "# a lab\n\n auto-count = 5 \r\nname=file\nhost = f\nhost = g\n# end", 0},
	{"dup.conf", "port = 1\n# x\nport = 2\n", 0},
	{"noeq.conf", "port\n", 0},
	{"unknown.conf", "\nprot = 1\n", 0},
	{"value.conf", "auto-count = 1001\n", 0},
	{"nest.conf", "config = lab.conf\n", 0},
	{"absent.conf", "trap-collector = x\n", 0},
	{"gc.conf", "force-gc = true\n", 0},
	{"nul.conf", "port = 1\0\n", 10},
	{"token", "s3cret\n", 0},
	{"two-lines", "s3cret\nmore\n", 0},
	{"empty", "\n", 0},
	{"keys", "\nA: 1\r\nB: 2,3\n\n", 0},
	{"keys.conf", "key = A\nkey = B\n", 0},
	{0},
};

START_TEST(precedence)
{
	struct run *run = parse("-config lab.conf -port 1", "NL6_AUTO_COUNT=6 NL6_PORT=2", files);
	ck_assert_msg(run->r == 0, "%s: %s", run->fault.field, run->fault.text);
	ck_assert_uint_eq(run->conf.part.port, 1);
	ck_assert_uint_eq(run->conf.lab.count, 6);
	ck_assert_str_eq(run->conf.lab.name, "file");
	ck_assert_uint_eq(run->conf.part.hosts.n, 2);
	ck_assert_str_eq(run->conf.part.hosts.items[0], "f");
	done(run);
	run = parse("-host h", "NL6_CONFIG=lab.conf NL6_HOST=i,j NL6_QUIET=1", files);
	ck_assert_int_eq(run->r, 0);
	ck_assert_uint_eq(run->conf.lab.count, 5);
	ck_assert_uint_eq(run->conf.part.hosts.n, 1);
	ck_assert_str_eq(run->conf.part.hosts.items[0], "h");
	ck_assert(run->conf.lab.quiet);
	done(run);
	/* What loses is judged all the same. */
	ck_refused(
		"-port 1", "NL6_PORT=x", files, -EINVAL, "NL6_PORT", "\"x\" is not a valid value");
	ck_refused("-host h", "NL6_HOST=,", files, -EINVAL, "NL6_HOST", "the value is empty");
}
END_TEST

START_TEST(environment)
{
	struct run *run = parse("",
		"NL6_PORT=tcp://10.0.0.1:8080 NL6_PROT=1 NL6_zzzzzzzzzz=1 "
		"NL6_FORCE_GC=false NL6=1 XNL6_PORT=x",
		NULL);
	ck_assert_int_eq(run->r, 0);
	ck_assert_uint_eq(run->conf.part.port, 8080);
	ck_assert_uint_eq(flags_warnings(run->flags), 3);
	ck_assert_str_eq(flags_warning(run->flags, 0),
		"environment variable NL6_PROT is unknown, did you mean NL6_PORT?");
	ck_assert_str_eq(
		flags_warning(run->flags, 1), "environment variable NL6_zzzzzzzzzz is unknown");
	ck_assert_str_eq(
		flags_warning(run->flags, 2), "NL6_FORCE_GC has no effect: there is no collector");
	done(run);
	run = parse("", "NL6_port=x", NULL);
	ck_assert_int_eq(run->r, 0);
	ck_assert_uint_eq(flags_warnings(run->flags), 1);
	done(run);
	ck_refused("", "NL6_TRAP_COLLECTOR=x", NULL, -EINVAL, "NL6_TRAP_COLLECTOR",
		"not in this build");
	ck_refused("", "NL6_AUTO_COUNT=", NULL, -EINVAL, "NL6_AUTO_COUNT",
		"\"\" is not a valid value");
}
END_TEST

START_TEST(configuration_files)
{
	ck_refused("-config none.conf", "", files, -ENOENT, "-config",
		"none.conf: No such file or directory");
	ck_refused("-config dup.conf", "", files, -EINVAL, "dup.conf:3: port",
		"already set in line 1");
	ck_refused("-config noeq.conf", "", files, -EINVAL, "noeq.conf:1", "the line has no =");
	ck_refused("-config unknown.conf", "", files, -EINVAL, "unknown.conf:2: prot",
		"unknown flag, did you mean port?");
	ck_refused("", "NL6_CONFIG=value.conf", files, -ERANGE, "value.conf:1: auto-count",
		"\"1001\" is out of range");
	ck_refused("-config nest.conf", "", files, -EINVAL, "nest.conf:1: config",
		"a configuration file cannot name another");
	ck_refused("-config absent.conf", "", files, -EINVAL, "absent.conf:1: trap-collector",
		"not in this build");
	ck_refused("-config nul.conf", "", files, -EINVAL, "-config",
		"nul.conf: the file has a NUL byte");
	struct run *run = parse("-config gc.conf", "", files);
	ck_assert_int_eq(run->r, 0);
	ck_assert_str_eq(flags_warning(run->flags, 0),
		"gc.conf:1: force-gc has no effect: there is no collector");
	done(run);
}
END_TEST

START_TEST(secrets)
{
	struct run *run = parse("-token hunter2 -port 1", "", files);
	ck_assert_int_eq(run->r, 0);
	ck_assert_str_eq(run->conf.part.token, "hunter2");
	ck_assert_str_eq(run->line[2], "*******");
	ck_assert_str_eq(run->line[3], "-port");
	done(run);
	run = parse("--token=hunter2", "NL6_TOKEN_FILE=token", files);
	ck_assert_int_eq(run->r, 0);
	ck_assert_str_eq(run->conf.part.token, "hunter2");
	ck_assert_str_eq(run->line[1], "--token=*******");
	done(run);
	run = parse("-token-file token", "NL6_TOKEN=other", files);
	ck_assert_int_eq(run->r, 0);
	ck_assert_str_eq(run->conf.part.token, "s3cret");
	ck_assert_str_eq(run->line[2], "token");
	done(run);
	/* A wrong line hides the secret as well. */
	run = parse("-token hunter2 -port x", "", files);
	ck_assert_int_eq(run->r, -EINVAL);
	ck_assert_str_eq(run->line[2], "*******");
	done(run);
	ck_refused("-token-file nowhere", "", files, -ENOENT, "-token-file",
		"nowhere: No such file or directory");
	ck_refused("-token-file two-lines", "", files, -EINVAL, "-token-file",
		"two-lines: the file has more than one line");
	ck_refused("-token-file empty", "", files, -EINVAL, "-token-file", "the value is empty");
}
END_TEST

static void ck_keys(struct run *run, const char *const *want)
{
	uint32_t n = 0;
	ck_assert_msg(run->r == 0, "%s: %s", run->fault.field, run->fault.text);
	for (; want[n]; n++) {
		ck_assert_uint_lt(n, run->conf.part.keys.n);
		ck_assert_str_eq(run->conf.part.keys.items[n], want[n]);
	}
	ck_assert_uint_eq(run->conf.part.keys.n, n);
	done(run);
}

START_TEST(secrets_that_may_be_repeated)
{
	struct run *run = parse("-key a,b --key=c", "NL6_KEY=d", files);
	ck_assert_str_eq(run->line[2], "***");
	ck_assert_str_eq(run->line[3], "--key=*");
	ck_keys(run, (const char *const[]){"a,b", "c", NULL});
	ck_keys(parse("", "NL6_KEY=d,e", files), (const char *const[]){"d,e", NULL});
	ck_keys(parse("-key-file keys -key z", "", files),
		(const char *const[]){"A: 1", "B: 2,3", "z", NULL});
	ck_keys(parse("-config keys.conf", "", files), (const char *const[]){"A", "B", NULL});
	ck_keys(parse("", "", files), (const char *const[]){NULL});
	ck_refused(
		"-key-file empty", "", files, -EINVAL, "-key-file", "empty: the file has no line");
}
END_TEST

START_TEST(help_stands_alone)
{
	struct run *run = parse("-h", "NL6_PORT=x NL6_CONFIG=none", NULL);
	ck_assert_int_eq(run->r, 0);
	ck_assert(run->conf.lab.help);
	done(run);
	ck_refused("-help=false", "NL6_PORT=x", NULL, -EINVAL, "NL6_PORT",
		"\"x\" is not a valid value");
	struct fake f = fake_make();
	struct text t = TEXT(f.mem);
	flags_help(sets, "Usage: lab [flags]\n", &t);
	ck_assert_int_eq(t.err, 0);
	ck_assert_ptr_nonnull(strstr(t.s, "Usage: lab [flags]\n\nLab:\n  -quiet\n"));
	ck_assert_ptr_nonnull(
		strstr(t.s, "  -auto-count N\n        Devices: 0..1000 (default 3)\n"));
	ck_assert_ptr_nonnull(strstr(t.s, "  -name NAME\n        A NAME (default nl6sim)\n"));
	ck_assert_ptr_nonnull(
		strstr(t.s, "  -token-file FILE\n        Like -token, read from a file\n"));
	ck_assert_ptr_nonnull(strstr(
		t.s, "  -key-file FILE\n        Like -key, read from a file, a line each\n"));
	text_done(&t);
	fake_done(&f);
}
END_TEST

static int scenario(struct fake *f, void *arg UNUSED)
{
	char argv[][16] = {"nl6", "-config", "lab.conf", "-token", "x", "-force-gc"};
	char *args[] = {argv[0], argv[1], argv[2], argv[3], argv[4], argv[5], NULL};
	char *envp[] = {(char[]){"NL6_HOST=a,b"}, (char[]){"NL6_TOKEN_FILE=token"},
		(char[]){"NL6_PROT=1"}, NULL};
	struct flags_env fenv = {f->mem, read_fake, (void *)(uintptr_t)files};
	struct flags_ask ask = {sets, others, 6, args, envp, alone, "config"};
	struct conf conf;
	AUTO(flags) struct flags *flags = NULL;
	return flags_parse(&fenv, &ask, &conf, &flags, NULL);
}

static int refused_scenario(struct fake *f, void *arg UNUSED)
{
	char argv[][8] = {"nl6", "-prot", "x"};
	char *args[] = {argv[0], argv[1], argv[2], NULL};
	struct flags_env fenv = {f->mem, read_fake, NULL};
	struct flags_ask ask = {sets, others, 3, args, NULL, alone, "config"};
	struct conf conf;
	AUTO(flags) struct flags *flags = NULL;
	int r = flags_parse(&fenv, &ask, &conf, &flags, NULL);
	return r == -EINVAL ? 0 : r;
}

START_TEST(each_allocation_may_fail)
{
	struct fake f = fake_make();
	fake_fail_each(&f, scenario, NULL);
	fake_fail_each(&f, refused_scenario, NULL);
	fake_done(&f);
}
END_TEST

UNIT_MAIN(defaults, go_forms_of_the_command_line, wrong_command_lines,
	files_are_kept_where_they_are_taken, precedence, environment, configuration_files, secrets,
	secrets_that_may_be_repeated, help_stands_alone, each_allocation_may_fail)
