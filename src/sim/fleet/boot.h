/* The fleet at start: what the -auto-* flags ask for, made as one create batch. */
#pragma once
#include "base/flag.h"
#include "base/text.h"
#include "sim/fleet/batch.h"

struct boot_conf {
	struct addr start;  /* -auto-start-ip; all zero: none */
	uint32_t count;	    /* -auto-count */
	uint16_t netmask;   /* -auto-netmask, of the start's family */
	bool netmask_given; /* not the default: the range must fit it */
	const char *type, *category;
	bool round_robin;
	enum if_errors if_errors;
	const char *write_community; /* NULL: nobody may SET by v1 and v2c */
};
extern const struct flag boot_flags[];
/* The check of boot_flags (struct flag_set). */
MUST_CHECK int boot_conf_check(const void *boot_conf, struct fault *reterr_fault);
/* NULL, or why there will be no fleet although a flag asks for one. */
const char *boot_warning(const struct boot_conf *c);
/* Is there a fleet to make? */
bool boot_is_wanted(const struct boot_conf *c);
/* The settings that flags give to the devices of the -auto flags: all but type, netmask_len and
 * named_type. They are those of each start, also for devices that come back from the store. */
struct device_conf boot_settings(
	const struct boot_conf *c, uint16_t snmp_port, const struct access *access);
/* What the flags ask for, to tell in a later start whether they still ask for the same. */
void boot_text(const struct boot_conf *c, struct text *t);
/* Compiles the types and queues the batch, as batch_submit; access may be NULL. auto_flags:
 * boot_text's, for the store; NULL: it is not kept. done (may be NULL) is called once when it has
 * ended. Errors as pick_types and batch_submit; the fault names a flag. */
MUST_CHECK int boot_submit(const struct boot_conf *c, uint16_t snmp_port,
	const struct access *access, struct types *types, struct batches *batches,
	const struct mem *mem, const char *auto_flags, void (*done)(void *arg, uint64_t id),
	void *done_arg, uint64_t *ret_id, struct fault *reterr_fault);
