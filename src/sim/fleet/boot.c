#include "sim/fleet/boot.h"
#include "sim/fleet/pick.h"
#include <errno.h>
#include <string.h>

static const struct flag_choice if_errors_names[] = {{"clean", IF_ERRORS_CLEAN},
	{"typical", IF_ERRORS_TYPICAL}, {"degraded", IF_ERRORS_DEGRADED},
	{"failing", IF_ERRORS_FAILING}, {0}};
const struct flag boot_flags[] = {FLAG_ADDR(struct boot_conf, start, "auto-start-ip", NULL,
					  "Address of the first device to create at start"),
	FLAG_U32(struct boot_conf, count, "auto-count", 0, 0, 16000000,
		"Devices to create at start"),
	FLAG_U16(struct boot_conf, netmask, "auto-netmask", 16, 0, 128,
		"Prefix length of their network, which decides the host addresses to skip"),
	FLAG_STR(struct boot_conf, type, "auto-type", NULL,
		"Their device type, by the `NAME` of its file (default " PICK_DEFAULT_SLUG ")"),
	FLAG_BOOL(struct boot_conf, round_robin, "auto-round-robin", false,
		"Give them all device types in turn"),
	FLAG_STR(struct boot_conf, category, "auto-category", NULL,
		"With -auto-round-robin: only types of this `CATEGORY`"),
	FLAG_ENUM(struct boot_conf, if_errors, "if-error-scenario", "clean", if_errors_names,
		"How many errors and discards their interfaces count"),
	FLAG_SECRET(struct boot_conf, write_community, "snmp-write-community", NULL,
		"Let SNMPv1 and v2c SET on them by this `COMMUNITY`; nobody may if not given"),
	{0}};

static bool has_start(const struct boot_conf *c)
{
	static const struct addr none = {{0}};
	return !addr_eq(&c->start, &none);
}

int boot_conf_check(const void *boot_conf, struct fault *reterr_fault)
{
	const struct boot_conf *c = boot_conf;
	if (c->category && !c->round_robin)
		return fault_set(
			reterr_fault, -EINVAL, "-auto-category", NULL, "needs -auto-round-robin");
	if (c->type && c->round_robin)
		return fault_set(
			reterr_fault, -EINVAL, "-auto-type", NULL, "excludes -auto-round-robin");
	if (has_start(c) && addr_is_v4(&c->start) && c->netmask > 32)
		return fault_set(reterr_fault, -ERANGE, "-auto-netmask", "0..32",
			"%u is too long for an IPv4 address", c->netmask);
	return 0;
}

const char *boot_warning(const struct boot_conf *c)
{
	if (c->count && !has_start(c))
		return "-auto-count without -auto-start-ip: no device is created";
	if (has_start(c) && !c->count)
		return "-auto-start-ip without -auto-count: no device is created";
	if ((c->type || c->round_robin) && !boot_is_wanted(c))
		return "-auto-type and -auto-round-robin need -auto-start-ip and -auto-count: no "
		       "device is created";
	return NULL;
}

bool boot_is_wanted(const struct boot_conf *c)
{
	return c->count && has_start(c);
}

/* A fault that names what others call it by the flag. */
static int name_flag(int r, struct fault *f)
{
	if (!f || r == -ENOMEM)
		return r;
	static const char *const names[][2] = {{"/resource_file", "-auto-type"},
		{"/category", "-auto-category"}, {"/start_ip", "-auto-start-ip"},
		{"/device_count", "-auto-count"}, {"/netmask", "-auto-netmask"},
		{"/snmp_port", "-snmp-port"}};
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(f->field, names[i][0]) == 0) {
			memcpy(f->field, names[i][1], strlen(names[i][1]) + 1);
			break;
		}
	return r;
}

void boot_text(const struct boot_conf *c, struct text *t)
{
	char start[ADDR_TEXT_BYTES];
	text_put(t, "{");
	text_kv_str(t, "start_ip", addr_text(&c->start, start));
	text_kv_u64(t, "count", c->count);
	if (c->netmask_given)
		text_kv_u64(t, "netmask", c->netmask);
	text_kv_str(t, "type", c->type);
	text_kv_bool(t, "round_robin", c->round_robin);
	text_kv_str(t, "category", c->category);
	text_put(t, "}");
}

struct device_conf boot_settings(
	const struct boot_conf *c, uint16_t snmp_port, const struct access *access)
{
	return (struct device_conf){.snmp_port = snmp_port,
		.if_errors = (uint8_t)c->if_errors,
		.write_community = c->write_community,
		.access = access};
}

int boot_submit(const struct boot_conf *c, uint16_t snmp_port, const struct access *access,
	struct types *types, struct batches *batches, const struct mem *mem, const char *auto_flags,
	void (*done)(void *arg, uint64_t id), void *done_arg, uint64_t *ret_id,
	struct fault *reterr_fault)
{
	struct pick pick;
	struct pick_ask ask = {c->type, c->round_robin, c->category};
	int r = pick_types(types, mem, &ask, &pick, reterr_fault);
	if (r < 0)
		return name_flag(r, reterr_fault);
	struct batch_ask batch = {.auto_flags = auto_flags,
		.add = {
			.start = c->start,
			.conf = boot_settings(c, snmp_port, access),
			.netmask_given = c->netmask_given,
			.count = c->count,
			.types = pick.types,
			.n_types = pick.n,
		}};
	batch.add.conf.netmask_len =
		c->netmask_given ? (uint8_t)c->netmask : fleet_default_netmask(&c->start);
	batch.add.conf.named_type = pick.named;
	r = batch_submit(batches, &batch, done, done_arg, ret_id, reterr_fault);
	pick_done(&pick);
	return r < 0 ? name_flag(r, reterr_fault) : 0;
}
