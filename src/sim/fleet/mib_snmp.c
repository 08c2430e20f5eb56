#include "sim/fleet/mib_parts.h"

static const struct mib_object engine_scalars[] = {
	O_STR(1, MIB_RO, "snmpEngineID", "SnmpEngineID"),
	O_INT(2, MIB_RO, "snmpEngineBoots", "INTEGER (1..2147483647)"),
	O_UNIT(3, MIB_RO, "snmpEngineTime", "INTEGER (0..2147483647)", "seconds"),
	O_INT(4, MIB_RO, "snmpEngineMaxMessageSize", "INTEGER (484..2147483647)"),
};
static const struct mib_object mpd_scalars[] = {
	O_C32(1, "snmpUnknownSecurityModels", "messages"),
	O_C32(2, "snmpInvalidMsgs", "messages"),
	O_C32(3, "snmpUnknownPDUHandlers", "messages"),
};
static const struct mib_object target_scalars[] = {
	O_C32(4, "snmpUnavailableContexts", "messages"),
	O_C32(5, "snmpUnknownContexts", "messages"),
};
static const struct mib_object usm_scalars[] = {
	O_C32(1, "usmStatsUnsupportedSecLevels", "messages"),
	O_C32(2, "usmStatsNotInTimeWindows", "messages"),
	O_C32(3, "usmStatsUnknownUserNames", "messages"),
	O_C32(4, "usmStatsUnknownEngineIDs", "messages"),
	O_C32(5, "usmStatsWrongDigests", "messages"),
	O_C32(6, "usmStatsDecryptionErrors", "messages"),
};

static const struct mib_group groups[] = {
	MIB_GROUP("1.3.6.1.6.3.10.2.1", "SNMP-FRAMEWORK-MIB", false, engine_scalars),
	MIB_GROUP("1.3.6.1.6.3.11.2.1", "SNMP-MPD-MIB", false, mpd_scalars),
	MIB_GROUP("1.3.6.1.6.3.12.1", "SNMP-TARGET-MIB", false, target_scalars),
	MIB_GROUP("1.3.6.1.6.3.15.1.1", "SNMP-USER-BASED-SM-MIB", false, usm_scalars),
};
const struct mib_part mib_snmp = {groups, ARRAY_SIZE(groups)};
