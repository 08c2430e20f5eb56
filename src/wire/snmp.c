#include "wire/snmp.h"
#include "wire/oid.h"

static int bad(enum snmp_bad *reterr_bad, enum snmp_bad which)
{
	*reterr_bad = which;
	return -EBADMSG;
}

int snmp_read_version(const void *p, size_t bytes, int32_t *ret_version, struct rd *ret_rest,
	enum snmp_bad *reterr_bad)
{
	struct rd datagram = rd_make(p, bytes);
	struct rd rest = ber_expect(&datagram, BER_SEQUENCE);
	if (datagram.err || rd_left(&datagram) > 0)
		return bad(reterr_bad, SNMP_BAD_MESSAGE);
	int32_t version = (int32_t)ber_int(&rest, INT32_MIN, INT32_MAX);
	if (rest.err)
		return bad(reterr_bad, SNMP_BAD_VERSION);
	*ret_version = version;
	*ret_rest = rest;
	return 0;
}

int snmp_read_community(struct rd *rest, const uint8_t **ret_community, size_t *ret_bytes,
	enum snmp_bad *reterr_bad)
{
	struct rd community = ber_expect(rest, BER_OCTET_STRING);
	if (rest->err)
		return bad(reterr_bad, SNMP_BAD_COMMUNITY);
	*ret_community = community.p;
	*ret_bytes = rd_left(&community);
	return 0;
}

/* Checks every binding of the list and counts them. */
static int check_list(struct rd list, uint32_t *ret_bindings, enum snmp_bad *reterr_bad)
{
	uint32_t n = 0;
	for (; rd_left(&list) > 0; n++) {
		struct rd pair = ber_expect(&list, BER_SEQUENCE);
		if (list.err)
			return bad(reterr_bad, SNMP_BAD_LIST);
		struct rd name = ber_expect(&pair, BER_OID);
		if (pair.err || !oid_ber_is_valid(name.p, rd_left(&name)))
			return bad(reterr_bad, SNMP_BAD_NAME);
		uint8_t tag;
		(void)ber_any(&pair, &tag);
		if (pair.err || rd_left(&pair) > 0)
			return bad(reterr_bad, SNMP_BAD_VALUE);
	}
	*ret_bindings = n;
	return 0;
}

static bool pdu_exists(uint8_t tag, int32_t version)
{
	if (version == SNMP_V1)
		return tag >= SNMP_GET && tag <= SNMP_TRAP_V1;
	return tag >= SNMP_GET && tag <= SNMP_REPORT && tag != SNMP_TRAP_V1;
}

int snmp_read_pdu(
	struct rd *rest, int32_t version, struct snmp_pdu *ret_pdu, enum snmp_bad *reterr_bad)
{
	struct snmp_pdu pdu = {0};
	struct rd body = ber_any(rest, &pdu.tag);
	if (rest->err || rd_left(rest) > 0)
		return bad(reterr_bad, SNMP_BAD_MESSAGE);
	if (!pdu_exists(pdu.tag, version))
		return bad(reterr_bad, SNMP_BAD_PDU_TYPE);
	if (pdu.tag != SNMP_TRAP_V1) {
		pdu.request_id = (int32_t)ber_int(&body, INT32_MIN, INT32_MAX);
		pdu.error_status = (int32_t)ber_int(&body, INT32_MIN, INT32_MAX);
		pdu.error_index = (int32_t)ber_int(&body, INT32_MIN, INT32_MAX);
		if (body.err)
			return bad(reterr_bad, SNMP_BAD_PDU);
		struct rd list = ber_expect(&body, BER_SEQUENCE);
		if (body.err)
			return bad(reterr_bad, SNMP_BAD_LIST);
		if (rd_left(&body) > 0)
			return bad(reterr_bad, SNMP_BAD_PDU);
		pdu.list = list.p;
		pdu.list_bytes = rd_left(&list);
		int r = check_list(list, &pdu.bindings, reterr_bad);
		if (r < 0)
			return r;
	}
	*ret_pdu = pdu;
	return 0;
}

bool snmp_next_binding(struct rd *list, struct snmp_binding *ret_binding)
{
	if (rd_left(list) == 0)
		return false;
	struct rd pair = ber_expect(list, BER_SEQUENCE);
	struct rd name = ber_expect(&pair, BER_OID);
	uint8_t tag;
	struct rd value = ber_any(&pair, &tag);
	*ret_binding = (struct snmp_binding){name.p, rd_left(&name), tag, value.p, rd_left(&value)};
	return !pair.err;
}

/* A SEQUENCE, a PDU or a string: tag, length, content. */
static size_t tlv_bytes(size_t content)
{
	return 1 + ber_len_bytes(content) + content;
}

/* What of a header does not depend on the list: the numbers of the PDU, and what precedes it. */
struct fixed {
	size_t pdu, message;
};
static struct fixed fixed_bytes(const struct snmp_head *h)
{
	return (struct fixed){ber_int_bytes(h->request_id) + ber_int_bytes(h->error_status) +
				      ber_int_bytes(h->error_index),
		ber_int_bytes(h->version) + tlv_bytes(h->community_bytes)};
}
static size_t message_bytes(const struct fixed *f, size_t list_bytes)
{
	return tlv_bytes(f->message + tlv_bytes(f->pdu + tlv_bytes(list_bytes)));
}

size_t snmp_head_bytes(const struct snmp_head *h, size_t list_bytes)
{
	struct fixed f = fixed_bytes(h);
	return message_bytes(&f, list_bytes) - list_bytes;
}

int snmp_list_room(const struct snmp_head *h, size_t max_bytes, size_t *ret_room)
{
	struct fixed f = fixed_bytes(h);
	if (message_bytes(&f, 0) > max_bytes)
		return -EMSGSIZE;
	/* A header in front of max_bytes of list is as long as one can be: begin with what it
	 * leaves, and take what shorter lengths give back. */
	size_t over = message_bytes(&f, max_bytes) - max_bytes;
	size_t room = over < max_bytes ? max_bytes - over : 0;
	while (message_bytes(&f, room + 1) <= max_bytes)
		room++;
	*ret_room = room;
	return 0;
}

void snmp_back_pdu(struct bw *w, uint8_t tag, const struct snmp_head *h, size_t list_bytes)
{
	const uint8_t *list_end = w->p + list_bytes;
	ber_back_header(w, BER_SEQUENCE, list_bytes);
	ber_back_int(w, h->error_index);
	ber_back_int(w, h->error_status);
	ber_back_int(w, h->request_id);
	ber_back_header(w, tag, (size_t)(list_end - w->p));
}

void snmp_back_head(struct bw *w, const struct snmp_head *h, size_t list_bytes)
{
	const uint8_t *list_end = w->p + list_bytes;
	snmp_back_pdu(w, SNMP_RESPONSE, h, list_bytes);
	ber_back_bytes(w, BER_OCTET_STRING, h->community, h->community_bytes);
	ber_back_int(w, h->version);
	ber_back_header(w, BER_SEQUENCE, (size_t)(list_end - w->p));
}

void snmp_put_binding(struct wr *w, const uint8_t *oid, size_t oid_bytes, const struct ber_value *v)
{
	size_t pair = tlv_bytes(oid_bytes) + ber_value_bytes(v);
	uint8_t *to = wr_room(w, tlv_bytes(pair));
	if (UNLIKELY(!to))
		return;
	*to++ = BER_SEQUENCE;
	to = ber_write_len(to, pair);
	*to++ = BER_OID;
	to = ber_write_len(to, oid_bytes);
	memcpy(to, oid, oid_bytes);
	(void)ber_write_value(to + oid_bytes, v);
}
