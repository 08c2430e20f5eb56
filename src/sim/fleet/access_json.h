/* SNMPv3 settings as JSON: the block `snmpv3` of a create over REST, of the store, of an export. */
#pragma once
#include "base/text.h"
#include "sim/fleet/access.h"
#include <jansson.h>

/* The block in the notation of api/schema.h. */
#define ACCESS_JSON_SCHEMA \
	"{enabled?:bool'Answer SNMPv3 as well'," \
	"engine_id?:str'In hexadecimal digits, shared by all devices; empty: each has its own'," \
	"username?:str'Of the first user; simadmin if neither it nor users is given'," \
	"password?:str'8 bytes or more; never told again'," \
	"auth_protocol?:any'0..6 or none, md5, sha1, sha224, sha256, sha384, sha512'," \
	"priv_protocol?:any'0..6 or none, des, aes128, aes192, aes256, aes192c, aes256c'," \
	"priv_password?:str'Empty: as password; never told again'," \
	"min_security_level?:str'Least at which the user is answered: none, auth, priv'," \
	"set_min_security_level?:str'Least at which users may SET: none, auth (default), priv'," \
	"contexts?:[str]'Beside the empty one'," \
	"users?:[{username:str,password?:str,auth_protocol?:any,priv_protocol?:any," \
	"priv_password?:str,min_security_level?:str}]'Further users'}"
/* *ret_access is NULL when enabled is not true; all is judged even so. Refused with a fault whose
 * field begins with "/snmpv3": unknown keys, wrong types, what access_new refuses. -EINVAL,
 * -ENOMEM.
 */
MUST_CHECK int access_read_json(const struct mem *mem, struct kus *kus, const json_t *block,
	const struct access **ret_access, struct fault *reterr_fault);
/* Writes a block that is read back as the same, passwords included. */
void access_write_json(struct text *t, const struct access *a);
/* Takes the passwords out of a block. */
void access_hide_json(json_t *block);
