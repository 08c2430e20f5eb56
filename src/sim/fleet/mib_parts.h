/* The parts of the list of MIB objects; only mib.c and the parts themselves include this. */
#pragma once
#include "sim/fleet/mib.h"

struct mib_part {
	const struct mib_group *groups;
	unsigned n;
};
extern const struct mib_part mib_core;	 /* what the value engine makes */
extern const struct mib_part mib_ip;	 /* IP, TCP, UDP, Ethernet, LLDP */
extern const struct mib_part mib_host;	 /* routing, hosts, entities */
extern const struct mib_part mib_snmp;	 /* SNMPv3: engine, dispatcher, USM */
extern const struct mib_part mib_vendor; /* under enterprises */

#define MIB_GROUP(oid, module, table, objects) \
	{ \
		oid, module, table, ARRAY_SIZE(objects), objects \
	}
/* Rows of a list of objects: arc, name, syntax, unit. */
#define O_INT(arc, access, name, syntax) \
	{ \
		arc, BER_INTEGER, access, name, syntax, NULL, false \
	}
#define O_UNIT(arc, access, name, syntax, unit) \
	{ \
		arc, BER_INTEGER, access, name, syntax, unit, false \
	}
#define O_STR(arc, access, name, syntax) \
	{ \
		arc, BER_OCTET_STRING, access, name, syntax, NULL, false \
	}
#define O_OID(arc, access, name) \
	{ \
		arc, BER_OID, access, name, "OBJECT IDENTIFIER", NULL, false \
	}
#define O_IP(arc, access, name) \
	{ \
		arc, BER_IPADDRESS, access, name, "IpAddress", NULL, false \
	}
#define O_TICKS(arc, access, name, syntax) \
	{ \
		arc, BER_TIMETICKS, access, name, syntax, "centiseconds", false \
	}
#define O_C32(arc, name, unit) \
	{ \
		arc, BER_COUNTER32, MIB_RO, name, "Counter32", unit, false \
	}
#define O_C64(arc, name, unit) \
	{ \
		arc, BER_COUNTER64, MIB_RO, name, "Counter64", unit, false \
	}
#define O_G32(arc, access, name, syntax, unit) \
	{ \
		arc, BER_GAUGE32, access, name, syntax, unit, false \
	}
/* The same for objects whose values a foreign file must get right. */
#define S_OF(arc, tag, access, name, syntax, unit) \
	{ \
		arc, tag, access, name, syntax, unit, true \
	}
#define S_C32(arc, name, unit) S_OF(arc, BER_COUNTER32, MIB_RO, name, "Counter32", unit)
#define S_C64(arc, name, unit) S_OF(arc, BER_COUNTER64, MIB_RO, name, "Counter64", unit)
#define S_IP(arc, access, name) S_OF(arc, BER_IPADDRESS, access, name, "IpAddress", NULL)
