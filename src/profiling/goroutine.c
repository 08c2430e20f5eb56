#include "profiling/goroutine.h"
#include "base/threads.h"
#include "base/waits.h"
#include "profiling/legacy.h"
#include "profiling/said.h"
#include "profiling/task.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

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

/* A thread before the signal that asks for its stack disturbs it. */
struct waiter {
	int tid;
	uint32_t waiting; /* enum wait_kind */
	struct task_state task;
};
struct dump {
	struct symbols *symbols;
	struct text *out;
	struct waiter *waiters;
	unsigned n, room, left_out;
	int err;
};

static void list_thread(void *arg, struct self *thread)
{
	struct dump *d = arg;
	if (d->n < d->room)
		d->waiters[d->n++] = (struct waiter){.tid = thread->tid,
			.waiting = __atomic_load_n(&thread->waiting, __ATOMIC_RELAXED) &
				   ~WAIT_CLAIMED};
}

/* What the thread waits in, by the nearest to the program that is known, and the kernel's word. */
static void write_state(struct text *out, const struct waiter *w)
{
	bool ours = w->waiting == WAIT_LOCK || w->waiting == WAIT_COND || w->waiting == WAIT_QUEUE;
	if (w->task.state == 'R')
		text_put(out, "running");
	else if (ours)
		text_printf(out, "%s wait", wait_text[w->waiting]);
	else if (w->task.syscall[0])
		text_put(out, w->task.syscall);
	else
		text_put(out, task_state_text(w->task.state));
	if (w->task.state != 'R' && w->task.wchan[0])
		text_printf(out, ", %s", w->task.wchan);
}

static void write_head(struct dump *d, const struct sampler_thread_info *t)
{
	struct waiter none = {.tid = t->tid, .task.state = 'R'}, *w = &none;
	for (unsigned i = 0; i < d->n; i++)
		if (d->waiters[i].tid == t->tid)
			w = &d->waiters[i];
	text_printf(d->out, "goroutine %d [", t->tid);
	write_state(d->out, w);
	text_put(d->out, "]:\n");
	if (t->name[0])
		text_printf(d->out, "# thread: %s\n", t->name);
	legacy_labels_line(d->out, t->label);
}

static void write_place(struct text *out, const struct symbol *sym, uint32_t frame)
{
	const struct symbol_frame *f = &sym->frames[frame];
	text_printf(out, "\t%s:%u +0x%lx\n", f->file[0] ? f->file : "??", f->line,
		(unsigned long)sym->offset);
}

static void write_frame(struct dump *d, uintptr_t pc)
{
	struct symbol sym;
	if (said_is(pc)) {
		text_printf(d->out, "%s\n", said_text(pc));
		return;
	}
	if (symbols_find(d->symbols, pc, &sym) < 0) {
		d->err = -ENOMEM;
		return;
	}
	for (uint32_t i = 0; i < sym.n; i++) {
		text_printf(d->out, "%s(...)\n", sym.frames[i].name);
		write_place(d->out, &sym, i);
	}
	if (sym.n == 0)
		text_printf(d->out, "0x%lx(...)\n\t??:0 +0x0\n", (unsigned long)pc);
}

/* The first in the maker's stack that is not what makes every thread. */
static void write_maker(struct dump *d, const struct sampler_thread_info *t)
{
	static const char *const makers[] = {
		"threads_here", "thread_hook_create", "pthread_create", "thread_start"};
	for (unsigned i = 0; i < t->birth_n; i++) {
		struct symbol sym;
		if (symbols_find(d->symbols, t->birth[i], &sym) < 0) {
			d->err = -ENOMEM;
			return;
		}
		for (uint32_t k = 0; k < sym.n; k++) {
			bool any = false;
			for (unsigned m = 0; m < ARRAY_SIZE(makers); m++)
				any = any || strcmp(sym.frames[k].name, makers[m]) == 0;
			if (any)
				continue;
			text_printf(d->out, "created by %s\n", sym.frames[k].name);
			write_place(d->out, &sym, k);
			return;
		}
	}
}

static void write_thread(void *arg, const struct sampler_thread_info *t)
{
	struct dump *d = arg;
	if (d->out->len >= GOROUTINE_DUMP_MAX_BYTES) {
		d->left_out++;
		return;
	}
	write_head(d, t);
	if (!t->answered || t->n == 0)
		write_frame(d, no_answer[0]);
	for (unsigned i = 0; t->answered && i < t->n; i++)
		write_frame(d, t->pcs[i]);
	if (t->answered && t->end != UNWIND_ENTRY)
		write_frame(d, said_pc((enum said)t->end));
	write_maker(d, t);
	text_put(d->out, "\n");
}

int goroutine_dump(
	const struct mem *mem, struct sampler *s, struct symbols *symbols, struct text *out)
{
	struct dump d = {.symbols = symbols, .out = out, .room = threads_count() + 16};
	d.waiters = mem_array(mem, d.room, sizeof(*d.waiters));
	if (!d.waiters)
		return -ENOMEM;
	threads_each(list_thread, &d);
	for (unsigned i = 0; i < d.n; i++)
		task_look(d.waiters[i].tid, &d.waiters[i].task);
	int r = sampler_threads(s, write_thread, &d);
	if (d.left_out)
		text_printf(out, "...%u threads more: over the limit of %u bytes\n", d.left_out,
			GOROUTINE_DUMP_MAX_BYTES);
	mem_free(mem, d.waiters);
	if (r == 0)
		r = d.err;
	return r < 0 ? r : out->err;
}
