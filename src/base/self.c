#include "base/self.h"
#include <stddef.h>

_Static_assert(offsetof(struct self, label) == 0, "custom_labels_current_set is an alias");

/* The label is there before thread_adopt, for threads that nobody adopts. */
_Thread_local struct self nl6_self SELF_TLS = {.label = &label_main};
_Thread_local const struct label_context *otel_thread_ctx_v1 SELF_TLS = &label_main.context;

/* The custom-labels ABI v1: a struct label begins with its labelset, so the thread's label is the
 * current set under another name. Only other processes read these; no header declares the alias,
 * since the compiler takes two names for two objects. */
extern _Thread_local const struct label *custom_labels_current_set
	__attribute__((alias("nl6_self"), used)) SELF_TLS;
extern const uint32_t custom_labels_abi_version EXPORT;
const uint32_t custom_labels_abi_version __attribute__((used, retain)) = 1;
