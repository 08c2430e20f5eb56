/* The books of create batches: for each batch whose devices live, the range that was prepared for
 * them. Part of batch.c, which locks. */
#pragma once
#include "base/addr.h"
#include "base/mem.h"

/* Settings of creates, as store_create_rest tells them; shared by those that follow each other. */
struct batch_wish {
	uint32_t refs;
	char text[];
};
struct batch_holding {
	struct batch_holding *next;
	struct addr first, last;
	struct batch_wish *wish;
	uint32_t count; /* asked for */
	uint32_t batch;
	uint16_t snmp_port;
	bool open;    /* the create has not ended */
	int64_t live; /* devices; less while open: those deleted already */
};
struct batch_book {
	const struct mem *mem;
	struct batch_holding **bucket; /* by batch */
	uint32_t n, n_buckets;	       /* a power of two, or 0 */
	struct batch_holding *dead;    /* to undo */
	struct batch_wish *last_wish;  /* a reference */
};
void batch_book_done(struct batch_book *b); /* forgets all */
/* Opens a holding with the address range, count and snmp_port of *holding. -ENOMEM. */
MUST_CHECK int batch_book_open(struct batch_book *b, uint32_t batch,
	const struct batch_holding *holding, const char *wish);
void batch_book_free(struct batch_book *b, struct batch_holding *h);
/* NULL: it is not known. */
const struct batch_holding *batch_book_find(const struct batch_book *b, uint32_t batch);
/* The range could not be prepared: there is nothing to undo. */
void batch_book_forget(struct batch_book *b, uint32_t batch);
/* The create ended, having made so many devices in all. */
void batch_book_close(struct batch_book *b, uint32_t batch, uint64_t created);
/* Devices that live of a batch whose create ended; 0 when it is not known, -1 while it is open. */
int64_t batch_book_live(const struct batch_book *b, uint32_t batch);
/* n devices of the batch are gone. */
void batch_book_gone(struct batch_book *b, uint32_t batch, uint64_t n);
/* A holding that has lost its last device and is to be undone, then freed by the caller; NULL:
 * there is none. */
struct batch_holding *batch_book_dead(struct batch_book *b);
