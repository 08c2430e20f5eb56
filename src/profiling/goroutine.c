#include "profiling/goroutine.h"
#include "profiling/said.h"
#include <errno.h>

struct gathering {
	struct stacks *running, *made;
};

static const uintptr_t no_answer[] = {SAID_START + 16 * SAID_NO_ANSWER};

static void gather(void *arg, const struct sampler_thread_info *t)
{
	struct gathering *g = arg;
	struct stack running = {.label = t->label, .values = {1}, .n = 1, .pcs = no_answer};
	if (t->answered && t->n > 0) {
		running.pcs = t->pcs;
		running.n = (uint16_t)t->n;
		running.end = (uint8_t)t->end;
	}
	/* Nobody made main: it shows its own entry. */
	struct stack made = {
		.label = t->label, .values = {1}, .n = 1, .pcs = &running.pcs[running.n - 1]};
	if (t->birth_n > 0) {
		made.pcs = t->birth;
		made.n = (uint16_t)t->birth_n;
	}
	if (g->running)
		stacks_add(g->running, &running);
	if (g->made)
		stacks_add(g->made, &made);
}

int goroutine_gather(const struct mem *mem UNUSED, struct sampler *s, struct stacks *running,
	struct stacks *made)
{
	return sampler_threads(s, gather, &(struct gathering){running, made});
}

int goroutine_dump(const struct mem *mem UNUSED, struct sampler *s UNUSED,
	struct symbols *symbols UNUSED, struct text *out)
{
	text_put(out, "");
	return out->err;
}
