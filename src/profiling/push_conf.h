/* How to push: the settings of the flags, and what of them goes to a given address. */
#pragma once
#include "base/attr.h"
#include "base/fault.h"
#include "base/flag.h"
#include "profiling/upload.h"
#include <stdbool.h>

/* It would send a push of clients of Pyroscope elsewhere without a word; nl6 refuses to push with
 * it. */
#define PUSH_CONF_FOREIGN "PYROSCOPE_ADHOC_SERVER_ADDRESS"
bool push_conf_is_diverted(void);
/* address_check of a server to push to. */
MUST_CHECK int push_conf_check_address(
	const char *address, const char *field, struct fault *reterr_fault);

struct push_conf {	     /* NULL: not given */
	const char *address; /* opens the gate at the start; what credentials are for */
	const char *basic_auth, *tenant, *cert, *key;
	const char *ca, *proxy;
	bool cpu_always;       /* also where the gate's sink delivers it */
	struct flag_list tags; /* name=value */
};
extern const struct flag push_flags[];
int push_conf_check(const void *conf, struct fault *reterr_fault);

/* Is there a credential that an address is not given, since it is not the flag's? */
bool push_conf_withholds(const struct push_conf *conf, const char *address);

#define PUSH_CONF_TAGS 16	 /* of the user */
#define PUSH_CONF_TEXT_BYTES 512 /* of a tag, and of a user's name, with the NUL */
/* What an upload to an address is given; points into the conf and into itself. */
struct push_target {
	struct upload_conf upload;
	struct upload_tag tags[PUSH_CONF_TAGS + 2];	 /* and version, hostname */
	char text[PUSH_CONF_TAGS][PUSH_CONF_TEXT_BYTES]; /* "name\0value" of each */
	char user[PUSH_CONF_TEXT_BYTES], hostname[256];
};
/* version: of the program. The caller clears the target, which has credentials, with
 * push_target_done. */
void push_target_make(const struct push_conf *conf, const char *address, const char *version,
	struct push_target *ret_target);
void push_target_done(struct push_target *t);
