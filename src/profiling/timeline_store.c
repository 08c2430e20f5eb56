#include "profiling/timeline_store.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

int timeline_store_init(struct timeline_store *s, uint32_t max)
{
	void *p = mmap(NULL, (size_t)max * sizeof(*s->events), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return -ENOMEM;
	*s = (struct timeline_store){.events = p, .max = max};
	return 0;
}

void timeline_store_done(struct timeline_store *s)
{
	if (s->events)
		(void)munmap(s->events, (size_t)s->max * sizeof(*s->events));
	s->events = NULL;
}

static void put(struct timeline_store *s, struct timeline_event event)
{
	event.seq = s->n;
	s->events[s->n++] = event;
}

void timeline_store_add(struct timeline_store *s, struct timeline_event event)
{
	if (s->max - s->n > s->owed)
		put(s, event);
	else
		s->dropped++;
}

static void enter(struct timeline_store *s, struct timeline_track *t, const struct label *label,
	uint64_t at_ns)
{
	if (t->depth == TIMELINE_DEPTH) {
		t->deeper++;
		s->dropped++;
		return;
	}
	bool fits = s->max - s->n >= s->owed + 2;
	t->open[t->depth++] = fits ? label : NULL;
	if (!fits) {
		s->dropped++;
		return;
	}
	put(s, (struct timeline_event){.at_ns = at_ns,
		       .what = (uintptr_t)label,
		       .track = t->index,
		       .kind = TIMELINE_ENTER});
	s->owed++;
}

static void leave(struct timeline_store *s, struct timeline_track *t, uint64_t at_ns)
{
	if (t->deeper) {
		t->deeper--;
		return;
	}
	const struct label *label = t->depth ? t->open[--t->depth] : NULL;
	if (!label)
		return;
	s->owed--;
	put(s, (struct timeline_event){.at_ns = at_ns,
		       .what = (uintptr_t)label,
		       .track = t->index,
		       .kind = TIMELINE_LEAVE});
}

static void leave_all(struct timeline_store *s, struct timeline_track *t, uint64_t at_ns)
{
	while (t->depth)
		leave(s, t, at_ns);
}

void timeline_store_apply(
	struct timeline_store *s, struct timeline_track *t, const struct scopes_record *rec)
{
	/* After a gap nobody knows what is open but the label it ended with. */
	if (rec->missed)
		leave_all(s, t, rec->at_ns);
	if (!t->begun || rec->missed)
		enter(s, t, rec->from, t->begun ? rec->at_ns : t->since_ns);
	t->begun = true;
	if (rec->how == LABEL_ENTER) {
		enter(s, t, rec->to, rec->at_ns);
		return;
	}
	leave(s, t, rec->at_ns);
	/* The scope that is left here may have been entered before the recording. */
	if (rec->how == LABEL_SET || t->depth == 0)
		enter(s, t, rec->to, rec->at_ns);
}

void timeline_store_close(struct timeline_store *s, struct timeline_track *t,
	const struct label *label, uint64_t at_ns)
{
	if (!t->begun)
		enter(s, t, label, t->since_ns);
	t->begun = true;
	leave_all(s, t, at_ns);
}

static int by_time(const void *a, const void *b)
{
	const struct timeline_event *x = a, *y = b;
	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	/* A thread goes off its processor within the scope that began with it. */
	if ((x->kind >= TIMELINE_OFF) != (y->kind >= TIMELINE_OFF))
		return x->kind >= TIMELINE_OFF ? 1 : -1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

void timeline_store_sort(struct timeline_store *s)
{
	qsort(s->events, s->n, sizeof(*s->events), by_time);
}
