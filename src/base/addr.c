#include "base/addr.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>

struct addr addr_from_v4(uint32_t host_order)
{
	struct addr a = {{0}};
	a.b[10] = a.b[11] = 0xff;
	uint32_t be = htonl(host_order);
	memcpy(a.b + 12, &be, sizeof(be));
	return a;
}

uint32_t addr_v4_u32(const struct addr *a)
{
	uint32_t be;
	memcpy(&be, a->b + 12, sizeof(be));
	return ntohl(be);
}

struct addr addr_add(const struct addr *a, uint64_t n)
{
	struct addr sum = *a;
	for (int i = 15; i >= 0 && n; i--) {
		n += sum.b[i];
		sum.b[i] = (uint8_t)n;
		n >>= 8;
	}
	return sum;
}

uint64_t addr_distance(const struct addr *a, const struct addr *b)
{
	if (addr_cmp(b, a) < 0)
		return UINT64_MAX;
	unsigned __int128 x = 0, y = 0;
	for (int i = 0; i < 16; i++) {
		x = x << 8 | a->b[i];
		y = y << 8 | b->b[i];
	}
	y -= x;
	return y > UINT64_MAX ? UINT64_MAX : (uint64_t)y;
}

int addr_parse(const char *s, struct addr *ret_addr)
{
	struct in_addr v4;
	if (inet_pton(AF_INET, s, &v4) == 1) {
		*ret_addr = addr_from_v4(ntohl(v4.s_addr));
		return 0;
	}
	struct addr a;
	if (inet_pton(AF_INET6, s, a.b) != 1)
		return -EINVAL;
	*ret_addr = a;
	return 0;
}

const char *addr_text(const struct addr *a, char buf[static ADDR_TEXT_BYTES])
{
	const char *s = addr_is_v4(a) ? inet_ntop(AF_INET, a->b + 12, buf, ADDR_TEXT_BYTES)
				      : inet_ntop(AF_INET6, a->b, buf, ADDR_TEXT_BYTES);
	return s ? s : "?";
}

struct addr prefix_last(const struct prefix *p)
{
	struct addr a = p->addr;
	for (unsigned bit = p->len; bit < 128; bit++)
		a.b[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
	return a;
}

bool prefix_has(const struct prefix *p, const struct addr *a)
{
	unsigned bytes = p->len / 8, bits = p->len % 8;
	if (memcmp(p->addr.b, a->b, bytes) != 0)
		return false;
	return bits == 0 || ((p->addr.b[bytes] ^ a->b[bytes]) >> (8 - bits)) == 0;
}

int prefix_parse(const char *s, struct prefix *ret_prefix)
{
	char buf[PREFIX_TEXT_BYTES];
	const char *slash = strchr(s, '/');
	size_t n = slash ? (size_t)(slash - s) : strlen(s);
	if (n >= sizeof(buf))
		return -EINVAL;
	memcpy(buf, s, n);
	buf[n] = 0;
	struct prefix p = {.len = 128};
	if (addr_parse(buf, &p.addr) < 0)
		return -EINVAL;
	if (slash) {
		unsigned base = strchr(buf, ':') ? 0 : 96;
		if (slash[1] < '0' || slash[1] > '9')
			return -EINVAL;
		char *end;
		unsigned long len = strtoul(slash + 1, &end, 10);
		if (*end || len > 128 - base)
			return -EINVAL;
		p.len = (uint8_t)(base + len);
	}
	for (unsigned bit = p.len; bit < 128; bit++)
		if (p.addr.b[bit / 8] & (0x80 >> bit % 8))
			return -EINVAL;
	*ret_prefix = p;
	return 0;
}

const char *prefix_text(const struct prefix *p, char buf[static PREFIX_TEXT_BYTES])
{
	char a[ADDR_TEXT_BYTES];
	bool v4 = addr_is_v4(&p->addr) && p->len >= 96;
	(void)snprintf(buf, PREFIX_TEXT_BYTES, "%s/%u", addr_text(&p->addr, a),
		v4 ? p->len - 96u : p->len);
	return buf;
}

bool addr_is_loopback(const struct addr *a)
{
	static const struct addr v6 = {{[15] = 1}};
	return addr_eq(a, &v6) || (addr_is_v4(a) && a->b[12] == 127);
}

socklen_t addr_to_sockaddr(const struct addr *a, uint16_t port, struct sockaddr_storage *ret_sa)
{
	memset(ret_sa, 0, sizeof(*ret_sa));
	if (addr_is_v4(a)) {
		struct sockaddr_in *in = (struct sockaddr_in *)ret_sa;
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		memcpy(&in->sin_addr, a->b + 12, 4);
		return sizeof(*in);
	}
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ret_sa;
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(port);
	memcpy(&in6->sin6_addr, a->b, 16);
	return sizeof(*in6);
}

int addr_from_sockaddr(const struct sockaddr *sa, struct addr *ret_addr, uint16_t *ret_port)
{
	if (sa->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)sa;
		*ret_addr = addr_from_v4(ntohl(in->sin_addr.s_addr));
		*ret_port = ntohs(in->sin_port);
		return 0;
	}
	if (sa->sa_family != AF_INET6)
		return -EAFNOSUPPORT;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)sa;
	memcpy(ret_addr->b, &in6->sin6_addr, 16);
	*ret_port = ntohs(in6->sin6_port);
	return 0;
}

const char *addr_port_text(
	const struct addr *a, uint16_t port, char buf[static ADDR_PORT_TEXT_BYTES])
{
	char t[ADDR_TEXT_BYTES];
	(void)snprintf(buf, ADDR_PORT_TEXT_BYTES, addr_is_v4(a) ? "%s:%u" : "[%s]:%u",
		addr_text(a, t), port);
	return buf;
}
