#include "net/cover.h"

/* Trailing zero bits of the address. */
static unsigned trailing_zeros(const struct addr *a)
{
	for (unsigned i = 0; i < 16; i++)
		if (a->b[15 - i])
			return 8 * i + (unsigned)__builtin_ctz(a->b[15 - i]);
	return 128;
}

/* The last address of the block of 2^host_bits that begins at a. */
static struct addr block_last(const struct addr *a, unsigned host_bits)
{
	struct addr last = *a;
	for (unsigned i = 0; i < 16 && host_bits > 0; i++) {
		unsigned n = MIN(host_bits, 8u);
		last.b[15 - i] |= (uint8_t)((1u << n) - 1);
		host_bits -= n;
	}
	return last;
}

bool cover_next(struct cover *c, struct prefix *ret_prefix)
{
	if (c->done)
		return false;
	/* The largest block that is aligned here and ends within the range. */
	unsigned host_bits = trailing_zeros(&c->next);
	struct addr end = block_last(&c->next, host_bits);
	while (addr_cmp(&end, &c->last) > 0)
		end = block_last(&c->next, --host_bits);
	*ret_prefix = (struct prefix){c->next, (uint8_t)(128 - host_bits)};
	if (addr_eq(&end, &c->last))
		c->done = true;
	else
		c->next = addr_add(&end, 1);
	return true;
}

uint32_t cover_count(const struct addr *first, const struct addr *last)
{
	struct cover c = cover_of(first, last);
	struct prefix p;
	uint32_t n = 0;
	while (cover_next(&c, &p))
		n++;
	return n;
}
