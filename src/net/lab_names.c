#include "net/lab_names.h"
#include "base/rnd.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

#define MIDDLE_MAX 5 /* "veth-" and "-host" leave five of fifteen bytes */

bool lab_names_is_valid(const char *ns_name)
{
	static const char ok[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
	size_t len = strlen(ns_name);
	return len > 0 && len <= LAB_NS_NAME_MAX && strspn(ns_name, ok) == len &&
	       ns_name[0] != '.' && ns_name[0] != '-';
}

static uint64_t hash(const char *s)
{
	uint64_t h = 0;
	for (uint64_t i = 0; s[i]; i++)
		h = rnd_u64(h, i, (uint8_t)s[i]);
	return h;
}

/* What stands between "veth-" and "-host". */
static void middle(const char *ns_name, char buf[static MIDDLE_MAX + 1])
{
	static const char digits[] = "abcdefghijkmnpqrstuvwxyz23456789";
	if (strcmp(ns_name, "nl6sim") == 0) {
		(void)strcpy(buf, "sim");
	} else if (strlen(ns_name) <= MIDDLE_MAX && strcmp(ns_name, "sim") != 0) {
		(void)strcpy(buf, ns_name);
	} else {
		uint64_t h = hash(ns_name);
		for (unsigned i = 0; i < MIDDLE_MAX; i++, h >>= 5)
			buf[i] = digits[h % 32];
		buf[MIDDLE_MAX] = 0;
	}
}

static struct prefix at(const struct prefix *net, uint64_t n)
{
	return (struct prefix){addr_add(&net->addr, n), net->len};
}

void lab_names_make(const char *ns_name, const struct prefix *veth_net, struct lab_names *ret_names)
{
	assert(lab_names_is_valid(ns_name) && addr_is_v4(&veth_net->addr));
	struct lab_names n = {0};
	char mid[MIDDLE_MAX + 1];
	middle(ns_name, mid);
	(void)snprintf(n.host_link, sizeof(n.host_link), "veth-%s-host", mid);
	(void)snprintf(n.ns_link, sizeof(n.ns_link), "veth-%s-ns", mid);
	uint64_t h = hash(ns_name);
	/* Locally administered; the last bit tells the ends apart. */
	uint8_t mac[6] = {0x02, 0x6e, 0x6c, (uint8_t)(h >> 40), (uint8_t)(h >> 48),
		(uint8_t)(h >> 56) & 0xfe};
	memcpy(n.host_mac, mac, sizeof(mac));
	mac[5] |= 1;
	memcpy(n.ns_mac, mac, sizeof(mac));
	n.mark = 1u << 30 | (uint32_t)(h >> 34);
	n.net_v4 = *veth_net;
	n.host_v4 = at(veth_net, 1);
	n.ns_v4 = at(veth_net, 2);
	n.net_v6 = (struct prefix){{{0xfd, 0x6e, 0x6c, 0x36}}, 126};
	memcpy(n.net_v6.addr.b + 4, veth_net->addr.b + 12, 4);
	n.host_v6 = at(&n.net_v6, 1);
	n.ns_v6 = at(&n.net_v6, 2);
	*ret_names = n;
}
