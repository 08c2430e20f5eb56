#include "sim/fleet/type_names.h"
#include "sim/fleet/ifcount.h"
#include <errno.h>
#include <string.h>

const struct name_number if_type_names[] = {
	{"other", 1},
	{"ethernetCsmacd", 6},
	{"ds1", 18},
	{"propPointToPointSerial", 22},
	{"ppp", 23},
	{"softwareLoopback", 24},
	{"ds3", 30},
	{"frameRelay", 32},
	{"atm", 37},
	{"sonet", 39},
	{"propVirtual", 53},
	{"fibreChannel", 56},
	{"gigabitEthernet", 117},
	{"hdlc", 118},
	{"tunnel", 131},
	{"l2vlan", 135},
	{"l3ipvlan", 136},
	{"mplsTunnel", 150},
	{"ieee8023adLag", 161},
	{"mpls", 166},
	{"pos", 171},
	{"opticalChannel", 195},
	{"opticalTransport", 196},
	{"infiniband", 199},
	{"bridge", 209},
	{NULL, 0},
};
const struct name_number if_admin_names[] = {
	{"up", IF_UP}, {"down", IF_DOWN}, {"testing", IF_TESTING}, {NULL, 0}};
const struct name_number if_oper_names[] = {{"up", IF_UP}, {"down", IF_DOWN},
	{"testing", IF_TESTING}, {"unknown", IF_UNKNOWN}, {"dormant", IF_DORMANT},
	{"notPresent", IF_NOT_PRESENT}, {"lowerLayerDown", IF_LOWER_LAYER_DOWN}, {NULL, 0}};
const struct name_number if_load_names[] = {
	{"profile", IF_LOAD_PROFILE}, {"light", IF_LOAD_LIGHT}, {"none", IF_LOAD_NONE}, {NULL, 0}};
const struct name_number value_type_names[] = {
	{"integer", BER_INTEGER},
	{"string", BER_OCTET_STRING},
	{"hex", VALUE_HEX},
	{"template", VALUE_TEMPLATE},
	{"oid", BER_OID},
	{"ipaddress", BER_IPADDRESS},
	{"counter32", BER_COUNTER32},
	{"gauge32", BER_GAUGE32},
	{"timeticks", BER_TIMETICKS},
	{"counter64", BER_COUNTER64},
	{NULL, 0},
};

int name_find(const struct name_number *list, const char *name, uint16_t *ret_number)
{
	for (; list->name; list++)
		if (strcmp(list->name, name) == 0) {
			*ret_number = list->number;
			return 0;
		}
	return -ENOENT;
}

const char *value_tag_name(uint8_t tag)
{
	for (const struct name_number *n = value_type_names; n->name; n++)
		if (n->number == tag)
			return n->name;
	return "?";
}

bool if_type_is_physical(uint16_t type)
{
	static const uint16_t physical[] = {
		6, 18, 22, 30, 32, 37, 39, 56, 117, 118, 171, 195, 196, 199};
	for (size_t i = 0; i < ARRAY_SIZE(physical); i++)
		if (physical[i] == type)
			return true;
	return false;
}

bool if_type_has_mac(uint16_t type)
{
	static const uint16_t ieee802[] = {6, 117, 135, 136, 161, 209};
	for (size_t i = 0; i < ARRAY_SIZE(ieee802); i++)
		if (ieee802[i] == type)
			return true;
	return false;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

int hex_bytes(const char *s, uint8_t *buf, size_t *ret_n)
{
	size_t n = 0;
	while (*s) {
		if (n && strchr(" :-", *s))
			s++;
		int high = hex_digit(s[0]), low = high < 0 ? -1 : hex_digit(s[1]);
		if (low < 0)
			return -EINVAL;
		buf[n++] = (uint8_t)(high << 4 | low);
		s += 2;
	}
	*ret_n = n;
	return 0;
}

bool type_category_is(const char *category)
{
	static const char *const all[] = {"Network Devices", "Servers", "GPU Servers", "Storage",
		"Optical Transport", "Other"};
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (strcmp(all[i], category) == 0)
			return true;
	return false;
}
