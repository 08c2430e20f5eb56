/* Whole datagrams through the responder: what comes back is well formed, fits, belongs to the
 * request, and never names an object before the one asked. */
#include "fuzz.h"
#include "sim/snmp/respond.h"
#include "sim/snmp/sample.h"
#include <assert.h>
#include <stdlib.h>

#define LONGEST 65507

static void check_names(const struct snmp_pdu *ask, const struct snmp_pdu *said)
{
	struct rd asked = rd_make(ask->list, ask->list_bytes);
	struct rd told = rd_make(said->list, said->list_bytes);
	struct snmp_binding a, b;
	while (snmp_next_binding(&asked, &a)) {
		struct oid_key before, now;
		assert(snmp_next_binding(&told, &b));
		assert(oid_key_from_ber(a.name, a.name_bytes, &before) == 0);
		assert(oid_key_from_ber(b.name, b.name_bytes, &now) == 0);
		int order = oid_key_cmp(before.b, before.n, now.b, now.n);
		bool same = ask->tag == SNMP_GET || b.value_tag == BER_END_OF_MIB_VIEW;
		assert(same ? order == 0 : order < 0);
	}
	assert(!snmp_next_binding(&told, &b));
}

static void read_back(const uint8_t *p, size_t bytes, int32_t *ret_version, struct snmp_pdu *ret)
{
	struct rd rest;
	enum snmp_bad bad;
	const uint8_t *community;
	size_t n;
	int r = snmp_read_version(p, bytes, ret_version, &rest, &bad);
	assert(r == 0);
	r = snmp_read_community(&rest, &community, &n, &bad);
	assert(r == 0);
	r = snmp_read_pdu(&rest, *ret_version, ret, &bad);
	assert(r == 0);
}

static void try(
	struct responder *r, const struct device *d, size_t max, const uint8_t *p, size_t bytes)
{
	uint8_t *out = malloc(RESPOND_ROOM(max)); /* exact, so that a sanitizer sees its end */
	const uint8_t *from = NULL;
	struct respond_ask ask = {d, SAMPLE_NOW_NS, p, bytes, max, out};
	assert(out);
	size_t n = respond(r, &ask, &from);
	if (n > 0) {
		struct snmp_pdu asked, said;
		int32_t version, same;
		assert(n <= max && from >= out && from + n <= out + RESPOND_ROOM(max));
		read_back(p, bytes, &version, &asked);
		read_back(from, n, &same, &said);
		assert(said.tag == SNMP_RESPONSE && same == version);
		assert(said.request_id == asked.request_id);
		if (said.error_status == SNMP_NO_ERROR && asked.tag != SNMP_GETBULK)
			check_names(&asked, &said);
		if (said.error_status != SNMP_NO_ERROR && said.list_bytes > 0)
			assert(said.list_bytes == asked.list_bytes &&
				memcmp(said.list, asked.list, said.list_bytes) == 0);
	}
	free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t bytes)
{
	static struct sample s; /* made once, for all inputs */
	static struct stats *stats;
	static struct responder *r;
	if (!r) {
		int e = stats_new(&mem_libc, &stats);
		if (e == 0)
			e = sample_make(&mem_libc, &s);
		struct responder_env env = {&mem_libc, stats};
		struct responder_conf conf = {NULL, LONGEST};
		if (e == 0)
			e = responder_new(&env, &conf, "snmp-0", &r);
		assert(e == 0);
	}
	try(r, &s.dev, 528, p, bytes);
	try(r, &s.dev, 1472, p, bytes);
	try(r, &s.dev, LONGEST, p, bytes);
	return 0;
}
