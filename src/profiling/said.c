#include "profiling/said.h"

const char *said_text(uintptr_t pc)
{
	static const char *const text[SAID_N] = {
		[UNWIND_ENTRY] = "[entry]",
		[UNWIND_DEEP] = "[truncated: depth]",
		[UNWIND_NO_TABLE] = "[truncated: no unwind table]",
		[UNWIND_BAD_STACK] = "[truncated: bad stack]",
		[UNWIND_BAD_PC] = "[truncated: bad pc]",
		[UNWIND_EXPRESSION] = "[truncated: unknown expression]",
		[SAID_FOLDED] = "[folded: over the limits of a profile]",
		[SAID_LOST_RING_FULL] = "[lost: ring full]",
		[SAID_LOST_FOREIGN_STACK] = "[lost: foreign stack]",
		[SAID_BEFORE] = "[allocated before profiling]",
		[SAID_NO_ANSWER] = "[no answer]",
		[SAID_MEMORY] = "[folded: no memory]",
		[SAID_ELSEWHERE] = "[blocked outside of our own waits]",
		[SAID_UNLOCK_UNSEEN] = "[unlock not seen]",
	};
	uintptr_t i = (pc - SAID_START) / 16;
	return i < SAID_N && text[i] ? text[i] : "[?]";
}
