#include "trace/otlp_setup.h"
#include "base/num.h"
#include "net/address.h"
#include "trace/otlp_env.h"
#include "trace/otlp_resource.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TIMEOUT_MS 10000u
#define TIMEOUT_MAX_MS 3600000u
#define TENANT "X-Scope-OrgID"
#define HEADER_FLAG "-otlp-header"
/* The user agent of exporters, by the specification. */
#define AGENT "OTel-OTLP-Exporter-c/"
#define KEPT_MAX 64

struct target {
	bool on;
	struct export_conf conf;
	const char *headers[EXPORT_HEADERS_MAX + 1];
	uint32_t n_headers;
};
struct otlp_setup {
	const struct mem *mem;
	struct text resource;
	struct target targets[2];
	char *kept[KEPT_MAX]; /* strings that the targets point to */
	uint32_t n_kept;
};
struct building {
	struct otlp_setup *s;
	struct target *t;
	const struct otlp_conf *c;
	enum export_signal signal;
	struct fault *fault;
};

static int keep(struct otlp_setup *s, const char *from, size_t n, const char **ret)
{
	char *copy = s->n_kept < KEPT_MAX ? mem_alloc(s->mem, n + 1) : NULL;
	if (!copy)
		return -ENOMEM;
	memcpy(copy, from, n);
	copy[n] = '\0';
	s->kept[s->n_kept++] = copy;
	*ret = copy;
	return 0;
}

static int keep_text(struct otlp_setup *s, struct text *t, const char **ret)
{
	int r = t->err ? t->err : keep(s, t->s, t->len, ret);
	if (t->s)
		explicit_bzero(t->s, t->len);
	text_done(t);
	return r;
}

/* NULL stays NULL. */
static int keep_str(struct otlp_setup *s, const char *from, const char **ret)
{
	*ret = NULL;
	return from ? keep(s, from, strlen(from), ret) : 0;
}

/* The part behind scheme://host:port: "", or with its slash. */
static const char *url_path(const char *url)
{
	const char *host = strstr(url, "://");
	host = host ? host + 3 : url;
	return host + strcspn(host, "/?#");
}

static int set_url(struct building *b, const char *url)
{
	static const char *const flags[] = {"-otlp-endpoint", "-otlp-profiles"};
	static const char *const paths[] = {"/v1/traces", "/v1development/profiles"};
	struct address_use use = {flags[b->signal], "-otlp-basic-auth", paths[b->signal]};
	int r = address_check(url, &use, b->fault);
	if (r < 0)
		return r;
	const char *path = url_path(url);
	bool none = !path[0] || strcmp(path, "/") == 0;
	if (b->t->conf.grpc && !none)
		return fault_set(b->fault, -EINVAL, flags[b->signal],
			"http://HOST:PORT or https://HOST:PORT", "gRPC has no path of one's own");
	struct text full = TEXT(b->s->mem);
	text_write(&full, url, none ? (size_t)(path - url) : strlen(url));
	if (none && !b->t->conf.grpc)
		text_put(&full, paths[b->signal]);
	return keep_text(b->s, &full, &b->t->conf.url);
}

static int set_proxy(struct building *b)
{
	const struct address_use use = {"-otlp-proxy", "no credentials", "nothing"};
	const char *proxy = b->c->proxy;
	if (proxy && strchr(proxy, '@'))
		return fault_set(b->fault, -EINVAL, use.field, "http://HOST:PORT",
			"must not embed credentials");
	int r = proxy ? address_check(proxy, &use, b->fault) : 0;
	return r < 0 ? r : keep_str(b->s, proxy, &b->t->conf.proxy);
}

/* What requests have of their own. */
static bool is_reserved(const char *name)
{
	static const char *const reserved[] = {"Content-Type", "Content-Length", "Content-Encoding",
		"Transfer-Encoding", "TE", "Host", "Connection", "Expect", "Upgrade"};
	for (unsigned i = 0; i < ARRAY_SIZE(reserved); i++)
		if (strcasecmp(name, reserved[i]) == 0)
			return true;
	return strncasecmp(name, "grpc-", 5) == 0;
}

static size_t name_bytes(const char *header)
{
	size_t n = 0; /* a token (RFC 9110 5.6.2) */
	while (isalnum((unsigned char)header[n]) ||
		(header[n] && strchr("!#$%&'*+-.^_`|~", header[n])))
		n++;
	return n;
}

static bool has_header(const struct target *t, const char *name, size_t n)
{
	for (uint32_t i = 0; i < t->n_headers; i++)
		if (strncasecmp(t->headers[i], name, n) == 0 && t->headers[i][n] == ':')
			return true;
	return false;
}

/* Faults do not show the value: it is a secret. */
static int add_header(struct building *b, const char *name, const char *value, const char *field)
{
	struct target *t = b->t;
	size_t n = strlen(name);
	value += strspn(value, " \t");
	if (n == 0 || name_bytes(name) != n || n > 128)
		return fault_set(b->fault, -EINVAL, field, "Name: value", "not a header");
	if (is_reserved(name))
		return fault_set(b->fault, -EINVAL, field, NULL,
			"%.60s is a header of the requests themselves", name);
	bool good = value[0];
	for (const char *v = value; *v; v++)
		good = good && *v >= ' ' && *v <= '~';
	if (!good)
		return fault_set(b->fault, -EINVAL, field, "printable ASCII",
			"the value of %.60s is empty or cannot be sent", name);
	if (t->n_headers >= OTLP_SETUP_HEADERS)
		return fault_set(b->fault, -EINVAL, field, "up to 12", "too many headers");
	struct text line = TEXT(b->s->mem);
	text_printf(&line, "%s: %s", name, value);
	int r = keep_text(b->s, &line, &t->headers[t->n_headers]);
	t->n_headers += r == 0;
	return r;
}

static int add_flag_headers(struct building *b)
{
	const struct flag_list *list = &b->c->headers;
	for (uint32_t i = 0; i < list->n; i++) {
		char name[129];
		size_t n = name_bytes(list->items[i]);
		if (n == 0 || n >= sizeof(name) || list->items[i][n] != ':')
			return fault_set(
				b->fault, -EINVAL, HEADER_FLAG, "Name: value", "not a header");
		memcpy(name, list->items[i], n);
		name[n] = '\0';
		if (has_header(b->t, name, n))
			return fault_set(
				b->fault, -EINVAL, HEADER_FLAG, NULL, "%.60s is there twice", name);
		int r = add_header(b, name, list->items[i] + n + 1, HEADER_FLAG);
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_env_headers(struct building *b)
{
	char field[OTLP_ENV_NAME_BYTES];
	const char *list = otlp_env_get(b->signal, "HEADERS", field);
	int r = 0;
	while (r == 0 && list && list[0]) {
		struct otlp_env_pair pair;
		r = otlp_env_pair(&list, field, &pair, b->fault);
		if (r < 0 || !pair.key)
			break;
		bool is_auth = b->t->conf.user && strcasecmp(pair.key, "Authorization") == 0;
		if (!is_auth && !has_header(b->t, pair.key, strlen(pair.key)))
			r = add_header(b, pair.key, pair.value, field);
		explicit_bzero(&pair, sizeof(pair));
	}
	return r;
}

static int set_credentials(struct building *b)
{
	const char *auth = b->c->basic_auth, *colon = auth ? strchr(auth, ':') : NULL;
	if (auth && (!colon || colon == auth || !colon[1]))
		return fault_set(b->fault, -EINVAL, "-otlp-basic-auth", "USER:PASSWORD",
			"both parts are required");
	int r = add_flag_headers(b);
	if (r == 0 && auth && has_header(b->t, "Authorization", 13))
		return fault_set(b->fault, -EINVAL, "-otlp-basic-auth", NULL,
			"there is an Authorization of " HEADER_FLAG " already");
	if (r == 0 && b->c->tenant && has_header(b->t, TENANT, sizeof(TENANT) - 1))
		return fault_set(b->fault, -EINVAL, "-otlp-tenant", NULL,
			"there is an " TENANT " of " HEADER_FLAG " already");
	if (r == 0 && b->c->tenant)
		r = add_header(b, TENANT, b->c->tenant, "-otlp-tenant");
	if (r == 0 && auth)
		r = keep(b->s, auth, (size_t)(colon - auth), &b->t->conf.user);
	if (r == 0 && auth)
		r = keep_str(b->s, colon + 1, &b->t->conf.password);
	return r < 0 ? r : add_env_headers(b);
}

/* A PEM file of a flag or, if that is not given, of a variable. */
static int set_file(struct building *b, const char *given, const char *flag, const char *variable,
	const char **ret)
{
	char name[OTLP_ENV_NAME_BYTES];
	const char *path = given ? given : otlp_env_get(b->signal, variable, name);
	if (path && access(path, R_OK) < 0)
		return fault_set(b->fault, -EINVAL, given ? flag : name, "a PEM file",
			"%.160s cannot be read: %s", path, strerrordesc_np(errno));
	return keep_str(b->s, path, ret);
}

static int set_files(struct building *b)
{
	struct export_conf *c = &b->t->conf;
	int r = set_file(b, b->c->ca, "-otlp-ca", "CERTIFICATE", &c->ca);
	if (r == 0)
		r = set_file(b, b->c->cert, "-otlp-cert", "CLIENT_CERTIFICATE", &c->cert);
	if (r == 0)
		r = set_file(b, b->c->key, "-otlp-key", "CLIENT_KEY", &c->key);
	if (r == 0 && b->c->key && !c->cert)
		return fault_set(
			b->fault, -EINVAL, "-otlp-key", NULL, "makes no sense without -otlp-cert");
	if (!c->key)
		c->key = c->cert;
	return r;
}

/* http/json is known to others, not here; anything else that a variable says has no effect. */
static int set_protocol(struct building *b)
{
	char name[OTLP_ENV_NAME_BYTES];
	b->t->conf.grpc = b->c->protocol == OTLP_GRPC;
	const char *told = b->c->protocol ? NULL : otlp_env_get(b->signal, "PROTOCOL", name);
	if (told && strcmp(told, "http/json") == 0)
		return fault_set(b->fault, -EINVAL, name, "http/protobuf, grpc",
			"http/json is not spoken here; -otlp-protocol tells what is");
	return 0;
}

static int set_rest(struct building *b)
{
	char name[OTLP_ENV_NAME_BYTES];
	struct export_conf *c = &b->t->conf;
	uint64_t ms = b->c->timeout_ns ? b->c->timeout_ns / NS_PER_MS : TIMEOUT_MS;
	const char *told = b->c->timeout_ns ? NULL : otlp_env_get(b->signal, "TIMEOUT", name);
	if (told && num_u64(told, 1, TIMEOUT_MAX_MS, &ms) < 0)
		return fault_set(b->fault, -EINVAL, name, "1..3600000 milliseconds",
			"\"%.80s\" is not a valid value", told);
	c->timeout_ms = (uint32_t)ms;
	c->gzip = b->c->compression != OTLP_UNCOMPRESSED;
	told = b->c->compression ? NULL : otlp_env_get(b->signal, "COMPRESSION", name);
	if (told && strcmp(told, "gzip") != 0 && strcmp(told, "none") != 0)
		return fault_set(b->fault, -EINVAL, name, "gzip, none",
			"\"%.80s\" is not a valid value", told);
	if (told)
		c->gzip = strcmp(told, "gzip") == 0;
	return 0;
}

static int build(struct otlp_setup *s, const struct otlp_conf *conf, enum export_signal signal,
	const char *agent, struct fault *fault)
{
	const char *url = signal == EXPORT_TRACES ? conf->endpoint : conf->profiles;
	struct building b = {s, &s->targets[signal], conf, signal, fault};
	if (!url)
		return 0;
	b.t->on = true;
	b.t->conf = (struct export_conf){
		.signal = signal, .headers = b.t->headers, .user_agent = agent};
	int r = set_protocol(&b);
	if (r == 0)
		r = set_url(&b, url);
	if (r == 0)
		r = set_proxy(&b);
	if (r == 0)
		r = set_credentials(&b);
	if (r == 0)
		r = set_files(&b);
	return r < 0 ? r : set_rest(&b);
}

static int make(const struct mem *mem, const struct otlp_conf *conf, const char *version,
	struct otlp_setup **ret_setup, struct fault *reterr_fault)
{
	AUTO(otlp_setup) struct otlp_setup *s = mem_zalloc(mem, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->mem = mem;
	s->resource = (struct text)TEXT(mem);
	struct text text = TEXT(mem);
	const char *agent = NULL;
	text_printf(&text, AGENT "%s", version);
	int r = keep_text(s, &text, &agent);
	if (r == 0)
		r = build(s, conf, EXPORT_TRACES, agent, reterr_fault);
	if (r == 0)
		r = build(s, conf, EXPORT_PROFILES, agent, reterr_fault);
	if (r == 0)
		r = otlp_resource_write(&conf->resource, version, &s->resource, reterr_fault);
	if (r < 0)
		return r;
	*ret_setup = TAKE(s);
	return 0;
}

int otlp_setup_check(const struct otlp_conf *conf, struct fault *reterr_fault)
{
	AUTO(otlp_setup) struct otlp_setup *s = NULL;
	return make(&mem_libc, conf, "", &s, reterr_fault);
}

int otlp_setup_new(const struct mem *mem, const struct otlp_conf *conf, const char *version,
	struct otlp_setup **ret_setup, struct fault *reterr_fault)
{
	int r = make(mem, conf, version, ret_setup, reterr_fault);
	if (r == 0 && otlp_conf_is_on(conf))
		otlp_env_wipe();
	return r;
}

struct otlp_setup *otlp_setup_free(struct otlp_setup *s)
{
	if (!s)
		return NULL;
	for (uint32_t i = 0; i < s->n_kept; i++) {
		explicit_bzero(s->kept[i], strlen(s->kept[i]));
		(void)mem_free(s->mem, s->kept[i]);
	}
	text_done(&s->resource);
	return mem_free(s->mem, s);
}

const struct export_conf *otlp_setup_export(const struct otlp_setup *s, enum export_signal signal)
{
	return s->targets[signal].on ? &s->targets[signal].conf : NULL;
}

const struct text *otlp_setup_resource(const struct otlp_setup *s)
{
	return &s->resource;
}
