/* The flags of SNMPv3: who may ask the devices that are made at start, and the file of users. */
#pragma once
#include "base/flag.h"
#include "sim/fleet/access.h"

struct access_flags {
	bool on;
	const char *engine_id, *user, *password, *priv_password, *user_file;
	enum keys_auth auth;
	enum keys_priv priv;
	enum access_level min_level, set_min_level;
	struct flag_list contexts;
};
extern const struct flag access_flags[];
/* The check of access_flags (struct flag_set). */
MUST_CHECK int access_flags_check(const void *conf, struct fault *reterr_fault);
/* NULL, or why what the flags say has no effect. */
const char *access_flags_warning(const struct access_flags *c);
/* *ret_access is NULL while no flag turns SNMPv3 on. A fault names a flag, or file and line. */
MUST_CHECK int access_from_flags(const struct mem *mem, struct kus *kus,
	const struct access_flags *c, const struct access **ret_access, struct fault *reterr_fault);

/* Users of a text: a line each, NAME [AUTH PASSWORD [PRIV [PRIV-PASSWORD]]] [min=LEVEL]; a word may
 * stand in double quotes, with \ before " and \; # begins a comment. */
struct access_users {
	const struct mem *mem; /* borrowed */
	char *words;	       /* all texts; wiped at the end */
	size_t bytes;
	uint32_t n;
	struct access_user user[ACCESS_USERS_MAX];
	uint32_t line[ACCESS_USERS_MAX]; /* of each, from 1 */
};
/* name is what a fault calls the text: its field is "name:line". Takes a zeroed *u. -EINVAL,
 * -ENOMEM. */
MUST_CHECK int access_users_read(const struct mem *mem, const char *text, size_t bytes,
	const char *name, struct access_users *u, struct fault *reterr_fault);
void access_users_done(struct access_users *u); /* takes a zeroed one */
