/* Answers that walk the fleet: made while they are sent, a slice of devices at a time. Readers'
 * locks are taken for a slice only, so a slow client holds nothing. */
#pragma once
#include "api/request.h"
#include "base/addr.h"
#include "base/text.h"
#include "sim/fleet/fleet.h"

struct walk;
/* All on the API's thread; they write to t. */
struct walk_ops {
	void (*head)(struct walk *w, struct text *t);
	/* Within RCU_SCOPE. false: this device is not part of the answer, nothing was written. */
	bool (*row)(struct walk *w, struct text *t, const struct device *d);
	/* last: the address of the last row before the limit if there are more, else NULL. */
	void (*tail)(struct walk *w, struct text *t, const struct addr *last);
	/* Would the device be a row? NULL: every one is. Within RCU_SCOPE. */
	bool (*fits)(struct walk *w, const struct device *d);
};
/* Embed it first in what your rows need; all of it is freed with mem. */
struct walk {
	const struct mem *mem;
	const struct fleet *fleet;
	const struct walk_ops *ops;
	struct addr after; /* the last device looked at */
	bool has_after;
	uint64_t limit; /* rows left to write */
	uint64_t rows;	/* written */
	/* the walk's own */
	int at;
	struct addr last;
	struct text out;
	size_t taken;
};

/* Allocates bytes (>= sizeof(struct walk)), zeroed but for the members above out of rq, limit
 * UINT64_MAX. NULL: no memory. */
MUST_CHECK void *walk_new(struct request *rq, size_t bytes, const struct walk_ops *ops);
/* Answers with it; takes it over. */
void walk_reply(struct request *rq, const char *type, struct walk *w);
void walk_free(struct walk *w);
