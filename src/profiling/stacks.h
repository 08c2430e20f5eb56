/* Counts by stack: the table behind every profile. Equal stacks with equal labels are one entry, so
 * what is written is merged. One thread or one lock owns each. */
#pragma once
#include "base/attr.h"
#include "base/label.h"
#include "base/mem.h"
#include "profiling/said.h"
#include "profiling/unwind.h"
#include <stdbool.h>
#include <stdint.h>

#define STACKS_VALUES 4
/* Distinct spans in a table; each makes entries of its own of the stacks it is in. Stacks of
 * further ones are kept without their span. */
#define STACKS_SPANS 4096
/* Ids of the span a sample was taken in; all 0: none. */
struct stack_span {
	uint8_t trace_id[16], span_id[8];
	const char *name; /* of the route; lives as long as the process */
};
struct stack {
	const struct label *label;     /* NULL: none */
	const struct stack_span *span; /* in the table, or NULL */
	int64_t values[STACKS_VALUES];
	uint64_t number; /* a numeric label (heap: bytes of an object); 0: none */
	uint8_t end;	 /* enum unwind_end */
	uint16_t n;
	const uintptr_t *pcs; /* leaf first; call sites */
};
struct stacks;
/* max: entries; further stacks are counted in the entry of the folded, see stacks_folded. */
MUST_CHECK int stacks_new(const struct mem *mem, uint32_t max, struct stacks **ret_stacks);
struct stacks *stacks_free(struct stacks *s);
CLEANUP(stacks);
/* Adds the values of *add to its entry; what add points to is copied (label and span name are not).
 * Without memory it goes to the folded entry. False: its span was not kept. */
bool stacks_add(struct stacks *s, const struct stack *add);
/* Adds values to the entry of what stands for no stack: one frame, under label. */
void stacks_add_said(struct stacks *s, enum said what, const struct label *label,
	const int64_t values[STACKS_VALUES]);
/* Adds every entry of from, but what that has folded. */
void stacks_add_all(struct stacks *s, const struct stacks *from);
/* For each entry, in the order of first addition. */
void stacks_each(
	const struct stacks *s, void (*fn)(void *arg, const struct stack *stack), void *arg);
uint32_t stacks_count(const struct stacks *s);
uint32_t stacks_spans(const struct stacks *s);
/* values[0] of what was added with a span that was not kept. */
int64_t stacks_unlinked(const struct stacks *s);
/* Takes the spans of which drop says so from their stacks, which merge with their like; further
 * ones of them are not taken. -ENOMEM: nothing is changed. */
MUST_CHECK int stacks_unlink(
	struct stacks **s, bool (*drop)(void *arg, const struct stack_span *span), void *arg);
/* Sums of what found no room; values all 0: nothing. */
const struct stack *stacks_folded(const struct stacks *s);
void stacks_clear(struct stacks *s); /* keeps the memory */
uint64_t stacks_bytes(const struct stacks *s);
