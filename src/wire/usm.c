#include "wire/usm.h"

int usm_read_header(struct rd *rest, struct usm_header *ret_header)
{
	struct usm_header h = {0};
	struct rd global = ber_expect(rest, BER_SEQUENCE);
	h.msg_id = (int32_t)ber_int(&global, 0, INT32_MAX);
	h.max_size = (int32_t)ber_int(&global, USM_MAX_SIZE_LEAST, INT32_MAX);
	struct rd flags = ber_expect(&global, BER_OCTET_STRING);
	h.model = (int32_t)ber_int(&global, 1, INT32_MAX);
	if (global.err || rd_left(&global) > 0 || rd_left(&flags) != 1)
		return -EBADMSG;
	h.flags = flags.p[0];
	struct rd params = ber_expect(rest, BER_OCTET_STRING);
	h.params = params.p;
	h.params_bytes = rd_left(&params);
	if (rest->err)
		return -EBADMSG;
	h.data = rest->p;
	uint8_t tag;
	(void)ber_any(rest, &tag);
	if (rest->err || rd_left(rest) > 0)
		return -EBADMSG;
	h.data_bytes = (size_t)(rest->p - h.data);
	*ret_header = h;
	return 0;
}

static const uint8_t *read_string(struct rd *r, size_t *ret_bytes)
{
	struct rd s = ber_expect(r, BER_OCTET_STRING);
	*ret_bytes = rd_left(&s);
	return s.p;
}

int usm_read_params(const uint8_t *p, size_t bytes, struct usm_params *ret_params)
{
	struct usm_params u;
	struct rd whole = rd_make(p, bytes);
	struct rd r = ber_expect(&whole, BER_SEQUENCE);
	if (whole.err || rd_left(&whole) > 0)
		return -EBADMSG;
	u.engine_id = read_string(&r, &u.engine_id_bytes);
	u.boots = (uint32_t)ber_int(&r, 0, INT32_MAX);
	u.time = (uint32_t)ber_int(&r, 0, INT32_MAX);
	u.user = read_string(&r, &u.user_bytes);
	u.mac = read_string(&r, &u.mac_bytes);
	u.salt = read_string(&r, &u.salt_bytes);
	if (r.err || rd_left(&r) > 0 || u.user_bytes > USM_USER_BYTES)
		return -EBADMSG;
	*ret_params = u;
	return 0;
}

int usm_read_encrypted(const uint8_t *p, size_t bytes, const uint8_t **ret_p, size_t *ret_bytes)
{
	struct rd r = rd_make(p, bytes);
	size_t n;
	const uint8_t *s = read_string(&r, &n);
	if (r.err || rd_left(&r) > 0)
		return -EBADMSG;
	*ret_p = s;
	*ret_bytes = n;
	return 0;
}

int usm_read_scoped(const uint8_t *p, size_t bytes, bool padded, struct usm_scoped *ret_scoped)
{
	struct usm_scoped s;
	struct rd whole = rd_make(p, bytes);
	struct rd r = ber_expect(&whole, BER_SEQUENCE);
	if (whole.err || (!padded && rd_left(&whole) > 0))
		return -EBADMSG;
	s.engine_id = read_string(&r, &s.engine_id_bytes);
	s.context = read_string(&r, &s.context_bytes);
	if (r.err)
		return -EBADMSG;
	s.pdu = r;
	*ret_scoped = s;
	return 0;
}

/* Bytes of the longest header of a string or sequence of less than 64 KiB, and of a number. */
#define LONG_HEADER 4u
#define NUMBER 6u

size_t usm_head_bytes(const struct usm_out *o)
{
	/* The header of the message, its version, msgGlobalData. */
	size_t n = LONG_HEADER + 3 + 2 + 2 * NUMBER + 3 + 3;
	/* The parameters: two headers that may be of three bytes, six fields. */
	n += 3 + 3 + 2 + o->engine_id_bytes + 2 * NUMBER + 2 + o->user_bytes + 2 + o->mac_bytes +
	     2 + USM_SALT_BYTES;
	/* encryptedPDU with its padding, the scoped PDU, the PDU's header and its list's. */
	n += LONG_HEADER + 7 + LONG_HEADER + 2 + o->context_engine_id_bytes + 3 + o->context_bytes;
	return n + LONG_HEADER + 3 * NUMBER + LONG_HEADER;
}

void usm_back_scoped(struct bw *w, const struct usm_out *o, size_t pdu_bytes)
{
	const uint8_t *end = w->p + pdu_bytes;
	ber_back_bytes(w, BER_OCTET_STRING, o->context, o->context_bytes);
	ber_back_bytes(w, BER_OCTET_STRING, o->context_engine_id, o->context_engine_id_bytes);
	ber_back_header(w, BER_SEQUENCE, (size_t)(end - w->p));
}

void usm_back_message(struct bw *w, const struct usm_out *o, size_t data_bytes, uint8_t **ret_mac)
{
	static const uint8_t zeros[USM_MAC_BYTES] = {0};
	const uint8_t *end = w->p + data_bytes;
	if (o->flags & USM_PRIV)
		ber_back_header(w, BER_OCTET_STRING, data_bytes);
	const uint8_t *params_end = w->p;
	ber_back_bytes(w, BER_OCTET_STRING, o->salt, o->flags & USM_PRIV ? USM_SALT_BYTES : 0);
	bw_bytes(w, zeros, o->mac_bytes);
	*ret_mac = w->p;
	ber_back_header(w, BER_OCTET_STRING, o->mac_bytes);
	ber_back_bytes(w, BER_OCTET_STRING, o->user, o->user_bytes);
	ber_back_int(w, o->time);
	ber_back_int(w, o->boots);
	ber_back_bytes(w, BER_OCTET_STRING, o->engine_id, o->engine_id_bytes);
	ber_back_header(w, BER_SEQUENCE, (size_t)(params_end - w->p));
	ber_back_header(w, BER_OCTET_STRING, (size_t)(params_end - w->p));
	const uint8_t *global_end = w->p;
	ber_back_int(w, USM_MODEL);
	ber_back_bytes(w, BER_OCTET_STRING, &o->flags, 1);
	ber_back_int(w, o->max_size);
	ber_back_int(w, o->msg_id);
	ber_back_header(w, BER_SEQUENCE, (size_t)(global_end - w->p));
	ber_back_int(w, SNMP_V3);
	ber_back_header(w, BER_SEQUENCE, (size_t)(end - w->p));
}
