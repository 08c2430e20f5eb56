#include "api/gate_wait.h"
#include <errno.h>

static void on_done(void *arg)
{
	struct later *l = arg;
	later_wake(l, false);
	(void)later_unref(l);
}

static void drop_job(void *job)
{
	(void)gate_job_drop(job);
}

int gate_wait_begin(struct request *rq, struct gate_done *ret_done)
{
	int r = later_new(rq->mem, &rq->later);
	if (r == 0)
		*ret_done = (struct gate_done){on_done, later_ref(rq->later)};
	return r;
}

int gate_wait_end(
	struct request *rq, int r, struct gate_job *job, int (*resume)(struct request *rq))
{
	if (r < 0) {
		(void)later_unref(rq->later);
		return r;
	}
	rq->work = job;
	rq->work_done = drop_job;
	rq->resume = resume;
	return -EINPROGRESS;
}
