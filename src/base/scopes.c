#include "base/scopes.h"
#include "base/span.h"
#include <sched.h>

#define RECORD_WORDS (sizeof(struct scopes_record) / sizeof(uint64_t))
_Static_assert(sizeof(struct scopes_record) % sizeof(uint64_t) == 0, "records are whole words");

static void note(
	struct scopes *s, enum label_change how, const struct label *from, const struct label *to)
{
	uint64_t now_ns = clk_ns(s->clk);
	struct scopes_record *rec = ring_reserve(&s->ring, RECORD_WORDS);
	if (!rec) {
		s->missed = true;
		__atomic_store_n(&s->lost, s->lost + 1, __ATOMIC_RELAXED);
		return;
	}
	rec->how = (uint8_t)how;
	rec->missed = s->missed;
	rec->at_ns = now_ns;
	rec->from = from;
	rec->to = to;
	s->missed = false;
	ring_put(&s->ring, RECORD_WORDS);
}

void label_note_(enum label_change how, const struct label *from, const struct label *to)
{
	span_relabel();
	if (!__atomic_load_n(&nl6_self.scopes, __ATOMIC_RELAXED))
		return;
	/* A signal handler that came in between leaves the ring alone. */
	if (nl6_self.in_scopes)
		return;
	__atomic_store_n(&nl6_self.in_scopes, 1, __ATOMIC_SEQ_CST); /* pairs with scopes_detach */
	struct scopes *s = __atomic_load_n(&nl6_self.scopes, __ATOMIC_SEQ_CST);
	if (s)
		note(s, how, from, to);
	__atomic_store_n(&nl6_self.in_scopes, 0, __ATOMIC_RELEASE); /* pairs with scopes_detach */
}

void scopes_attach(struct self *thread, struct scopes *s)
{
	__atomic_store_n(&thread->scopes, s, __ATOMIC_SEQ_CST);
}

void scopes_detach(struct self *thread)
{
	__atomic_store_n(&thread->scopes, NULL, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&thread->in_scopes, __ATOMIC_SEQ_CST)) /* pairs with label_note_ */
		(void)sched_yield();
}
