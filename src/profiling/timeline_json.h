/* Writes a timeline as Trace Event JSON, the object format, piece by piece. What it is made of is
 * borrowed. One thread. */
#pragma once
#include "base/text.h"
#include "profiling/kallsyms.h"
#include "profiling/timeline_store.h"
#include <sys/types.h>

struct timeline_json {
	const struct timeline_store *store; /* sorted */
	const struct timeline_track *const *tracks;
	unsigned n_tracks;
	uint32_t n_cpus; /* rows of processors */
	int pid;
	uint64_t start_ns, duration_ns;
	uint64_t lost_scopes;	       /* notes that found no room in a thread's ring */
	uint64_t lost_switches;	       /* records that found no room in the kernel's */
	uint64_t unseen_threads;       /* for want of memory */
	const struct kallsyms *kernel; /* names waits; NULL: they have none */
	const char *switches;	       /* the state */
	/* Its own. */
	uint64_t at;	   /* the next piece */
	struct text piece; /* and what was not yet read of the last */
	size_t read;
	bool comma;
};
/* As timeline_read. The caller frees piece with text_done. */
ssize_t timeline_json_read(struct timeline_json *j, char *buf, size_t room);
