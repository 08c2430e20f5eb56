/* The settings of nl6-check. */
#pragma once
#include "base/flag.h"

struct check_conf {
	bool help, version;
	const char *convert; /* "-": standard output; NULL: only check */
	struct flag_list mibs;
	uint32_t most; /* faults told of a file; 0: all */
};
extern const struct flag_set check_flags[];
extern const char *const check_alone_flags[];
extern const char check_usage[];
