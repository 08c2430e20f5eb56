#include "profiling/push.h"
#include <errno.h>
#include <stdlib.h>

bool push_is_diverted(void)
{
	return getenv(PUSH_FOREIGN_VARIABLE) != NULL;
}

int push_start(const char *address UNUSED, struct fault *reterr_fault)
{
	if (push_is_diverted())
		return fault_set(reterr_fault, -ENOSYS, "", NULL,
			PUSH_FOREIGN_VARIABLE " is set in the environment: clients of Pyroscope "
					      "would push there instead");
	return fault_set(reterr_fault, -ENOSYS, "", NULL, "the push is not in this build");
}
