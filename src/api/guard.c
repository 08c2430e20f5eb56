#include "api/guard.h"
#include "base/addr.h"
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define HOST_BYTES 256
struct guard {
	const struct mem *mem;
	char token[GUARD_TOKEN_MAX + 1]; /* empty: none */
	char own_name[HOST_BYTES];
	unsigned n_hosts;
	char **hosts;
};

/* The b64token of RFC 6750 2.1. */
static bool token_is_good(const char *s)
{
	size_t n = strlen(s);
	return n >= GUARD_TOKEN_MIN && n <= GUARD_TOKEN_MAX &&
	       strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
			 "-._~+/=") == n;
}

static bool name_is_good(const char *s)
{
	size_t n = strlen(s);
	return n > 0 && n < HOST_BYTES &&
	       strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._") == n;
}

static int copy_hosts(struct guard *g, const struct guard_conf *conf, struct fault *reterr_fault)
{
	if (conf->n_allowed_hosts == 0)
		return 0;
	g->hosts = mem_array(g->mem, conf->n_allowed_hosts, sizeof(*g->hosts));
	if (!g->hosts)
		return -ENOMEM;
	for (unsigned i = 0; i < conf->n_allowed_hosts; i++) {
		const char *host = conf->allowed_hosts[i];
		if (!name_is_good(host))
			return fault_set(reterr_fault, -EINVAL, "allowed-host",
				"a host name without port", "%.80s is not a host name", host);
		g->hosts[i] = mem_strdup(g->mem, host);
		if (!g->hosts[i])
			return -ENOMEM;
		g->n_hosts++;
	}
	return 0;
}

int guard_new(const struct mem *mem, const struct guard_conf *conf, struct guard **ret_guard,
	struct fault *reterr_fault)
{
	AUTO(guard) struct guard *g = mem_zalloc(mem, sizeof(*g));
	if (!g)
		return -ENOMEM;
	g->mem = mem;
	if (conf->token) {
		if (!token_is_good(conf->token))
			return fault_set(reterr_fault, -EINVAL, "api-token",
				"16 to 512 letters, digits and -._~+/=",
				"the token has %zu characters or one that is not allowed",
				strlen(conf->token));
		strcpy(g->token, conf->token);
	}
	if (gethostname(g->own_name, sizeof(g->own_name) - 1) < 0)
		g->own_name[0] = 0;
	int r = copy_hosts(g, conf, reterr_fault);
	if (r < 0)
		return r;
	*ret_guard = TAKE(g);
	return 0;
}

struct guard *guard_free(struct guard *g)
{
	if (!g)
		return NULL;
	for (unsigned i = 0; i < g->n_hosts; i++)
		mem_free(g->mem, g->hosts[i]);
	mem_free(g->mem, g->hosts);
	explicit_bzero(g->token, sizeof(g->token));
	return mem_free(g->mem, g);
}

/* An authority taken apart: "[::1]:8080", "lab:80", "lab". */
struct authority {
	char host[HOST_BYTES];
	unsigned port; /* 0: none given */
};

static bool parse_port(const char *s, unsigned *ret_port)
{
	size_t n = strspn(s, "0123456789");
	if (s[n] || n > 5)
		return false;
	unsigned port = 0;
	for (; *s; s++)
		port = port * 10 + (unsigned)(*s - '0');
	*ret_port = port;
	return port <= 65535;
}

static bool parse_authority(const char *s, struct authority *ret_a)
{
	struct authority a = {.port = 0};
	size_t n = s[0] == '[' ? strcspn(s, "]") : strcspn(s, ":");
	const char *from = s[0] == '[' ? s + 1 : s, *end = s + n;
	if (s[0] == '[' && *end++ != ']')
		return false;
	n -= s[0] == '[';
	if (n == 0 || n >= sizeof(a.host))
		return false;
	for (size_t i = 0; i < n; i++)
		a.host[i] = (char)tolower((unsigned char)from[i]);
	struct addr literal;
	if (s[0] == '[' && addr_parse(a.host, &literal) < 0)
		return false;
	if (*end == ':' ? !parse_port(end + 1, &a.port) : *end != 0)
		return false;
	*ret_a = a;
	return true;
}

static bool same_host(const char *host, const char *allowed)
{
	/* A name may be written with the root's dot. */
	size_t n = strlen(host);
	n -= n > 1 && host[n - 1] == '.';
	return strlen(allowed) == n && strncasecmp(host, allowed, n) == 0;
}

static bool host_is_ours(const struct guard *g, const char *host)
{
	struct addr literal;
	if (addr_parse(host, &literal) == 0 || same_host(host, "localhost"))
		return true;
	if (g->own_name[0] && same_host(host, g->own_name))
		return true;
	for (unsigned i = 0; i < g->n_hosts; i++)
		if (same_host(host, g->hosts[i]))
			return true;
	return false;
}

/* Is the Origin header (RFC 6454 7) the authority that was asked? The scheme may differ: a proxy in
 * front may speak TLS. */
static bool origin_is_own(const char *origin, const struct authority *host)
{
	unsigned standard_port = 0;
	if (strncasecmp(origin, "http://", 7) == 0)
		standard_port = 80;
	else if (strncasecmp(origin, "https://", 8) == 0)
		standard_port = 443;
	struct authority a;
	if (!standard_port || !parse_authority(strstr(origin, "//") + 2, &a))
		return false;
	if (strcmp(a.host, host->host) != 0)
		return false;
	return (a.port ? a.port : standard_port) == (host->port ? host->port : standard_port);
}

static bool type_is_form_or_text(const char *type)
{
	static const char *const simple[] = {
		"application/x-www-form-urlencoded", "multipart/", "text/"};
	type += strspn(type, " \t");
	for (unsigned i = 0; i < ARRAY_SIZE(simple); i++)
		if (strncasecmp(type, simple[i], strlen(simple[i])) == 0)
			return true;
	return false;
}

static unsigned check_browser(const struct guard *g, struct request *rq)
{
	const char *host_text = rq->url.authority ? rq->url.authority : request_header(rq, "Host");
	const char *origin = request_header(rq, "Origin");
	const char *site = request_header(rq, "Sec-Fetch-Site");
	const char *type = request_header(rq, "Content-Type");
	struct authority host = {.host = ""};
	/* HTTP/1.0 has no Host, and no browser is without. */
	if (host_text && *host_text &&
		(!parse_authority(host_text, &host) || !host_is_ours(g, host.host))) {
		(void)fault_set(&rq->fault, -EPERM, "Host",
			"an IP address, localhost, the name of the host, an -allowed-host",
			"%.80s is no name of this server", host_text);
		return 403;
	}
	if (origin && !origin_is_own(origin, &host)) {
		(void)fault_set(&rq->fault, -EPERM, "Origin", NULL,
			"%.80s is another origin than the one asked", origin);
		return 403;
	}
	if (site && strcasecmp(site, "same-origin") != 0 && strcasecmp(site, "none") != 0) {
		(void)fault_set(&rq->fault, -EPERM, "Sec-Fetch-Site", "same-origin, none",
			"%.40s: a page of another site asks", site);
		return 403;
	}
	if ((origin || site) && type && type_is_form_or_text(type)) {
		(void)fault_set(&rq->fault, -EMEDIUMTYPE, "Content-Type", "application/json",
			"%.60s is not taken from a browser", type);
		return 415;
	}
	return 0;
}

static bool needs_token(const struct url *u)
{
	return u->n_segments > 0 &&
	       (strcmp(u->segments[0], "api") == 0 || strcmp(u->segments[0], "metrics") == 0 ||
		       (u->n_segments > 1 && strcmp(u->segments[0], "debug") == 0 &&
			       strcmp(u->segments[1], "pprof") == 0));
}

/* Takes the same time wherever a wrong token differs. */
static bool token_is_right(const char *token, const char *given)
{
	size_t n = strlen(token), n_given = strlen(given);
	volatile unsigned diff = (unsigned)(n ^ n_given);
	for (size_t i = 0; i < n_given; i++)
		diff = diff | (unsigned)(token[i % n] ^ given[i]);
	return diff == 0;
}

unsigned guard_check(const struct guard *g, struct request *rq)
{
	unsigned status = check_browser(g, rq);
	if (status || !g->token[0] || !needs_token(&rq->url))
		return status;
	const char *auth = request_header(rq, "Authorization");
	bool bearer = auth && strncasecmp(auth, "Bearer ", 7) == 0;
	if (bearer && token_is_right(g->token, auth + 7 + strspn(auth + 7, " ")))
		return 0;
	reply_header(&rq->reply, "WWW-Authenticate", "Bearer realm=\"nl6\"%s",
		bearer ? ", error=\"invalid_token\"" : "");
	(void)fault_set(&rq->fault, -EACCES, "Authorization", "Bearer TOKEN",
		bearer ? "the token is wrong" : "a token is needed");
	return 401;
}
