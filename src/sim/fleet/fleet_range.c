#include "sim/fleet/fleet_range.h"
#include <errno.h>
#include <stdio.h>

/* An address as a number in its family, with the arithmetic of its netmask. */
struct spot {
	unsigned __int128 n;
	unsigned bits; /* of the family */
};

static struct spot spot_of(const struct addr *a)
{
	if (addr_is_v4(a))
		return (struct spot){addr_v4_u32(a), 32};
	unsigned __int128 n = 0;
	for (int i = 0; i < 16; i++)
		n = n << 8 | a->b[i];
	return (struct spot){n, 128};
}

static struct addr spot_addr(struct spot s)
{
	if (s.bits == 32)
		return addr_from_v4((uint32_t)s.n);
	struct addr a;
	for (int i = 15; i >= 0; i--, s.n >>= 8)
		a.b[i] = (uint8_t)s.n;
	return a;
}

/* All host bits of the netmask: the number of the last host of a network. */
static unsigned __int128 host_mask(unsigned bits, unsigned len)
{
	if (len == 0)
		return bits == 32 ? UINT32_MAX : ~(unsigned __int128)0;
	return ((unsigned __int128)1 << (bits - len)) - 1;
}

int fleet_nth_addr(const struct addr *start, uint8_t netmask_len, uint32_t i, struct addr *ret_addr)
{
	struct spot s = spot_of(start);
	if (netmask_len > s.bits)
		return -EINVAL;
	unsigned __int128 max = host_mask(s.bits, 0), mask = host_mask(s.bits, netmask_len), n;
	if (i == 0 || mask <= 1) {
		if (__builtin_add_overflow(s.n, i, &n) || n > max)
			return -ERANGE;
	} else {
		/* A network has hosts 1..mask-1. Number them from 0 on, through the networks from
		 * the start's own: what follows the start has number min(its host, mask - 1). */
		unsigned __int128 host = s.n & mask, hosts = mask - 1, at, skip;
		if (__builtin_add_overflow(MIN(host, hosts), i - 1, &at))
			return -ERANGE;
		if (netmask_len == 0 && at >= hosts)
			return -ERANGE;
		if (__builtin_mul_overflow(at / hosts, mask + 1, &skip) ||
			__builtin_add_overflow(skip, at % hosts + 1, &skip) ||
			__builtin_add_overflow(s.n - host, skip, &n) || n > max)
			return -ERANGE;
	}
	*ret_addr = spot_addr((struct spot){n, s.bits});
	return 0;
}

uint32_t fleet_count_below(
	const struct addr *start, uint8_t netmask_len, uint32_t count, const struct addr *a)
{
	uint32_t below = 0, not_below = count;
	while (below < not_below) {
		uint32_t mid = below + (not_below - below) / 2;
		struct addr at;
		if (fleet_nth_addr(start, netmask_len, mid, &at) == 0 && addr_cmp(&at, a) < 0)
			below = mid + 1;
		else
			not_below = mid;
	}
	return below;
}

struct addr fleet_next_addr(const struct addr *a, uint8_t netmask_len)
{
	/* The usual case is settled on the last byte: neither a carry nor a broadcast host. */
	if (a->b[15] < 0xfe && netmask_len + 8u <= fleet_addr_bits(a)) {
		struct addr next = *a;
		next.b[15]++;
		return next;
	}
	struct spot s = spot_of(a);
	unsigned __int128 max = host_mask(s.bits, 0), mask = host_mask(s.bits, netmask_len);
	s.n = (s.n + 1) & max;
	if (mask > 1 && (s.n & mask) == mask)
		s.n++;
	if (mask > 1 && (s.n & mask) == 0)
		s.n++;
	s.n &= max;
	return spot_addr(s);
}

struct region {
	struct addr first, last;
};
#define V4(a, b, c, d) \
	{ \
		{ \
			0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d \
		} \
	}
static const struct region regions[] = {
	{{{[15] = 2}}, {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xfe, 0xff, 0xff, 0xff, 0xff}}},
	{V4(1, 0, 0, 0), V4(126, 255, 255, 255)},
	{V4(127, 0, 0, 1), V4(127, 255, 255, 254)},
	{V4(128, 0, 0, 0), V4(223, 255, 255, 255)},
	{{{[9] = 1}}, {{0xfe, 0x7f, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
			      255}}},
	{{{0xfe, 0xc0}}, {{0xfe, 0xff, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
				 255, 255}}},
};

static const struct region *region_of(const struct addr *a)
{
	for (unsigned i = 0; i < ARRAY_SIZE(regions); i++)
		if (addr_cmp(a, &regions[i].first) >= 0 && addr_cmp(a, &regions[i].last) <= 0)
			return &regions[i];
	return NULL;
}

static struct addr network_last(const struct addr *a, uint8_t netmask_len)
{
	struct spot s = spot_of(a);
	s.n |= host_mask(s.bits, netmask_len);
	return spot_addr(s);
}

/* How many devices from start on stay at or below limit: 1..count. */
static uint32_t count_that_fits(
	const struct addr *start, uint8_t netmask_len, uint32_t count, const struct addr *limit)
{
	uint32_t fits = 1, over = count;
	while (fits + 1 < over) {
		uint32_t mid = fits + (over - fits) / 2;
		struct addr a;
		if (fleet_nth_addr(start, netmask_len, mid - 1, &a) == 0 &&
			addr_cmp(&a, limit) <= 0)
			fits = mid;
		else
			over = mid;
	}
	return fits;
}

int fleet_range_check(const struct addr *start, uint8_t netmask_len, bool netmask_given,
	uint32_t count, struct addr *ret_last, struct fault *reterr_fault)
{
	char text[ADDR_TEXT_BYTES], end[ADDR_TEXT_BYTES], allowed[32];
	unsigned bits = fleet_addr_bits(start);
	if (netmask_len > bits)
		return fault_set(reterr_fault, -EINVAL, "/netmask", bits == 32 ? "0..32" : "0..128",
			"%u is no prefix length of the family of %s", netmask_len,
			addr_text(start, text));
	if (count == 0 || count > FLEET_MAX_DEVICES)
		return fault_set(reterr_fault, -EINVAL, "/device_count", "1..16000000", "%u is %s",
			count, count ? "above 16000000" : "below 1");
	const struct region *reg = region_of(start);
	if (!reg)
		return fault_set(reterr_fault, -EINVAL, "/start_ip",
			bits == 32 ? "1.0.0.0-223.255.255.255 but for 127.0.0.0 and 127.255.255.255"
				   : "a unicast address that is not link-local or loopback",
			"%s is not an address that a device can have", addr_text(start, text));
	struct addr limit = reg->last, network = network_last(start, netmask_len), last;
	bool by_netmask = netmask_given && addr_cmp(&network, &limit) < 0;
	if (by_netmask)
		limit = network;
	int r = fleet_nth_addr(start, netmask_len, count - 1, &last);
	if (r == 0 && addr_cmp(&last, &limit) <= 0) {
		*ret_last = last;
		return 0;
	}
	uint32_t fits = count_that_fits(start, netmask_len, count, &limit);
	r = fleet_nth_addr(start, netmask_len, fits - 1, &last);
	if (r < 0)
		return r;
	(void)snprintf(allowed, sizeof(allowed), "1..%u", fits);
	(void)addr_text(start, text);
	(void)addr_text(&last, end);
	if (by_netmask)
		return fault_set(reterr_fault, -EINVAL, "/device_count", allowed,
			"%u devices from %s do not fit netmask %u: the last address that fits is "
			"%s, device %u (a shorter netmask or none has room for more)",
			count, text, netmask_len, end, fits);
	return fault_set(reterr_fault, -EINVAL, "/device_count", allowed,
		"%u devices from %s leave the addresses that devices can have: the last that fits "
		"is %s, device %u",
		count, text, end, fits);
}
