/* SNMPv3 through the responder. The first byte says what the rest is: a whole datagram; the
 * security parameters of a message that is right else; or a scoped PDU (plain, signed, or signed
 * and encrypted), wrapped with the keys that the device has. What comes back is a well-formed
 * message of SNMPv3, fits, and belongs to the request. */
#include "fuzz.h"
#include "sim/fleet/engine.h"
#include "sim/snmp/respond.h"
#include "sim/snmp/sample.h"
#include "sim/snmp/v3.h"
#include <assert.h>
#include <stdlib.h>

#define LONGEST 65507
#define MSG_ID 4711

enum part { WHOLE, PARAMS, SCOPED, SIGNED, ENCRYPTED, PARTS };
struct target {
	struct sample s;
	struct stats *stats;
	struct kus *kus;
	struct responder *r;
	struct keys *keys;
	struct keys_local local;
};

static void target_make(struct target *t)
{
	static const struct access_user users[] = {
		{.name = "ops",
			.auth = KEYS_SHA256,
			.priv = KEYS_AES128,
			.password = "long enough"},
		{.name = "guest"},
	};
	static const char *const contexts[] = {"blue"};
	struct access_conf conf = {
		.users = users, .n_users = 2, .contexts = contexts, .n_contexts = 1};
	int e = stats_new(&mem_libc, &t->stats);
	if (e == 0)
		e = sample_make(&mem_libc, &t->s);
	if (e == 0)
		e = kus_new(&mem_libc, &t->kus);
	if (e == 0)
		e = access_new(&mem_libc, t->kus, &conf, &t->s.conf.access, NULL);
	struct responder_env env = {.mem = &mem_libc, .stats = t->stats};
	struct responder_conf responder_conf = {.max_bytes = LONGEST};
	if (e == 0)
		e = responder_new(&env, &responder_conf, "snmp-0", &t->r);
	if (e == 0)
		e = keys_new(&mem_libc, &t->keys);
	assert(e == 0);
	uint8_t id[ACCESS_ENGINE_ID_BYTES];
	unsigned n = engine_id(&t->s.dev, id);
	const struct access_user *u = &t->s.conf.access->conf.users[0];
	e = keys_localize(t->keys, u->auth, u->priv, u->auth_ku, u->priv_ku, id, n, &t->local);
	assert(e == 0);
}

/* The message around a scoped PDU. */
static size_t wrap(struct target *t, enum part part, const uint8_t *p, size_t bytes, uint8_t *buf,
	const uint8_t **ret_p)
{
	uint8_t id[ACCESS_ENGINE_ID_BYTES], *mac;
	struct engine_time now = engine_time(&t->s.dev, SAMPLE_NOW_NS);
	struct bw w = bw_make(buf, LONGEST);
	struct usm_out o = {.msg_id = MSG_ID,
		.max_size = LONGEST,
		.flags = (uint8_t)(USM_REPORTABLE | (part >= SIGNED ? USM_AUTH : 0) |
				   (part == ENCRYPTED ? USM_PRIV : 0)),
		.engine_id = id,
		.engine_id_bytes = engine_id(&t->s.dev, id),
		.boots = now.boots,
		.time = now.time_s,
		.user = (const uint8_t *)(part >= SIGNED ? "ops" : "guest"),
		.user_bytes = part >= SIGNED ? 3 : 5,
		.mac_bytes = part >= SIGNED ? keys_mac_bytes(KEYS_SHA256) : 0};
	struct keys_iv iv = {.boots = now.boots, .time = now.time_s};
	bw_bytes(&w, p, bytes);
	int e = w.err;
	if (e == 0 && part == ENCRYPTED)
		e = keys_encrypt(t->keys, KEYS_AES128, &t->local, &iv, w.p, bytes);
	if (e == 0)
		usm_back_message(&w, &o, bytes, &mac);
	if (e < 0 || w.err)
		return 0;
	if (part >= SIGNED)
		e = keys_mac(
			t->keys, KEYS_SHA256, &t->local, w.p, bw_len(&w), (size_t)(mac - w.p), mac);
	assert(e == 0);
	*ret_p = w.p;
	return bw_len(&w);
}

/* A message with these security parameters. */
static size_t wrap_params(const uint8_t *p, size_t bytes, uint8_t *buf, const uint8_t **ret_p)
{
	static const uint8_t flags = USM_REPORTABLE;
	struct bw w = bw_make(buf, LONGEST);
	ber_back_header(&w, BER_SEQUENCE, 0);
	ber_back_bytes(&w, BER_OCTET_STRING, p, bytes);
	const uint8_t *end = w.p;
	ber_back_int(&w, USM_MODEL);
	ber_back_bytes(&w, BER_OCTET_STRING, &flags, 1);
	ber_back_int(&w, LONGEST);
	ber_back_int(&w, MSG_ID);
	ber_back_header(&w, BER_SEQUENCE, (size_t)(end - w.p));
	ber_back_int(&w, SNMP_V3);
	ber_back_header(&w, BER_SEQUENCE, bw_len(&w));
	*ret_p = w.p;
	return w.err ? 0 : bw_len(&w);
}

static void read_back(const uint8_t *p, size_t bytes, struct usm_header *ret)
{
	int32_t version;
	struct rd rest;
	enum snmp_bad bad;
	struct usm_params u;
	struct usm_scoped scoped;
	struct snmp_pdu pdu;
	int e = snmp_read_version(p, bytes, &version, &rest, &bad);
	assert(e == 0 && version == SNMP_V3);
	e = usm_read_header(&rest, ret);
	assert(e == 0);
	e = usm_read_params(ret->params, ret->params_bytes, &u);
	assert(e == 0 && u.mac_bytes == (ret->flags & USM_AUTH ? 24 : 0));
	if (ret->flags & USM_PRIV)
		return;
	e = usm_read_scoped(ret->data, ret->data_bytes, false, &scoped);
	assert(e == 0);
	e = snmp_read_pdu(&scoped.pdu, SNMP_V3, &pdu, &bad);
	assert(e == 0 && (pdu.tag == SNMP_RESPONSE || pdu.tag == SNMP_REPORT));
}

static void try(struct target *t, size_t max, const uint8_t *p, size_t bytes)
{
	uint8_t *out = malloc(RESPOND_ROOM(max)); /* exact, so that a sanitizer sees its end */
	const uint8_t *from = NULL;
	struct respond_ask ask = {.dev = &t->s.dev,
		.now_ns = SAMPLE_NOW_NS,
		.p = p,
		.len = bytes,
		.max_bytes = max,
		.out = out};
	int32_t version = -1;
	struct rd rest;
	enum snmp_bad bad;
	struct usm_header asked, said;
	assert(out);
	size_t n = respond(t->r, &ask, &from);
	if (n > 0 && snmp_read_version(p, bytes, &version, &rest, &bad) == 0 &&
		version == SNMP_V3) {
		int e = usm_read_header(&rest, &asked);
		assert(e == 0 && n <= max && n <= (size_t)asked.max_size);
		assert(from >= out && from + n <= out + RESPOND_ROOM(max));
		read_back(from, n, &said);
		assert(said.msg_id == asked.msg_id);
	}
	free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t bytes)
{
	static struct target *t; /* made once, for all inputs */
	static uint8_t buf[LONGEST];
	if (!t) {
		t = calloc(1, sizeof(*t));
		assert(t);
		target_make(t);
	}
	if (bytes == 0)
		return 0;
	enum part part = p[0] % PARTS;
	const uint8_t *message = p + 1;
	size_t n = bytes - 1;
	if (part == PARAMS)
		n = wrap_params(p + 1, bytes - 1, buf, &message);
	else if (part != WHOLE)
		n = wrap(t, part, p + 1, bytes - 1, buf, &message);
	try(t, 528, message, n);
	try(t, 1472, message, n);
	try(t, LONGEST, message, n);
	return 0;
}
