/* nl6-check: tells what is wrong with recordings of agents, and puts them in order. Wiring only. */
#include "base/flags.h"
#include "check.h"
#include "names.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXIT_USAGE 2

static int no_file(void *arg UNUSED, const struct mem *mem UNUSED, const char *path UNUSED,
	size_t max UNUSED, char **ret_bytes UNUSED, size_t *ret_len UNUSED)
{
	return -ENOENT; /* no flag reads one */
}

static void print_fault(const struct fault *f, int r)
{
	(void)fprintf(stderr, "nl6-check: %s%s%s%s%s%s\n", f->field, f->field[0] ? ": " : "",
		f->text[0] ? f->text : strerrordesc_np(-r), f->allowed[0] ? " (allowed: " : "",
		f->allowed, f->allowed[0] ? ")" : "");
}

static int print_help(void)
{
	AUTO_TEXT struct text t = TEXT(&mem_libc);
	flags_help(check_flags, check_usage, &t);
	return t.err || fputs(t.s, stdout) < 0 || fflush(stdout) != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Writes beside the file and puts it in its place: it may be the one that was read. */
static int write_beside(struct check *c, const char *path)
{
	char temporary[4096];
	int n = snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path);
	if (n < 0 || n >= (int)sizeof(temporary))
		return -ENAMETOOLONG;
	int fd = mkostemp(temporary, O_CLOEXEC);
	FILE *to = fd < 0 ? NULL : fdopen(fd, "w");
	if (!to)
		return -errno;
	mode_t mask = umask(0);
	(void)umask(mask);
	int r = fchmod(fd, 0666 & ~mask) < 0 ? -errno : check_write(c, to);
	if (fclose(to) != 0 && r == 0)
		r = -errno;
	if (r == 0 && rename(temporary, path) < 0)
		r = -errno;
	if (r < 0)
		(void)unlink(temporary);
	return r;
}

static int convert(struct check *c, const char *path)
{
	int r = strcmp(path, "-") == 0 ? check_write(c, stdout) : write_beside(c, path);
	if (r < 0)
		(void)fprintf(stderr, "nl6-check: %s: %s\n", path, strerrordesc_np(-r));
	return r;
}

/* Is anything wrong with it? */
static bool is_bad(const struct check_conf *conf, const char *path)
{
	bool to_stdout = conf->convert && strcmp(conf->convert, "-") == 0;
	struct check c = {.conf = conf,
		.names = conf->mibs.n ? &names_known : NULL,
		.out = to_stdout ? stderr : stdout};
	int r = check_file(&c, path);
	if (r == 0)
		(void)fprintf(c.out, "%s: %llu records, %llu faults\n", path,
			(unsigned long long)c.records, (unsigned long long)c.faults);
	if (r == 0 && conf->convert)
		r = convert(&c, conf->convert);
	bool bad = r < 0 || c.faults > 0;
	check_done(&c);
	return bad;
}

static int run(const struct check_conf *conf, const struct flags *flags)
{
	struct fault fault = {0};
	bool bad = false;
	const char *path;
	if (!flags_file(flags, 0) || (conf->convert && flags_file(flags, 1))) {
		(void)fprintf(stderr, "nl6-check: %s\nSee nl6-check -help.\n",
			conf->convert ? "-convert takes one file" : "no file is given");
		return EXIT_USAGE;
	}
	int r = conf->mibs.n ? names_read(&conf->mibs, &fault) : 0;
	if (r < 0) {
		print_fault(&fault, r);
		return EXIT_USAGE;
	}
	for (uint32_t i = 0; (path = flags_file(flags, i)); i++)
		bad |= is_bad(conf, path);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		(void)fprintf(stderr, "nl6-check: standard output: %s\n", strerror(errno));
		bad = true;
	}
	return bad ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct check_conf conf;
	AUTO(flags) struct flags *flags = NULL;
	struct fault fault = {0};
	struct flags_env env = {&mem_libc, no_file, NULL};
	struct flags_ask ask = {check_flags, NULL, argc, argv, NULL, check_alone_flags, NULL, true};
	int r = flags_parse(&env, &ask, &conf, &flags, &fault);
	if (r < 0) {
		print_fault(&fault, r);
		(void)fprintf(stderr, "See nl6-check -help.\n");
		return EXIT_USAGE;
	}
	if (conf.help)
		return print_help();
	if (conf.version)
		return puts(NL6_VERSION) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
	return run(&conf, flags);
}
