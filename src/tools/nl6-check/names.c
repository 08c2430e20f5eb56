#include "names.h"
#include <errno.h>
#include <net-snmp/net-snmp-config.h>
/* The rest of net-snmp needs it first. */
#include <net-snmp/net-snmp-includes.h>
#include <stdlib.h>
#include <sys/stat.h>

int names_read(const struct flag_list *dirs, struct fault *reterr_fault)
{
	/* No files of the system or the user, and no variables: what is asked for counts. */
	(void)setenv("MIBS", "", 1);
	(void)unsetenv("MIBDIRS");
	(void)unsetenv("MIBFILES");
	netsnmp_set_mib_directory("");
	netsnmp_ds_set_boolean(NETSNMP_DS_LIBRARY_ID, NETSNMP_DS_LIB_MIB_ERRORS, 0);
	snmp_disable_log(); /* of modules that are not needed: a name that is not known is told */
	netsnmp_init_mib();
	for (uint32_t i = 0; i < dirs->n; i++) {
		struct stat st;
		if (stat(dirs->items[i], &st) < 0 || !S_ISDIR(st.st_mode))
			return fault_set(reterr_fault, -ENOENT, "-mibs", "a directory",
				"%s is none", dirs->items[i]);
		(void)add_mibdir(dirs->items[i]);
	}
	(void)read_all_mibs();
	return 0;
}

static int find(void *arg UNUSED, const char *name, struct oid *ret_oid)
{
	oid arcs[MAX_OID_LEN];
	size_t n = MAX_OID_LEN;
	struct oid o = {0};
	if (!snmp_parse_oid(name, arcs, &n) || n > OID_MAX_ARCS)
		return -ENOENT;
	for (size_t i = 0; i < n; i++) {
		if (arcs[i] > UINT32_MAX)
			return -ENOENT;
		o.arcs[o.n++] = (uint32_t)arcs[i];
	}
	uint8_t ber[OID_BER_BYTES];
	if (oid_to_ber(&o, ber, sizeof(ber)) < 0)
		return -ENOENT;
	*ret_oid = o;
	return 0;
}
const struct recording_names names_known = {find, NULL};
