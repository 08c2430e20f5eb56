#include "conf.h"
#include "base/clk.h"
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define SECONDS(n) ((n)*NS_PER_SEC)

const char *const link_alone_flags[] = {"help", "version", NULL};
const char link_usage[] =
	"Usage: nl6-pprof-link -url URL | -file FILE | -listen ADDR:PORT [-flag value]...\n"
	"Reads profiles of pprof, or receives them by OTLP, makes links of the labels that tell a\n"
	"sample's span, and sends OTLP profiles.\n";

static const struct flag main_flags[] = {
	FLAG_BOOL(struct link_conf, help, "help", false, "Show this help"),
	FLAG_BOOL(struct link_conf, version, "version", false, "Show the version"), {0}};

static const struct flag input_flags[] = {
	FLAG_STR(struct link_conf, pull.url, "url", NULL,
		"Pull profiles of pprof from `URL`, such as http://host/debug/pprof/profile"),
	FLAG_DURATION(struct link_conf, interval_ns, "interval", "0s", 0, SECONDS(86400),
		"Pull again and again, this long from begin to begin; 0s: once"),
	FLAG_PATH(struct link_conf, file, "file", NULL,
		"Read one profile of pprof from `FILE`, or - for standard input"),
	FLAG_STR(struct link_conf, listen, "listen", NULL,
		"Receive OTLP profiles over HTTP at `ADDR:PORT`, path /v1development/profiles"),
	FLAG_U64(struct link_conf, max_bytes, "max-size", 64u << 20, 1024, 1u << 30,
		"Refuse an input of more than `BYTES` uncompressed"),
	{0},
};

static const struct flag pull_flags[] = {
	FLAG_SECRETS(struct link_conf, pull.headers, "pull-header", NULL,
		"Pull with a header `NAME:VALUE`, up to 8 times"),
	FLAG_SECRET(struct link_conf, pull.basic_auth, "pull-basic-auth", NULL,
		"Basic auth of the pull as `USER:PASSWORD`"),
	FLAG_SECRET(struct link_conf, pull.token, "pull-token", NULL,
		"Bearer token of the pull as `TOKEN`"),
	FLAG_SECRET(struct link_conf, pull.tenant, "pull-tenant", NULL,
		"Tenant of the pull as `ID` (X-Scope-OrgID)"),
	FLAG_PATH(struct link_conf, pull.ca, "pull-ca", NULL,
		"Trust the authorities in `FILE` (PEM) for the pull, not the system's"),
	FLAG_PATH(struct link_conf, pull.cert, "pull-cert", NULL,
		"Client certificate of the pull in `FILE` (PEM)"),
	FLAG_PATH(struct link_conf, pull.key, "pull-key", NULL,
		"Its private key in `FILE` (PEM), if it is not in that file"),
	FLAG_STR(struct link_conf, pull.proxy, "pull-proxy", NULL,
		"Pull through the proxy at `URL`; none is taken from the environment"),
	FLAG_DURATION(struct link_conf, pull.timeout_ns, "pull-timeout", "1m", SECONDS(1),
		SECONDS(3600),
		"Give up a pull after this long, the time of the profile itself included"),
	{0},
};

static const struct flag_choice format_choices[] = {{"protobuf", false}, {"json", true}, {0}};
static const struct flag_choice gzip_choices[] = {{"none", false}, {"gzip", true}, {0}};
static const struct flag output_flags[] = {
	FLAG_STR(struct link_conf, send.url, "send", NULL,
		"Send OTLP to `URL`; without a path /v1development/profiles is added"),
	FLAG_PATH(struct link_conf, out, "out", NULL,
		"Write exports to `FILE`, or - for standard output"),
	FLAG_ENUM(struct link_conf, json, "format", "protobuf", format_choices,
		"Write to the file `protobuf`, each export after its length in 4 bytes, or json, "
		"an export a line"),
	FLAG_ENUM(struct link_conf, gzip, "compression", "gzip", gzip_choices,
		"Compress what is sent"),
	FLAG_SECRETS(struct link_conf, send.headers, "send-header", NULL,
		"Send with a header `NAME:VALUE`, up to 8 times"),
	FLAG_SECRET(struct link_conf, send.basic_auth, "send-basic-auth", NULL,
		"Basic auth of what is sent as `USER:PASSWORD`"),
	FLAG_SECRET(struct link_conf, send.token, "send-token", NULL,
		"Bearer token of what is sent as `TOKEN`"),
	FLAG_SECRET(struct link_conf, send.tenant, "send-tenant", NULL,
		"Tenant of what is sent as `ID` (X-Scope-OrgID)"),
	FLAG_PATH(struct link_conf, send.ca, "send-ca", NULL,
		"Trust the authorities in `FILE` (PEM) of the receiver, not the system's"),
	FLAG_PATH(struct link_conf, send.cert, "send-cert", NULL,
		"Client certificate for the receiver in `FILE` (PEM)"),
	FLAG_PATH(struct link_conf, send.key, "send-key", NULL,
		"Its private key in `FILE` (PEM), if it is not in that file"),
	FLAG_STR(struct link_conf, send.proxy, "send-proxy", NULL,
		"Send through the proxy at `URL`; none is taken from the environment"),
	FLAG_DURATION(struct link_conf, send.timeout_ns, "send-timeout", "10s", SECONDS(1),
		SECONDS(600), "Give up a request after this long, and try again"),
	{0},
};

static const struct flag span_flags[] = {
	FLAG_LIST(struct link_conf, trace_names, "trace-label", "otel.profile.trace_id,trace_id",
		"Labels with a trace id of 32 hex digits, of which the first that is there counts"),
	FLAG_LIST(struct link_conf, span_names, "span-label", "otel.profile.span_id,span_id",
		"Labels with a span id of 16 hex digits, likewise"),
	FLAG_BOOL(struct link_conf, keep_ids, "keep-ids", false,
		"Keep these labels as attributes of linked samples, too"),
	FLAG_STR(struct link_conf, service, "service-name", NULL,
		"Attribute service.name of the resource; of pprof unknown_service unless given, of "
		"OTLP its own"),
	FLAG_LIST(struct link_conf, resource, "resource", NULL,
		"Attribute `KEY=VALUE` of the resource, up to 24 times"),
	{0},
};

static int check_file(const char *path, const char *field, struct fault *f)
{
	if (!path || access(path, R_OK) == 0)
		return 0;
	int r = -errno;
	return fault_set(f, r == -ENOMEM ? r : -EINVAL, field, "a PEM file",
		"%s cannot be read: %s", path, strerrordesc_np(-r));
}

static int check_url(const char *url, const char *field, struct fault *f)
{
	if (!url || ((strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0) &&
			    strstr(url, "//")[2]))
		return 0;
	return fault_set(
		f, -EINVAL, field, "http://… or https://…", "%.100s is no URL of HTTP", url);
}

static int check_headers(const struct flag_list *l, const char *field, struct fault *f)
{
	if (l->n > 8)
		return fault_set(f, -EINVAL, field, "up to 8", "%u are too many", l->n);
	for (uint32_t i = 0; i < l->n; i++) {
		const char *h = l->items[i], *colon = strchr(h, ':');
		bool good = colon && colon > h;
		for (const char *c = h; good && c < colon; c++)
			good = isalnum((unsigned char)*c) || strchr("!#$%&'*+-.^_`|~", *c);
		if (!good)
			return fault_set(f, -EINVAL, field, "NAME:VALUE", "not a header");
	}
	return 0;
}

static int check_peer(const struct link_peer_conf *p, const char *const fields[6], struct fault *f)
{
	int r = check_url(p->url, fields[0], f);
	if (r == 0)
		r = check_headers(&p->headers, fields[1], f);
	if (r == 0 && p->basic_auth && !strchr(p->basic_auth, ':'))
		r = fault_set(f, -EINVAL, fields[2], "USER:PASSWORD", "there is no colon in it");
	if (r == 0 && p->key && !p->cert)
		r = fault_set(f, -EINVAL, fields[5], NULL, "makes no sense without a certificate");
	if (r == 0)
		r = check_file(p->ca, fields[3], f);
	if (r == 0)
		r = check_file(p->cert, fields[4], f);
	return r < 0 ? r : check_file(p->key, fields[5], f);
}

static int check_resource(const struct flag_list *l, struct fault *f)
{
	if (l->n > 24)
		return fault_set(f, -EINVAL, "-resource", "up to 24", "%u are too many", l->n);
	for (uint32_t i = 0; i < l->n; i++) {
		const char *eq = strchr(l->items[i], '=');
		if (!eq || eq == l->items[i] || !text_is_utf8(l->items[i]))
			return fault_set(f, -EINVAL, "-resource", "KEY=VALUE in UTF-8",
				"%.60s is no attribute", l->items[i]);
		if (strncmp(l->items[i], "service.name=", 13) == 0)
			return fault_set(f, -EINVAL, "-resource", "-service-name",
				"service.name has a flag of its own");
	}
	return 0;
}

static int check(const void *conf, struct fault *f)
{
	static const char *const pull[] = {
		"-url", "-pull-header", "-pull-basic-auth", "-pull-ca", "-pull-cert", "-pull-key"};
	static const char *const send[] = {
		"-send", "-send-header", "-send-basic-auth", "-send-ca", "-send-cert", "-send-key"};
	const struct link_conf *c = conf;
	if (c->help || c->version)
		return 0;
	if (!!c->pull.url + !!c->file + !!c->listen != 1)
		return fault_set(f, -EINVAL, "-url", "one of -url, -file and -listen",
			"it takes one input, not %s",
			c->pull.url || c->file || c->listen ? "several" : "none");
	if (!!c->send.url + !!c->out != 1)
		return fault_set(f, -EINVAL, "-send", "one of -send and -out",
			"it takes one output, not %s", c->out ? "two" : "none");
	if (c->interval_ns && !c->pull.url)
		return fault_set(f, -EINVAL, "-interval", NULL, "makes no sense without -url");
	if (c->json && !c->out)
		return fault_set(f, -EINVAL, "-format", "protobuf",
			"json is for -out: receivers do not agree on its ids");
	if (c->service && !text_is_utf8(c->service))
		return fault_set(f, -EINVAL, "-service-name", "text in UTF-8", "it is not UTF-8");
	int r = check_peer(&c->pull, pull, f);
	if (r == 0)
		r = check_peer(&c->send, send, f);
	return r < 0 ? r : check_resource(&c->resource, f);
}

const struct flag_set link_flags[] = {
	{input_flags, 0, "Input", NULL},
	{output_flags, 0, "Output", NULL},
	{span_flags, 0, "Links and resource", NULL},
	{pull_flags, 0, "Pulling", NULL},
	{log_flags, offsetof(struct link_conf, log), "Log", NULL},
	{main_flags, 0, "Other", check},
	{0},
};
