/* Inside of the gate, shared by gate*.c. */
#pragma once
#include "base/span.h"
#include "base/thread.h"
#include "profiling/capture.h"
#include "profiling/cpu_windows.h"
#include "profiling/gate.h"
#include "profiling/push.h"

enum gate_job_kind { GATE_TURN, GATE_CAPTURE };
struct gate_job {
	struct gate *gate;
	unsigned refs;
	enum gate_job_kind kind;
	struct gate_done done;
	bool dropped;	       /* under the gate's lock */
	struct gate_job *next; /* queued, or among the captures under way */
	int r;
	struct span *span; /* below the asker's; ends with the outcome */
	/* A turn. */
	enum gate_opener by;
	bool enabled, has_address;
	char address[ADDRESS_BYTES], peer[64];
	uint64_t duration_ns;
	struct gate_status status;
	/* A capture. */
	struct capture capture;
	struct text body;
};

/* A state of the gate that can be gone back to. */
struct gate_pair {
	bool enabled;
	bool pull_only; /* asked for by name: the sink rests as well */
	char address[ADDRESS_BYTES];
};
/* A turn of the gate. The push that it ends sends what it has first, and meanwhile the gate's
 * thread has other things to do. */
struct gate_turning {
	struct gate_pair to;
	enum gate_opener by;
	char peer[64];
	char after[80];	      /* ends the line in the log */
	struct gate_job *job; /* NULL: nobody waits for it */
	uint64_t until_ns;    /* the push is not waited for any longer; 0: no turn is under way */
};
struct gate {
	struct gate_env env;
	struct gate_conf conf;
	struct lock lock; /* short; guards all below but where said */
	struct cond changed;
	struct thread *thread; /* the callers'; joined by who starts the next */
	bool running, stopping;
	struct gate_job *queue;
	struct gate_job *captures;	   /* under way; linked by the gate's thread alone */
	uint32_t under_way[CAPTURE_KINDS]; /* captures, those that are queued as well */
	struct gate_pair now;
	bool pushing;		    /* changes with now, when push has been exchanged already */
	bool push_has_cpu;	    /* no other may sample it, unless it is shared */
	bool sink_has_cpu;	    /* likewise */
	struct push *push;	    /* set and cleared by the gate's thread, which alone turns it */
	struct upload_status ended; /* of a push, until the turn that ended it shows */
	struct upload_totals totals;
	char last_error[320];	     /* of a push that could not start */
	struct gate_turning turning; /* of the gate's thread */
	struct cpu_windows sinking;  /* the sink's, and the gate's thread's */
	uint64_t sink_due_ns;	     /* 0: it rests */
	enum gate_opener opened_by;
	char peer[64];
	uint64_t opened_at_ns;
	char switches[96];		   /* may perf record them, as it was at the opening */
	struct symbols_info symbols_info;  /* copied: symbols are the gate thread's */
	bool revert_pending, revert_chain; /* chain: which way the first timed turn went */
	uint64_t revert_ns, revert_at_ns, revert_after_ns; /* monotonic, since 1970, how long */
	struct gate_pair revert_to;
	/* With heap_at_boot: of the whole life of the gate. */
	struct walker *boot_walker;
	struct heap *boot_heap;
	/* Parts are set and cleared under the lock by the gate's thread, which alone uses them. */
	struct capture_tools tools;
	uint64_t opens, closes, captures_made, captures_refused;
};

/* gate_run.c */
MUST_CHECK int gate_submit(struct gate *g, struct gate_job *j); /* takes over a reference */
void gate_finish(struct gate_job *j, int r);			/* the outcome; drops the gate's */
void gate_run(void *arg);
struct gate_job *gate_job_new(
	struct gate *g, enum gate_job_kind kind, const struct gate_done *done);
/* gate_push.c, on the gate's thread */
MUST_CHECK int gate_push_start(struct gate *g, const char *address, struct capture_tools *tools,
	struct fault *reterr_fault);
void gate_push_stop(struct gate *g);
/* gate_sink.c, on the gate's thread. The sink is to get windows from now on, or no more: then it
 * gets the last, however short it is. */
void gate_sink_set(struct gate *g, struct capture_tools *t, bool on);
void gate_sink_turn(struct gate *g);
/* gate_turn.c, on the gate's thread */
void gate_do_turn(struct gate *g, struct gate_job *j);
void gate_do_revert(struct gate *g);
void gate_shut(struct gate *g); /* at the end of the program */
/* The push has nothing left, or has had its time: what gate_do_turn and the like began goes on. */
void gate_end_turn(struct gate *g);
/* Ends all captures under way. */
void gate_end_captures(struct gate *g, const char *why);
