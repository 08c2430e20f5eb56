#include "trace/otlp_conf.h"
#include "trace/otlp_setup.h"
#include <errno.h>

static const struct flag_choice protocols[] = {
	{"http/protobuf", OTLP_HTTP_PROTOBUF}, {"grpc", OTLP_GRPC}, {0}};
static const struct flag_choice compressions[] = {
	{"gzip", OTLP_GZIP}, {"none", OTLP_UNCOMPRESSED}, {0}};

const struct flag otlp_flags[] = {
	FLAG_STR(struct otlp_conf, endpoint, "otlp-endpoint", NULL,
		"Send traces to the OpenTelemetry receiver at `URL`; over HTTP /v1/traces is "
		"appended to one without a path"),
	FLAG_STR(struct otlp_conf, profiles, "otlp-profiles", NULL,
		"Send CPU profiles linked with spans to the OpenTelemetry receiver at `URL` while "
		"the profiling gate is open; over HTTP /v1development/profiles is appended to one "
		"without a path"),
	FLAG_ENUM(struct otlp_conf, protocol, "otlp-protocol", NULL, protocols,
		"How exports are sent, http/protobuf unless told"),
	FLAG_SECRETS(struct otlp_conf, headers, "otlp-header", NULL,
		"Send `NAME:VALUE` as a header with exports, up to 12 times"),
	FLAG_SECRET(struct otlp_conf, basic_auth, "otlp-basic-auth", NULL,
		"Basic auth of exports as `USER:PASSWORD`"),
	FLAG_SECRET(struct otlp_conf, tenant, "otlp-tenant", NULL,
		"Tenant of exports as `ID` (X-Scope-OrgID)"),
	FLAG_PATH(struct otlp_conf, ca, "otlp-ca", NULL,
		"Trust the authorities in `FILE` (PEM) for exports over https, not the system's"),
	FLAG_PATH(struct otlp_conf, cert, "otlp-cert", NULL,
		"Client certificate of exports in `FILE` (PEM)"),
	FLAG_PATH(struct otlp_conf, key, "otlp-key", NULL,
		"Private key of the client certificate in `FILE` (PEM), if it is not in that file"),
	FLAG_STR(struct otlp_conf, proxy, "otlp-proxy", NULL,
		"Export through the proxy at `URL`; none is taken from the environment"),
	FLAG_DURATION(struct otlp_conf, timeout_ns, "otlp-timeout", NULL, 100 * NS_PER_MS,
		600 * NS_PER_SEC, "How long one try of an export may take, 10s unless told"),
	FLAG_ENUM(struct otlp_conf, compression, "otlp-compression", NULL, compressions,
		"How exports are compressed, gzip unless told"),
	FLAG_LIST(struct otlp_conf, resource, "otlp-resource", NULL,
		"Tell `KEY=VALUE` of the program in traces and profiles alike, up to 14 times; "
		"service.name and the other attributes may be replaced"),
	{0},
};

bool otlp_conf_is_on(const struct otlp_conf *conf)
{
	return conf->endpoint || conf->profiles;
}

/* What would be set and have no effect. */
static const char *lonely(const struct otlp_conf *c)
{
	return c->protocol	? "-otlp-protocol"
	       : c->headers.n	? "-otlp-header"
	       : c->basic_auth	? "-otlp-basic-auth"
	       : c->tenant	? "-otlp-tenant"
	       : c->ca		? "-otlp-ca"
	       : c->cert	? "-otlp-cert"
	       : c->key		? "-otlp-key"
	       : c->proxy	? "-otlp-proxy"
	       : c->timeout_ns	? "-otlp-timeout"
	       : c->compression ? "-otlp-compression"
	       : c->resource.n	? "-otlp-resource"
				: NULL;
}

int otlp_conf_check(const void *conf, struct fault *reterr_fault)
{
	const struct otlp_conf *c = conf;
	if (!otlp_conf_is_on(c))
		return lonely(c) ? fault_set(reterr_fault, -EINVAL, lonely(c), NULL,
					   "requires -otlp-endpoint or -otlp-profiles")
				 : 0;
	return otlp_setup_check(c, reterr_fault);
}
