/* Notes of a thread's label scopes, while someone wants them: the thread writes a record at each
 * change of its label into a ring of its own, and whoever attached the ring reads it. */
#pragma once
#include "base/clk.h"
#include "base/ring.h"
#include "base/self.h"
#include <stdbool.h>
#include <stdint.h>

/* A thread's; in place from scopes_attach to scopes_detach. */
struct scopes {
	struct ring ring; /* of struct scopes_record */
	const struct clk *clk;
	bool missed;   /* the thread's: the ring was full since the last record */
	uint64_t lost; /* records that found no room; written by the thread */
};
struct scopes_record {
	uint32_t words; /* the ring's */
	uint8_t how;	/* enum label_change */
	bool missed;	/* records before this one were lost */
	uint64_t at_ns; /* monotonic */
	const struct label *from, *to;
};
/* The thread notes its changes to s from now on. Its label at this moment is the first record's
 * from or, while there is none, its label. Within the registry's lock, or in the thread itself. */
void scopes_attach(struct self *thread, struct scopes *s);
/* The thread no longer writes to what was attached when this returns; likewise. */
void scopes_detach(struct self *thread);
