/* GET /api/v1/devices: the fleet, streamed. */
#include "api/api.h"
#include "api/device_json.h"
#include "api/devices.h"
#include "api/walk.h"
#include "sim/fleet/ident.h"
#include <errno.h>
#include <string.h>

struct list {
	struct walk walk;
	char type[72]; /* slug, empty: all */
	char q[128];   /* empty: all */
};

static bool list_fits(struct walk *w, const struct device *d)
{
	const struct list *l = (const struct list *)w;
	char buf[IDENT_TEXT_BYTES];
	if (l->type[0] && strcmp(d->conf->type->slug, l->type) != 0)
		return false;
	/* The id ends in the address. */
	return !l->q[0] || strcasestr(ident_id(d, buf), l->q) ||
	       strcasestr(ident_name(d, buf), l->q) || strcasestr(ident_location(d, buf), l->q);
}

static void list_head(struct walk *w UNUSED, struct text *t)
{
	text_put(t, "{\"success\":true,\"message\":\"Success\",\"data\":[");
}

static bool list_row(struct walk *w, struct text *t, const struct device *d)
{
	if (!list_fits(w, d))
		return false;
	char buf[IDENT_TEXT_BYTES];
	text_put(t, w->rows ? ",\n{" : "\n{");
	device_json(t, d);
	text_key(t, "detail");
	text_put(t, "{");
	text_kv_str(t, "sys_name", ident_name(d, buf));
	text_kv_str(t, "type", d->conf->type->slug);
	text_kv_u64(t, "netmask", d->conf->netmask_len);
	text_put(t, "}}");
	return true;
}

static void list_tail(struct walk *w, struct text *t, const struct addr *last)
{
	const struct list *l = (const struct list *)w;
	char addr[ADDR_TEXT_BYTES];
	bool all = !l->type[0] && !l->q[0];
	text_put(t, "]");
	reply_page(
		t, last ? addr_text(last, addr) : NULL, all ? fleet_count(w->fleet) : UINT64_MAX);
	text_put(t, "}\n");
}

static const struct walk_ops list_ops = {list_head, list_row, list_tail, list_fits};

/* Copies a query parameter that must fit; a suffix is cut off. */
static int take_query(
	struct request *rq, const char *name, const char *suffix, char *buf, size_t room)
{
	const char *s = request_query(rq, name);
	if (!s)
		return 0;
	size_t n = strlen(s), cut = strlen(suffix);
	if (cut && n > cut && strcmp(s + n - cut, suffix) == 0)
		n -= cut;
	if (n == 0 || n >= room)
		return fault_set(&rq->fault, -EINVAL, name, NULL, "is empty or too long");
	memcpy(buf, s, n);
	buf[n] = 0;
	return 0;
}

static int list_read_query(struct request *rq, struct list *l)
{
	const char *after = request_query(rq, "after");
	if (after && ident_parse(after, &l->walk.after) < 0)
		return fault_set(&rq->fault, -EINVAL, "after", "an address or id",
			"%.80s is no address or id", after);
	l->walk.has_after = after != NULL;
	int r = request_query_u64(rq, "limit", 1, UINT32_MAX, &l->walk.limit);
	if (r == 0)
		r = take_query(rq, "type", ".json", l->type, sizeof(l->type));
	return r < 0 ? r : take_query(rq, "q", "", l->q, sizeof(l->q));
}

int devices_list(struct request *rq)
{
	struct list *l = walk_new(rq, sizeof(*l), &list_ops);
	if (!l)
		return -ENOMEM;
	int r = list_read_query(rq, l);
	if (r < 0) {
		walk_free(&l->walk);
		return r;
	}
	walk_reply(rq, NULL, &l->walk);
	return 0;
}
