#include "api/batch_json.h"
#include <stdio.h>

static const char *state_name(enum batch_state s)
{
	switch (s) {
	case BATCH_WAITING:
		return "waiting";
	case BATCH_RUNNING:
		return "running";
	case BATCH_DONE:
		return "done";
	case BATCH_FAILED:
		return "failed";
	}
	return "?";
}

void batch_json_warning(struct text *t, const char *field, const char *requested,
	const char *effective, const char *message)
{
	if (t->len > 0 && t->s[t->len - 1] == '}')
		text_put(t, ",");
	text_put(t, "{");
	text_kv_str(t, "field", field);
	text_kv_str(t, "requested", requested);
	text_kv_str(t, "effective", effective);
	text_kv_str(t, "message", message);
	text_put(t, "}");
}

void batch_json_warnings(struct text *t, const struct batch_info *b)
{
	char ranges[FLEET_RANGES_TEXT_BYTES], message[FLEET_RANGES_TEXT_BYTES + 128];
	if (b->added.differing == 0)
		return;
	(void)fleet_ranges_text(&b->added.differing_ranges, ranges);
	(void)snprintf(message, sizeof(message),
		"%u devices exist with another type or other settings and are left as they are: %s",
		b->added.differing, ranges);
	batch_json_warning(t, "start_ip", ranges, "left as they are", message);
}

void batch_json(struct text *t, const struct batch_info *b, uint64_t now_ns)
{
	char addr[ADDR_TEXT_BYTES];
	uint64_t ended_ns = b->ended_ns ? b->ended_ns : now_ns;
	uint64_t started_ns = b->started_ns ? b->started_ns : ended_ns;
	text_kv_u64(t, "id", b->id);
	text_kv_str(t, "state", state_name(b->state));
	text_kv_str(t, "first", addr_text(&b->first, addr));
	text_kv_str(t, "last", addr_text(&b->last, addr));
	text_kv_u64(t, "requested", b->requested);
	text_kv_u64(t, "done", b->done);
	text_kv_u64(t, "created", b->added.created);
	text_kv_u64(t, "existing", b->added.existing);
	text_kv_u64(t, "differing", b->added.differing);
	text_kv_f64(t, "waited_seconds", (double)(started_ns - b->asked_ns) / NS_PER_SEC);
	text_kv_f64(t, "ran_seconds", (double)(ended_ns - started_ns) / NS_PER_SEC);
	if (b->state == BATCH_FAILED)
		text_kv_str(t, "message", b->fault.text);
}
