#include "fake.h"
#include "wire/usm.h"

/* A message around a GET of nothing, written by the codec. */
static const uint8_t engine[] = {0x80, 0, 0x7e, 0xd9, 3, 2, 0x42, 10, 0, 0, 1};
static struct usm_out out_make(uint8_t flags, size_t mac_bytes)
{
	return (struct usm_out){.msg_id = 0x7fffffff,
		.max_size = 65507,
		.flags = flags,
		.engine_id = engine,
		.engine_id_bytes = sizeof(engine),
		.boots = 0x7fffffff,
		.time = 200,
		.user = (const uint8_t *)"ops",
		.user_bytes = 3,
		.mac_bytes = mac_bytes,
		.salt = "saltsalt",
		.context_engine_id = engine,
		.context_engine_id_bytes = sizeof(engine),
		.context = (const uint8_t *)"blue",
		.context_bytes = 4};
}

static size_t build(const struct usm_out *o, uint8_t *buf, size_t room, const uint8_t **ret_p,
	uint8_t **ret_mac)
{
	struct bw w = bw_make(buf, room);
	struct snmp_head head = {.request_id = 77};
	snmp_back_pdu(&w, SNMP_GET, &head, 0);
	usm_back_scoped(&w, o, bw_len(&w));
	usm_back_message(&w, o, bw_len(&w), ret_mac);
	ck_assert_int_eq(w.err, 0);
	*ret_p = w.p;
	return bw_len(&w);
}

static int read_all(const uint8_t *p, size_t n, struct usm_header *h, struct usm_params *u)
{
	int32_t version;
	struct rd rest;
	enum snmp_bad bad;
	int r = snmp_read_version(p, n, &version, &rest, &bad);
	if (r == 0 && version != SNMP_V3)
		r = -EBADMSG;
	if (r == 0)
		r = usm_read_header(&rest, h);
	if (r == 0)
		r = usm_read_params(h->params, h->params_bytes, u);
	return r;
}

START_TEST(what_is_written_is_read)
{
	static const size_t macs[] = {0, 12, 16, 24, 32, 48};
	for (unsigned i = 0; i < ARRAY_SIZE(macs); i++) {
		uint8_t buf[512], *mac;
		const uint8_t *p;
		struct usm_header h;
		struct usm_params u;
		struct usm_scoped s;
		struct snmp_pdu pdu;
		enum snmp_bad bad;
		uint8_t flags = macs[i] ? USM_AUTH : 0;
		struct usm_out o = out_make(flags, macs[i]);
		size_t n = build(&o, buf, sizeof(buf), &p, &mac);
		ck_assert_uint_le(n, usm_head_bytes(&o));
		ck_assert_int_eq(read_all(p, n, &h, &u), 0);
		ck_assert_int_eq(h.msg_id, 0x7fffffff);
		ck_assert_int_eq(h.max_size, 65507);
		ck_assert_uint_eq(h.flags, flags);
		ck_assert_int_eq(h.model, USM_MODEL);
		ck_assert_uint_eq(u.boots, 0x7fffffff);
		ck_assert_uint_eq(u.time, 200);
		ck_assert_uint_eq(u.mac_bytes, macs[i]);
		ck_assert_ptr_eq(u.mac, mac);
		ck_assert_uint_eq(u.salt_bytes, 0);
		ck_assert(u.user_bytes == 3 && memcmp(u.user, "ops", 3) == 0);
		ck_assert_int_eq(usm_read_scoped(h.data, h.data_bytes, false, &s), 0);
		ck_assert(s.context_bytes == 4 && memcmp(s.context, "blue", 4) == 0);
		ck_assert_mem_eq(s.engine_id, engine, sizeof(engine));
		ck_assert_int_eq(snmp_read_pdu(&s.pdu, SNMP_V3, &pdu, &bad), 0);
		ck_assert_int_eq(pdu.request_id, 77);
	}
}
END_TEST

START_TEST(cipher_text_is_a_string)
{
	uint8_t buf[512], *mac;
	const uint8_t *p, *text;
	size_t n;
	struct usm_header h;
	struct usm_params u;
	struct usm_scoped s;
	struct usm_out o = out_make(USM_AUTH | USM_PRIV, 12);
	size_t bytes = build(&o, buf, sizeof(buf), &p, &mac);
	ck_assert_int_eq(read_all(p, bytes, &h, &u), 0);
	ck_assert(u.salt_bytes == 8 && memcmp(u.salt, "saltsalt", 8) == 0);
	ck_assert_int_eq(usm_read_encrypted(h.data, h.data_bytes, &text, &n), 0);
	ck_assert_int_eq(usm_read_scoped(text, n, false, &s), 0);
	ck_assert_int_eq(usm_read_scoped(h.data, h.data_bytes, false, &s), -EBADMSG);
	/* Padding is for ciphers alone. */
	uint8_t padded[512] = {0};
	memcpy(padded, text, n);
	ck_assert_int_eq(usm_read_scoped(padded, n + 5, true, &s), 0);
	ck_assert_int_eq(usm_read_scoped(padded, n + 5, false, &s), -EBADMSG);
}
END_TEST

/* Every prefix, and every byte but one, is read in bounds; no prefix is a message. */
START_TEST(cut_and_damaged)
{
	uint8_t buf[512], copy[512], *mac;
	const uint8_t *p;
	struct usm_header h;
	struct usm_params u;
	struct usm_out o = out_make(USM_AUTH, 12);
	size_t n = build(&o, buf, sizeof(buf), &p, &mac);
	for (size_t cut = 0; cut < n; cut++)
		ck_assert_int_eq(read_all(p, cut, &h, &u), -EBADMSG);
	unsigned taken = 0;
	for (size_t at = 0; at < n; at++)
		for (unsigned bit = 0; bit < 8; bit++) {
			memcpy(copy, p, n);
			copy[at] ^= (uint8_t)(1u << bit);
			taken += read_all(copy, n, &h, &u) == 0;
		}
	ck_assert_uint_gt(taken, 0);
	ck_assert_uint_lt(taken, n * 8);
}
END_TEST

#define ID "\x02\x01\x05"
#define SIZE "\x02\x02\x05\xdc"
#define FLAGS "\x04\x01\x04"
#define MODEL "\x02\x01\x03"
static const struct {
	const char *what, *bytes;
	size_t n;
	int r;
} headers[] = {
#define HEADER(what, bytes, r) \
	{ \
		what, bytes, sizeof(bytes) - 1, r \
	}
	HEADER("right", "\x30\x0d" ID SIZE FLAGS MODEL "\x04\x00\x30\x00", 0),
	HEADER("size 484", "\x30\x0d" ID "\x02\x02\x01\xe4" FLAGS MODEL "\x04\x00\x30\x00", 0),
	HEADER("size 483", "\x30\x0d" ID "\x02\x02\x01\xe3" FLAGS MODEL "\x04\x00\x30\x00",
		-EBADMSG),
	HEADER("negative id", "\x30\x0d\x02\x01\xff" SIZE FLAGS MODEL "\x04\x00\x30\x00", -EBADMSG),
	HEADER("two flags", "\x30\x0e" ID SIZE "\x04\x02\x04\x00" MODEL "\x04\x00\x30\x00",
		-EBADMSG),
	HEADER("no flags", "\x30\x0c" ID SIZE "\x04\x00" MODEL "\x04\x00\x30\x00", -EBADMSG),
	HEADER("model 0", "\x30\x0d" ID SIZE FLAGS "\x02\x01\x00\x04\x00\x30\x00", -EBADMSG),
	HEADER("more in it", "\x30\x0f" ID SIZE FLAGS MODEL "\x05\x00\x04\x00\x30\x00", -EBADMSG),
	HEADER("more behind", "\x30\x0d" ID SIZE FLAGS MODEL "\x04\x00\x30\x00\x05\x00", -EBADMSG),
	HEADER("no data", "\x30\x0d" ID SIZE FLAGS MODEL "\x04\x00", -EBADMSG),
};

START_TEST(headers_are_judged)
{
	for (unsigned i = 0; i < ARRAY_SIZE(headers); i++) {
		struct rd rest = rd_make(headers[i].bytes, headers[i].n);
		struct usm_header h;
		ck_assert_msg(usm_read_header(&rest, &h) == headers[i].r, "%s", headers[i].what);
	}
}
END_TEST

UNIT_MAIN(what_is_written_is_read, cipher_text_is_a_string, cut_and_damaged, headers_are_judged)
