/* GET /metrics: every counter of the process, in OpenMetrics 1.0 or, for who asks for plain text
 * only, in the older Prometheus text format 0.0.4. */
#include "api/api.h"
#include "api/sysinfo.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define OPENMETRICS "application/openmetrics-text; version=1.0.0; charset=utf-8"
#define PLAIN "text/plain; version=0.0.4; charset=utf-8"

struct metrics {
	struct text *t;
	bool plain;
	const struct counter *last;
};

/* Help texts and label values escape backslash, line feed and quote (OpenMetrics 1.0, ABNF). */
static void put_escaped(struct text *t, const char *s)
{
	for (; *s; s++) {
		if (*s == '\\' || *s == '"')
			text_write(t, "\\", 1);
		if (*s == '\n')
			text_put(t, "\\n");
		else
			text_write(t, s, 1);
	}
}

/* The lines that open a family; in the older format a counter's is named with its suffix. */
static void put_family(
	struct metrics *m, const char *name, bool counter, const char *unit, const char *help)
{
	const char *suffix = counter && m->plain ? "_total" : "";
	text_printf(m->t, "# TYPE %s%s %s\n", name, suffix, counter ? "counter" : "gauge");
	if (unit && !m->plain)
		text_printf(m->t, "# UNIT %s %s\n", name, unit);
	text_printf(m->t, "# HELP %s%s ", name, suffix);
	put_escaped(m->t, help);
	text_put(m->t, ".\n");
}

static void on_counter(void *arg, const struct counter *c, const char *name, uint64_t value)
{
	struct metrics *m = arg;
	char family[128];
	bool counter = c->kind == STAT_COUNTER;
	(void)snprintf(family, sizeof(family), "nl6_%s_%s", c->owner, c->field);
	if (m->last != c)
		put_family(m, family, counter, NULL, c->help);
	m->last = c;
	text_printf(m->t, "%s%s", family, counter ? "_total" : "");
	if (name) {
		text_put(m->t, "{name=\"");
		put_escaped(m->t, name);
		text_put(m->t, "\"}");
	}
	text_printf(m->t, " %llu\n", (unsigned long long)value);
}

static void put_gauge(
	struct metrics *m, const char *name, const char *unit, const char *help, double value)
{
	put_family(m, name, false, unit, help);
	text_printf(m->t, "%s %.17g\n", name, value);
}

static void put_process(struct metrics *m)
{
	struct sysinfo_self s;
	sysinfo_read_self(&s);
	put_family(m, "process_cpu_seconds", true, "seconds", "User and system CPU time spent");
	text_printf(m->t, "process_cpu_seconds_total %.6f\n", s.cpu_seconds);
	put_gauge(m, "process_resident_memory_bytes", "bytes", "Resident memory",
		(double)s.resident_bytes);
	put_gauge(m, "process_anonymous_memory_bytes", "bytes",
		"Resident memory that no file backs", (double)s.anonymous_bytes);
	put_gauge(m, "process_virtual_memory_bytes", "bytes", "Address space",
		(double)s.virtual_bytes);
	put_gauge(m, "process_open_fds", NULL, "Open file descriptors", (double)s.fds);
	put_gauge(m, "process_max_fds", NULL, "Limit of open file descriptors", (double)s.max_fds);
	put_gauge(m, "process_threads", NULL, "Threads", (double)s.threads);
	put_gauge(m, "process_start_time_seconds", "seconds", "Start, since the epoch",
		s.start_unix_seconds);
}

/* Does the Accept header want the older text and not OpenMetrics? */
static bool wants_plain(const struct request *rq)
{
	const char *accept = request_header(rq, "Accept");
	return accept && strcasestr(accept, "text/plain") &&
	       !strcasestr(accept, "application/openmetrics-text");
}

static int metrics_get(struct request *rq)
{
	const struct api_env *env = api_env(rq->api);
	struct metrics m = {.plain = wants_plain(rq)};
	m.t = reply_raw(rq, 200, m.plain ? PLAIN : OPENMETRICS);
	put_family(&m, "nl6_build_info", false, NULL, "Version of nl6");
	text_put(m.t, "nl6_build_info{version=\"");
	put_escaped(m.t, env->version);
	text_put(m.t, "\"} 1\n");
	stats_each(env->stats, on_counter, &m);
	put_process(&m);
	text_put(m.t, "# EOF\n");
	reply_header(&rq->reply, "Vary", "Accept");
	return 0;
}

static const struct route_answer metrics_answers[] = {
	{200, "Counters and gauges", "str", "application/openmetrics-text"},
	{200, "", "str", "text/plain"}, {0}};
const struct route metrics_routes[] = {
	{GET, "/metrics", metrics_get, 0, "Tell every counter of the process", metrics_answers},
	{0},
};
