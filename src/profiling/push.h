/* The push: what came in each window of 15 s, as profiles, to be uploaded (upload.h). All on the
 * gate's thread, but for push_status and push_is_idle. */
#pragma once
#include "profiling/capture.h"
#include "profiling/push_conf.h"

#define PUSH_WINDOW_NS (15 * NS_PER_SEC)
/* How long what is left may take at the end: two uploads. */
#define PUSH_FLUSH_NS (2 * UPLOAD_TIMEOUT_NS)

struct push;
struct push_env { /* borrowed */
	const struct mem *mem;
	const struct clk *clk;
	const char *version; /* of the program */
	struct upload_totals *totals;
	/* May the push sample the CPU from now on? Then until it drops it. */
	bool (*take_cpu)(void *arg);
	void (*drop_cpu)(void *arg);
	/* Is a window of the CPU that ends now delivered another way? */
	bool (*cpu_is_carried)(void *arg);
	void (*idle)(void *arg); /* see upload.h */
	void *arg;
};
/* Begins the first window; does not touch the network. -EINVAL (PUSH_CONF_FOREIGN is set) and
 * -EAGAIN (no thread) with a fault; -ENOMEM. */
MUST_CHECK int push_start(const struct push_env *env, const struct push_conf *conf,
	const char *address, struct capture_tools *t, struct push **ret_push,
	struct fault *reterr_fault);
/* When push_turn is due, monotonic; UINT64_MAX: never again. */
uint64_t push_due_ns(const struct push *p);
/* Ends a window and begins the next. */
void push_turn(struct push *p, struct capture_tools *t);
/* Ends the last window, however short it is. What is to be uploaded goes on its way. */
void push_finish(struct push *p, struct capture_tools *t);
bool push_is_idle(struct push *p);
/* Forgets what is not uploaded; after push_finish. Takes NULL. */
struct push *push_stop(struct push *p);
void push_status(struct push *p, struct upload_status *ret_status);
