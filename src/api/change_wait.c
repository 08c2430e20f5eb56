#include "api/change_wait.h"
#include "api/api.h"
#include "sim/fleet/store.h"
#include <errno.h>
#include <string.h>

static void drop(void *work)
{
	struct change_wait *w = work;
	if (__atomic_sub_fetch(&w->refs, 1, __ATOMIC_ACQ_REL) == 0)
		mem_free(w->mem, w);
}

static void done(struct change *c, int r)
{
	struct change_wait *w = CONTAINER_OF(c, struct change_wait, change);
	struct later *later = w->later;
	w->result = r;
	if (w->told)
		w->told(w, r);
	drop(w); /* the wake, which comes after it, orders result before the request's read */
	later_wake(later, false);
	(void)later_unref(later);
}

int change_wait(struct request *rq, struct change_wait *w, int (*resume)(struct request *rq))
{
	w->mem = rq->mem;
	w->refs = 2;
	w->change.done = done;
	int r = later_new(rq->mem, &rq->later);
	if (r == 0) {
		w->later = later_ref(rq->later);
		r = keeper_submit(api_env(rq->api)->keeper, &w->change);
		if (r < 0)
			(void)later_unref(rq->later);
	}
	if (r < 0) {
		mem_free(rq->mem, w);
		return fault_set(&rq->fault, r, "", NULL,
			r == -EAGAIN ? "too many changes wait: try again"
				     : "the program is stopping");
	}
	rq->work = w;
	rq->work_done = drop;
	rq->resume = resume;
	return -EINPROGRESS;
}

int change_refused(struct request *rq, int r)
{
	const struct api_env *env = api_env(rq->api);
	if (r == -ENOENT)
		return fault_set(
			&rq->fault, r, "", NULL, "no device %.80s", request_param(rq, "id"));
	if (env->store && (r == -ENOSPC || r == -EROFS))
		return store_refusal(env->store, r, &rq->fault);
	return fault_set(&rq->fault, r, "", NULL, "the change could not be kept: %s",
		r == -ESHUTDOWN ? "the program is stopping" : strerrordesc_np(-r));
}
