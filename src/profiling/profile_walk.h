/* Puts counts by stack into a profile of whatever format: looks the addresses up and tells a writer
 * of mappings, functions, locations and samples. The public side of a profile for who sends it in
 * a way of his own (trace/linked.h). */
#pragma once
#include "base/attr.h"
#include "profiling/stacks.h"
#include "profiling/symbol.h"
#include "wire/pprof.h"
#include <stdbool.h>

/* A writer. Ids are its own; a location is identified by its address. */
struct profile_out {
	/* Before a stack: true when its sample has room; else it is summed in a sample at the end.
	 */
	bool (*has_room)(void *arg);
	uint32_t (*mapping)(void *arg, const struct pprof_mapping *m);
	uint32_t (*function)(
		void *arg, const char *name, const char *system_name, const char *file);
	bool (*find_location)(void *arg, uint64_t address, uint32_t *ret_id);
	/* lines[0] is the innermost inlined function. */
	uint32_t (*location)(void *arg, uint32_t mapping, uint64_t address,
		const struct pprof_line *lines, uint32_t n_lines);
	/* Locations leaf first. The stack tells values, label, number and span. */
	void (*sample)(void *arg, const uint32_t *locations, uint32_t n, const struct stack *stack);
	void *arg;
};
/* n_values: of each stack; what has none of them above 0, or one below, is left out. The caller has
 * refreshed the symbols. -ENOMEM. */
MUST_CHECK int profile_walk(struct symbols *symbols, const struct stacks *stacks, unsigned n_values,
	const struct profile_out *out);
