/* SET (RFC 3416 4.2.5): all bindings are tested, then all are committed, or nothing is. For the
 * keeper's thread. */
#pragma once
#include "sim/fleet/keeper.h"
#include "wire/snmp.h"

struct store;
struct set_ask {
	const struct device *dev;
	const uint8_t *list; /* bindings as snmp_read_pdu took them */
	size_t list_bytes;
	struct store *store; /* NULL: nothing survives */
};
/* Within a change's apply. SNMP_NO_ERROR, or an error of SNMPv2 with *reterr_index the binding at
 * fault from 1, and nothing has changed. What could not be made durable is told by the keeper. */
enum snmp_error set_apply(struct keeping *k, const struct set_ask *ask, int32_t *reterr_index);
/* The error that a version 1 manager is told (RFC 3584 4.4). */
enum snmp_error set_error_v1(enum snmp_error e);
/* What a change that the keeper refused with r is answered: the disk is full, or it was not kept.
 */
enum snmp_error set_error_of(int r);
