#include "trace/export_conf.h"
#include "base/text.h"
#include <errno.h>
#include <string.h>

/* te and grpc-timeout, and one for the compression. */
#define OWN_HEADERS 3

static const char *const methods[] = {"/opentelemetry.proto.collector.trace.v1.TraceService/Export",
	"/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"};

static void wipe(const struct mem *mem, const char *s)
{
	if (s)
		explicit_bzero((char *)(uintptr_t)s, strlen(s));
	(void)mem_free(mem, (char *)(uintptr_t)s);
}

/* NULL stays NULL. */
static int copy(const struct mem *mem, const char *from, const char **to)
{
	*to = from ? mem_strdup(mem, from) : NULL;
	return from && !*to ? -ENOMEM : 0;
}

static int copy_url(const struct mem *mem, const struct export_conf *from, const char **to)
{
	AUTO_TEXT struct text full = TEXT(mem);
	size_t n = strlen(from->url);
	if (from->grpc && n && from->url[n - 1] == '/')
		n--;
	text_write(&full, from->url, n);
	text_put(&full, from->grpc ? methods[from->signal] : "");
	return full.err ? full.err : copy(mem, full.s, to);
}

static int copy_headers(const struct mem *mem, const struct export_conf *from, const char **to)
{
	const char *encoding = from->grpc ? "grpc-encoding: gzip" : "Content-Encoding: gzip";
	const char **end = to + EXPORT_HEADERS_MAX + OWN_HEADERS;
	int r = 0;
	if (from->grpc) {
		AUTO_TEXT struct text timeout = TEXT(mem);
		text_printf(&timeout, "grpc-timeout: %um", from->timeout_ms);
		r = timeout.err ? timeout.err : copy(mem, timeout.s, to++);
		if (r == 0)
			r = copy(mem, "te: trailers", to++);
	}
	if (r == 0 && from->gzip)
		r = copy(mem, encoding, to++);
	for (const char *const *h = from->headers; r == 0 && h && *h && to < end; h++)
		r = copy(mem, *h, to++);
	return r;
}

int export_conf_copy(const struct mem *mem, const struct export_conf *from, struct export_conf *to)
{
	*to = (struct export_conf){.signal = from->signal,
		.grpc = from->grpc,
		.gzip = from->gzip,
		.timeout_ms = from->timeout_ms};
	const char **headers =
		mem_array(mem, EXPORT_HEADERS_MAX + OWN_HEADERS + 1, sizeof(*headers));
	if (!headers)
		return -ENOMEM;
	to->headers = headers;
	int r = copy_headers(mem, from, headers);
	if (r == 0)
		r = copy_url(mem, from, &to->url);
	if (r == 0)
		r = copy(mem, from->user, &to->user);
	if (r == 0)
		r = copy(mem, from->password, &to->password);
	if (r == 0)
		r = copy(mem, from->ca, &to->ca);
	if (r == 0)
		r = copy(mem, from->cert, &to->cert);
	if (r == 0)
		r = copy(mem, from->key, &to->key);
	if (r == 0)
		r = copy(mem, from->proxy, &to->proxy);
	return r < 0 ? r : copy(mem, from->user_agent, &to->user_agent);
}

void export_conf_done(const struct mem *mem, struct export_conf *c)
{
	const char *texts[] = {
		c->url, c->user, c->password, c->ca, c->cert, c->key, c->proxy, c->user_agent};
	for (unsigned i = 0; i < ARRAY_SIZE(texts); i++)
		wipe(mem, texts[i]);
	for (const char *const *h = c->headers; h && *h; h++)
		wipe(mem, *h);
	(void)mem_free(mem, (void *)(uintptr_t)c->headers);
	*c = (struct export_conf){0};
}
