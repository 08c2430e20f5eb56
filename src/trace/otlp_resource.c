#include "trace/otlp_resource.h"
#include "otlp_resource.pb-c.h"
#include "trace/otlp_env.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define KEY_BYTES 128
#define VALUE_BYTES 1024
#define ROOM (OTLP_RESOURCE_USER + OTLP_RESOURCE_OWN)
#define UUID_BYTES 37
#define FLAG "-otlp-resource"

struct attr {
	char *key;
	char *str; /* NULL: num counts */
	int64_t num;
};
struct attrs {
	const struct mem *mem;
	struct attr list[ROOM];
	uint32_t n;
	int err; /* sticky: -ENOMEM */
};

static const struct attr *find(const struct attrs *a, const char *key)
{
	for (uint32_t i = 0; i < a->n; i++)
		if (strcmp(a->list[i].key, key) == 0)
			return &a->list[i];
	return NULL;
}

/* Unless it is there: the first wins. */
static void set(struct attrs *a, const char *key, const char *str, int64_t num)
{
	if (a->err || find(a, key))
		return;
	struct attr *new = &a->list[a->n];
	new->key = mem_strdup(a->mem, key);
	new->str = new->key &&str ? mem_strdup(a->mem, str) : NULL;
	new->num = num;
	if (!new->key || (str && !new->str)) {
		(void)mem_free(a->mem, new->key);
		a->err = -ENOMEM;
		return;
	}
	a->n++;
}

static void done(struct attrs *a)
{
	for (uint32_t i = 0; i < a->n; i++) {
		(void)mem_free(a->mem, a->list[i].key);
		(void)mem_free(a->mem, a->list[i].str);
	}
}
#define AUTO_ATTRS __attribute__((cleanup(done)))

static bool key_is_good(const char *key)
{
	size_t n = 0;
	while (key[n] > ' ' && key[n] <= '~')
		n++;
	return n && !key[n] && n < KEY_BYTES;
}

static int set_of_user(
	struct attrs *a, const char *key, const char *value, const char *field, struct fault *f)
{
	if (!key_is_good(key))
		return fault_set(f, -EINVAL, field, "KEY=VALUE; printable ASCII without blanks",
			"not a key of an attribute: %.60s", key);
	if (!value[0] || strlen(value) >= VALUE_BYTES || !text_is_utf8(value))
		return fault_set(f, -EINVAL, field, "UTF-8, up to 1023 bytes",
			"the value of %.60s is empty, too long or no UTF-8", key);
	if (a->n >= OTLP_RESOURCE_USER && !find(a, key))
		return fault_set(f, -EINVAL, field, "up to 14", "%.60s is one too many", key);
	set(a, key, value, 0);
	return a->err;
}

static int add_flags(struct attrs *a, const struct flag_list *user, struct fault *f)
{
	for (uint32_t i = 0; i < user->n; i++) {
		char key[KEY_BYTES];
		const char *equals = strchr(user->items[i], '=');
		size_t n = equals ? (size_t)(equals - user->items[i]) : sizeof(key);
		if (n >= sizeof(key))
			return fault_set(f, -EINVAL, FLAG, "KEY=VALUE", "not an attribute: %.60s",
				user->items[i]);
		memcpy(key, user->items[i], n);
		key[n] = '\0';
		if (find(a, key))
			return fault_set(f, -EINVAL, FLAG, NULL, "%.60s is there twice", key);
		int r = set_of_user(a, key, equals + 1, FLAG, f);
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_env(struct attrs *a, struct fault *f)
{
	const char *name = getenv("OTEL_SERVICE_NAME");
	int r = name && name[0] ? set_of_user(a, "service.name", name, "OTEL_SERVICE_NAME", f) : 0;
	const char *list = getenv("OTEL_RESOURCE_ATTRIBUTES");
	while (r == 0 && list && list[0]) {
		struct otlp_env_pair pair;
		r = otlp_env_pair(&list, "OTEL_RESOURCE_ATTRIBUTES", &pair, f);
		if (r == 0 && pair.key)
			r = set_of_user(a, pair.key, pair.value, "OTEL_RESOURCE_ATTRIBUTES", f);
	}
	return r;
}

/* RFC 9562 5.4 */
static void make_uuid(char to[static UUID_BYTES])
{
	uint8_t b[16];
	if (getrandom(b, sizeof(b), 0) != sizeof(b))
		memset(b, 0, sizeof(b));
	b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
	b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
	for (unsigned i = 0, n = 0; i < sizeof(b); i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			to[n++] = '-';
		n += (unsigned)snprintf(to + n, UUID_BYTES - n, "%02x", b[i]);
	}
}

static void add_own(struct attrs *a, const char *version)
{
	char uuid[UUID_BYTES], host[256] = "", path[PATH_MAX];
	set(a, "service.name", "nl6", 0);
	set(a, "service.version", version, 0);
	make_uuid(uuid);
	set(a, "service.instance.id", uuid, 0);
	if (gethostname(host, sizeof(host) - 1) == 0 && host[0] && text_is_utf8(host))
		set(a, "host.name", host, 0);
	set(a, "process.pid", NULL, getpid());
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	path[MAX(n, (ssize_t)0)] = '\0';
	const char *slash = strrchr(path, '/');
	if (slash && text_is_utf8(path)) {
		set(a, "process.executable.name", slash + 1, 0);
		set(a, "process.executable.path", path, 0);
	}
	set(a, "telemetry.sdk.name", "nl6", 0);
	set(a, "telemetry.sdk.language", "c", 0);
	set(a, "telemetry.sdk.version", version, 0);
}

static int pack(const struct attrs *a, struct text *out)
{
	Otlp__AnyValue values[ROOM];
	Otlp__KeyValue pairs[ROOM], *list[ROOM];
	Otlp__Resource resource = OTLP__RESOURCE__INIT;
	for (uint32_t i = 0; i < a->n; i++) {
		otlp__any_value__init(&values[i]);
		if (a->list[i].str) {
			values[i].value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE;
			values[i].string_value = a->list[i].str;
		} else {
			values[i].value_case = OTLP__ANY_VALUE__VALUE_INT_VALUE;
			values[i].int_value = a->list[i].num;
		}
		otlp__key_value__init(&pairs[i]);
		pairs[i].key = a->list[i].key;
		pairs[i].value = &values[i];
		list[i] = &pairs[i];
	}
	resource.attributes = list;
	resource.n_attributes = a->n;
	uint8_t *bytes = mem_alloc(a->mem, otlp__resource__get_packed_size(&resource));
	if (!bytes)
		return -ENOMEM;
	text_write(out, bytes, otlp__resource__pack(&resource, bytes));
	(void)mem_free(a->mem, bytes);
	return out->err;
}

int otlp_resource_write(const struct flag_list *user, const char *version, struct text *out,
	struct fault *reterr_fault)
{
	AUTO_ATTRS struct attrs a = {.mem = out->mem};
	int r = add_flags(&a, user, reterr_fault);
	if (r == 0)
		r = add_env(&a, reterr_fault);
	if (r < 0)
		return r;
	add_own(&a, version);
	return a.err ? a.err : pack(&a, out);
}
