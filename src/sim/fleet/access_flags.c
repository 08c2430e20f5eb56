#include "sim/fleet/access_flags.h"
#include "base/file.h"
#include <errno.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>

#define NAME_DEFAULT "simadmin"
#define FILE_BYTES_MAX (64u << 10)

static const struct flag_choice auths[] = {{"none", KEYS_AUTH_NONE}, {"md5", KEYS_MD5},
	{"sha1", KEYS_SHA1}, {"sha", KEYS_SHA1}, {"sha224", KEYS_SHA224}, {"sha256", KEYS_SHA256},
	{"sha384", KEYS_SHA384}, {"sha512", KEYS_SHA512}, {"0", KEYS_AUTH_NONE}, {"1", KEYS_MD5},
	{"2", KEYS_SHA1}, {"3", KEYS_SHA224}, {"4", KEYS_SHA256}, {"5", KEYS_SHA384},
	{"6", KEYS_SHA512}, {0}};
static const struct flag_choice privs[] = {{"none", KEYS_PRIV_NONE}, {"des", KEYS_DES},
	{"aes128", KEYS_AES128}, {"aes", KEYS_AES128}, {"aes192", KEYS_AES192},
	{"aes256", KEYS_AES256}, {"aes192c", KEYS_AES192C}, {"aes256c", KEYS_AES256C},
	{"0", KEYS_PRIV_NONE}, {"1", KEYS_DES}, {"2", KEYS_AES128}, {"3", KEYS_AES192},
	{"4", KEYS_AES256}, {"5", KEYS_AES192C}, {"6", KEYS_AES256C}, {0}};
static const struct flag_choice min_levels[] = {
	{"none", ACCESS_NO_AUTH}, {"auth", ACCESS_AUTH}, {"priv", ACCESS_PRIV}, {0}};
const struct flag access_flags[] = {
	FLAG_BOOL(struct access_flags, on, "snmpv3", false,
		"Answer SNMPv3 as well, each device as an engine of its own"),
	FLAG_STR(struct access_flags, engine_id, "snmpv3-engine-id", NULL,
		"Answer SNMPv3 as well, all devices as one engine with this id, in `HEX`"),
	FLAG_STR(struct access_flags, user, "snmpv3-user", NAME_DEFAULT,
		"`NAME` of the SNMPv3 user"),
	FLAG_ENUM(struct access_flags, auth, "snmpv3-auth", "md5", auths,
		"Authentication protocol of the SNMPv3 user"),
	FLAG_SECRET(struct access_flags, password, "snmpv3-password", NAME_DEFAULT,
		"Authentication password of the SNMPv3 user, 8 bytes or more"),
	FLAG_ENUM(struct access_flags, priv, "snmpv3-priv", "none", privs,
		"Privacy protocol of the SNMPv3 user"),
	FLAG_SECRET(struct access_flags, priv_password, "snmpv3-priv-password", NULL,
		"Privacy password of the SNMPv3 user; that of authentication if not given"),
	FLAG_ENUM(struct access_flags, min_level, "snmpv3-min-security-level", "none", min_levels,
		"Least security level at which the SNMPv3 user is answered"),
	FLAG_ENUM(struct access_flags, set_min_level, "snmp-set-min-security-level", "auth",
		min_levels, "Least security level at which an SNMPv3 user may SET"),
	FLAG_PATH(struct access_flags, user_file, "snmpv3-user-file", NULL,
		"Take the SNMPv3 users from `FILE`, a \"NAME AUTH PASSWORD PRIV PRIV-PASSWORD\" a "
		"line"),
	FLAG_LIST(struct access_flags, contexts, "snmpv3-contexts", NULL,
		"Contexts that SNMPv3 is answered in beside the empty one"),
	{0}};

static bool is_on(const struct access_flags *c)
{
	return c->on || c->engine_id || c->user_file;
}

/* Does a flag say more of the user than its default? */
static bool says_user(const struct access_flags *c)
{
	return strcmp(c->user, NAME_DEFAULT) != 0 || strcmp(c->password, NAME_DEFAULT) != 0 ||
	       c->auth != KEYS_MD5 || c->priv || c->priv_password || c->min_level;
}

int access_flags_check(const void *conf, struct fault *reterr_fault)
{
	const struct access_flags *c = conf;
	uint8_t id[ACCESS_ENGINE_ID_BYTES], bytes;
	if (c->priv && !c->auth)
		return fault_set(reterr_fault, -EINVAL, "-snmpv3-priv", "none",
			"privacy needs authentication: -snmpv3-auth");
	if (c->user_file && says_user(c))
		return fault_set(reterr_fault, -EINVAL, "-snmpv3-user-file", NULL,
			"excludes the flags that tell of one user");
	if (!c->engine_id)
		return 0;
	return access_engine_id_parse(c->engine_id, "-snmpv3-engine-id", id, &bytes, reterr_fault);
}

const char *access_flags_warning(const struct access_flags *c)
{
	if (!is_on(c) && (says_user(c) || c->contexts.n))
		return "the -snmpv3 flags have no effect without -snmpv3 or -snmpv3-engine-id";
	return NULL;
}

/* Where a fault of access_new lies, by the flag or the line that said it. */
static int name_place(
	int r, const struct access_flags *c, const struct access_users *users, struct fault *f)
{
	static const char *const names[][2] = {{"/username", "-snmpv3-user"},
		{"/password", "-snmpv3-password"}, {"/priv_password", "-snmpv3-priv-password"},
		{"/priv_protocol", "-snmpv3-priv"},
		{"/min_security_level", "-snmpv3-min-security-level"}};
	char field[sizeof(f->field)];
	unsigned user;
	int at = 0;
	if (r == -ENOMEM)
		return r;
	if (strcmp(f->field, "/contexts") == 0) {
		(void)snprintf(f->field, sizeof(f->field), "-snmpv3-contexts");
		return r;
	}
	if (sscanf(f->field, "/users/%u%n", &user, &at) != 1) {
		(void)snprintf(f->field, sizeof(f->field), "-snmpv3-user-file");
		return r;
	}
	if (c->user_file) {
		(void)snprintf(field, sizeof(field), "%.80s:%u: %.24s", c->user_file,
			users->line[user], f->field + at + 1);
		memcpy(f->field, field, sizeof(field));
		return r;
	}
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(f->field + at, names[i][0]) == 0) {
			(void)snprintf(f->field, sizeof(f->field), "%s", names[i][1]);
			break;
		}
	return r;
}

static int read_users(const struct mem *mem, const char *path, struct access_users *users,
	struct fault *reterr_fault)
{
	char *text;
	size_t bytes;
	int r = file_read(mem, path, FILE_BYTES_MAX, &text, &bytes);
	if (r < 0)
		return fault_set(reterr_fault, r, "-snmpv3-user-file", NULL, "%.120s: %s", path,
			strerrordesc_np(-r));
	r = access_users_read(mem, text, bytes, path, users, reterr_fault);
	OPENSSL_cleanse(text, bytes);
	(void)mem_free(mem, text);
	return r;
}

int access_from_flags(const struct mem *mem, struct kus *kus, const struct access_flags *c,
	const struct access **ret_access, struct fault *reterr_fault)
{
	if (!is_on(c)) {
		*ret_access = NULL;
		return 0;
	}
	struct access_users users = {0};
	struct access_user one = {.name = c->user,
		.auth = c->auth,
		.priv = c->priv,
		.password = c->password,
		.priv_password = c->priv_password,
		.min_level = c->min_level};
	struct access_conf conf = {.n_users = 1,
		.set_min_level = c->set_min_level,
		.users = &one,
		.n_contexts = c->contexts.n,
		.contexts = c->contexts.items};
	int r = 0;
	if (c->engine_id)
		r = access_engine_id_parse(c->engine_id, "-snmpv3-engine-id", conf.engine_id,
			&conf.engine_id_bytes, reterr_fault);
	if (r == 0 && c->user_file) {
		r = read_users(mem, c->user_file, &users, reterr_fault);
		conf.users = users.user;
		conf.n_users = users.n;
	}
	if (r == 0) {
		r = access_new(mem, kus, &conf, ret_access, reterr_fault);
		if (r < 0)
			r = name_place(r, c, &users, reterr_fault);
	}
	access_users_done(&users);
	return r;
}
