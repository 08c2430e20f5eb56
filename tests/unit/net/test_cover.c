#include "base/rnd.h"
#include "fake.h"
#include "net/cover.h"

static struct addr addr(const char *s)
{
	struct addr a;
	ck_assert_int_eq(addr_parse(s, &a), 0);
	return a;
}

/* The prefixes of a range as text. */
static void check(const char *first, const char *last, const char *want)
{
	char got[4096] = "", text[PREFIX_TEXT_BYTES];
	struct addr f = addr(first), l = addr(last);
	struct cover c = cover_of(&f, &l);
	struct prefix p;
	while (cover_next(&c, &p)) {
		if (got[0])
			strncat(got, " ", sizeof(got) - strlen(got) - 1);
		strncat(got, prefix_text(&p, text), sizeof(got) - strlen(got) - 1);
	}
	ck_assert_str_eq(got, want);
}

START_TEST(known_ranges)
{
	check("10.0.0.0", "10.255.255.255", "10.0.0.0/8");
	check("10.42.0.1", "10.42.0.1", "10.42.0.1/32");
	check("10.42.0.1", "10.42.0.6", "10.42.0.1/32 10.42.0.2/31 10.42.0.4/31 10.42.0.6/32");
	check("10.42.0.255", "10.42.1.0", "10.42.0.255/32 10.42.1.0/32");
	check("0.0.0.0", "255.255.255.255", "0.0.0.0/0");
	check("255.255.255.254", "255.255.255.255", "255.255.255.254/31");
	check("2001:db8::", "2001:db8::ffff", "2001:db8::/112");
	check("2001:db8::1", "2001:db8::4", "2001:db8::1/128 2001:db8::2/127 2001:db8::4/128");
	check("ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
		"ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe/127");
	check("::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "::/0");
}
END_TEST

START_TEST(worst_cases_are_two_of_each_length)
{
	struct addr f = addr("0.0.0.1"), l = addr("255.255.255.254");
	ck_assert_uint_eq(cover_count(&f, &l), 62);
	f = addr("::1");
	l = addr("ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe");
	ck_assert_uint_eq(cover_count(&f, &l), 254);
}
END_TEST

static bool siblings(const struct prefix *p, const struct prefix *q)
{
	struct addr end = prefix_last(p), next = addr_add(&end, 1);
	unsigned bit = p->len - 1u;
	return p->len == q->len && p->len > 0 && addr_eq(&next, &q->addr) &&
	       !(p->addr.b[bit / 8] & (0x80 >> (bit % 8)));
}

/* Exactly the range, in order, without overlap; minimal, for no two are halves of one prefix: a
 * set of disjoint prefixes that cannot be merged is the only minimal one. */
static bool has_properties(const struct addr *first, const struct addr *last)
{
	struct cover c = cover_of(first, last);
	struct prefix p, old = {0};
	struct addr want = *first, end = {0};
	uint32_t n = 0;
	for (; cover_next(&c, &p); n++) {
		if (!addr_eq(&p.addr, &want) || (n > 0 && siblings(&old, &p)))
			return false;
		end = prefix_last(&p);
		if (!prefix_has(&p, &p.addr) || addr_cmp(&end, last) > 0)
			return false;
		want = addr_add(&end, 1);
		old = p;
	}
	return n > 0 && addr_eq(&end, last) && n == cover_count(first, last) &&
	       n <= (addr_is_v4(first) ? 62u : 254u);
}

/* One assertion a range: each of check's is a write to a file. */
static void check_properties(const struct addr *first, const struct addr *last)
{
	char a[ADDR_TEXT_BYTES], b[ADDR_TEXT_BYTES];
	if (!has_properties(first, last))
		ck_abort_msg("%s-%s", addr_text(first, a), addr_text(last, b));
}

START_TEST(any_range_is_covered_exactly_and_minimally)
{
	for (uint64_t i = 0; i < 100000; i++) {
		struct addr a = {{0}}, b = {{0}};
		/* Low bits vary over a random number of bytes, so that short and long ranges, and
		 * ones that share a long prefix, all occur. */
		unsigned from = rnd_below(7, 1, i, 16);
		bool v4 = i % 2;
		for (unsigned k = 0; k < 16; k++) {
			a.b[k] = (uint8_t)rnd_u64(7, 2 + k, i);
			b.b[k] = k < from ? a.b[k] : (uint8_t)rnd_u64(7, 20 + k, i);
		}
		if (v4) {
			uint32_t x, y;
			memcpy(&x, &a.b[12], 4);
			memcpy(&y, &b.b[12], 4);
			a = addr_from_v4(x);
			b = addr_from_v4(y);
		}
		if (addr_cmp(&a, &b) <= 0)
			check_properties(&a, &b);
		else
			check_properties(&b, &a);
	}
}
END_TEST

/* All ranges within eight bits against the definition: the smallest number of aligned blocks. */
START_TEST(small_ranges_are_minimal_by_counting)
{
	uint32_t base = 0x0a2a0000;
	for (uint32_t lo = 0; lo < 256; lo++) {
		uint32_t best[257];
		best[lo] = 0;
		for (uint32_t end = lo; end < 256; end++) {
			best[end + 1] = UINT32_MAX;
			for (uint32_t size = 1; size <= end + 1 - lo; size *= 2)
				if ((end + 1) % size == 0)
					best[end + 1] =
						MIN(best[end + 1], best[end + 1 - size] + 1);
			struct addr f = addr_from_v4(base + lo), l = addr_from_v4(base + end);
			if (cover_count(&f, &l) != best[end + 1])
				ck_abort_msg("%u-%u", lo, end);
		}
	}
}
END_TEST

UNIT_MAIN(known_ranges, worst_cases_are_two_of_each_length,
	any_range_is_covered_exactly_and_minimally, small_ranges_are_minimal_by_counting)
