#include "fake.h"
#include "sim/snmp/respond.h"
#include "sim/snmp/sample.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define MTU_PAYLOAD 1472
#define COMMUNITY "public"

struct bench {
	struct fake f;
	struct stats *stats;
	struct sample s;
	struct responder *r;
	size_t max_bytes;
	uint8_t out[RESPOND_ROOM(65507)];
	uint64_t objects;
};

static struct bench *bench_make(const char *community)
{
	struct bench *b = calloc(1, sizeof(*b));
	ck_assert_ptr_nonnull(b);
	b->f = fake_make();
	b->max_bytes = MTU_PAYLOAD;
	ck_assert_int_eq(stats_new(b->f.mem, &b->stats), 0);
	ck_assert_int_eq(sample_make(b->f.mem, &b->s), 0);
	struct responder_env env = {b->f.mem, b->stats};
	struct responder_conf conf = {community, 65507};
	ck_assert_int_eq(responder_new(&env, &conf, "snmp-0", &b->r), 0);
	return b;
}

static void bench_done(struct bench *b)
{
	responder_free(b->r);
	sample_done(&b->s);
	stats_free(b->stats);
	fake_done(&b->f);
	free(b);
}

struct want_counter {
	const char *field;
	uint64_t value;
};
static void find_counter(
	void *arg, const struct counter *c, const char *name UNUSED, uint64_t value)
{
	struct want_counter *w = arg;
	if (strcmp(c->field, w->field) == 0)
		w->value = value;
}
static uint64_t counter(struct bench *b, const char *field)
{
	struct want_counter w = {field, UINT64_MAX};
	stats_each(b->stats, find_counter, &w);
	ck_assert_msg(w.value != UINT64_MAX, "no counter %s", field);
	return w.value;
}

struct request {
	int32_t version;
	uint8_t tag;
	int32_t a, b;	   /* error-status and error-index, or non-repeaters and max-repetitions */
	const char *names; /* OIDs with a blank between */
};

/* Builds the request into the end of buf and returns its first byte. */
static uint8_t *build(const struct request *q, const char *community, uint8_t *buf, size_t room,
	size_t *ret_bytes)
{
	static char names[64 << 10];
	static uint8_t list[64 << 10];
	struct wr w = wr_make(list, sizeof(list));
	struct ber_value null = {.tag = BER_NULL};
	ck_assert_uint_lt(strlen(q->names), sizeof(names));
	strcpy(names, q->names);
	char *at = names;
	for (char *name; (name = strsep(&at, " "));) {
		struct oid o;
		uint8_t ber[OID_BER_BYTES];
		if (!*name)
			continue;
		ck_assert_int_eq(oid_parse(name, &o), 0);
		int n = oid_to_ber(&o, ber, sizeof(ber));
		ck_assert_int_gt(n, 0);
		snmp_put_binding(&w, ber, (size_t)n, &null);
	}
	ck_assert_int_eq(w.err, 0);
	struct bw back = bw_make(buf, room);
	ber_back_bytes(&back, BER_SEQUENCE, list, wr_len(&w));
	ber_back_int(&back, q->b);
	ber_back_int(&back, q->a);
	ber_back_int(&back, 4711);
	ber_back_header(&back, q->tag, bw_len(&back));
	ber_back_bytes(&back, BER_OCTET_STRING, community, strlen(community));
	ber_back_int(&back, q->version);
	ber_back_header(&back, BER_SEQUENCE, bw_len(&back));
	ck_assert_int_eq(back.err, 0);
	*ret_bytes = bw_len(&back);
	return back.p;
}

/* A response as text: "error/index name=value …"; "-" for none. */
static void put_response_text(struct bench *b, const uint8_t *p, size_t bytes, FILE *to)
{
	int32_t version;
	struct rd rest;
	enum snmp_bad bad;
	const uint8_t *community;
	size_t community_bytes;
	struct snmp_pdu pdu;
	ck_assert_int_eq(snmp_read_version(p, bytes, &version, &rest, &bad), 0);
	ck_assert_int_eq(snmp_read_community(&rest, &community, &community_bytes, &bad), 0);
	ck_assert_int_eq(snmp_read_pdu(&rest, version, &pdu, &bad), 0);
	ck_assert_uint_eq(pdu.tag, SNMP_RESPONSE);
	ck_assert_int_eq(pdu.request_id, 4711);
	fprintf(to, "%d/%d", pdu.error_status, pdu.error_index);
	struct rd list = rd_make(pdu.list, pdu.list_bytes);
	struct snmp_binding binding;
	b->objects = pdu.bindings;
	while (snmp_next_binding(&list, &binding)) {
		struct oid o;
		char text[OID_TEXT_BYTES];
		ck_assert_int_eq(oid_from_ber(binding.name, binding.name_bytes, &o), 0);
		fprintf(to, " %s=", oid_text(&o, text, sizeof(text)));
		switch (binding.value_tag) {
		case BER_NULL:
			fprintf(to, "null");
			break;
		case BER_NO_SUCH_OBJECT:
			fprintf(to, "no-object");
			break;
		case BER_NO_SUCH_INSTANCE:
			fprintf(to, "no-instance");
			break;
		case BER_END_OF_MIB_VIEW:
			fprintf(to, "end");
			break;
		case BER_OCTET_STRING:
			fprintf(to, "\"%.*s\"", (int)MIN(binding.value_bytes, (size_t)4),
				(const char *)binding.value);
			break;
		default: { /* short: its tag and length are the two bytes before it */
			struct rd r = rd_make(binding.value - 2, binding.value_bytes + 2);
			struct ber_value v = ber_get_value(&r);
			ck_assert_int_eq(r.err, 0);
			fprintf(to, "%c%llu", "icgt?o6"[v.tag == BER_INTEGER ? 0 : v.tag - 0x40],
				(unsigned long long)v.u);
		}
		}
	}
}

/* What the responder says, as text; the caller frees. */
static char *say_bytes(struct bench *b, const uint8_t *p, size_t bytes, size_t *ret_bytes)
{
	struct respond_ask ask = {&b->s.dev, SAMPLE_NOW_NS, p, bytes, b->max_bytes, b->out};
	const uint8_t *from = NULL;
	memset(b->out, 0xee, sizeof(b->out));
	size_t n = respond(b->r, &ask, &from);
	char *text = NULL;
	size_t text_bytes;
	FILE *to = open_memstream(&text, &text_bytes);
	ck_assert_ptr_nonnull(to);
	if (n > 0) {
		ck_assert_uint_le(n, b->max_bytes);
		ck_assert(from >= b->out && from + n <= b->out + RESPOND_ROOM(b->max_bytes));
		put_response_text(b, from, n, to);
	} else {
		fprintf(to, "-");
	}
	fclose(to);
	*ret_bytes = n;
	return text;
}

static size_t check(struct bench *b, const struct request *q, const char *want)
{
	static uint8_t buf[65507];
	size_t n, got;
	uint8_t *p = build(q, COMMUNITY, buf, sizeof(buf), &n);
	char *text = say_bytes(b, p, n, &got);
	ck_assert_msg(strcmp(text, want) == 0, "v%d %#x %d %d %.60s\n got %.400s\nwant %.400s",
		q->version, q->tag, q->a, q->b, q->names, text, want);
	free(text);
	return got;
}

#define SYS "1.3.6.1.2.1.1."
#define IF "1.3.6.1.2.1.2.2.1."
#define IFX "1.3.6.1.2.1.31.1.1.1."
#define CISCO "1.3.6.1.4.1.9."

static const struct {
	struct request q;
	const char *want;
} cases[] = {
	/* GET */
	{{SNMP_V2C, SNMP_GET, 0, 0, SYS "1.0"}, "0/0 " SYS "1.0=\"dev\""},
	{{SNMP_V1, SNMP_GET, 0, 0, SYS "1.0"}, "0/0 " SYS "1.0=\"dev\""},
	{{SNMP_V2C, SNMP_GET, 0, 0, IF "5.2 " SYS "3.0 " IF "5.1 " IFX "6.2"},
		"0/0 " IF "5.2=g128 " SYS "3.0=t12300 " IF "5.1=g4294967295 " IFX "6.2=62"},
	{{SNMP_V2C, SNMP_GET, 7, 9, SYS "1.0 " SYS "1.0"},
		"0/0 " SYS "1.0=\"dev\" " SYS "1.0=\"dev\""},
	/* instances and objects that are not there */
	{{SNMP_V2C, SNMP_GET, 0, 0, SYS "1 " SYS "1.1 " SYS "1.0.0 " SYS "2.0 " SYS "1.0"},
		"0/0 " SYS "1=no-instance " SYS "1.1=no-instance " SYS "1.0.0=no-instance " SYS
		"2.0=no-object " SYS "1.0=\"dev\""},
	{{SNMP_V2C, SNMP_GET, 0, 0,
		 IF "1.3 " IF "1 " IF "5.0 " IF "2.1 1.3.6.1.2.1.2.2.1 0.0 2.9.9"},
		"0/0 " IF "1.3=no-instance " IF "1=no-instance " IF "5.0=no-instance " IF
		"2.1=no-object 1.3.6.1.2.1.2.2.1=no-object 0.0=no-object 2.9.9=no-object"},
	{{SNMP_V1, SNMP_GET, 0, 0, SYS "1.0 " SYS "1.1 0.0"},
		"2/2 " SYS "1.0=null " SYS "1.1=null 0.0=null"},
	{{SNMP_V1, SNMP_GET, 0, 0, IFX "6.1"}, "2/1 " IFX "6.1=null"},
	{{SNMP_V1, SNMP_GET, 0, 0, SYS "1.0 " IFX "18.1 " CISCO "2.0 " IFX "6.1"},
		"2/3 " SYS "1.0=null " IFX "18.1=null " CISCO "2.0=null " IFX "6.1=null"},
	/* nothing asked, nothing told */
	{{SNMP_V2C, SNMP_GET, 0, 0, ""}, "0/0"},
	{{SNMP_V1, SNMP_GET, 0, 0, ""}, "0/0"},
	{{SNMP_V1, SNMP_GETNEXT, 0, 0, ""}, "0/0"},
	{{SNMP_V2C, SNMP_GETBULK, 0, 10, ""}, "0/0"},
	/* GETNEXT */
	{{SNMP_V2C, SNMP_GETNEXT, 0, 0, "0.0"}, "0/0 " SYS "1.0=\"dev\""},
	{{SNMP_V2C, SNMP_GETNEXT, 0, 0, SYS "1.0 " SYS "1 " IF "1.1 " IF "1.2 " IF "2"},
		"0/0 " SYS "3.0=t12300 " SYS "1.0=\"dev\" " IF "1.2=i2 " IF "5.1=g4294967295 " IF
		"5.1=g4294967295"},
	{{SNMP_V2C, SNMP_GETNEXT, 0, 0, IF "5.2 " CISCO "1.0 " CISCO "2.0 2.1"},
		"0/0 1.3.6.1.2.1.11.1.0=c1 " CISCO "2.0=618446744073709551615 " CISCO
		"2.0=end 2.1=end"},
	/* v1 skips Counter64, also where names repeat, and where nothing else follows */
	{{SNMP_V1, SNMP_GETNEXT, 0, 0, "1.3.6.1.2.1.11.1.0 " IFX "6.1 " IFX "6 " IFX "7.1"},
		"0/0 " IFX "18.1=\"\" " IFX "18.1=\"\" " IFX "18.1=\"\" " IFX "18.1=\"\""},
	{{SNMP_V1, SNMP_GETNEXT, 0, 0, IFX "18.1 " CISCO "1.0"},
		"2/2 " IFX "18.1=null " CISCO "1.0=null"},
	{{SNMP_V1, SNMP_GETNEXT, 0, 0, "2.5"}, "2/1 2.5=null"},
	/* GETBULK */
	{{SNMP_V2C, SNMP_GETBULK, 0, 3, IF "1"},
		"0/0 " IF "1.1=i1 " IF "1.2=i2 " IF "5.1=g4294967295"},
	{{SNMP_V2C, SNMP_GETBULK, 1, 2, SYS "1 " IF "1 " IF "5"},
		"0/0 " SYS "1.0=\"dev\" " IF "1.1=i1 " IF "5.1=g4294967295 " IF "1.2=i2 " IF
		"5.2=g128"},
	{{SNMP_V2C, SNMP_GETBULK, 9, 5, SYS "1 " SYS "3"},
		"0/0 " SYS "1.0=\"dev\" " SYS "3.0=t12300"},
	{{SNMP_V2C, SNMP_GETBULK, 1, 0, SYS "1 " SYS "3"}, "0/0 " SYS "1.0=\"dev\""},
	{{SNMP_V2C, SNMP_GETBULK, 0, 0, SYS "1 " SYS "3"}, "0/0"},
	{{SNMP_V2C, SNMP_GETBULK, -7, 1, SYS "1"}, "0/0 " SYS "1.0=\"dev\""},
	{{SNMP_V2C, SNMP_GETBULK, 0, -1, SYS "1"}, "0/0"},
	{{SNMP_V2C, SNMP_GETBULK, INT32_MAX, INT32_MAX, SYS "1"}, "0/0 " SYS "1.0=\"dev\""},
	/* a column at its end is padded under its last name; all at the end: no more rounds */
	{{SNMP_V2C, SNMP_GETBULK, 0, 4, IF "5.2 " CISCO "1.0"},
		"0/0 1.3.6.1.2.1.11.1.0=c1 " CISCO "2.0=618446744073709551615 " IFX "6.1=61 " CISCO
		"2.0=end " IFX "6.2=62 " CISCO "2.0=end " IFX "7.1=63 " CISCO "2.0=end"},
	{{SNMP_V2C, SNMP_GETBULK, 0, 9, CISCO "1.0 2.5"},
		"0/0 " CISCO "2.0=618446744073709551615 2.5=end " CISCO "2.0=end 2.5=end"},
	{{SNMP_V2C, SNMP_GETBULK, 1, 9, CISCO "2.0 2.5 2.6"},
		"0/0 " CISCO "2.0=end 2.5=end 2.6=end"},
	/* SET: nothing can be set */
	{{SNMP_V2C, SNMP_SET, 0, 0, SYS "1.0 " SYS "9.0"}, "17/1 " SYS "1.0=null " SYS "9.0=null"},
	{{SNMP_V1, SNMP_SET, 0, 0, SYS "1.0"}, "2/1 " SYS "1.0=null"},
	{{SNMP_V2C, SNMP_SET, 0, 0, ""}, "0/0"},
	/* not for an agent, or not of this version */
	{{SNMP_V2C, SNMP_RESPONSE, 0, 0, SYS "1.0"}, "-"},
	{{SNMP_V2C, SNMP_TRAP, 0, 0, SYS "1.0"}, "-"},
	{{SNMP_V2C, SNMP_INFORM, 0, 0, SYS "1.0"}, "-"},
	{{SNMP_V2C, SNMP_REPORT, 0, 0, SYS "1.0"}, "-"},
	{{SNMP_V1, SNMP_TRAP_V1, 0, 0, SYS "1.0"}, "-"},
	{{SNMP_V1, SNMP_GETBULK, 0, 1, SYS "1.0"}, "-"},
	{{2, SNMP_GET, 0, 0, SYS "1.0"}, "-"},
	{{SNMP_V3, SNMP_GET, 0, 0, SYS "1.0"}, "-"},
	{{-1, SNMP_GET, 0, 0, SYS "1.0"}, "-"},
};

START_TEST(requests_and_their_answers)
{
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bench *b = bench_make(NULL); /* anew, as the snmp group counts */
		check(b, &cases[i].q, cases[i].want);
		bench_done(b);
	}
}
END_TEST

/* A walk by GETNEXT, one by GETBULK of any size and the table agree; names rise. */
START_TEST(walks_agree)
{
	struct bench *b = bench_make("");
	for (int repetitions = 0; repetitions < 20; repetitions++) {
		struct request q = {SNMP_V2C, SNMP_GETNEXT, 0, 0, "0.0"};
		if (repetitions > 0)
			q = (struct request){SNMP_V2C, SNMP_GETBULK, 0, repetitions, "0.0"};
		char last[OID_TEXT_BYTES] = "0.0";
		unsigned rows = 0;
		for (bool end = false; !end;) {
			static uint8_t buf[2000];
			size_t n, got;
			q.names = last;
			uint8_t *p = build(&q, COMMUNITY, buf, sizeof(buf), &n);
			char *text = say_bytes(b, p, n, &got), *at = text;
			ck_assert_int_eq(strncmp(text, "0/0 ", 4), 0);
			(void)strsep(&at, " ");
			for (char *pair; !end && (pair = strsep(&at, " "));) {
				char *name = strsep(&pair, "=");
				struct oid before, now;
				ck_assert_int_eq(oid_parse(last, &before), 0);
				ck_assert_int_eq(oid_parse(name, &now), 0);
				end = strcmp(pair, "end") == 0;
				ck_assert_int_lt(oid_cmp(&before, &now), end ? 1 : 0);
				strcpy(last, name);
				rows += !end;
			}
			free(text);
		}
		ck_assert_uint_eq(rows, b->s.type.table.n);
	}
	bench_done(b);
}
END_TEST

/* GETBULK: at every limit the response is the longest prefix of the whole one that fits. */
START_TEST(bulk_is_cut_exactly)
{
	struct bench *b = bench_make(NULL);
	static uint8_t buf[2000];
	struct request q = {SNMP_V2C, SNMP_GETBULK, 0, 12, "0.0"};
	size_t n, whole;
	uint8_t *p = build(&q, COMMUNITY, buf, sizeof(buf), &n);
	char *all = say_bytes(b, p, n, &whole);
	uint64_t objects = b->objects, before = 0;
	ck_assert_uint_eq(objects, 12);
	size_t last = 0;
	for (b->max_bytes = 60; b->max_bytes <= whole; b->max_bytes++) {
		size_t got;
		b->s.dev.snmp[DEV_SNMP_IN_PKTS] = 0; /* else its length changes */
		char *text = say_bytes(b, p, n, &got);
		ck_assert_int_eq(strncmp(all, text, 20), 0);
		ck_assert_uint_ge(b->objects, before);
		ck_assert_uint_ge(got, last);
		/* One binding more would not have fitted: it comes as soon as its bytes do. */
		if (b->objects > before && before > 0)
			ck_assert_uint_eq(got, b->max_bytes);
		before = b->objects;
		last = got;
		free(text);
	}
	ck_assert_uint_eq(before, objects);
	free(all);
	bench_done(b);
}
END_TEST

START_TEST(too_big)
{
	struct bench *b = bench_make(NULL);
	b->max_bytes = 548;
	check(b, &(struct request){SNMP_V2C, SNMP_GET, 0, 0, CISCO "1.0 " SYS "1.0 " SYS "3.0"},
		"1/0");
	check(b, &(struct request){SNMP_V2C, SNMP_GETNEXT, 0, 0, CISCO "1 " SYS "1.0"}, "1/0");
	check(b, &(struct request){SNMP_V1, SNMP_GET, 0, 0, CISCO "1.0 " SYS "1.0"},
		"1/0 " CISCO "1.0=null " SYS "1.0=null");
	ck_assert_uint_eq(b->s.dev.snmp[DEV_SNMP_OUT_TOO_BIGS], 3);
	b->max_bytes = 500; /* not even one object of a GETBULK: it must not seem to be the end */
	check(b, &(struct request){SNMP_V2C, SNMP_GETBULK, 0, 5, CISCO "1"}, "1/0");
	check(b, &(struct request){SNMP_V2C, SNMP_GETBULK, 0, 5, CISCO "0 " SYS "1"}, "1/0");
	check(b, &(struct request){SNMP_V2C, SNMP_GETBULK, 0, 5, SYS "1 " CISCO "1"},
		"0/0 " SYS "1.0=\"dev\"");
	ck_assert_uint_eq(b->s.dev.snmp[DEV_SNMP_SILENT_DROPS], 0);
	bench_done(b);
}
END_TEST

/* Thousands of names: what can never fit costs no more than one response. */
START_TEST(wide_requests)
{
	struct bench *b = bench_make(NULL);
	static char names[60000];
	static uint8_t buf[65507];
	unsigned many = 3000;
	for (unsigned i = 0; i < many; i++)
		strcpy(names + i * 8, "1.3.6.1 ");
	struct request q = {SNMP_V2C, SNMP_GETNEXT, 0, 0, names};
	check(b, &q, "1/0");
	q.version = SNMP_V1; /* the echo does not fit either */
	check(b, &q, "-");
	ck_assert_uint_eq(b->s.dev.snmp[DEV_SNMP_SILENT_DROPS], 1);
	ck_assert_uint_eq(counter(b, "silent_drops"), 1);
	q = (struct request){SNMP_V2C, SNMP_SET, 0, 0, names};
	check(b, &q, "1/0");
	q = (struct request){SNMP_V2C, SNMP_GETBULK, 0, 100, names};
	size_t n, got;
	uint8_t *p = build(&q, COMMUNITY, buf, sizeof(buf), &n);
	free(say_bytes(b, p, n, &got));
	ck_assert_uint_gt(got, MTU_PAYLOAD - 30);
	b->max_bytes = 65507;
	q.tag = SNMP_GETNEXT;
	p = build(&q, COMMUNITY, buf, sizeof(buf), &n);
	free(say_bytes(b, p, n, &got));
	ck_assert_uint_eq(b->objects, many);
	bench_done(b);
}
END_TEST

START_TEST(communities)
{
	static const char long_one[] = SAMPLE_X100 SAMPLE_X100;
	static uint8_t buf[4000];
	static char huge[3000];
	struct request q = {SNMP_V2C, SNMP_GET, 0, 0, SYS "1.0"};
	struct bench *any = bench_make(NULL), *one = bench_make("secret");
	const char *const tried[] = {"", "public", long_one, "secret", "secre", "secret2"};
	for (unsigned i = 0; i < ARRAY_SIZE(tried); i++) {
		size_t n, got;
		uint8_t *p = build(&q, tried[i], buf, sizeof(buf), &n);
		char *text = say_bytes(any, p, n, &got);
		ck_assert_str_eq(text, "0/0 " SYS "1.0=\"dev\"");
		free(text);
		/* Echoed byte for byte. */
		ck_assert_ptr_nonnull(memmem(any->out, got + 40, tried[i], strlen(tried[i])));
		text = say_bytes(one, p, n, &got);
		ck_assert_str_eq(text, i == 3 ? "0/0 " SYS "1.0=\"dev\"" : "-");
		free(text);
	}
	ck_assert_uint_eq(one->s.dev.snmp[DEV_SNMP_IN_BAD_COMMUNITY_NAMES], 5);
	ck_assert_uint_eq(counter(one, "bad_community_datagrams"), 5);
	ck_assert_uint_eq(counter(one, "responses"), 1);
	/* One that no response can carry. */
	memset(huge, 'h', sizeof(huge) - 1);
	size_t n, got;
	uint8_t *p = build(&q, huge, buf, sizeof(buf), &n);
	free(say_bytes(any, p, n, &got));
	ck_assert_uint_eq(got, 0);
	ck_assert_uint_eq(any->s.dev.snmp[DEV_SNMP_SILENT_DROPS], 1);
	bench_done(any);
	bench_done(one);
}
END_TEST

START_TEST(what_is_counted)
{
	struct bench *b = bench_make(NULL);
	const uint32_t *c = b->s.dev.snmp;
	check(b, &(struct request){SNMP_V2C, SNMP_GET, 0, 0, SYS "1.0 " SYS "2.0 " SYS "3.0"},
		"0/0 " SYS "1.0=\"dev\" " SYS "2.0=no-object " SYS "3.0=t12300");
	check(b, &(struct request){SNMP_V2C, SNMP_GETNEXT, 0, 0, SYS "1"},
		"0/0 " SYS "1.0=\"dev\"");
	check(b, &(struct request){SNMP_V1, SNMP_GET, 0, 0, "0.0"}, "2/1 0.0=null");
	check(b, &(struct request){SNMP_V1, SNMP_SET, 0, 0, SYS "1.0"}, "2/1 " SYS "1.0=null");
	check(b, &(struct request){SNMP_V3, SNMP_GET, 0, 0, SYS "1.0"}, "-");
	check(b, &(struct request){SNMP_V1, SNMP_GETBULK, 0, 1, SYS "1.0"}, "-");
	check(b, &(struct request){SNMP_V2C, SNMP_TRAP, 0, 0, SYS "1.0"}, "-");
	ck_assert_uint_eq(c[DEV_SNMP_IN_PKTS], 7);
	ck_assert_uint_eq(c[DEV_SNMP_OUT_PKTS], 4);
	ck_assert_uint_eq(c[DEV_SNMP_OUT_GET_RESPONSES], 4);
	ck_assert_uint_eq(c[DEV_SNMP_IN_TOTAL_REQ_VARS], 3);
	ck_assert_uint_eq(c[DEV_SNMP_IN_GET_REQUESTS], 2);
	ck_assert_uint_eq(c[DEV_SNMP_IN_GET_NEXTS], 1);
	ck_assert_uint_eq(c[DEV_SNMP_IN_SET_REQUESTS], 1);
	ck_assert_uint_eq(c[DEV_SNMP_OUT_NO_SUCH_NAMES], 2);
	ck_assert_uint_eq(c[DEV_SNMP_IN_BAD_VERSIONS], 1);
	ck_assert_uint_eq(c[DEV_SNMP_IN_ASN_PARSE_ERRS], 1);
	ck_assert_uint_eq(counter(b, "malformed_pdu_type_datagrams"), 1);
	ck_assert_uint_eq(counter(b, "bad_version_datagrams"), 1);
	ck_assert_uint_eq(counter(b, "foreign_pdus"), 1);
	ck_assert_uint_eq(counter(b, "get_requests"), 2);
	ck_assert_uint_eq(counter(b, "set_requests"), 1);
	ck_assert_uint_eq(counter(b, "objects"), 3);
	ck_assert_uint_eq(counter(b, "responses"), 4);
	/* Malformed of each kind is told apart. */
	static const struct {
		size_t at;
		uint8_t byte;
		const char *field;
	} bad[] = {{0, 0x31, "malformed_message_datagrams"}, {2, 4, "malformed_version_datagrams"},
		{5, 2, "malformed_community_datagrams"}, {15, 4, "malformed_pdu_datagrams"},
		{25, 0x31, "malformed_list_datagrams"}, {30, 0, "malformed_name_datagrams"},
		{40, 9, "malformed_value_datagrams"}};
	struct request q = {SNMP_V2C, SNMP_GET, 0, 0, SYS "1.0"};
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		uint8_t buf[100];
		size_t n, got;
		uint8_t *p = build(&q, COMMUNITY, buf, sizeof(buf), &n);
		p[bad[i].at] = bad[i].byte;
		free(say_bytes(b, p, n, &got));
		ck_assert_uint_eq(got, 0);
		ck_assert_msg(counter(b, bad[i].field) == 1, "%s", bad[i].field);
		ck_assert_uint_eq(c[DEV_SNMP_IN_ASN_PARSE_ERRS], i + 2);
	}
	bench_done(b);
}
END_TEST

static int make(struct fake *f, void *arg)
{
	struct responder_env env = {f->mem, arg};
	struct responder_conf conf = {NULL, 1472};
	AUTO(responder) struct responder *r = NULL;
	return responder_new(&env, &conf, "snmp-0", &r);
}

START_TEST(no_memory)
{
	struct fake f = fake_make();
	/* The registry keeps tables it has seen: let it see this one. */
	AUTO(stats) struct stats *stats = NULL;
	ck_assert_int_eq(stats_new(&mem_libc, &stats), 0);
	fake_fail_each(&f, make, stats);
	fake_done(&f);
}
END_TEST

UNIT_MAIN(requests_and_their_answers, walks_agree, bulk_is_cut_exactly, too_big, wide_requests,
	communities, what_is_counted, no_memory)
