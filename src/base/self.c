#include "base/self.h"

/* The label is there before thread_adopt, for threads that nobody adopts. */
_Thread_local struct self nl6_self __attribute__((tls_model("local-exec")))
EXPORT = {.label = &label_main};
