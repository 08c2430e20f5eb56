#include "base/queue.h"
#include "base/lock.h"
#include "base/waits.h"
#include <assert.h>
#include <errno.h>
#include <stdbool.h>

struct queue {
	const struct mem *mem;
	struct lock lock;
	struct cond changed; /* an item came, or it was closed */
	uint32_t room, len, first;
	bool closed;
	void *items[];
};

int queue_new(const struct mem *mem, uint32_t room, struct queue **ret_q)
{
	assert(room >= 1 && room <= QUEUE_ROOM_MAX);
	struct queue *q = mem_zalloc(mem, sizeof(*q) + room * sizeof(q->items[0]));
	if (!q)
		return -ENOMEM;
	q->mem = mem;
	q->room = room;
	lock_init(&q->lock);
	cond_init(&q->changed);
	*ret_q = q;
	return 0;
}

struct queue *queue_free(struct queue *q)
{
	if (!q)
		return NULL;
	cond_done(&q->changed);
	lock_done(&q->lock);
	return mem_free(q->mem, q);
}

int queue_put(struct queue *q, void *item)
{
	LOCK_SCOPE(&q->lock);
	if (q->closed)
		return -EPIPE;
	if (q->len == q->room)
		return -EAGAIN;
	q->items[(q->first + q->len++) % q->room] = item;
	cond_wake(&q->changed);
	return 0;
}

/* One wait, however often another thread was faster to take what came. */
__attribute__((noinline)) static void wait_for_item(struct queue *q)
{
	struct wait w;
	wait_begins(&w, WAIT_QUEUE);
	while (q->len == 0 && !q->closed)
		cond_wait_within(&q->changed, &q->lock);
	wait_ends(&w, NULL, __builtin_return_address(0));
}

int queue_take(struct queue *q, void **ret_item)
{
	LOCK_SCOPE(&q->lock);
	if (q->len == 0 && !q->closed)
		wait_for_item(q);
	if (q->len == 0)
		return -EPIPE;
	*ret_item = q->items[q->first];
	q->first = (q->first + 1) % q->room;
	q->len--;
	return 0;
}

void queue_close(struct queue *q)
{
	LOCK_SCOPE(&q->lock);
	q->closed = true;
	cond_wake_all(&q->changed);
}
