#include "conf.h"

const char *const check_alone_flags[] = {"help", "version", NULL};
const char check_usage[] = "Usage: nl6-check [-flag value]... FILE...\n"
			   "Lists what is wrong with recordings of SNMP agents (.snmprec, "
			   ".snmpwalk, each also .bz2), with\n"
			   "the lines, or converts one. Exits 1 when something is wrong.\n";

static const struct flag flags[] = {
	FLAG_PATH(struct check_conf, convert, "convert", NULL,
		"Write the records of the one FILE in order, without doubles, as .snmprec to "
		"`FILE`, or "
		"- for standard output"),
	FLAG_LIST(struct check_conf, mibs, "mibs", NULL,
		"Take names of objects for what the MIB modules in `DIR` say"),
	FLAG_U32(struct check_conf, most, "most", 100, 0, UINT32_MAX,
		"Tell at most `N` faults of a file; 0: all"),
	FLAG_BOOL(struct check_conf, help, "help", false, "Show this help"),
	FLAG_BOOL(struct check_conf, version, "version", false, "Show the version"),
	{0},
};
const struct flag_set check_flags[] = {{flags, 0, "Flags", NULL}, {0}};
