#include "sim/snmp/respond.h"
#include "sim/fleet/value.h"
#include "sim/snmp/set.h"
#include "sim/snmp/v3.h"
#include "wire/oid.h"
#include <assert.h>
#include <errno.h>

/* No binding is shorter: a SEQUENCE of a name of one octet and an empty value. */
#define BINDING_MIN_BYTES 7

/* A repeater of a GETBULK: the row that it was answered with last. */
struct column {
	uint32_t row;
	uint16_t name_bytes;
	const uint8_t *name; /* of the request, while no row was answered; else NULL */
};
struct responder {
	struct responder_env env;
	const uint8_t *community;
	size_t community_bytes;
	struct column *columns; /* as many as a response can hold bindings */
	uint32_t n_columns;
	struct value_ask value;
	struct v3 *v3;
	uint64_t get_requests, getnext_requests, getbulk_requests, set_requests;
	uint64_t responses, objects, too_big_responses, silent_drops;
	uint64_t bad_version_datagrams, bad_community_datagrams, unadmitted_sets, foreign_pdus;
	uint64_t v3_requests, v3_reports, v3_drops, v3_keys;
	uint64_t malformed[SNMP_BAD_N];
};
#define MALFORMED(kind, name, text) \
	{ \
		"responder", "malformed_" name "_datagrams", \
			"Datagrams dropped as malformed: " text, \
			offsetof(struct responder, malformed[kind]), STAT_COUNTER \
	}
const struct counter responder_counters[] = {
	COUNTER(struct responder, get_requests, "GET requests taken"),
	COUNTER(struct responder, getnext_requests, "GETNEXT requests taken"),
	COUNTER(struct responder, getbulk_requests, "GETBULK requests taken"),
	COUNTER(struct responder, set_requests, "SET requests taken"),
	COUNTER(struct responder, responses, "Responses made"),
	COUNTER(struct responder, objects, "Objects answered with a value"),
	COUNTER(struct responder, too_big_responses, "Responses with the error tooBig"),
	COUNTER(struct responder, silent_drops, "Requests dropped as not even an error fits"),
	COUNTER(struct responder, bad_version_datagrams,
		"Datagrams dropped for an SNMP version that is not served"),
	COUNTER(struct responder, bad_community_datagrams,
		"Datagrams dropped for another community"),
	COUNTER(struct responder, unadmitted_sets,
		"SET requests dropped as the community may only read"),
	COUNTER(struct responder, foreign_pdus,
		"PDUs dropped that no agent is asked with: responses, notifications, reports"),
	COUNTER(struct responder, v3_requests, "SNMPv3 requests that passed all checks"),
	COUNTER(struct responder, v3_reports, "SNMPv3 Reports made"),
	COUNTER(struct responder, v3_drops,
		"SNMPv3 messages dropped that are well formed and get no Report"),
	COUNTER(struct responder, v3_keys, "Keys of SNMPv3 users localised to an engine"),
	MALFORMED(SNMP_BAD_MESSAGE, "message", "the message or its end"),
	MALFORMED(SNMP_BAD_VERSION, "version", "the version"),
	MALFORMED(SNMP_BAD_COMMUNITY, "community", "the community"),
	MALFORMED(SNMP_BAD_V3, "v3", "what SNMPv3 puts around a PDU"),
	MALFORMED(SNMP_BAD_PDU_TYPE, "pdu_type", "a PDU that the version does not have"),
	MALFORMED(SNMP_BAD_PDU, "pdu", "the PDU's header or its end"),
	MALFORMED(SNMP_BAD_LIST, "list", "the list of bindings"),
	MALFORMED(SNMP_BAD_NAME, "name", "the name of a binding"),
	MALFORMED(SNMP_BAD_VALUE, "value", "the value of a binding"),
	{0},
};

int responder_new(const struct responder_env *env, const struct responder_conf *conf,
	const char *name, struct responder **ret_responder)
{
	AUTO(responder) struct responder *r = mem_zalloc(env->mem, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->env = *env;
	r->community = (const uint8_t *)conf->community;
	r->community_bytes = conf->community ? strlen(conf->community) : 0;
	r->n_columns = conf->max_bytes / BINDING_MIN_BYTES + 1;
	r->columns = mem_array(env->mem, r->n_columns, sizeof(*r->columns));
	if (!r->columns)
		return -ENOMEM;
	int e = v3_new(env->mem, conf->salt, &r->v3);
	if (e == 0)
		e = stats_attach(env->stats, responder_counters, name, r);
	if (e < 0)
		return e;
	*ret_responder = TAKE(r);
	return 0;
}

struct responder *responder_free(struct responder *r)
{
	if (!r)
		return NULL;
	stats_detach(r->env.stats, r);
	(void)v3_free(r->v3);
	mem_free(r->env.mem, r->columns);
	return mem_free(r->env.mem, r);
}

/* One request in work. */
struct work {
	struct responder *r;
	const struct respond_ask *ask;
	const struct oidtab *table;
	struct snmp_pdu pdu;
	struct snmp_head head;
	struct v3_request *v3; /* NULL: of v1 or v2c */
	size_t max_bytes;
	struct wr list;	  /* the bindings of the response */
	uint32_t objects; /* of them, those with a value */
	/* A run of rows that v1 must not see, found once: names in front of it may repeat. */
	uint32_t hidden_from, hidden_to;
};

static void key_of(const struct snmp_binding *b, struct oid_key *ret_key)
{
	int r = oid_key_from_ber(b->name, b->name_bytes, ret_key);
	assert(r == 0); /* snmp_read_pdu checked it */
}

static void put_object(struct work *w, const uint8_t *name, size_t bytes, const struct ber_value *v)
{
	snmp_put_binding(&w->list, name, bytes, v);
	w->objects += !w->list.err;
}

static void put_exception(struct work *w, const uint8_t *name, size_t bytes, enum ber_tag tag)
{
	struct ber_value v = {.tag = (uint8_t)tag};
	snmp_put_binding(&w->list, name, bytes, &v);
}

/* Each answer function returns 0, or an snmp_error with *reterr_index the binding at fault. */
static enum snmp_error answer_get(struct work *w, int32_t *reterr_index)
{
	struct rd list = rd_make(w->pdu.list, w->pdu.list_bytes);
	struct snmp_binding b;
	for (int32_t i = 1; snmp_next_binding(&list, &b); i++) {
		struct oid_key key;
		struct ber_value v;
		uint32_t row;
		key_of(&b, &key);
		int r = value_find(&w->r->value, w->table, key.b, key.n, &row);
		if (r == 0 && w->head.version == SNMP_V1 &&
			w->table->rows[row].tag == BER_COUNTER64)
			r = -ENXIO; /* RFC 3584 4.2.2.1 */
		if (r == 0)
			r = value_get(&w->r->value, w->table, row, &v);
		if (r == 0) {
			put_object(w, b.name, b.name_bytes, &v);
		} else if (w->head.version == SNMP_V1) {
			*reterr_index = i;
			return SNMP_NO_SUCH_NAME;
		} else {
			put_exception(w, b.name, b.name_bytes,
				r == -ENOENT ? BER_NO_SUCH_INSTANCE : BER_NO_SUCH_OBJECT);
		}
		if (w->list.err)
			return SNMP_TOO_BIG;
	}
	return SNMP_NO_ERROR;
}

/* The first row from row on that the request may see: v1 has no Counter64 (RFC 3584 4.2.2.1). */
static uint32_t visible(struct work *w, uint32_t row)
{
	const struct oidtab *t = w->table;
	if (w->head.version != SNMP_V1 || row >= t->n || t->rows[row].tag != BER_COUNTER64)
		return row;
	if (row < w->hidden_from || row >= w->hidden_to) {
		w->hidden_from = row;
		while (row < t->n && t->rows[row].tag == BER_COUNTER64)
			row = value_next(&w->r->value, t, row);
		w->hidden_to = row;
	}
	return w->hidden_to;
}

/* Puts the first object at or after row and returns its row; t->n: there was none, nothing put. */
static uint32_t put_from(struct work *w, uint32_t row)
{
	const struct oidtab *t = w->table;
	struct value_ask *ask = &w->r->value;
	for (row = visible(w, row); row < t->n; row = visible(w, value_next(ask, t, row))) {
		struct ber_value v;
		if (value_get(ask, t, row, &v) < 0)
			continue;
		uint16_t oid_bytes;
		const uint8_t *oid = value_oid(ask, t, row, &oid_bytes);
		put_object(w, oid, oid_bytes, &v);
		return row;
	}
	return t->n;
}

static uint32_t put_after(struct work *w, const struct snmp_binding *b)
{
	struct oid_key key;
	key_of(b, &key);
	return put_from(w, value_after(&w->r->value, w->table, key.b, key.n));
}

static enum snmp_error answer_getnext(struct work *w, int32_t *reterr_index)
{
	struct rd list = rd_make(w->pdu.list, w->pdu.list_bytes);
	struct snmp_binding b;
	/* A request of thousands of names costs no more than a full response: it ends there. */
	for (int32_t i = 1; !w->list.err && snmp_next_binding(&list, &b); i++) {
		if (put_after(w, &b) < w->table->n)
			continue;
		if (w->head.version == SNMP_V1) {
			*reterr_index = i;
			return SNMP_NO_SUCH_NAME;
		}
		put_exception(w, b.name, b.name_bytes, BER_END_OF_MIB_VIEW);
	}
	return w->list.err ? SNMP_TOO_BIG : SNMP_NO_ERROR;
}

/* One round over the columns of a GETBULK; false: the response ends, as it is full or as every
 * column has reached the end (RFC 3416 4.2.3). */
static bool put_repetition(struct work *w, uint32_t n)
{
	bool more = false;
	for (uint32_t i = 0; i < n && !w->list.err; i++) {
		struct column *c = &w->r->columns[i];
		uint32_t row = c->row;
		if (row < w->table->n && !c->name)
			row = put_from(w, value_next(&w->r->value, w->table, row));
		else
			row = w->table->n;
		if (row < w->table->n) {
			c->row = row;
			more = true;
		} else if (c->name) {
			put_exception(w, c->name, c->name_bytes, BER_END_OF_MIB_VIEW);
		} else {
			/* Named after its last successor, so that names never fall. */
			uint16_t bytes;
			const uint8_t *oid = value_oid(&w->r->value, w->table, c->row, &bytes);
			put_exception(w, oid, bytes, BER_END_OF_MIB_VIEW);
		}
	}
	return more && !w->list.err;
}

static enum snmp_error answer_getbulk(struct work *w)
{
	struct rd list = rd_make(w->pdu.list, w->pdu.list_bytes);
	struct snmp_binding b;
	uint32_t non_repeaters = MIN((uint32_t)MAX(w->pdu.error_status, 0), w->pdu.bindings);
	int32_t repetitions = MAX(w->pdu.error_index, 0);
	uint32_t n = 0;
	bool more = false;
	for (uint32_t i = 0; !w->list.err && snmp_next_binding(&list, &b); i++) {
		if (i >= non_repeaters && repetitions == 0)
			break;
		uint32_t row = put_after(w, &b);
		if (row == w->table->n)
			put_exception(w, b.name, b.name_bytes, BER_END_OF_MIB_VIEW);
		else
			more |= i >= non_repeaters;
		if (i < non_repeaters || w->list.err)
			continue;
		assert(n < w->r->n_columns); /* each has put a binding */
		bool found = row < w->table->n;
		w->r->columns[n++] =
			(struct column){row, (uint16_t)b.name_bytes, found ? NULL : b.name};
	}
	for (int32_t i = 1; i < repetitions && more && !w->list.err; i++)
		more = put_repetition(w, n);
	/* A response that is full is sent as it is. RFC 3416 4.2.3 would send even an empty one,
	 * with which a manager would ask the same again for ever: tooBig tells it. */
	if (w->list.err && wr_len(&w->list) == 0)
		return SNMP_TOO_BIG;
	return SNMP_NO_ERROR;
}

/* The response to a SET has its bindings, whatever became of it. */
static enum snmp_error answer_set(struct work *w, int32_t *reterr_index)
{
	enum snmp_error e = w->ask->set->error;
	*reterr_index = w->ask->set->index;
	if (e == SNMP_NO_ERROR)
		wr_bytes(&w->list, w->pdu.list, w->pdu.list_bytes);
	return w->head.version == SNMP_V1 ? set_error_v1(e) : e;
}

/* Bytes in front of list_bytes of bindings; of v3, the most that they may be. */
static size_t head_bytes(const struct work *w, size_t list_bytes)
{
	return w->v3 ? usm_head_bytes(&w->v3->out) : snmp_head_bytes(&w->head, list_bytes);
}

/* The message around the list; 0: no memory. */
static size_t wrap(struct work *w, enum snmp_pdu_tag tag, const uint8_t **ret_p)
{
	struct bw head = bw_make(w->ask->out, (size_t)(w->list.start - w->ask->out));
	size_t list_bytes = wr_len(&w->list), bytes;
	if (w->v3) {
		snmp_back_pdu(&head, (uint8_t)tag, &w->head, list_bytes);
		bytes = v3_wrap(w->r->v3, w->v3, &head, bw_len(&head) + list_bytes);
	} else {
		snmp_back_head(&head, &w->head, list_bytes);
		bytes = bw_len(&head) + list_bytes;
	}
	assert(head.err == 0);
	*ret_p = head.p;
	return bytes;
}

static size_t send_list(struct work *w, const uint8_t **ret_p)
{
	const struct device *d = w->ask->dev;
	size_t bytes = wrap(w, SNMP_RESPONSE, ret_p);
	if (bytes == 0)
		return 0;
	device_count(d, DEV_SNMP_OUT_PKTS, 1);
	device_count(d, DEV_SNMP_OUT_GET_RESPONSES, 1);
	stat_add(&w->r->responses, 1);
	return bytes;
}

static size_t drop_silently(struct work *w)
{
	device_count(w->ask->dev, DEV_SNMP_SILENT_DROPS, 1);
	stat_add(&w->r->silent_drops, 1);
	return 0;
}

/* The response to an error: the request's own bindings (RFC 1157 4.1, RFC 3416 4.2), or none where
 * v2c says tooBig. One that does not fit either is dropped (RFC 3418 snmpSilentDrops). */
static size_t send_error(
	struct work *w, enum snmp_error error, int32_t index, const uint8_t **ret_p)
{
	const struct device *d = w->ask->dev;
	bool echo = error != SNMP_TOO_BIG || w->head.version == SNMP_V1;
	size_t bytes = echo ? w->pdu.list_bytes : 0;
	w->head.error_status = (int32_t)error;
	w->head.error_index = index;
	if (bytes + head_bytes(w, bytes) > w->max_bytes) {
		if (error != SNMP_TOO_BIG)
			return send_error(w, SNMP_TOO_BIG, 0, ret_p);
		return drop_silently(w);
	}
	w->list = wr_make(w->list.start, bytes);
	wr_bytes(&w->list, w->pdu.list, bytes);
	if (error == SNMP_TOO_BIG) {
		device_count(d, DEV_SNMP_OUT_TOO_BIGS, 1);
		stat_add(&w->r->too_big_responses, 1);
	} else if (error == SNMP_NO_SUCH_NAME) {
		device_count(d, DEV_SNMP_OUT_NO_SUCH_NAMES, 1);
	}
	return send_list(w, ret_p);
}

/* A SET on its way: to env.set, or an answer now when there is nothing to carry out. 0, with
 * w->ask->set unset: no answer now. */
static size_t take_set(struct work *w, const uint8_t **ret_p)
{
	struct responder *r = w->r;
	struct wr list = wr_make(w->list.start, (size_t)(w->list.end - w->list.start));
	device_count(w->ask->dev, DEV_SNMP_IN_SET_REQUESTS, 1);
	stat_add(&r->set_requests, 1);
	wr_bytes(&list, w->pdu.list, w->pdu.list_bytes);
	if (list.err) /* before anything is done */
		return send_error(w, SNMP_TOO_BIG, 0, ret_p);
	if (w->pdu.bindings == 0)
		return send_list(w, ret_p);
	if (!r->env.set) {
		bool v1 = w->head.version == SNMP_V1;
		return send_error(w, v1 ? SNMP_NO_SUCH_NAME : SNMP_NOT_WRITABLE, 1, ret_p);
	}
	(void)r->env.set(r->env.arg, w->ask, &w->pdu); /* who counts what it drops */
	return 0;
}

/* The list's place in the buffer: behind the longest header. false: not even an empty one fits. */
static bool list_begin(struct work *w)
{
	size_t front =
		w->v3 ? usm_head_bytes(&w->v3->out) : SNMP_HEAD_BYTES(w->head.community_bytes);
	size_t room = w->max_bytes - MIN(front, w->max_bytes);
	if (w->v3 ? front > w->max_bytes : snmp_list_room(&w->head, w->max_bytes, &room) < 0)
		return false;
	w->list = wr_make(w->ask->out + front, room);
	return true;
}

static enum snmp_error answer_pdu(struct work *w, int32_t *reterr_index)
{
	const struct device *d = w->ask->dev;
	struct responder *r = w->r;
	switch (w->pdu.tag) {
	case SNMP_GET:
		device_count(d, DEV_SNMP_IN_GET_REQUESTS, 1);
		stat_add(&r->get_requests, 1);
		return answer_get(w, reterr_index);
	case SNMP_GETNEXT:
		device_count(d, DEV_SNMP_IN_GET_NEXTS, 1);
		stat_add(&r->getnext_requests, 1);
		return answer_getnext(w, reterr_index);
	case SNMP_GETBULK:
		stat_add(&r->getbulk_requests, 1);
		return answer_getbulk(w);
	default:
		return answer_set(w, reterr_index);
	}
}

static size_t answer(struct work *w, const uint8_t **ret_p)
{
	const struct device *d = w->ask->dev;
	int32_t index = 0;
	if (!list_begin(w))
		return drop_silently(w); /* a community that fills a response alone */
	if (w->v3 && w->v3->level < w->v3->user->min_level) /* RFC 3413 3.2 (5) */
		return send_error(w, SNMP_AUTHORIZATION_ERROR, 0, ret_p);
	if (w->pdu.tag == SNMP_SET && !w->ask->set)
		return take_set(w, ret_p);
	value_ask_init(&w->r->value, d, w->ask->now_ns);
	enum snmp_error error = answer_pdu(w, &index);
	if (error != SNMP_NO_ERROR)
		return send_error(w, error, index, ret_p);
	if (w->pdu.tag == SNMP_SET)
		device_count(d, DEV_SNMP_IN_TOTAL_SET_VARS, w->pdu.bindings);
	device_count(d, DEV_SNMP_IN_TOTAL_REQ_VARS, w->objects);
	stat_add(&w->r->objects, w->objects);
	return send_list(w, ret_p);
}

static size_t drop_malformed(struct work *w, enum snmp_bad bad)
{
	device_count(w->ask->dev, DEV_SNMP_IN_ASN_PARSE_ERRS, 1);
	stat_add(&w->r->malformed[bad], 1);
	return 0;
}

/* Is it the community for reading, or, for a SET (its PDU comes next), the one for writing? */
static bool admits(const struct work *w, const struct rd *rest)
{
	struct responder *r = w->r;
	const struct device *d = w->ask->dev;
	const struct snmp_head *h = &w->head;
	bool reads = r->community_bytes == 0 ||
		     (h->community_bytes == r->community_bytes &&
			     memcmp(h->community, r->community, r->community_bytes) == 0);
	bool is_set = rd_left(rest) > 0 && rest->p[0] == SNMP_SET;
	if (LIKELY(!is_set && reads))
		return true;
	const char *writes = is_set ? d->conf->write_community : NULL;
	if (writes && h->community_bytes == strlen(writes) &&
		memcmp(h->community, writes, h->community_bytes) == 0)
		return true;
	if (is_set && reads) {
		device_count(d, DEV_SNMP_IN_BAD_COMMUNITY_USES, 1);
		stat_add(&r->unadmitted_sets, 1);
	} else {
		device_count(d, DEV_SNMP_IN_BAD_COMMUNITY_NAMES, 1);
		stat_add(&r->bad_community_datagrams, 1);
	}
	return false;
}

static size_t send_report(struct work *w, const uint8_t **ret_p)
{
	size_t n;
	const uint8_t *oid = v3_report_oid(w->v3->report, &n);
	struct ber_value count = {.tag = BER_COUNTER32, .u = w->v3->count};
	w->head.request_id = w->v3->request_id;
	if (!list_begin(w))
		return drop_silently(w);
	snmp_put_binding(&w->list, oid, n, &count);
	if (w->list.err)
		return drop_silently(w);
	size_t bytes = wrap(w, SNMP_REPORT, ret_p);
	if (bytes == 0)
		return 0;
	device_count(w->ask->dev, DEV_SNMP_OUT_PKTS, 1);
	stat_add(&w->r->v3_reports, 1);
	return bytes;
}

static size_t respond_v3(struct work *w, const struct rd *rest, const uint8_t **ret_p)
{
	struct v3_request rq;
	struct responder *r = w->r;
	const struct respond_ask *ask = w->ask;
	struct v3_ask v3_ask = {ask->dev, ask->now_ns, ask->p, ask->len, *rest};
	enum v3_verdict verdict = v3_read(r->v3, &v3_ask, &rq);
	stat_set(&r->v3_keys, v3_keys_made(r->v3));
	w->v3 = &rq;
	switch (verdict) {
	case V3_MALFORMED:
		return drop_malformed(w, SNMP_BAD_V3);
	case V3_DROPPED:
		stat_add(&r->v3_drops, 1);
		return 0;
	case V3_REPORT:
		w->max_bytes = MIN(w->max_bytes, rq.max_bytes);
		return send_report(w, ret_p);
	case V3_ANSWER:
		break;
	}
	stat_add(&r->v3_requests, !ask->set);
	w->max_bytes = MIN(w->max_bytes, rq.max_bytes);
	w->pdu = rq.pdu;
	w->head.request_id = rq.request_id;
	return answer(w, ret_p);
}

static size_t respond_community(struct work *w, struct rd *rest, const uint8_t **ret_p)
{
	enum snmp_bad bad;
	if (snmp_read_community(rest, &w->head.community, &w->head.community_bytes, &bad) < 0)
		return drop_malformed(w, bad);
	if (!admits(w, rest))
		return 0;
	if (snmp_read_pdu(rest, w->head.version, &w->pdu, &bad) < 0)
		return drop_malformed(w, bad);
	if (w->pdu.tag != SNMP_GET && w->pdu.tag != SNMP_GETNEXT && w->pdu.tag != SNMP_GETBULK &&
		w->pdu.tag != SNMP_SET) {
		stat_add(&w->r->foreign_pdus, 1);
		return 0;
	}
	w->head.request_id = w->pdu.request_id;
	return answer(w, ret_p);
}

size_t respond(struct responder *r, const struct respond_ask *ask, const uint8_t **ret_p)
{
	struct work w; /* what stays unset here is set before it is read: zeroing it all costs */
	enum snmp_bad bad;
	struct rd rest;
	w.r = r;
	w.ask = ask;
	w.table = &ask->dev->conf->type->table;
	w.v3 = NULL;
	w.max_bytes = ask->max_bytes;
	w.objects = 0;
	w.hidden_from = w.hidden_to = 0;
	w.head.error_status = w.head.error_index = 0;
	if (LIKELY(!ask->set))
		device_count(ask->dev, DEV_SNMP_IN_PKTS, 1);
	if (snmp_read_version(ask->p, ask->len, &w.head.version, &rest, &bad) < 0)
		return drop_malformed(&w, bad);
	if (LIKELY(w.head.version == SNMP_V1 || w.head.version == SNMP_V2C))
		return respond_community(&w, &rest, ret_p);
	if (w.head.version == SNMP_V3 && ask->dev->conf->access)
		return respond_v3(&w, &rest, ret_p);
	device_count(ask->dev, DEV_SNMP_IN_BAD_VERSIONS, 1);
	stat_add(&r->bad_version_datagrams, 1);
	return 0;
}
