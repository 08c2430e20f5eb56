#include "sim/fleet/mib_parts.h"

static const struct mib_object netapp_product[] = {
	O_STR(2, MIB_RO, "productVersion", "DisplayString"),
	O_STR(5, MIB_RO, "productModel", "DisplayString"),
	O_STR(9, MIB_RO, "productSerialNum", "DisplayString"),
};
static const struct mib_object old_cisco_system[] = {
	S_OF(8, BER_GAUGE32, MIB_RO, "freeMem", "INTEGER", "octets"),
};
static const struct mib_object compaq_asset[] = {
	O_STR(1, MIB_RW, "cpqSiSysSerialNum", "DisplayString"),
};
static const struct mib_object compaq_board[] = {
	O_STR(2, MIB_RO, "cpqSiProductName", "DisplayString"),
};
static const struct mib_object dell_system[] = {
	O_STR(2, MIB_RO, "systemServiceTag", "StringType"),
	O_STR(12, MIB_RO, "systemModelName", "StringType"),
};
static const struct mib_object check_point_info[] = {
	O_STR(1, MIB_RO, "svnVersion", "DisplayString"),
};
static const struct mib_object check_point_appliance[] = {
	O_STR(3, MIB_RO, "svnApplianceSerialNumber", "DisplayString"),
	O_STR(7, MIB_RO, "svnApplianceProductName", "DisplayString"),
};
static const struct mib_object juniper_box[] = {
	O_STR(2, MIB_RO, "jnxBoxDescr", "DisplayString"),
	O_STR(3, MIB_RO, "jnxBoxSerialNo", "DisplayString"),
};
static const struct mib_object sonicwall_system[] = {
	O_STR(1, MIB_RO, "snwlSysModel", "DisplayString"),
	O_STR(2, MIB_RO, "snwlSysSerialNumber", "DisplayString"),
	O_STR(3, MIB_RO, "snwlSysFirmwareVersion", "DisplayString"),
};
static const struct mib_object fortinet_system[] = {
	O_STR(1, MIB_RO, "fnSysSerial", "DisplayString"),
};
static const struct mib_object fortigate_info[] = {
	O_STR(1, MIB_RO, "fgSysVersion", "DisplayString"),
};
static const struct mib_object palo_alto_system[] = {
	O_STR(1, MIB_RO, "panSysSwVersion", "DisplayString"),
	O_STR(2, MIB_RO, "panSysHwVersion", "DisplayString"),
	O_STR(3, MIB_RO, "panSysSerialNumber", "DisplayString"),
};

static const struct mib_group groups[] = {
	MIB_GROUP("1.3.6.1.4.1.9.2.1", "OLD-CISCO-SYSTEM-MIB", false, old_cisco_system),
	MIB_GROUP("1.3.6.1.4.1.232.2.2.2", "CPQSINFO-MIB", false, compaq_asset),
	MIB_GROUP("1.3.6.1.4.1.232.2.2.4", "CPQSINFO-MIB", false, compaq_board),
	MIB_GROUP("1.3.6.1.4.1.674.10892.5.1.3", "IDRAC-MIB-SMIv2", false, dell_system),
	MIB_GROUP("1.3.6.1.4.1.789.1.1", "NETAPP-MIB", false, netapp_product),
	MIB_GROUP("1.3.6.1.4.1.2620.1.6.4", "CHECKPOINT-MIB", false, check_point_info),
	MIB_GROUP("1.3.6.1.4.1.2620.1.6.16", "CHECKPOINT-MIB", false, check_point_appliance),
	MIB_GROUP("1.3.6.1.4.1.2636.3.1", "JUNIPER-MIB", false, juniper_box),
	MIB_GROUP("1.3.6.1.4.1.8741.2.1.1", "SNWL-COMMON-MIB", false, sonicwall_system),
	MIB_GROUP("1.3.6.1.4.1.12356.100.1.1", "FORTINET-CORE-MIB", false, fortinet_system),
	MIB_GROUP("1.3.6.1.4.1.12356.101.4.1", "FORTINET-FORTIGATE-MIB", false, fortigate_info),
	MIB_GROUP("1.3.6.1.4.1.25461.2.1.2.1", "PAN-COMMON-MIB", false, palo_alto_system),
};
const struct mib_part mib_vendor = {groups, ARRAY_SIZE(groups)};
