/* An answer that comes later: the meeting point of a parked connection and the one who will wake
 * it. Reference-counted, since either may be gone first; any thread. */
#pragma once
#include "base/attr.h"
#include "base/mem.h"
#include <stdbool.h>

struct later;
/* One reference, the caller's. -ENOMEM. */
MUST_CHECK int later_new(const struct mem *mem, struct later **ret_later);
struct later *later_ref(struct later *l);
struct later *later_unref(struct later *l); /* takes NULL, returns NULL */

/* Parks: calls park(arg) unless it was woken before (-EALREADY). A wake then calls unpark(arg)
 * once. Both run under a lock of later's. */
MUST_CHECK int later_park(
	struct later *l, void (*park)(void *arg), void (*unpark)(void *arg), void *arg);
/* Wakes: by whoever has finished the work, or (gone) because the client has left or the server
 * stops. Only the first wake counts. */
void later_wake(struct later *l, bool gone);
bool later_is_gone(struct later *l);
/* The connection ends: no unpark after this returns. */
void later_forget(struct later *l);
