/* A bounded, closable queue of pointers between threads, any number of which put and take. First
 * in, first out. The items are the callers'. */
#pragma once
#include "base/attr.h"
#include "base/mem.h"
#include <stdint.h>

struct queue;
/* room: 1..QUEUE_ROOM_MAX entries. -ENOMEM. */
#define QUEUE_ROOM_MAX 65536
MUST_CHECK int queue_new(const struct mem *mem, uint32_t room, struct queue **ret_q);
struct queue *queue_free(struct queue *q); /* must be empty or hold borrowed pointers */
CLEANUP(queue);
/* -EAGAIN: full; -EPIPE: closed. */
MUST_CHECK int queue_put(struct queue *q, void *item);
/* Waits for an item. -EPIPE: closed and empty. */
MUST_CHECK int queue_take(struct queue *q, void **ret_item);
/* Refuses what comes from now on; what is queued may still be taken. Wakes all who wait. */
void queue_close(struct queue *q);
