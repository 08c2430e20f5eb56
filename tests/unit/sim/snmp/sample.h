/* A small device for the tests and the fuzz target of the responder: two interfaces, a long string,
 * an object of the device's own address, a Counter64 as the last object. */
#pragma once
#include "sim/fleet/value.h"
#include <string.h>

#define SAMPLE_NOW_NS (1000 * NS_PER_SEC)
struct sample {
	struct type type;
	struct device_conf conf;
	struct device dev;
};

struct sample_object {
	const char *oid;
	uint16_t object_arcs;
	struct ber_value value;
};
#define SAMPLE_TEXT(s) \
	{ \
		.tag = BER_OCTET_STRING, .len = sizeof(s) - 1, .bytes = (const uint8_t *)(s) \
	}
#define SAMPLE_X10 "xxxxxxxxxx"
#define SAMPLE_X100 \
	SAMPLE_X10 SAMPLE_X10 SAMPLE_X10 SAMPLE_X10 SAMPLE_X10 SAMPLE_X10 SAMPLE_X10 SAMPLE_X10 \
		SAMPLE_X10 SAMPLE_X10

static const struct sample_object sample_objects[] = {
	{"1.3.6.1.2.1.1.1.0", 8, SAMPLE_TEXT("dev")},
	{"1.3.6.1.2.1.2.2.1.1.1", 10, {.tag = BER_INTEGER, .i = 1}},
	{"1.3.6.1.2.1.2.2.1.1.2", 10, {.tag = BER_INTEGER, .i = 2}},
	{"1.3.6.1.2.1.2.2.1.5.1", 10, {.tag = BER_GAUGE32, .u = 4294967295}},
	{"1.3.6.1.2.1.2.2.1.5.2", 10, {.tag = BER_GAUGE32, .u = 128}},
	{"1.3.6.1.2.1.31.1.1.1.6.1", 11, {.tag = BER_COUNTER64, .u = 1}},
	{"1.3.6.1.2.1.31.1.1.1.6.2", 11, {.tag = BER_COUNTER64, .u = 2}},
	{"1.3.6.1.2.1.31.1.1.1.7.1", 11, {.tag = BER_COUNTER64, .u = 3}},
	{"1.3.6.1.2.1.31.1.1.1.18.1", 11, SAMPLE_TEXT("")},
	{"1.3.6.1.4.1.9.1.0", 8,
		SAMPLE_TEXT(SAMPLE_X100 SAMPLE_X100 SAMPLE_X100 SAMPLE_X100 SAMPLE_X100)},
	{"1.3.6.1.4.1.9.2.0", 8, {.tag = BER_COUNTER64, .u = UINT64_MAX}},
};

static int sample_add(struct oidtab_new *b, const char *text, struct oidtab_add add)
{
	struct oid o;
	int r = oid_parse(text, &o);
	add.oid = &o;
	add.object = OIDTAB_NO_OBJECT;
	return r == 0 ? oidtab_new_add(b, &add) : r;
}

static UNUSED int sample_make(const struct mem *mem, struct sample *s)
{
	uint32_t twins[2];
	memset(s, 0, sizeof(*s));
	AUTO(oidtab_new) struct oidtab_new *b = NULL;
	int r = oidtab_new(mem, &b);
	for (unsigned i = 0; i < ARRAY_SIZE(sample_objects) && r == 0; i++) {
		struct ber_value v = sample_objects[i].value;
		struct oidtab_add add = {.object_arcs = sample_objects[i].object_arcs,
			.kind = OID_CONST,
			.value = &v};
		r = sample_add(b, sample_objects[i].oid, add);
	}
	if (r == 0)
		r = sample_add(b, "1.3.6.1.2.1.1.3.0",
			(struct oidtab_add){
				.object_arcs = 8, .kind = OID_SYS_UPTIME, .tag = BER_TIMETICKS});
	if (r == 0)
		r = sample_add(b, "1.3.6.1.2.1.11.1.0",
			(struct oidtab_add){.object_arcs = 8,
				.kind = OID_SNMP_COUNTER,
				.tag = BER_COUNTER32,
				.arg = DEV_SNMP_IN_PKTS});
	if (r == 0)
		r = oidtab_new_finish(b, &s->type.table, twins);
	s->conf = (struct device_conf){
		.type = &s->type, .snmp_port = 161, .netmask_len = 8, .write_community = "public"};
	s->dev.addr = addr_from_v4(0x7f0a0001);
	s->dev.conf = &s->conf;
	s->dev.boot_ns = SAMPLE_NOW_NS - 123 * NS_PER_SEC;
	return r;
}

static UNUSED void sample_done(struct sample *s)
{
	oidtab_done(&s->type.table);
}
