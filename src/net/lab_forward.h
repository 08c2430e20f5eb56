/* Whether the host's packet filter may drop what it forwards to and from the fleet, and the command
 * that would let it through; read only. The lab thread owns it. */
#pragma once
#include "base/text.h"
#include "net/nl.h"

struct lab_forward; /* sockets of the namespace it was made in */
MUST_CHECK int lab_forward_new(const struct mem *mem, struct lab_forward **ret_f);
struct lab_forward *lab_forward_free(struct lab_forward *f);
CLEANUP(lab_forward);
/* Appends the command for all forward hooks that drop by policy or have rules: one shell line that
 * lets packets of these families to and from the interface pass. Nothing if none does. Needs
 * CAP_NET_ADMIN. */
void lab_forward_hint(struct lab_forward *f, const char *link, bool v4, bool v6, struct text *t);
