/* Frames that stand for no code: what a profile has to say in a stack's place. Their addresses are
 * distinct, stable, and below any code, so that they can be put among program counters. */
#pragma once
#include "profiling/unwind.h"
#include <stdbool.h>
#include <stdint.h>

#define SAID_START 0x1000
#define SAID_LIMIT 0x2000
enum said {
	/* 0 .. UNWIND_ENDS - 1: why a walk was cut short, by enum unwind_end. */
	SAID_FOLDED = UNWIND_ENDS, /* went over the limits of a profile */
	SAID_LOST_RING_FULL,
	SAID_LOST_FOREIGN_STACK,
	SAID_BEFORE,	    /* memory that was allocated before anybody counted */
	SAID_NO_ANSWER,	    /* a thread that did not give its stack in time */
	SAID_MEMORY,	    /* no memory to note the stack */
	SAID_UNLOCK_UNSEEN, /* a lock was free before its waiter could ask who drops it */
	SAID_ELSEWHERE,	    /* blocked, by the kernel's word, outside of our own waits */
	SAID_N
};
static inline uintptr_t said_pc(enum said what)
{
	return SAID_START + 16 * (uintptr_t)what;
}
static inline bool said_is(uintptr_t pc)
{
	return pc >= SAID_START && pc < SAID_LIMIT;
}
/* "[lost: ring full]": the name of the frame at pc, which said_is. Valid for good. */
const char *said_text(uintptr_t pc);
