#include "sim/fleet/ident.h"
#include "base/rnd.h"
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>

const char *ident_addr_digits(const struct addr *a, char buf[static IDENT_TEXT_BYTES])
{
	/* Without the letters that are taken for digits; sorts like the address. */
	static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";
	if (addr_is_v4(a)) {
		(void)snprintf(buf, IDENT_TEXT_BYTES, "%08x", addr_v4_u32(a));
		return buf;
	}
	unsigned __int128 n = 0;
	for (unsigned i = 0; i < 16; i++)
		n = n << 8 | a->b[i];
	for (int i = 25; i >= 0; i--, n >>= 5)
		buf[i] = digits[n & 31];
	buf[26] = 0;
	return buf;
}

const char *ident_id(const struct device *d, char buf[static IDENT_TEXT_BYTES])
{
	char text[ADDR_TEXT_BYTES];
	(void)addr_text(&d->addr, text);
	if (!d->conf->named_type) {
		(void)snprintf(buf, IDENT_TEXT_BYTES, "%s", text);
		return buf;
	}
	int n = snprintf(buf, IDENT_TEXT_BYTES, "%.*s", IDENT_TEXT_BYTES - ADDR_TEXT_BYTES - 2,
		d->conf->type->slug);
	for (char *p = buf; *p; p++)
		if (*p == '_')
			*p = '-';
	(void)snprintf(buf + n, (size_t)(IDENT_TEXT_BYTES - n), "-%s", text);
	return buf;
}

int ident_parse(const char *id, struct addr *ret_addr)
{
	/* No address has a dash. */
	const char *dash = strrchr(id, '-');
	if (dash == id)
		return -EINVAL;
	return addr_parse(dash ? dash + 1 : id, ret_addr);
}

const struct city *ident_city(const struct device *d)
{
	return &cities[(uint64_t)d->site * n_cities >> 32];
}

const char *ident_location(const struct device *d, char buf[static IDENT_TEXT_BYTES])
{
	const struct city *c = ident_city(d);
	(void)snprintf(buf, IDENT_TEXT_BYTES, "%s, %s%s%s", c->name, c->admin,
		c->admin[0] ? ", " : "", c->country);
	return buf;
}

const char *ident_serial(const struct device *d, char buf[static IDENT_TEXT_BYTES])
{
	char digits[IDENT_TEXT_BYTES];
	(void)ident_addr_digits(&d->addr, digits);
	(void)snprintf(
		buf, IDENT_TEXT_BYTES, "%s%.26s", addr_is_v4(&d->addr) ? "SN" : "SN6", digits);
	for (char *p = buf; *p; p++)
		*p = (char)toupper((unsigned char)*p);
	return buf;
}

/* The first two bytes have 14 free bits beside those that mark a locally administered unicast
 * address (IEEE 802 8.2: 10 in the two lowest of the first byte). */
#define MAC_V6 0x2000u	     /* bit 13: devices of IPv6 */
#define MAC_CHASSIS_V4 0x42u /* first bytes 02:42 */
#define MAC_CHASSIS_V6 (MAC_V6 | 0x43u)

void ident_mac(const struct device *d, uint32_t port, uint8_t mac[static 6])
{
	static_assert(IDENT_MAC_PORTS + 2 < MAC_V6, "thirteen bits number the ports");
	bool v4 = addr_is_v4(&d->addr);
	uint32_t lead, tail;
	memcpy(&tail, d->addr.b + 12, 4);
	if (!v4) {
		uint64_t hi, mid = 0;
		memcpy(&hi, d->addr.b, 8);
		memcpy(&mid, d->addr.b + 8, 4);
		tail ^= (uint32_t)rnd_u64(0, hi, mid);
	}
	if (port > IDENT_MAC_PORTS) {
		/* Beyond the numbers: mixed into the address, too. */
		tail ^= (uint32_t)rnd_mix(port);
		port = 1 + port % IDENT_MAC_PORTS;
	}
	/* Ports are numbered around the two that mark a chassis. */
	lead = port + (port >= MAC_CHASSIS_V4 ? 2 : 0);
	if (port == 0)
		lead = v4 ? MAC_CHASSIS_V4 : MAC_CHASSIS_V6;
	else if (!v4)
		lead |= MAC_V6;
	mac[0] = (uint8_t)((lead >> 8) << 2 | 2);
	mac[1] = (uint8_t)lead;
	memcpy(mac + 2, &tail, 4);
}

unsigned ident_engine_id(const struct device *d, uint8_t id[static 32])
{
	/* Enterprise 32473 with the first bit set, then the format. */
	static const uint8_t head[4] = {0x80, 0x00, 0x7e, 0xd9};
	memcpy(id, head, sizeof(head));
	if (addr_is_v4(&d->addr)) {
		id[4] = 3;
		ident_mac(d, 0, id + 5);
		return 11;
	}
	id[4] = 2;
	memcpy(id + 5, d->addr.b, 16);
	return 21;
}
