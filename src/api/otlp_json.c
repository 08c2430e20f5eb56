#include "api/otlp_json.h"
#include "api/schema.h"
#include "api/when.h"

/* before: items that have not come to the exporter yet. */
static void put_export(struct text *t, const struct trace_export_status *st, uint64_t before)
{
	text_kv_str(t, "url", st->url);
	text_kv_u64(t, "accepted", st->totals.accepted_items);
	text_kv_u64(t, "rejected", st->totals.rejected_items);
	text_kv_u64(t, "failed", st->totals.failed_items);
	text_kv_u64(t, "dropped", st->totals.dropped_items);
	text_kv_u64(t, "queued", before + st->now.queued_items);
	text_kv_u64(t, "requests", st->totals.requests);
	text_kv_u64(t, "retried", st->totals.retried);
	text_kv_u64(t, "bytes", st->totals.accepted_bytes);
	text_kv_bool(t, "failing", st->now.failing);
	if (st->now.last_accepted_ns)
		when_kv(t, "last_accepted_at", st->now.last_accepted_ns);
	if (st->now.last_error[0])
		text_kv_str(t, "last_error", st->now.last_error);
}

void otlp_json(struct text *t, const struct trace_status *st)
{
	if (!st->traces.url && !st->profiles.url)
		return;
	text_key(t, "otlp");
	text_put(t, "{");
	if (st->traces.url) {
		text_key(t, "traces");
		text_put(t, "{");
		put_export(t, &st->traces, (uint64_t)st->tracer.held + st->tracer.queued);
		text_kv_u64(t, "spans", st->tracer.spans);
		text_kv_u64(t, "spans_dropped", st->tracer.dropped);
		text_kv_u64(t, "spans_live", st->tracer.live);
		text_put(t, "}");
	}
	if (st->profiles.url) {
		text_key(t, "profiles");
		text_put(t, "{");
		put_export(t, &st->profiles, 0);
		text_put(t, "}");
	}
	text_put(t, "}");
}

void otlp_json_profiles(struct text *t, const struct trace_status *st, bool active)
{
	if (!st->profiles.url)
		return;
	text_key(t, "otlp");
	text_put(t, "{");
	text_kv_bool(t, "active", active);
	text_kv_bool(t, "carries_cpu", active && st->carries_cpu);
	text_kv_u64(t, "windows", st->windows.windows);
	text_kv_u64(t, "samples", st->windows.samples);
	text_kv_u64(t, "linked_samples", st->windows.linked_samples);
	text_kv_u64(t, "missed_windows", st->windows.missed_windows);
	if (st->missed[0])
		text_kv_str(t, "missed", st->missed);
	put_export(t, &st->profiles, 0);
	text_put(t, "}");
}

#define EXPORT_KEYS \
	"url:str, accepted:int 'Spans or profiles', rejected:int 'Not taken by who accepted'" \
	", failed:int 'Refused, or given up', dropped:int 'Never sent', queued:int" \
	", requests:int 'Tries', retried:int, bytes:int 'Accepted, as sent', failing:bool" \
	", last_accepted_at?:time, last_error?:str"
const struct schema otlp_schemas[] = {
	{"OtlpTraces", "{" EXPORT_KEYS ", spans:int 'Begun', spans_dropped:int 'For want of room'"
		       ", spans_live:int 'Under way'}"},
	{"OtlpExport", "{" EXPORT_KEYS "}"},
	{"Otlp", "{traces?:OtlpTraces, profiles?:OtlpExport}"},
	{"OtlpProfiles",
		"{active:bool 'The gate hands windows of the CPU out'"
		", carries_cpu:bool 'They arrive, and the push leaves the CPU to them'"
		", windows:int, samples:int, linked_samples:int 'Within a span'"
		", missed_windows:int, missed?:str 'Why the last one was', " EXPORT_KEYS "}"},
	{0},
};
