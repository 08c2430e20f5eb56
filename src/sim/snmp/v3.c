#include "sim/snmp/v3.h"
#include "base/rnd.h"
#include "sim/fleet/engine.h"
#include <assert.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

/* Keys of users on engines that were used last, found by one probe. */
#define CACHE_SLOTS 8192

struct cached {
	uint64_t serial; /* of the access; 0: unused */
	struct addr addr;
	uint32_t user;
	struct keys_local keys;
};
struct v3 {
	const struct mem *mem;
	struct keys *keys;
	struct cached *cache;
	uint8_t *plain; /* ENGINE_MAX_MESSAGE_BYTES: what was decrypted */
	uint64_t salt, keys_made;
};

int v3_new(const struct mem *mem, uint64_t salt, struct v3 **ret_v3)
{
	AUTO(v3) struct v3 *v = mem_zalloc(mem, sizeof(*v));
	if (!v)
		return -ENOMEM;
	v->mem = mem;
	v->salt = salt;
	v->plain = mem_alloc(mem, ENGINE_MAX_MESSAGE_BYTES);
	v->cache = mem_array(mem, CACHE_SLOTS, sizeof(*v->cache));
	if (!v->plain || !v->cache)
		return -ENOMEM;
	int r = keys_new(mem, &v->keys);
	if (r < 0)
		return r;
	*ret_v3 = TAKE(v);
	return 0;
}

struct v3 *v3_free(struct v3 *v)
{
	if (!v)
		return NULL;
	(void)keys_free(v->keys);
	if (v->cache)
		OPENSSL_cleanse(v->cache, CACHE_SLOTS * sizeof(*v->cache));
	(void)mem_free(v->mem, v->cache);
	(void)mem_free(v->mem, v->plain);
	return mem_free(v->mem, v);
}

uint64_t v3_keys_made(const struct v3 *v)
{
	return v->keys_made;
}

/* The user's keys on the device's engine; NULL: no memory. */
static const struct keys_local *keys_of(
	struct v3 *v, const struct device *d, uint32_t user, const struct v3_request *rq)
{
	static const struct addr shared = {{0}};
	const struct access *a = d->conf->access;
	const struct addr *addr = a->conf.engine_id_bytes ? &shared : &d->addr;
	uint64_t hi, lo;
	memcpy(&hi, addr->b, 8);
	memcpy(&lo, addr->b + 8, 8);
	struct cached *c = &v->cache[rnd_u64(a->serial << 8 ^ user, hi, lo) % CACHE_SLOTS];
	if (c->serial == a->serial && c->user == user && addr_eq(&c->addr, addr))
		return &c->keys;
	const struct access_user *u = &a->conf.users[user];
	c->serial = 0;
	if (keys_localize(v->keys, u->auth, u->priv, u->auth_ku, u->priv_ku, rq->out.engine_id,
		    rq->out.engine_id_bytes, &c->keys) < 0)
		return NULL;
	v->keys_made++;
	c->serial = a->serial;
	c->user = user;
	c->addr = *addr;
	return &c->keys;
}

/* One message in work. */
struct reading {
	struct v3 *v;
	const struct v3_ask *ask;
	struct v3_request *rq;
	struct usm_header header;
	struct usm_params params;
	struct usm_scoped scoped;
	struct snmp_pdu pdu;
	bool scoped_is_read, pdu_is_read;
};

static bool is_confirmed(uint8_t tag) /* RFC 3411 2.8 */
{
	return tag == SNMP_GET || tag == SNMP_GETNEXT || tag == SNMP_GETBULK || tag == SNMP_SET ||
	       tag == SNMP_INFORM;
}

/* Takes what of the plain text is well formed: Reports want its request-id and class, too. */
static void read_plain(struct reading *g, const uint8_t *p, size_t bytes, bool padded)
{
	enum snmp_bad bad;
	g->scoped_is_read = usm_read_scoped(p, bytes, padded, &g->scoped) == 0;
	struct rd rest = g->scoped.pdu;
	g->pdu_is_read = g->scoped_is_read && snmp_read_pdu(&rest, SNMP_V3, &g->pdu, &bad) == 0;
	if (g->pdu_is_read)
		g->rq->request_id = g->pdu.request_id;
}

/* Counts, and says whether a Report with these flags is due: for a PDU of the confirmed class, or,
 * where the PDU cannot be read, if the sender said so (RFC 3412 6.4). */
static enum v3_verdict report(struct reading *g, enum device_v3 what, uint8_t flags)
{
	g->rq->report = what;
	g->rq->count = device_count_v3(g->ask->dev, what);
	bool due = g->pdu_is_read ? is_confirmed(g->pdu.tag) : g->header.flags & USM_REPORTABLE;
	if (!due)
		return V3_DROPPED;
	g->rq->out.flags = flags;
	if (!(flags & USM_AUTH))
		g->rq->out.mac_bytes = 0;
	return V3_REPORT;
}

/* RFC 3414 3.2 (4), (5). */
static enum v3_verdict find_user(struct reading *g)
{
	const struct access *a = g->ask->dev->conf->access;
	int i = access_find_user(a, g->params.user, g->params.user_bytes);
	if (i < 0)
		return report(g, DEV_V3_UNKNOWN_USER_NAMES, 0);
	const struct access_user *u = &a->conf.users[i];
	g->rq->user = u;
	if ((g->rq->level >= ACCESS_AUTH && !u->auth) || (g->rq->level == ACCESS_PRIV && !u->priv))
		return report(g, DEV_V3_UNSUPPORTED_SEC_LEVELS, 0);
	if (g->rq->level == ACCESS_NO_AUTH)
		return V3_ANSWER;
	g->rq->keys = keys_of(g->v, g->ask->dev, (uint32_t)i, g->rq);
	g->rq->out.mac_bytes = keys_mac_bytes(u->auth);
	return g->rq->keys ? V3_ANSWER : V3_DROPPED;
}

/* RFC 3414 3.2 (6), (7) (a). */
static enum v3_verdict check_auth(struct reading *g)
{
	const struct usm_out *o = &g->rq->out;
	uint8_t mac[USM_MAC_BYTES];
	if (g->params.mac_bytes != o->mac_bytes)
		return report(g, DEV_V3_WRONG_DIGESTS, 0);
	size_t at = (size_t)(g->params.mac - g->ask->p);
	if (keys_mac(g->v->keys, g->rq->user->auth, g->rq->keys, g->ask->p, g->ask->len, at, mac) <
		0)
		return V3_DROPPED;
	if (CRYPTO_memcmp(mac, g->params.mac, o->mac_bytes) != 0)
		return report(g, DEV_V3_WRONG_DIGESTS, 0);
	int64_t apart = (int64_t)g->params.time - o->time;
	if (o->boots >= USM_BOOTS_MAX || g->params.boots != o->boots ||
		llabs(apart) > USM_TIME_WINDOW_S)
		return report(g, DEV_V3_NOT_IN_TIME_WINDOWS, USM_AUTH);
	return V3_ANSWER;
}

/* RFC 3414 3.2 (8). A text that does not begin as a scoped PDU was encrypted with another key. */
static enum v3_verdict decrypt(struct reading *g)
{
	const struct access_user *u = g->rq->user;
	struct keys_iv iv = {.boots = g->params.boots, .time = g->params.time};
	const uint8_t *p;
	size_t n;
	if (usm_read_encrypted(g->header.data, g->header.data_bytes, &p, &n) < 0)
		return V3_MALFORMED;
	if (g->params.salt_bytes != USM_SALT_BYTES)
		return report(g, DEV_V3_DECRYPTION_ERRORS, 0);
	memcpy(iv.salt, g->params.salt, sizeof(iv.salt));
	int r = keys_decrypt(g->v->keys, u->priv, g->rq->keys, &iv, p, n, g->v->plain);
	if (r == 0)
		read_plain(g, g->v->plain, n, true); /* some managers pad for AES, too */
	if (r < 0 || !g->scoped_is_read)
		return r == -ENOMEM ? V3_DROPPED : report(g, DEV_V3_DECRYPTION_ERRORS, 0);
	return V3_ANSWER;
}

/* RFC 3412 4.2.2.1.1, RFC 3413 3.2: who is to handle the PDU, in which context. */
static enum v3_verdict dispatch(struct reading *g)
{
	struct usm_out *o = &g->rq->out;
	uint8_t flags = g->header.flags & (USM_AUTH | USM_PRIV);
	const struct usm_scoped *s = &g->scoped;
	bool ours = s->engine_id_bytes == o->engine_id_bytes &&
		    memcmp(s->engine_id, o->engine_id, s->engine_id_bytes) == 0;
	if (!ours || !is_confirmed(g->pdu.tag) || g->pdu.tag == SNMP_INFORM)
		return report(g, DEV_V3_UNKNOWN_PDU_HANDLERS, flags);
	if (!access_has_context(g->ask->dev->conf->access, s->context, s->context_bytes))
		return report(g, DEV_V3_UNKNOWN_CONTEXTS, flags);
	if (g->pdu.tag == SNMP_SET && g->rq->level < g->ask->dev->conf->access->conf.set_min_level)
		return report(g, DEV_V3_UNSUPPORTED_SEC_LEVELS, flags);
	o->context = s->context;
	o->context_bytes = s->context_bytes;
	o->flags = flags;
	g->rq->pdu = g->pdu;
	return V3_ANSWER;
}

static void make_out(struct reading *g)
{
	struct v3_request *rq = g->rq;
	const struct device *d = g->ask->dev;
	struct engine_time t = engine_time(d, g->ask->now_ns);
	unsigned n = engine_id(d, rq->engine_id);
	rq->out = (struct usm_out){.msg_id = g->header.msg_id,
		.max_size = ENGINE_MAX_MESSAGE_BYTES,
		.engine_id = rq->engine_id,
		.engine_id_bytes = n,
		.boots = t.boots,
		.time = t.time_s,
		.user = g->params.user,
		.user_bytes = g->params.user_bytes,
		.context_engine_id = rq->engine_id,
		.context_engine_id_bytes = n,
		.context = (const uint8_t *)""};
	rq->max_bytes = (size_t)g->header.max_size;
	rq->level = g->header.flags & USM_PRIV	 ? ACCESS_PRIV
		    : g->header.flags & USM_AUTH ? ACCESS_AUTH
						 : ACCESS_NO_AUTH;
	rq->user = NULL;
	rq->keys = NULL;
	rq->request_id = 0;
}

static enum v3_verdict check_security(struct reading *g)
{
	const struct usm_out *o = &g->rq->out;
	if (g->params.engine_id_bytes != o->engine_id_bytes ||
		memcmp(g->params.engine_id, o->engine_id, o->engine_id_bytes) != 0)
		return report(g, DEV_V3_UNKNOWN_ENGINE_IDS, 0);
	enum v3_verdict verdict = find_user(g);
	if (verdict == V3_ANSWER && g->rq->level >= ACCESS_AUTH)
		verdict = check_auth(g);
	if (verdict == V3_ANSWER && g->rq->level == ACCESS_PRIV)
		verdict = decrypt(g);
	return verdict;
}

enum v3_verdict v3_read(struct v3 *v, const struct v3_ask *ask, struct v3_request *ret_request)
{
	struct reading g;
	struct rd rest = ask->rest;
	g.v = v;
	g.ask = ask;
	g.rq = ret_request;
	g.scoped_is_read = g.pdu_is_read = false;
	if (usm_read_header(&rest, &g.header) < 0)
		return V3_MALFORMED;
	if (g.header.model != USM_MODEL) {
		(void)device_count_v3(ask->dev, DEV_V3_UNKNOWN_SECURITY_MODELS);
		return V3_DROPPED;
	}
	if ((g.header.flags & (USM_AUTH | USM_PRIV)) == USM_PRIV) {
		(void)device_count_v3(ask->dev, DEV_V3_INVALID_MSGS);
		return V3_DROPPED;
	}
	if (usm_read_params(g.header.params, g.header.params_bytes, &g.params) < 0)
		return V3_MALFORMED;
	make_out(&g);
	if (!(g.header.flags & USM_PRIV))
		read_plain(&g, g.header.data, g.header.data_bytes, false);
	enum v3_verdict verdict = check_security(&g);
	if (verdict != V3_ANSWER)
		return verdict;
	return g.pdu_is_read ? dispatch(&g) : V3_MALFORMED;
}

const uint8_t *v3_report_oid(enum device_v3 what, size_t *ret_bytes)
{
	/* 1.3.6.1.6.3, then 11.2.1, 12.1 or 15.1.1 */
	static const uint8_t oids[DEV_V3_N][10] = {
		[DEV_V3_UNKNOWN_SECURITY_MODELS] = {43, 6, 1, 6, 3, 11, 2, 1, 1, 0},
		[DEV_V3_INVALID_MSGS] = {43, 6, 1, 6, 3, 11, 2, 1, 2, 0},
		[DEV_V3_UNKNOWN_PDU_HANDLERS] = {43, 6, 1, 6, 3, 11, 2, 1, 3, 0},
		[DEV_V3_UNAVAILABLE_CONTEXTS] = {43, 6, 1, 6, 3, 12, 1, 4, 0},
		[DEV_V3_UNKNOWN_CONTEXTS] = {43, 6, 1, 6, 3, 12, 1, 5, 0},
		[DEV_V3_UNSUPPORTED_SEC_LEVELS] = {43, 6, 1, 6, 3, 15, 1, 1, 1, 0},
		[DEV_V3_NOT_IN_TIME_WINDOWS] = {43, 6, 1, 6, 3, 15, 1, 1, 2, 0},
		[DEV_V3_UNKNOWN_USER_NAMES] = {43, 6, 1, 6, 3, 15, 1, 1, 3, 0},
		[DEV_V3_UNKNOWN_ENGINE_IDS] = {43, 6, 1, 6, 3, 15, 1, 1, 4, 0},
		[DEV_V3_WRONG_DIGESTS] = {43, 6, 1, 6, 3, 15, 1, 1, 5, 0},
		[DEV_V3_DECRYPTION_ERRORS] = {43, 6, 1, 6, 3, 15, 1, 1, 6, 0},
	};
	*ret_bytes = oids[what][5] == 12 ? 9 : 10;
	return oids[what];
}

/* Encrypts the scoped PDU at w->p, which is longer by its padding then. */
static int encrypt(struct v3 *v, struct v3_request *rq, struct bw *w, size_t *bytes)
{
	struct keys_iv iv = {.boots = rq->out.boots, .time = rq->out.time};
	size_t padding = rq->user->priv == KEYS_DES ? -*bytes % 8 : 0;
	memset(w->p + *bytes, 0, padding);
	*bytes += padding;
	v->salt++;
	memcpy(iv.salt, &v->salt, sizeof(iv.salt));
	memcpy(rq->out.salt, &v->salt, sizeof(iv.salt));
	return keys_encrypt(v->keys, rq->user->priv, rq->keys, &iv, w->p, *bytes);
}

size_t v3_wrap(struct v3 *v, struct v3_request *rq, struct bw *w, size_t pdu_bytes)
{
	const uint8_t *end = w->p + pdu_bytes;
	uint8_t *mac;
	usm_back_scoped(w, &rq->out, pdu_bytes);
	size_t bytes = (size_t)(end - w->p);
	if ((rq->out.flags & USM_PRIV) && encrypt(v, rq, w, &bytes) < 0)
		return 0;
	end = w->p + bytes;
	usm_back_message(w, &rq->out, bytes, &mac);
	assert(w->err == 0); /* usm_head_bytes said what it takes */
	size_t n = (size_t)(end - w->p);
	if ((rq->out.flags & USM_AUTH) &&
		keys_mac(v->keys, rq->user->auth, rq->keys, w->p, n, (size_t)(mac - w->p), mac) < 0)
		return 0;
	return n;
}
