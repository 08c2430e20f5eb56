#include "sim/snmp/set_rules.h"
#include "base/attr.h"
#include "sim/fleet/mib.h"
#include "sim/fleet/oidtab.h"
#include <string.h>

#define STRING(name, max) \
	{ \
		name, 0, max, SET_KEEPS \
	}
#define NUMBER(name, lo, hi) \
	{ \
		name, lo, hi, SET_KEEPS \
	}
#define TRUTH(name) NUMBER(name, 1, 2)
#define ANY(name) NUMBER(name, 0, INT64_MAX)

/* Sizes, ranges and enumerations of RFC 1850, 2790, 2863, 3418, 4022, 4273, 4293, 4750 and 6933. An
 * object of read-write access that is not here would need more behind it than a value, so it is
 * read only, as the conformance statements of its MIB allow. */
static const struct set_rule rules[] = {
	STRING("sysContact", 255),
	STRING("sysName", 255),
	STRING("sysLocation", 255),
	{"ifAdminStatus", 1, 3, SET_IF_ADMIN},
	TRUTH("snmpEnableAuthenTraps"),
	NUMBER("hrSystemInitialLoadDevice", 1, INT32_MAX),
	STRING("hrSystemInitialLoadParameters", 128),
	NUMBER("hrStorageSize", 0, INT32_MAX),
	TRUTH("ifLinkUpDownTrapEnable"),
	TRUTH("ifPromiscuousMode"),
	STRING("ifAlias", 64),
	ANY("ospfRouterId"),
	TRUTH("ospfAdminStat"),
	TRUTH("ospfASBdrRtrStatus"),
	TRUTH("ospfTOSSupport"),
	NUMBER("ospfExtLsdbLimit", -1, INT32_MAX),
	NUMBER("ospfMulticastExtensions", 0, INT32_MAX),
	NUMBER("ospfExitOverflowInterval", 0, INT32_MAX),
	TRUTH("ospfDemandExtensions"),
	TRUTH("ospfRFC1583Compatibility"),
	NUMBER("ospfReferenceBandwidth", 0, UINT32_MAX),
	NUMBER("ospfRestartSupport", 1, 3),
	NUMBER("ospfRestartInterval", 1, 1800),
	TRUTH("ospfRestartStrictLsaChecking"),
	NUMBER("ospfStubRouterAdvertisement", 1, 2),
	NUMBER("bgpPeerAdminStatus", 1, 2),
	NUMBER("bgpPeerConnectRetryInterval", 1, 65535),
	NUMBER("bgpPeerHoldTimeConfigured", 0, 65535),
	NUMBER("bgpPeerKeepAliveConfigured", 0, 21845),
	NUMBER("bgpPeerMinASOriginationInterval", 1, 65535),
	NUMBER("bgpPeerMinRouteAdvertisementInterval", 1, 65535),
	STRING("entPhysicalSerialNum", 32),
	STRING("entPhysicalAlias", 32),
	STRING("entPhysicalAssetID", 32),
	NUMBER("ipForwarding", 1, 2),
	NUMBER("ipDefaultTTL", 1, 255),
};

const struct set_rule *set_rule_of(uint16_t object)
{
	if (object == OIDTAB_NO_OBJECT)
		return NULL;
	const char *name = mib_nth(object).object->name;
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (strcmp(rules[i].name, name) == 0)
			return &rules[i];
	return NULL;
}
