/* nl6-pprof-link: makes OTLP profiles of profiles of pprof, in which the samples of a span are
 * linked to it. Wiring only. */
#include "base/file.h"
#include "base/flags.h"
#include "base/self.h"
#include "pull.h"
#include "serve.h"
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXIT_USAGE 2
#define MMAP_FROM_BYTES (128 << 10)
#define PACKED_SLACK_BYTES 4096 /* what gzip adds at most to what cannot be packed */

static int read_file(void *arg UNUSED, const struct mem *mem, const char *path, size_t max,
	char **ret_bytes, size_t *ret_len)
{
	return file_read(mem, path, max, ret_bytes, ret_len);
}

static int print_help(void)
{
	AUTO_TEXT struct text t = TEXT(&mem_libc);
	flags_help(link_flags, link_usage, &t);
	return t.err || fputs(t.s, stdout) < 0 || fflush(stdout) != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int run_file(struct work *w, struct fault *f)
{
	const char *path = w->conf->file;
	char *bytes;
	size_t len;
	int r = file_read(&mem_libc, strcmp(path, "-") == 0 ? "/dev/stdin" : path,
		w->conf->max_bytes + PACKED_SLACK_BYTES, &bytes, &len);
	if (r < 0)
		return fault_set(f, r, "-file", NULL, "cannot read %s: %s", path,
			r == -EFBIG ? "it is more than -max-size allows" : strerrordesc_np(-r));
	r = work_pprof(w, bytes, len, f);
	mem_free(&mem_libc, bytes);
	return r;
}

static void print_fault(const struct fault *f, int r)
{
	(void)fprintf(stderr, "nl6-pprof-link: %s%s%s%s%s%s\n", f->field, f->field[0] ? ": " : "",
		f->text[0] ? f->text : strerrordesc_np(-r), f->allowed[0] ? " (allowed: " : "",
		f->allowed, f->allowed[0] ? ")" : "");
}

static int run(struct work *w, struct halt *halt, struct fault *f)
{
	const struct link_conf *c = w->conf;
	int r = c->listen     ? serve_run(w, halt, f)
		: c->pull.url ? pull_run(w, halt, f)
			      : run_file(w, f);
	int flushed = sink_flush(w->sink);
	if (r == 0)
		r = flushed;
	return r;
}

/* Whether all that was read has arrived; what runs until a signal has done its work. */
static int status_of(struct work *w, int r, const struct fault *f)
{
	struct sink_totals t;
	bool is_endless = w->conf->listen || w->conf->interval_ns;
	sink_totals(w->sink, &t);
	work_log(w);
	if (r < 0 && !(r == -ECANCELED && is_endless)) {
		if (r == -ECANCELED)
			(void)fprintf(stderr, "nl6-pprof-link: ended by a signal\n");
		else
			print_fault(f, r);
		return EXIT_FAILURE;
	}
	if (!is_endless && (t.failed || t.rejected || t.accepted < t.exports)) {
		(void)fprintf(stderr, "nl6-pprof-link: the receiver did not take all\n");
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}

static int live(const struct link_conf *conf)
{
	AUTO(sink) struct sink *sink = NULL;
	struct halt halt;
	struct work work = {0};
	struct fault fault = {0};
	int status = EXIT_FAILURE;
	thread_adopt("link", &label_main);
	int r = halt_init(&halt);
	if (r == 0)
		r = sink_new(conf, &halt, &sink, &fault);
	if (r == 0)
		r = work_init(&work, conf, sink);
	if (r < 0) {
		print_fault(&fault, r);
	} else {
		r = run(&work, &halt, &fault);
		status = status_of(&work, r, &fault);
	}
	work_done(&work);
	sink = sink_free(sink);
	halt_done(&halt);
	return status;
}

int main(int argc, char **argv)
{
	struct link_conf conf;
	AUTO(flags) struct flags *flags = NULL;
	struct fault fault = {0};
	struct flags_env env = {&mem_libc, read_file, NULL};
	struct flags_ask ask = {link_flags, NULL, argc, argv, NULL, link_alone_flags, NULL};
	int r = flags_parse(&env, &ask, &conf, &flags, &fault);
	if (r < 0) {
		print_fault(&fault, r);
		(void)fprintf(stderr, "See nl6-pprof-link -help.\n");
		return EXIT_USAGE;
	}
	if (conf.help)
		return print_help();
	if (conf.version)
		return puts(NL6_VERSION) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
	AUTO(log) struct log *log = NULL;
	conf.log.fd = STDERR_FILENO;
	if (log_new(&(struct log_env){&mem_libc, &clk_system}, &conf.log, &log) < 0)
		return EXIT_FAILURE;
	/* Large blocks go back to the system when they are freed. By itself glibc begins to keep
	 * them once one was freed, and the exports of a large profile leave holes of half their
	 * size. */
	(void)mallopt(M_MMAP_THRESHOLD, MMAP_FROM_BYTES);
	nl6_self.log = log;
	int status = live(&conf);
	nl6_self.log = NULL;
	return status;
}
