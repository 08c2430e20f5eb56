#include "profiling/push_conf.h"
#include "net/address.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct flag_choice cpu_choices[] = {{"auto", false}, {"always", true}, {0}};
const struct flag push_flags[] = {
	FLAG_STR(struct push_conf, address, "profiling-pyroscope", NULL,
		"Open the profiling gate at start and push to the Pyroscope server at `URL`"),
	FLAG_SECRET(struct push_conf, basic_auth, "profiling-pyroscope-basic-auth", NULL,
		"Basic auth of the push as `USER:PASSWORD`, for the address of "
		"-profiling-pyroscope alone"),
	FLAG_SECRET(struct push_conf, tenant, "profiling-pyroscope-tenant", NULL,
		"Tenant of the push as `ID` (X-Scope-OrgID), for the address of "
		"-profiling-pyroscope alone"),
	FLAG_PATH(struct push_conf, ca, "profiling-pyroscope-ca", NULL,
		"Trust the authorities in `FILE` (PEM) for a push over https, not the system's"),
	FLAG_PATH(struct push_conf, cert, "profiling-pyroscope-cert", NULL,
		"Client certificate of the push in `FILE` (PEM), for the address of "
		"-profiling-pyroscope alone"),
	FLAG_PATH(struct push_conf, key, "profiling-pyroscope-key", NULL,
		"Private key of the client certificate in `FILE` (PEM), if it is not in that file"),
	FLAG_STR(struct push_conf, proxy, "profiling-pyroscope-proxy", NULL,
		"Push through the proxy at `URL`; none is taken from the environment"),
	FLAG_ENUM(struct push_conf, cpu_always, "profiling-pyroscope-cpu", "auto", cpu_choices,
		"Push the CPU `auto`: unless it arrives by OTLP (-otlp-profiles), or always"),
	FLAG_LIST(struct push_conf, tags, "profiling-tag", NULL,
		"Label all pushed profiles with `NAME=VALUE`, up to 16 times; service_name, "
		"version and hostname may be replaced"),
	{0},
};

bool push_conf_is_diverted(void)
{
	return getenv(PUSH_CONF_FOREIGN) != NULL;
}

int push_conf_check_address(const char *address, const char *field, struct fault *reterr_fault)
{
	struct address_use use = {field, "-profiling-pyroscope-basic-auth", "/ingest"};
	return address_check(address, &use, reterr_fault);
}

/* The part of name=value that is the name; 0: there is none, or it is not a label's. */
static size_t tag_name_bytes(const char *tag)
{
	size_t n = 0;
	while (isalnum((unsigned char)tag[n]) || tag[n] == '_' || tag[n] == '.')
		n++;
	bool good = n > 0 && tag[n] == '=' && !isdigit((unsigned char)tag[0]) &&
		    strncmp(tag, "__", 2) != 0;
	return good ? n : 0;
}

static int check_tag(const char *tag, struct fault *f)
{
	const char *const field = "-profiling-tag";
	size_t n = tag_name_bytes(tag);
	if (n == 0)
		return fault_set(f, -EINVAL, field,
			"NAME=VALUE; a name of letters, digits, _ and ., not a digit nor __ first",
			"not a label: %.60s", tag);
	/* Series have each label once: this one would hide the samples' own. */
	if (strncmp(tag, "subsystem=", n + 1) == 0)
		return fault_set(f, -EINVAL, field, NULL, "subsystem is a label of the samples");
	if (strncmp(tag, "pyroscope_spy=", n + 1) == 0)
		return fault_set(
			f, -EINVAL, field, NULL, "pyroscope_spy is the server's own label");
	const char *value = tag + n + 1;
	if (!value[0] || value[0] == ' ' || value[strlen(value) - 1] == ' ')
		return fault_set(f, -EINVAL, field, NULL,
			"the value of %.60s is empty or has a blank at an end", tag);
	if (strpbrk(value, ",{}"))
		return fault_set(f, -EINVAL, field, "any character but , { and }",
			"the value of %.60s cannot be sent", tag);
	if (strlen(tag) >= PUSH_CONF_TEXT_BYTES)
		return fault_set(f, -EINVAL, field, "up to 511 bytes", "%.60s… is too long", tag);
	return 0;
}

static int check_tags(const struct flag_list *tags, struct fault *f)
{
	if (tags->n > PUSH_CONF_TAGS)
		return fault_set(
			f, -EINVAL, "-profiling-tag", "up to 16", "%u are too many", tags->n);
	for (uint32_t i = 0; i < tags->n; i++) {
		int r = check_tag(tags->items[i], f);
		if (r < 0)
			return r;
		size_t n = tag_name_bytes(tags->items[i]) + 1;
		for (uint32_t k = 0; k < i; k++)
			if (strncmp(tags->items[i], tags->items[k], n) == 0)
				return fault_set(f, -EINVAL, "-profiling-tag", NULL,
					"%.*s is there twice", (int)n - 1, tags->items[i]);
	}
	return 0;
}

static int check_file(const char *path, const char *field, struct fault *f)
{
	if (!path || access(path, R_OK) == 0)
		return 0;
	int r = -errno;
	(void)fault_set(f, r, field, "a PEM file", "%s cannot be read: %s", path, strerror(-r));
	return -EINVAL;
}

static int check_files(const struct push_conf *c, struct fault *f)
{
	if (c->key && !c->cert)
		return fault_set(f, -EINVAL, "-profiling-pyroscope-key", NULL,
			"makes no sense without -profiling-pyroscope-cert");
	int r = check_file(c->ca, "-profiling-pyroscope-ca", f);
	if (r == 0)
		r = check_file(c->cert, "-profiling-pyroscope-cert", f);
	return r < 0 ? r : check_file(c->key, "-profiling-pyroscope-key", f);
}

/* Credentials are for an address; the fault shows none. */
static int check_credentials(const struct push_conf *c, struct fault *f)
{
	const char *lonely = c->basic_auth ? "-profiling-pyroscope-basic-auth"
			     : c->tenant   ? "-profiling-pyroscope-tenant"
			     : c->cert	   ? "-profiling-pyroscope-cert"
					   : NULL;
	if (lonely && !c->address)
		return fault_set(f, -EINVAL, lonely, NULL, "requires -profiling-pyroscope");
	if (!c->basic_auth)
		return 0;
	const char *colon = strchr(c->basic_auth, ':');
	if (!colon || colon == c->basic_auth || !colon[1])
		return fault_set(f, -EINVAL, "-profiling-pyroscope-basic-auth", "USER:PASSWORD",
			"both parts are required");
	if (colon - c->basic_auth >= PUSH_CONF_TEXT_BYTES)
		return fault_set(f, -EINVAL, "-profiling-pyroscope-basic-auth", NULL,
			"the user's name is too long");
	return 0;
}

static int check_address(const struct push_conf *c, struct fault *f)
{
	int r = c->address ? push_conf_check_address(c->address, "-profiling-pyroscope", f) : 0;
	if (r == 0 && c->address && push_conf_is_diverted())
		r = fault_set(f, -EINVAL, "-profiling-pyroscope", NULL,
			PUSH_CONF_FOREIGN
			" is set in the environment and would divert the push: unset it");
	if (r == 0 && c->proxy && strchr(c->proxy, '@'))
		return fault_set(f, -EINVAL, "-profiling-pyroscope-proxy", "http://HOST:PORT",
			"must not embed credentials");
	if (r == 0 && c->proxy)
		r = push_conf_check_address(c->proxy, "-profiling-pyroscope-proxy", f);
	return r;
}

int push_conf_check(const void *conf, struct fault *reterr_fault)
{
	const struct push_conf *c = conf;
	int r = check_address(c, reterr_fault);
	if (r == 0)
		r = check_credentials(c, reterr_fault);
	if (r == 0)
		r = check_files(c, reterr_fault);
	return r < 0 ? r : check_tags(&c->tags, reterr_fault);
}

static bool is_trusted(const struct push_conf *conf, const char *address)
{
	return conf->address && address_is_same(conf->address, address);
}

bool push_conf_withholds(const struct push_conf *conf, const char *address)
{
	return (conf->basic_auth || conf->tenant || conf->cert) && !is_trusted(conf, address);
}

static void add_tag(struct push_target *t, const char *name, const char *value)
{
	for (uint32_t i = 0; i < t->upload.n_tags; i++)
		if (strcmp(t->tags[i].name, name) == 0)
			return; /* the user's comes first and wins */
	t->tags[t->upload.n_tags++] = (struct upload_tag){name, value};
}

static void add_credentials(const struct push_conf *conf, struct push_target *t)
{
	if (conf->basic_auth) {
		size_t n = strcspn(conf->basic_auth, ":");
		memcpy(t->user, conf->basic_auth, n);
		t->upload.user = t->user;
		t->upload.password = conf->basic_auth + n + 1;
	}
	t->upload.tenant = conf->tenant;
	t->upload.cert_file = conf->cert;
	t->upload.key_file = conf->key ? conf->key : conf->cert;
}

void push_target_make(const struct push_conf *conf, const char *address, const char *version,
	struct push_target *ret_target)
{
	struct push_target *t = ret_target;
	memset(t, 0, sizeof(*t));
	t->upload.address = address;
	t->upload.ca_file = conf->ca;
	t->upload.proxy = conf->proxy;
	t->upload.tags = t->tags;
	if (is_trusted(conf, address))
		add_credentials(conf, t);
	for (uint32_t i = 0; i < conf->tags.n; i++) {
		char *text = memccpy(t->text[i], conf->tags.items[i], '\0', PUSH_CONF_TEXT_BYTES);
		size_t n = text ? tag_name_bytes(t->text[i]) : 0;
		t->text[i][n] = '\0';
		add_tag(t, t->text[i], t->text[i] + n + 1);
	}
	if (gethostname(t->hostname, sizeof(t->hostname) - 1) < 0 || !t->hostname[0])
		memcpy(t->hostname, "unknown", sizeof("unknown"));
	add_tag(t, "version", version);
	add_tag(t, "hostname", t->hostname);
}

void push_target_done(struct push_target *t)
{
	explicit_bzero(t, sizeof(*t));
}
