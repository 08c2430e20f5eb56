/* Requests that wait for the profiler's gate: between what was asked of it and the answer. */
#pragma once
#include "api/request.h"
#include "base/attr.h"
#include "profiling/gate.h"

/* Makes *ret_done wake the request. gate_wait_end must follow. -ENOMEM. */
MUST_CHECK int gate_wait_begin(struct request *rq, struct gate_done *ret_done);
/* r: what the gate said to the asking. 0: the request, which takes the job over as rq->work, goes
 * on with resume when there is an outcome: -EINPROGRESS. Else nothing waits: r. */
MUST_CHECK int gate_wait_end(
	struct request *rq, int r, struct gate_job *job, int (*resume)(struct request *rq));
