#include "fake.h"
#include "wire/oid.h"
#include "wire/snmp.h"

/* snmpget -v2c -c public, request 0x1234: sysDescr.0 and sysUpTime.0 */
static const uint8_t get2[] = {0x30, 54 - 2, 2, 1, 1, 4, 6, 'p', 'u', 'b', 'l', 'i', 'c', 0xa0, 39,
	2, 2, 0x12, 0x34, 2, 1, 0, 2, 1, 0, 0x30, 27, 0x30, 12, 6, 8, 0x2b, 6, 1, 2, 1, 1, 1, 0, 5,
	0, 0x30, 11, 6, 7, 0x2b, 6, 1, 2, 1, 1, 3, 5, 0};

static int read_all(const uint8_t *p, size_t n, struct snmp_pdu *pdu, enum snmp_bad *bad)
{
	int32_t version;
	struct rd rest;
	const uint8_t *community;
	size_t bytes;
	int r = snmp_read_version(p, n, &version, &rest, bad);
	if (r == 0)
		r = snmp_read_community(&rest, &community, &bytes, bad);
	if (r == 0)
		r = snmp_read_pdu(&rest, version, pdu, bad);
	return r;
}

START_TEST(a_request_is_read_in_place)
{
	int32_t version;
	struct rd rest;
	enum snmp_bad bad;
	ck_assert_int_eq(snmp_read_version(get2, sizeof(get2), &version, &rest, &bad), 0);
	ck_assert_int_eq(version, SNMP_V2C);
	const uint8_t *community;
	size_t bytes;
	ck_assert_int_eq(snmp_read_community(&rest, &community, &bytes, &bad), 0);
	ck_assert_uint_eq(bytes, 6);
	ck_assert_ptr_eq(community, get2 + 7);
	struct snmp_pdu pdu;
	ck_assert_int_eq(snmp_read_pdu(&rest, version, &pdu, &bad), 0);
	ck_assert_uint_eq(pdu.tag, SNMP_GET);
	ck_assert_int_eq(pdu.request_id, 0x1234);
	ck_assert_int_eq(pdu.error_status, 0);
	ck_assert_int_eq(pdu.error_index, 0);
	ck_assert_uint_eq(pdu.bindings, 2);
	ck_assert_ptr_eq(pdu.list, get2 + 27);
	ck_assert_uint_eq(pdu.list_bytes, 27);
	struct rd list = rd_make(pdu.list, pdu.list_bytes);
	struct snmp_binding b;
	ck_assert(snmp_next_binding(&list, &b));
	ck_assert_uint_eq(b.name_bytes, 8);
	ck_assert_ptr_eq(b.name, get2 + 31);
	ck_assert_uint_eq(b.value_tag, BER_NULL);
	ck_assert_uint_eq(b.value_bytes, 0);
	ck_assert(snmp_next_binding(&list, &b));
	ck_assert_uint_eq(b.name_bytes, 7);
	ck_assert(!snmp_next_binding(&list, &b));
}
END_TEST

/* Cut anywhere, a datagram is refused; so is one with a byte behind it. */
START_TEST(every_cut_is_refused)
{
	uint8_t buf[sizeof(get2) + 1];
	struct snmp_pdu pdu;
	enum snmp_bad bad;
	for (size_t n = 0; n < sizeof(get2); n++) {
		ck_assert_int_eq(read_all(get2, n, &pdu, &bad), -EBADMSG);
		ck_assert_int_eq(bad, SNMP_BAD_MESSAGE);
		if (n < 2)
			continue;
		/* The same with an outer length that fits what is left. */
		memcpy(buf, get2, n);
		buf[1] = (uint8_t)(n - 2);
		ck_assert_int_eq(read_all(buf, n, &pdu, &bad), -EBADMSG);
	}
	memcpy(buf, get2, sizeof(get2));
	buf[sizeof(get2)] = 0;
	ck_assert_int_eq(read_all(buf, sizeof(buf), &pdu, &bad), -EBADMSG);
	ck_assert_int_eq(bad, SNMP_BAD_MESSAGE);
}
END_TEST

START_TEST(what_is_wrong_is_told_apart)
{
	static const struct {
		size_t at;
		uint8_t byte;
		enum snmp_bad bad;
	} cases[] = {
		{0, 0x31, SNMP_BAD_MESSAGE},   /* no SEQUENCE */
		{1, 51, SNMP_BAD_MESSAGE},     /* ends early */
		{2, 4, SNMP_BAD_VERSION},      /* no INTEGER */
		{3, 0, SNMP_BAD_VERSION},      /* empty */
		{5, 2, SNMP_BAD_COMMUNITY},    /* no string */
		{6, 60, SNMP_BAD_COMMUNITY},   /* overruns */
		{13, 0xa4, SNMP_BAD_PDU_TYPE}, /* v1 trap in v2c */
		{13, 0xa9, SNMP_BAD_PDU_TYPE},
		{14, 38, SNMP_BAD_MESSAGE}, /* a byte behind the PDU */
		{15, 4, SNMP_BAD_PDU}, {20, 4, SNMP_BAD_PDU}, {25, 0x31, SNMP_BAD_LIST},
		{26, 28, SNMP_BAD_LIST},			    /* list overruns the PDU */
		{26, 26, SNMP_BAD_PDU},				    /* and a byte behind it */
		{27, 0x31, SNMP_BAD_LIST}, {42, 30, SNMP_BAD_LIST}, /* second binding overruns */
		{29, 4, SNMP_BAD_NAME},				    /* no OBJECT IDENTIFIER */
		{30, 0, SNMP_BAD_NAME},				    /* empty */
		{38, 0x86, SNMP_BAD_NAME},			    /* cut sub-identifier */
		{31, 0x80, SNMP_BAD_NAME},			    /* not minimal */
		{40, 1, SNMP_BAD_VALUE},			    /* overruns */
		{28, 10, SNMP_BAD_VALUE},			    /* no value */
	};
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		uint8_t buf[sizeof(get2)];
		memcpy(buf, get2, sizeof(buf));
		buf[cases[i].at] = cases[i].byte;
		struct snmp_pdu pdu;
		enum snmp_bad bad = SNMP_BAD_N;
		ck_assert_int_eq(read_all(buf, sizeof(buf), &pdu, &bad), -EBADMSG);
		ck_assert_msg(
			bad == cases[i].bad, "byte %zu = %#x: %d", cases[i].at, cases[i].byte, bad);
	}
}
END_TEST

START_TEST(two_values_or_none)
{
	static const uint8_t two[] = {0x30, 24, 2, 1, 1, 4, 0, 0xa0, 17, 2, 1, 1, 2, 1, 0, 2, 1, 0,
		0x30, 6, 0x30, 4, 6, 1, 0x2b, 5}; /* a value cut after its tag */
	static const uint8_t more[] = {0x30, 27, 2, 1, 1, 4, 0, 0xa0, 20, 2, 1, 1, 2, 1, 0, 2, 1, 0,
		0x30, 9, 0x30, 7, 6, 1, 0x2b, 5, 0, 5, 0};
	static const uint8_t empty[] = {
		0x30, 18, 2, 1, 1, 4, 0, 0xa0, 11, 2, 1, 1, 2, 1, 0, 2, 1, 0, 0x30, 0};
	struct snmp_pdu pdu;
	enum snmp_bad bad = SNMP_BAD_N;
	ck_assert_int_eq(read_all(two, sizeof(two), &pdu, &bad), -EBADMSG);
	ck_assert_int_eq(bad, SNMP_BAD_VALUE);
	bad = SNMP_BAD_N;
	ck_assert_int_eq(read_all(more, sizeof(more), &pdu, &bad), -EBADMSG);
	ck_assert_int_eq(bad, SNMP_BAD_VALUE);
	ck_assert_int_eq(read_all(empty, sizeof(empty), &pdu, &bad), 0);
	ck_assert_uint_eq(pdu.bindings, 0);
}
END_TEST

START_TEST(versions_have_their_pdus)
{
	static const struct {
		uint8_t version, tag;
		bool ok;
	} cases[] = {{0, 0xa0, true}, {0, 0xa3, true}, {0, 0xa5, false}, {0, 0xa6, false},
		{0, 0xa4, true}, {1, 0xa4, false}, {1, 0xa5, true}, {1, 0xa6, true},
		{1, 0xa7, true}, {1, 0xa8, true}, {1, 0xa9, false}, {1, 0x30, false}};
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		uint8_t buf[sizeof(get2)];
		memcpy(buf, get2, sizeof(buf));
		buf[4] = cases[i].version;
		buf[13] = cases[i].tag;
		struct snmp_pdu pdu = {0};
		enum snmp_bad bad = SNMP_BAD_N;
		int r = read_all(buf, sizeof(buf), &pdu, &bad);
		ck_assert_int_eq(r, cases[i].ok ? 0 : -EBADMSG);
		if (cases[i].ok)
			ck_assert_uint_eq(pdu.tag, cases[i].tag);
		else
			ck_assert_int_eq(bad, SNMP_BAD_PDU_TYPE);
	}
}
END_TEST

/* For lengths around every step of BER's length field: the room is the longest list that fits, the
 * head is as long as told, and what was written reads back. */
START_TEST(heads_fit_exactly)
{
	static uint8_t buf[70000], community[400];
	static const size_t communities[] = {0, 6, 127, 128, 300};
	static const int32_t ids[] = {0, 127, 128, -1, INT32_MAX, INT32_MIN};
	for (unsigned c = 0; c < ARRAY_SIZE(communities); c++) {
		for (unsigned i = 0; i < ARRAY_SIZE(ids); i++) {
			struct snmp_head h = {SNMP_V2C, community, communities[c], ids[i], 0, 300};
			for (size_t max = 0; max < 1500; max++) {
				size_t room = 0;
				int r = snmp_list_room(&h, max, &room);
				if (max < snmp_head_bytes(&h, 0)) {
					ck_assert_int_eq(r, -EMSGSIZE);
					continue;
				}
				ck_assert_int_eq(r, 0);
				ck_assert_uint_le(room + snmp_head_bytes(&h, room), max);
				ck_assert_uint_gt(room + 1 + snmp_head_bytes(&h, room + 1), max);
				size_t head = snmp_head_bytes(&h, room);
				ck_assert_uint_le(head, SNMP_HEAD_BYTES(h.community_bytes));
				struct bw w = bw_make(buf, head);
				snmp_back_head(&w, &h, room);
				ck_assert_int_eq(w.err, 0);
				ck_assert_ptr_eq(w.p, buf);
				w = bw_make(buf, head - 1);
				snmp_back_head(&w, &h, room);
				ck_assert_int_eq(w.err, -EMSGSIZE);
			}
		}
	}
}
END_TEST

START_TEST(a_response_reads_back)
{
	uint8_t buf[512];
	static const uint8_t name[] = {0x2b, 6, 1, 2, 1, 1, 3, 0};
	struct snmp_head h = {SNMP_V1, (const uint8_t *)"public", 6, -77, SNMP_NO_SUCH_NAME, 1};
	struct wr list = wr_make(buf + 64, 100);
	struct ber_value v = {.tag = BER_TIMETICKS, .u = 4711};
	snmp_put_binding(&list, name, sizeof(name), &v);
	v = (struct ber_value){.tag = BER_OCTET_STRING, .len = 60, .bytes = buf + 300};
	snmp_put_binding(&list, name, sizeof(name), &v);
	ck_assert_int_eq(list.err, 0);
	ck_assert_uint_eq(wr_len(&list), (2 + 10 + 4) + (2 + 10 + 62));
	snmp_put_binding(&list, name, sizeof(name), &v); /* does not fit any more */
	ck_assert_int_eq(list.err, -EMSGSIZE);
	ck_assert_uint_eq(wr_len(&list), 16 + 74);
	struct bw w = bw_make(buf, 64);
	snmp_back_head(&w, &h, wr_len(&list));
	size_t n = bw_len(&w) + wr_len(&list);
	ck_assert_uint_eq(n, snmp_head_bytes(&h, 90) + 90);
	struct snmp_pdu pdu;
	enum snmp_bad bad;
	ck_assert_int_eq(read_all(w.p, n, &pdu, &bad), 0);
	ck_assert_uint_eq(pdu.tag, SNMP_RESPONSE);
	ck_assert_int_eq(pdu.request_id, -77);
	ck_assert_int_eq(pdu.error_status, SNMP_NO_SUCH_NAME);
	ck_assert_int_eq(pdu.error_index, 1);
	ck_assert_uint_eq(pdu.bindings, 2);
	struct rd rest = rd_make(pdu.list, pdu.list_bytes);
	struct snmp_binding b;
	ck_assert(snmp_next_binding(&rest, &b));
	ck_assert_mem_eq(b.name, name, sizeof(name));
	ck_assert_uint_eq(b.value_tag, BER_TIMETICKS);
	ck_assert_uint_eq(b.value_bytes, 2);
	ck_assert_uint_eq(b.value[0] << 8 | b.value[1], 4711);
}
END_TEST

UNIT_MAIN(a_request_is_read_in_place, every_cut_is_refused, what_is_wrong_is_told_apart,
	two_values_or_none, versions_have_their_pdus, heads_fit_exactly, a_response_reads_back)
