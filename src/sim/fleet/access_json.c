#include "sim/fleet/access_json.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define BLOCK "/snmpv3"
#define NAME_DEFAULT "simadmin"

/* One block in work. */
struct reader {
	struct fault *fault;
	struct access_conf conf;
	struct access_user users[ACCESS_USERS_MAX + 1];
	const char *contexts[ACCESS_CONTEXTS_MAX + 1];
	bool enabled, has_first; /* is users[0] that of the block itself? */
};
/* A key of an object, and what reads it into the user or the block. */
struct key {
	const char *name;
	int (*read)(struct reader *g, const json_t *v, const char *field, struct access_user *u);
};

static int refuse(struct reader *g, const char *field, const char *allowed)
{
	return fault_set(g->fault, -EINVAL, field, allowed, "is not what is allowed");
}

/* Text; empty is as not given. Strings with a NUL were refused by the parser of JSON. */
static int read_text(struct reader *g, const json_t *v, const char *field, const char **ret_text)
{
	const char *s = json_string_value(v);
	if (!s)
		return fault_set(g->fault, -EINVAL, field, "a string", "is not a string");
	if (*s)
		*ret_text = s;
	return 0;
}

static int read_name(struct reader *g, const json_t *v, const char *field, struct access_user *u)
{
	return read_text(g, v, field, &u->name);
}

static int read_password(
	struct reader *g, const json_t *v, const char *field, struct access_user *u)
{
	return read_text(g, v, field, &u->password);
}

static int read_priv_password(
	struct reader *g, const json_t *v, const char *field, struct access_user *u)
{
	return read_text(g, v, field, &u->priv_password);
}

/* A protocol's number or name as text, in buf. NULL: neither. */
static const char *protocol_text(const json_t *v, char buf[static 24])
{
	if (json_is_string(v))
		return json_string_value(v);
	if (!json_is_integer(v))
		return NULL;
	(void)snprintf(buf, 24, "%lld", (long long)json_integer_value(v));
	return buf;
}

static int read_auth(struct reader *g, const json_t *v, const char *field, struct access_user *u)
{
	char buf[24];
	const char *s = protocol_text(v, buf);
	if (!s || keys_auth_parse(s, &u->auth) < 0)
		return refuse(g, field, "0..6 or " KEYS_AUTH_NAMES);
	return 0;
}

static int read_priv(struct reader *g, const json_t *v, const char *field, struct access_user *u)
{
	char buf[24];
	const char *s = protocol_text(v, buf);
	if (!s || keys_priv_parse(s, &u->priv) < 0)
		return refuse(g, field, "0..6 or " KEYS_PRIV_NAMES);
	return 0;
}

static int read_level(
	struct reader *g, const json_t *v, const char *field, enum access_level *ret_level)
{
	const char *s = json_string_value(v);
	if (!s || access_level_parse(s, ret_level) < 0)
		return refuse(g, field, ACCESS_LEVEL_NAMES);
	return 0;
}

static int read_min_level(
	struct reader *g, const json_t *v, const char *field, struct access_user *u)
{
	return read_level(g, v, field, &u->min_level);
}

static int read_set_level(
	struct reader *g, const json_t *v, const char *field, struct access_user *u UNUSED)
{
	return read_level(g, v, field, &g->conf.set_min_level);
}

static int read_enabled(
	struct reader *g, const json_t *v, const char *field, struct access_user *u UNUSED)
{
	if (!json_is_boolean(v))
		return refuse(g, field, "true, false");
	g->enabled = json_is_true(v);
	return 0;
}

static int read_engine_id(
	struct reader *g, const json_t *v, const char *field, struct access_user *u UNUSED)
{
	const char *s = NULL;
	int r = read_text(g, v, field, &s);
	if (r < 0 || !s)
		return r;
	return access_engine_id_parse(
		s, field, g->conf.engine_id, &g->conf.engine_id_bytes, g->fault);
}

static int read_contexts(
	struct reader *g, const json_t *v, const char *field, struct access_user *u UNUSED)
{
	size_t n = json_array_size(v);
	if (!json_is_array(v) || n > ACCESS_CONTEXTS_MAX)
		return refuse(g, field, "a list of at most 64 names");
	for (size_t i = 0; i < n; i++) {
		g->contexts[i] = json_string_value(json_array_get(v, i));
		if (!g->contexts[i])
			return refuse(g, field, "a list of at most 64 names");
	}
	g->conf.contexts = g->contexts;
	g->conf.n_contexts = (uint32_t)n;
	return 0;
}

static int read_object(struct reader *g, const json_t *o, const struct key *keys, unsigned n,
	const char *at, struct access_user *u)
{
	const char *name;
	json_t *v;
	if (!json_is_object(o))
		return fault_set(g->fault, -EINVAL, at, "an object", "is not an object");
	json_object_foreach((json_t *)(uintptr_t)o, name, v)
	{
		char field[96];
		unsigned i = 0;
		(void)snprintf(field, sizeof(field), "%s/%.40s", at, name);
		while (i < n && strcmp(keys[i].name, name) != 0)
			i++;
		if (i == n)
			return fault_set(g->fault, -EINVAL, field, NULL, "unknown key");
		int r = json_is_null(v) ? 0 : keys[i].read(g, v, field, u);
		if (r < 0)
			return r;
	}
	return 0;
}

static const struct key user_keys[] = {{"username", read_name}, {"password", read_password},
	{"auth_protocol", read_auth}, {"priv_protocol", read_priv},
	{"priv_password", read_priv_password}, {"min_security_level", read_min_level}};

static int read_users(
	struct reader *g, const json_t *v, const char *field, struct access_user *u UNUSED)
{
	size_t n = json_array_size(v);
	if (!json_is_array(v) || n > ACCESS_USERS_MAX)
		return refuse(g, field, "a list of at most 64 users");
	for (size_t i = 0; i < n; i++) {
		char at[48];
		(void)snprintf(at, sizeof(at), BLOCK "/users/%zu", i);
		int r = read_object(g, json_array_get(v, i), user_keys, ARRAY_SIZE(user_keys), at,
			&g->users[1 + i]);
		if (r == 0 && !g->users[1 + i].name) {
			(void)snprintf(at, sizeof(at), BLOCK "/users/%zu/username", i);
			r = fault_set(g->fault, -EINVAL, at, NULL, "is missing");
		}
		if (r < 0)
			return r;
	}
	g->conf.n_users = (uint32_t)n;
	return 0;
}

static const struct key block_keys[] = {{"enabled", read_enabled}, {"engine_id", read_engine_id},
	{"username", read_name}, {"password", read_password}, {"auth_protocol", read_auth},
	{"priv_protocol", read_priv}, {"priv_password", read_priv_password},
	{"min_security_level", read_min_level}, {"set_min_security_level", read_set_level},
	{"contexts", read_contexts}, {"users", read_users}};

/* The block's own user comes first, unless only the list has any. */
static void take_first(struct reader *g)
{
	struct access_user *u = &g->users[0];
	g->has_first = u->name || u->password || u->auth || u->priv || u->priv_password ||
		       u->min_level || g->conf.n_users == 0;
	g->conf.users = g->has_first ? g->users : g->users + 1;
	g->conf.n_users += g->has_first;
	if (!u->name)
		u->name = NAME_DEFAULT;
}

/* Where the block says what access_new calls "/users/2/password". */
static void name_place(const struct reader *g)
{
	struct fault *f = g->fault;
	char field[sizeof(f->field)];
	unsigned user;
	int n = 0;
	if (!f)
		return;
	if (sscanf(f->field, "/users/%u%n", &user, &n) != 1)
		(void)snprintf(field, sizeof(field), BLOCK "%.64s", f->field);
	else if (g->has_first && user == 0)
		(void)snprintf(field, sizeof(field), BLOCK "%.64s", f->field + n);
	else
		(void)snprintf(field, sizeof(field), BLOCK "/users/%u%.64s", user - g->has_first,
			f->field + n);
	memcpy(f->field, field, sizeof(field));
}

int access_read_json(const struct mem *mem, struct kus *kus, const json_t *block,
	const struct access **ret_access, struct fault *reterr_fault)
{
	struct fault ignored;
	struct reader g = {
		.fault = reterr_fault ? reterr_fault : &ignored, .conf.set_min_level = ACCESS_AUTH};
	const struct access *a;
	int r = read_object(&g, block, block_keys, ARRAY_SIZE(block_keys), BLOCK, &g.users[0]);
	if (r < 0)
		return r;
	take_first(&g);
	r = access_new(mem, kus, &g.conf, &a, g.fault);
	if (r < 0) {
		if (r == -EINVAL)
			name_place(&g);
		return r;
	}
	*ret_access = g.enabled ? a : access_unref(a);
	return 0;
}

static void write_user(struct text *t, const struct access_user *u)
{
	text_put(t, "{");
	text_kv_str(t, "username", u->name);
	text_kv_str(t, "auth_protocol", keys_auth_name(u->auth));
	text_kv_str(t, "priv_protocol", keys_priv_name(u->priv));
	text_kv_str(t, "min_security_level", access_level_name(u->min_level));
	if (u->password)
		text_kv_str(t, "password", u->password);
	if (u->priv_password)
		text_kv_str(t, "priv_password", u->priv_password);
	text_put(t, "}");
}

void access_write_json(struct text *t, const struct access *a)
{
	const struct access_conf *c = &a->conf;
	char hex[2 * ACCESS_ENGINE_ID_BYTES + 1] = "";
	for (unsigned i = 0; i < c->engine_id_bytes; i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", c->engine_id[i]);
	text_put(t, "{");
	text_kv_bool(t, "enabled", true);
	text_kv_str(t, "engine_id", hex);
	text_kv_str(t, "set_min_security_level", access_level_name(c->set_min_level));
	text_key(t, "contexts");
	text_put(t, "[");
	for (uint32_t i = 0; i < c->n_contexts; i++) {
		text_put(t, i ? "," : "");
		text_json(t, c->contexts[i]);
	}
	text_put(t, "]");
	text_key(t, "users");
	text_put(t, "[");
	for (uint32_t i = 0; i < c->n_users; i++) {
		text_put(t, i ? "," : "");
		write_user(t, &c->users[i]);
	}
	text_put(t, "]}");
}

void access_hide_json(json_t *block)
{
	size_t i;
	json_t *user;
	json_array_foreach(json_object_get(block, "users"), i, user)
	{
		(void)json_object_del(user, "password");
		(void)json_object_del(user, "priv_password");
	}
}
