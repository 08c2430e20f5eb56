/* The events of a timeline: an array of fixed size and, for each thread, the scopes that are open.
 * Every scope that is stored as entered is stored as left, whatever room there is: an event is
 * taken only while the room that open scopes owe is kept. The timeline owns it; one thread at a
 * time. */
#pragma once
#include "base/scopes.h"
#include <stdbool.h>
#include <stdint.h>

#define TIMELINE_DEPTH 32

enum timeline_kind {
	TIMELINE_ENTER, /* a label's scope */
	TIMELINE_LEAVE,
	TIMELINE_OFF, /* off the processor */
	TIMELINE_ON,  /* on it */
};
struct timeline_event {
	uint64_t at_ns, for_ns; /* monotonic; for_ns of OFF and ON */
	uint64_t what;		/* struct label *; of OFF the kernel's pc or 0; of ON the cpu */
	uint32_t seq;		/* order of those at one time */
	uint16_t track;
	uint8_t kind;	/* enum timeline_kind */
	bool preempted; /* of OFF; else it blocked */
};
/* One thread's. */
struct timeline_track {
	int tid;
	uint16_t index;
	char name[16];
	bool begun;				  /* the label it had at first is known */
	uint64_t since_ns;			  /* when its recording began */
	unsigned depth, deeper;			  /* scopes open; of them beyond TIMELINE_DEPTH */
	const struct label *open[TIMELINE_DEPTH]; /* NULL: not stored */
};
struct timeline_store {
	struct timeline_event *events;
	uint32_t n, max;
	uint32_t owed;	  /* scopes that are stored as entered only */
	uint64_t dropped; /* events that found no room */
};

/* Maps room for max events; it is taken as it fills. -ENOMEM. */
MUST_CHECK int timeline_store_init(struct timeline_store *s, uint32_t max);
void timeline_store_done(struct timeline_store *s);
/* Takes an ON or OFF, seq is given by the store. */
void timeline_store_add(struct timeline_store *s, struct timeline_event event);
/* Takes what a thread noted. */
void timeline_store_apply(
	struct timeline_store *s, struct timeline_track *t, const struct scopes_record *rec);
/* The thread ends, or the recording: leaves all scopes. label: the thread's, should it have noted
 * nothing. */
void timeline_store_close(struct timeline_store *s, struct timeline_track *t,
	const struct label *label, uint64_t at_ns);
/* Puts the events in the order of time. */
void timeline_store_sort(struct timeline_store *s);
