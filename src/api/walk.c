#include "api/walk.h"
#include "api/api.h"
#include "base/rcu.h"
#include <errno.h>
#include <string.h>

/* Devices looked at, and about what is written, within one reader section. */
#define SLICE_DEVICES 512
#define SLICE_BYTES (64u << 10)

enum { WALK_HEAD, WALK_ROWS, WALK_PEEK, WALK_TAIL, WALK_END };

void *walk_new(struct request *rq, size_t bytes, const struct walk_ops *ops)
{
	struct walk *w = mem_zalloc(rq->mem, bytes);
	if (!w)
		return NULL;
	w->mem = rq->mem;
	w->fleet = api_env(rq->api)->fleet;
	w->ops = ops;
	w->limit = UINT64_MAX;
	w->out = (struct text)TEXT(rq->mem);
	return w;
}

void walk_free(struct walk *w)
{
	text_done(&w->out);
	mem_free(w->mem, w);
}

/* Looks at one device; false: this was the last slice's end of interest. */
static bool visit(struct walk *w, const struct device *d)
{
	if (w->at == WALK_PEEK) {
		/* Past the limit: is there one more? */
		if (w->ops->fits && !w->ops->fits(w, d))
			return true;
		w->ops->tail(w, &w->out, &w->last);
		w->at = WALK_END;
		return false;
	}
	if (!w->ops->row(w, &w->out, d))
		return true;
	w->rows++;
	w->last = d->addr;
	if (--w->limit == 0)
		w->at = WALK_PEEK;
	return w->out.len < SLICE_BYTES;
}

static void slice(struct walk *w)
{
	RCU_SCOPE;
	for (unsigned i = 0; i < SLICE_DEVICES; i++) {
		const struct device *d = fleet_next(w->fleet, w->has_after ? &w->after : NULL);
		if (!d) {
			w->at = WALK_TAIL;
			return;
		}
		w->after = d->addr;
		w->has_after = true;
		if (!visit(w, d))
			return;
	}
}

/* Makes more text: at least a byte, unless at the end. */
static void produce(struct walk *w)
{
	text_clear(&w->out);
	w->taken = 0;
	switch (w->at) {
	case WALK_HEAD:
		w->at = WALK_ROWS;
		w->ops->head(w, &w->out);
		break;
	case WALK_ROWS:
	case WALK_PEEK:
		slice(w);
		break;
	case WALK_TAIL:
		w->at = WALK_END;
		w->ops->tail(w, &w->out, NULL);
		break;
	}
	/* Whoever waits while nothing fits sees that there is life; blank lines mean nothing. */
	if (w->out.len == 0 && w->at != WALK_END)
		text_put(&w->out, "\n");
}

static ssize_t walk_read(void *arg, char *buf, size_t room)
{
	struct walk *w = arg;
	if (w->taken == w->out.len) {
		if (w->at == WALK_END)
			return REPLY_STREAM_END;
		produce(w);
		if (w->out.err < 0)
			return w->out.err;
		if (w->out.len == 0)
			return REPLY_STREAM_END;
	}
	size_t n = MIN(room, w->out.len - w->taken);
	memcpy(buf, w->out.s + w->taken, n);
	w->taken += n;
	return (ssize_t)n;
}

static void walk_done(void *arg)
{
	walk_free(arg);
}

void walk_reply(struct request *rq, const char *type, struct walk *w)
{
	struct reply_stream stream = {walk_read, walk_done, w};
	reply_streamed(rq, type, &stream);
}
