#include "serve.h"
#include <errno.h>

int serve_run(struct work *w, struct halt *halt, struct fault *reterr_fault)
{
	(void)w;
	(void)halt;
	return fault_set(reterr_fault, -ENOSYS, "-listen", NULL, "not yet");
}
