/* The local roots by their id, and the short ones of late. */
#include "base/rnd.h"
#include "trace/tracer_impl.h"
#include <string.h>

static struct traced **slot(const struct tracer *t, uint64_t id)
{
	return (struct traced **)(uintptr_t)&t->roots[rnd_mix(id) & (TRACER_SLOTS - 1)];
}

static uint64_t id_of(const struct traced *s)
{
	uint64_t id;
	memcpy(&id, s->out.span.context.span_id, sizeof(id));
	return id;
}

void tracer_roots_add(struct tracer *t, struct traced *s)
{
	struct traced **at = slot(t, id_of(s));
	s->chain = *at;
	*at = s;
}

void tracer_roots_del(struct tracer *t, struct traced *s)
{
	struct traced **at = slot(t, id_of(s));
	while (*at && *at != s)
		at = &(*at)->chain;
	if (*at)
		*at = s->chain;
}

struct traced *tracer_roots_find(const struct tracer *t, const uint64_t link[3])
{
	struct traced *s = *slot(t, link[2]);
	while (s && memcmp(s->out.span.link, link, sizeof(s->out.span.link)) != 0)
		s = s->chain;
	return s;
}

/* A table of one entry a slot: a newer one takes the place of an older. */
void tracer_shorts_add(struct tracer *t, const struct traced *s)
{
	uint64_t id = id_of(s);
	if (t->shorts)
		t->shorts[rnd_mix(id) & (TRACER_SHORT - 1)] = id;
}

bool tracer_shorts_has(const struct tracer *t, const uint64_t link[3])
{
	return t->shorts && t->shorts[rnd_mix(link[2]) & (TRACER_SHORT - 1)] == link[2];
}
