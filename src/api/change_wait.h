/* Requests that wait for a change of a device to be kept. */
#pragma once
#include "api/request.h"
#include "sim/fleet/keeper.h"

struct change_wait {	      /* the first member of what the handler allocates */
	struct change change; /* addr and apply are the handler's, as is told (may be NULL) */
	/* On the keeper's thread, once it is done with r. */
	void (*told)(struct change_wait *w, int r);
	struct later *later;
	const struct mem *mem;
	uint32_t refs; /* the request's and the keeper's */
	int result;
};
/* Hands w over, whose memory is of rq->mem and which is freed on failure, too. The request goes on
 * with resume when w->result tells how it went; w is rq->work then. -EINPROGRESS; -EAGAIN: too many
 * changes wait; -ESHUTDOWN, -ENOMEM. */
MUST_CHECK int change_wait(
	struct request *rq, struct change_wait *w, int (*resume)(struct request *rq));
/* The answer to one that did not come about, with r: says why in the request's fault. Returns r. */
int change_refused(struct request *rq, int r);
