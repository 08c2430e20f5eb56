/* nl6: wiring only. Reads the settings, makes each module with what it depends on, starts them,
 * waits for a signal, stops them in reverse. */
#include "base/file.h"
#include "base/notify.h"
#include "base/self.h"
#include "base/share.h"
#include "base/thread.h"
#include "tables.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { EXIT_USAGE = 2 };

struct nl6 {
	struct nl6_conf conf;
	struct flags *flags;
	char *share; /* the program's data */
	struct log *log;
	struct stats *stats;
	struct lab *lab;
	int signal_fd;
};

static void print_fault(const struct fault *f, int r)
{
	(void)fprintf(stderr, "nl6: %s%s%s", f->field, f->field[0] ? ": " : "",
		f->text[0] ? f->text : strerrordesc_np(-r));
	if (f->allowed[0])
		(void)fprintf(stderr, " (allowed: %s)", f->allowed);
	(void)fprintf(stderr, "\n");
}

static int read_file(void *arg UNUSED, const struct mem *mem, const char *path, size_t max,
	char **ret_bytes, size_t *ret_len)
{
	return file_read(mem, path, max, ret_bytes, ret_len);
}

static int print_help(void)
{
	AUTO_TEXT struct text t = TEXT(&mem_libc);
	flags_help(nl6_flags, nl6_usage, &t);
	if (t.err || fputs(t.s, stdout) < 0 || fflush(stdout) != 0)
		return EXIT_FAILURE;
	return EXIT_SUCCESS;
}

/* The signals that end the program go to a descriptor; those of a terminal or a client that went
 * away are no reason to end. */
static int take_signals(struct nl6 *n)
{
	sigset_t set;
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)signal(SIGHUP, SIG_IGN);
	(void)signal(SIGPIPE, SIG_IGN);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	n->signal_fd = signalfd(-1, &set, SFD_CLOEXEC);
	return n->signal_fd < 0 ? -errno : 0;
}

/* A fleet may hold more connections than the shell's limit, which is meant for select(2). */
static void lift_nofile(void)
{
	struct rlimit lim;
	if (getrlimit(RLIMIT_NOFILE, &lim) == 0 && lim.rlim_cur < lim.rlim_max) {
		lim.rlim_cur = lim.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &lim);
	}
}

static int make(struct nl6 *n, struct fault *fault)
{
	int r = share_find(&mem_libc, "/proc/self/exe", &n->share, fault);
	if (r < 0)
		return r;
	r = stats_new(&mem_libc, &n->stats);
	if (r < 0)
		return r;
	return lab_new(&(struct lab_env){&mem_libc}, &n->conf.lab, &n->lab);
}

static void log_warnings(const struct nl6 *n)
{
	for (uint32_t i = 0; i < flags_warnings(n->flags); i++)
		log_warn(NULL, 0, "%s", flags_warning(n->flags, i));
}

static int run(struct nl6 *n, struct fault *fault)
{
	int r = make(n, fault);
	if (r == 0)
		r = lab_start(n->lab, fault);
	if (r < 0)
		return r;
	struct signalfd_siginfo info;
	while (read(n->signal_fd, &info, sizeof(info)) < 0 && errno == EINTR)
		;
	log_info(NULL, 0, "stopping");
	return 0;
}

static void unmake(struct nl6 *n)
{
	if (n->lab)
		lab_stop(n->lab);
	n->lab = lab_free(n->lab);
	n->stats = stats_free(n->stats);
	n->share = mem_free(&mem_libc, n->share);
}

/* From the settings on; the log is there. */
static int live(struct nl6 *n)
{
	struct fault fault = {0};
	thread_adopt("main", &label_main);
	nl6_self.log = n->log;
	log_warnings(n);
	lift_nofile();
	int r = take_signals(n);
	if (r == 0)
		r = run(n, &fault);
	if (r < 0)
		print_fault(&fault, r);
	unmake(n);
	if (n->signal_fd >= 0)
		(void)close(n->signal_fd);
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct nl6 n = {.signal_fd = -1};
	struct fault fault = {0};
	struct flags_env env = {&mem_libc, read_file, NULL};
	struct flags_ask ask = {
		nl6_flags, nl6_other_flags, argc, argv, environ, nl6_alone_flags, NL6_CONFIG_FLAG};
	int r = flags_parse(&env, &ask, &n.conf, &n.flags, &fault);
	if (r < 0) {
		print_fault(&fault, r);
		(void)fprintf(stderr, "See nl6 -help.\n");
		return EXIT_USAGE;
	}
	int status = EXIT_FAILURE;
	n.conf.log.fd = STDERR_FILENO;
	if (n.conf.main.help)
		status = print_help();
	else if (n.conf.main.version)
		status = puts("v" NL6_VERSION) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
	else if (log_new(&(struct log_env){&mem_libc, &clk_system}, &n.conf.log, &n.log) == 0)
		status = live(&n);
	nl6_self.log = NULL;
	(void)log_free(n.log);
	(void)flags_free(n.flags);
	return status;
}
