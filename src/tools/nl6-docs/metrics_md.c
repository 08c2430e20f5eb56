#include "docs.h"
#include "tables.h"

static void put_table(const struct counter *table, struct text *t)
{
	for (const struct counter *c = table; c->field; c++)
		text_printf(t, "| `nl6_%s_%s%s` | %s | %s |\n", c->owner, c->field,
			c->kind == STAT_COUNTER ? "_total" : "",
			c->kind == STAT_COUNTER ? "counter" : "gauge", c->help);
}

void docs_metrics_md(struct text *t)
{
	text_put(t,
		"# Metrics\n"
		"\n"
		"Made from the program's tables by `ninja -C build docs`. `GET /metrics` answers "
		"in\n"
		"OpenMetrics, or in Prometheus' older text when the client prefers that. Where a "
		"part\n"
		"has several instances, such as the workers, the label `name` tells them apart.\n"
		"A part that is off, such as an export without a server, has none.\n"
		"Besides these there are `nl6_build_info` and the usual `process_` families.\n"
		"\n"
		"| metric | kind | what it counts |\n"
		"|---|---|---|\n");
	for (const struct counter *const *table = nl6_counters; *table; table++)
		put_table(*table, t);
}
