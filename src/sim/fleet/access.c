#include "sim/fleet/access.h"
#include <assert.h>
#include <errno.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>

static const char *const levels[] = {"none", "auth", "priv"};

int access_level_parse(const char *s, enum access_level *ret_level)
{
	for (unsigned i = 0; i < ARRAY_SIZE(levels); i++)
		if (strcmp(s, levels[i]) == 0) {
			*ret_level = (enum access_level)i;
			return 0;
		}
	return -EINVAL;
}

const char *access_level_name(enum access_level l)
{
	return levels[l];
}

/* Where a fault of user i lies; key begins with a slash. */
static int refuse(
	struct fault *f, uint32_t i, const char *key, const char *allowed, const char *text)
{
	char field[48];
	(void)snprintf(field, sizeof(field), "/users/%u%s", i, key);
	return fault_set(f, -EINVAL, field, allowed, "%s", text);
}

static int check_password(
	const char *password, uint32_t i, const char *key, bool needed, struct fault *f)
{
	if (!password)
		return needed ? refuse(f, i, key, NULL, "is missing") : 0;
	size_t n = strlen(password);
	if (n < ACCESS_PASSWORD_MIN_BYTES || n > KUS_PASSWORD_BYTES)
		return refuse(f, i, key, "8..255 bytes",
			n < ACCESS_PASSWORD_MIN_BYTES ? "is shorter than 8 bytes (RFC 3414 11.2)"
						      : "is longer than 255 bytes");
	return 0;
}

static enum access_level most(const struct access_user *u)
{
	return u->priv ? ACCESS_PRIV : u->auth ? ACCESS_AUTH : ACCESS_NO_AUTH;
}

static int check_user(const struct access_conf *c, uint32_t i, struct fault *f)
{
	const struct access_user *u = &c->users[i];
	size_t n = strlen(u->name);
	if (n == 0 || n > ACCESS_NAME_BYTES)
		return refuse(f, i, "/username", "1..32 bytes",
			n ? "is longer than 32 bytes" : "is empty");
	for (uint32_t j = 0; j < i; j++)
		if (strcmp(c->users[j].name, u->name) == 0)
			return refuse(f, i, "/username", NULL, "is the name of another user");
	if (u->priv && !u->auth)
		return refuse(f, i, "/priv_protocol", "none",
			"privacy needs authentication (RFC 3414 1.4.3)");
	if (u->min_level > most(u))
		return refuse(f, i, "/min_security_level", levels[most(u)],
			"is a level that the user cannot reach");
	int r = check_password(u->password, i, "/password", u->auth, f);
	if (r == 0)
		r = check_password(u->priv_password, i, "/priv_password", false, f);
	return r;
}

static int check(const struct access_conf *c, struct fault *f)
{
	if (c->n_users == 0 || c->n_users > ACCESS_USERS_MAX)
		return fault_set(f, -EINVAL, "/users", "1..64 users",
			c->n_users ? "are more than 64" : "nobody could ask");
	if (c->n_contexts > ACCESS_CONTEXTS_MAX)
		return fault_set(f, -EINVAL, "/contexts", "0..64 contexts", "are more than 64");
	for (uint32_t i = 0; i < c->n_contexts; i++) {
		size_t n = strlen(c->contexts[i]);
		if (n == 0 || n > ACCESS_NAME_BYTES)
			return fault_set(f, -EINVAL, "/contexts", "1..32 bytes each",
				n ? "one is longer than 32 bytes"
				  : "the empty one is always there");
	}
	for (uint32_t i = 0; i < c->n_users; i++) {
		int r = check_user(c, i, f);
		if (r < 0)
			return r;
	}
	return 0;
}

static void wipe(const struct mem *mem, const char *s)
{
	if (s)
		OPENSSL_cleanse((char *)s, strlen(s));
	(void)mem_free(mem, (char *)s);
}

static struct access *access_free(struct access *a)
{
	struct access_user *users = (struct access_user *)a->conf.users;
	for (uint32_t i = 0; users && i < a->conf.n_users; i++) {
		(void)mem_free(a->mem, (char *)users[i].name);
		wipe(a->mem, users[i].password);
		wipe(a->mem, users[i].priv_password);
		OPENSSL_cleanse(&users[i], sizeof(users[i]));
	}
	(void)mem_free(a->mem, users);
	for (uint32_t i = 0; a->conf.contexts && i < a->conf.n_contexts; i++)
		(void)mem_free(a->mem, (char *)a->conf.contexts[i]);
	(void)mem_free(a->mem, (const char **)(uintptr_t)a->conf.contexts);
	return mem_free(a->mem, a);
}

static int copy_text(const struct mem *mem, const char *s, const char **ret_copy)
{
	if (!s) {
		*ret_copy = NULL;
		return 0;
	}
	char *copy = mem_copy(mem, s, strlen(s) + 1);
	if (!copy)
		return -ENOMEM;
	*ret_copy = copy;
	return 0;
}

/* Fills a zeroed *to, of which everything is freed with its access, whatever happens here. */
static int copy_user(const struct mem *mem, struct kus *kus, const struct access_user *from,
	struct access_user *to)
{
	to->auth = from->auth;
	to->priv = from->priv;
	to->min_level = from->min_level;
	int r = copy_text(mem, from->name, &to->name);
	if (r == 0)
		r = copy_text(mem, from->password, &to->password);
	if (r == 0)
		r = copy_text(mem, from->priv_password, &to->priv_password);
	if (r == 0 && to->auth)
		r = kus_get(kus, to->auth, to->password, to->auth_ku);
	if (r == 0 && to->priv)
		r = kus_get(kus, to->auth, to->priv_password ? to->priv_password : to->password,
			to->priv_ku);
	return r;
}

static int copy_conf(struct access *a, struct kus *kus, const struct access_conf *conf)
{
	memcpy(a->conf.engine_id, conf->engine_id, sizeof(a->conf.engine_id));
	a->conf.engine_id_bytes = conf->engine_id_bytes;
	a->conf.set_min_level = conf->set_min_level;
	struct access_user *users = mem_array(a->mem, conf->n_users, sizeof(*users));
	a->conf.users = users;
	if (!users)
		return -ENOMEM;
	a->conf.n_users = conf->n_users;
	for (uint32_t i = 0; i < conf->n_users; i++) {
		int r = copy_user(a->mem, kus, &conf->users[i], &users[i]);
		if (r < 0)
			return r;
	}
	if (conf->n_contexts == 0)
		return 0;
	const char **contexts = mem_array(a->mem, conf->n_contexts, sizeof(*contexts));
	a->conf.contexts = contexts;
	if (!contexts)
		return -ENOMEM;
	a->conf.n_contexts = conf->n_contexts;
	for (uint32_t i = 0; i < conf->n_contexts; i++) {
		int r = copy_text(a->mem, conf->contexts[i], &contexts[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

int access_new(const struct mem *mem, struct kus *kus, const struct access_conf *conf,
	const struct access **ret_access, struct fault *reterr_fault)
{
	int r = check(conf, reterr_fault);
	if (r < 0)
		return r;
	struct access *a = mem_zalloc(mem, sizeof(*a));
	if (!a)
		return -ENOMEM;
	a->mem = mem;
	a->refs = 1;
	a->serial = kus_serial(kus);
	r = copy_conf(a, kus, conf);
	if (r < 0) {
		(void)access_free(a);
		return r;
	}
	*ret_access = a;
	return 0;
}

const struct access *access_ref(const struct access *a)
{
	if (a)
		__atomic_fetch_add(&((struct access *)a)->refs, 1, __ATOMIC_RELAXED);
	return a;
}

const struct access *access_unref(const struct access *a)
{
	/* Pairs with itself: who frees sees what the others did before they let go. */
	if (a && __atomic_sub_fetch(&((struct access *)a)->refs, 1, __ATOMIC_ACQ_REL) == 0)
		(void)access_free((struct access *)a);
	return NULL;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_user(const struct access_user *a, const struct access_user *b)
{
	return same_text(a->name, b->name) && a->auth == b->auth && a->priv == b->priv &&
	       a->min_level == b->min_level && same_text(a->password, b->password) &&
	       same_text(a->priv_password, b->priv_password);
}

bool access_eq(const struct access *a, const struct access *b)
{
	if (!a || !b || a == b)
		return a == b;
	const struct access_conf *x = &a->conf, *y = &b->conf;
	if (x->engine_id_bytes != y->engine_id_bytes || x->n_users != y->n_users ||
		x->set_min_level != y->set_min_level || x->n_contexts != y->n_contexts ||
		memcmp(x->engine_id, y->engine_id, x->engine_id_bytes) != 0)
		return false;
	for (uint32_t i = 0; i < x->n_users; i++)
		if (!same_user(&x->users[i], &y->users[i]))
			return false;
	for (uint32_t i = 0; i < x->n_contexts; i++)
		if (!same_text(x->contexts[i], y->contexts[i]))
			return false;
	return true;
}

static bool is_text(const char *s, const uint8_t *p, size_t bytes)
{
	return strlen(s) == bytes && memcmp(s, p, bytes) == 0;
}

int access_find_user(const struct access *a, const uint8_t *name, size_t bytes)
{
	for (uint32_t i = 0; i < a->conf.n_users; i++)
		if (is_text(a->conf.users[i].name, name, bytes))
			return (int)i;
	return -1;
}

bool access_has_context(const struct access *a, const uint8_t *name, size_t bytes)
{
	for (uint32_t i = 0; i < a->conf.n_contexts; i++)
		if (is_text(a->conf.contexts[i], name, bytes))
			return true;
	return bytes == 0;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int access_engine_id_parse(const char *s, const char *field,
	uint8_t ret_id[static ACCESS_ENGINE_ID_BYTES], uint8_t *ret_bytes,
	struct fault *reterr_fault)
{
	static const char allowed[] = "10..64 hexadecimal digits, with or without 0x";
	uint8_t id[ACCESS_ENGINE_ID_BYTES];
	if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X'))
		s += 2;
	size_t digits = strlen(s), ones = 0, zeros = 0;
	if (digits % 2 != 0 || digits < 10 || digits > 2 * sizeof(id))
		return fault_set(reterr_fault, -EINVAL, field, allowed,
			"%zu digits are no engine id of 5 to 32 octets", digits);
	for (size_t i = 0; i < digits / 2; i++) {
		int hi = hex_digit(s[2 * i]), lo = hex_digit(s[2 * i + 1]);
		if (hi < 0 || lo < 0)
			return fault_set(reterr_fault, -EINVAL, field, allowed,
				"%.64s has something that is no hexadecimal digit", s);
		id[i] = (uint8_t)(hi << 4 | lo);
		ones += id[i] == 0xff;
		zeros += id[i] == 0;
	}
	if (ones == digits / 2 || zeros == digits / 2) /* RFC 3411 5 */
		return fault_set(reterr_fault, -EINVAL, field, allowed,
			"an engine id may not be all zeros or all ones");
	memcpy(ret_id, id, digits / 2);
	*ret_bytes = (uint8_t)(digits / 2);
	return 0;
}
