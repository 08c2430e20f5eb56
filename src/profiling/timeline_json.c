#include "profiling/timeline_json.h"
#include "profiling/symbol.h"
#include "profiling/timeline.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The rows of processors are those of a process that cannot be: PID_MAX_LIMIT is 2^22. */
#define CPUS_PID ((1 << 22) + 1)

static void put_ts(struct text *t, const char *key, uint64_t ns)
{
	text_key(t, key);
	text_printf(t, "%" PRIu64 ".%03u", ns / 1000, (unsigned)(ns % 1000));
}

static void begin_event(struct timeline_json *j, const char *ph, const char *name, int pid, int tid)
{
	struct text *t = &j->piece;
	text_put(t, j->comma ? ",\n{" : "\n{");
	j->comma = true;
	text_kv_str(t, "ph", ph);
	text_kv_str(t, "name", name);
	text_kv_i64(t, "pid", pid);
	text_kv_i64(t, "tid", tid);
}

static void put_meta(struct timeline_json *j, const char *name, int pid, int tid, const char *key,
	const char *value)
{
	begin_event(j, "M", name, pid, tid);
	text_put(&j->piece, ",\"args\":{");
	text_kv_str(&j->piece, key, value);
	text_put(&j->piece, "}}");
}

static void put_head(struct timeline_json *j)
{
	struct text *t = &j->piece;
	text_put(t, "{\"displayTimeUnit\":\"ns\",\"otherData\":{");
	text_kv_str(t, "program", "nl6");
	put_ts(t, "duration_us", j->duration_ns);
	text_kv_u64(t, "events", j->store->n);
	text_kv_u64(t, "dropped_events", j->store->dropped);
	text_kv_u64(t, "lost_scopes", j->lost_scopes);
	text_kv_u64(t, "lost_switches", j->lost_switches);
	text_kv_u64(t, "unseen_threads", j->unseen_threads);
	text_kv_str(t, "switches", j->switches);
	text_put(t, "},\"traceEvents\":[");
	put_meta(j, "process_name", j->pid, j->pid, "name", "nl6");
	char labels[160];
	(void)snprintf(labels, sizeof(labels), "context switches: %s", j->switches);
	put_meta(j, "process_labels", j->pid, j->pid, "labels", labels);
	if (j->n_cpus)
		put_meta(j, "process_name", CPUS_PID, CPUS_PID, "name", "CPUs");
}

static const char *track_name(const struct timeline_track *t, char buf[static 32])
{
	if (t->name[0])
		return t->name;
	(void)snprintf(buf, 32, "thread %d", t->tid);
	return buf;
}

static void put_thread(struct timeline_json *j, const struct timeline_track *t)
{
	char buf[32];
	put_meta(j, "thread_name", j->pid, t->tid, "name", track_name(t, buf));
}

static void put_cpu(struct timeline_json *j, uint32_t cpu)
{
	char name[32];
	(void)snprintf(name, sizeof(name), "CPU %" PRIu32, cpu);
	put_meta(j, "thread_name", CPUS_PID, (int)cpu + 1, "name", name);
}

/* "snmp"; of more pairs all values. */
static void label_name(const struct label *l, char *buf, size_t bytes)
{
	size_t len = 0;
	buf[0] = 0;
	for (size_t i = 0; i < l->count && len < bytes; i++)
		len += (size_t)snprintf(
			buf + len, bytes - len, "%s%s", i ? " " : "", l->pairs[i].value.s);
}

static void put_times(struct timeline_json *j, const struct timeline_event *e, const char *cat)
{
	text_kv_str(&j->piece, "cat", cat);
	put_ts(&j->piece, "ts", MAX(e->at_ns, j->start_ns) - j->start_ns);
	/* A nanosecond less: readers add the two as floats, and the sum must not be past the end of
	 * the scope that the time lies in. */
	if (e->kind == TIMELINE_OFF)
		put_ts(&j->piece, "dur", e->for_ns ? e->for_ns - 1 : 0);
	else if (e->kind == TIMELINE_ON)
		put_ts(&j->piece, "dur", e->for_ns);
}

/* The function of the kernel that the thread blocked in. */
static void put_wait(struct timeline_json *j, const struct timeline_event *e)
{
	const char *name = j->kernel && e->what ? kallsyms_find(j->kernel, e->what, NULL) : NULL;
	if (!name)
		return;
	char wait[128];
	(void)snprintf(wait, sizeof(wait), "%.*s", (int)symbol_name_bytes(name), name);
	text_put(&j->piece, ",\"args\":{");
	text_kv_str(&j->piece, "wait", wait);
	text_put(&j->piece, "}");
}

static void put_event(struct timeline_json *j, const struct timeline_event *e)
{
	const struct timeline_track *track = j->tracks[e->track];
	struct text *t = &j->piece;
	char name[192];
	switch ((enum timeline_kind)e->kind) {
	case TIMELINE_ENTER:
	case TIMELINE_LEAVE:
		label_name((const struct label *)e->what, name, sizeof(name));
		begin_event(j, e->kind == TIMELINE_ENTER ? "B" : "E", name, j->pid, track->tid);
		put_times(j, e, "label");
		break;
	case TIMELINE_OFF:
		begin_event(j, "X", e->preempted ? "preempted" : "blocked", j->pid, track->tid);
		put_times(j, e, "off cpu");
		put_wait(j, e);
		break;
	case TIMELINE_ON:
		begin_event(j, "X", track_name(track, name), CPUS_PID, (int)e->what + 1);
		put_times(j, e, "on cpu");
		break;
	}
	text_put(t, "}");
}

/* Makes the next piece; false: there is none. */
static bool next_piece(struct timeline_json *j)
{
	uint64_t at = j->at++;
	text_clear(&j->piece);
	j->read = 0;
	if (at-- == 0) {
		put_head(j);
		return true;
	}
	if (at < j->n_tracks) {
		put_thread(j, j->tracks[at]);
		return true;
	}
	at -= j->n_tracks;
	if (at < j->n_cpus) {
		put_cpu(j, (uint32_t)at);
		return true;
	}
	at -= j->n_cpus;
	if (at < j->store->n) {
		put_event(j, &j->store->events[at]);
		return true;
	}
	if (at > j->store->n)
		return false;
	text_put(&j->piece, "\n]}\n");
	return true;
}

ssize_t timeline_json_read(struct timeline_json *j, char *buf, size_t room)
{
	size_t done = 0;
	while (done < room) {
		if (j->read == j->piece.len && !next_piece(j))
			break;
		if (j->piece.err < 0)
			return j->piece.err;
		size_t n = MIN(room - done, j->piece.len - j->read);
		memcpy(buf + done, j->piece.s + j->read, n);
		j->read += n;
		done += n;
	}
	return done ? (ssize_t)done : TIMELINE_END;
}
