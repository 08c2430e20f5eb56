#include "net/ranges.h"
#include <assert.h>
#include <errno.h>

/* From `at` up to the next step, `depth` ranges cover each address. Neighbours differ in depth; the
 * last step has depth 0. */
struct step {
	struct addr at;
	uint32_t depth;
};
struct ranges {
	const struct mem *mem;
	struct step *steps;
	size_t len, room;
	uint64_t count;
};

static struct addr before(const struct addr *a)
{
	struct addr b = *a;
	for (int i = 15; i >= 0; i--)
		if (b.b[i]--)
			break;
	return b;
}

int ranges_new(const struct mem *mem, struct ranges **ret_ranges)
{
	struct ranges *s = mem_alloc(mem, sizeof(*s));
	if (!s)
		return -ENOMEM;
	*s = (struct ranges){.mem = mem};
	*ret_ranges = s;
	return 0;
}

struct ranges *ranges_free(struct ranges *s)
{
	if (!s)
		return NULL;
	(void)mem_free(s->mem, s->steps);
	return mem_free(s->mem, s);
}

/* Index of the first step after a. */
static size_t upper(const struct ranges *s, const struct addr *a)
{
	size_t lo = 0, hi = s->len;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (addr_cmp(&s->steps[mid].at, a) > 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

static uint32_t depth_before(const struct ranges *s, size_t i)
{
	return i ? s->steps[i - 1].depth : 0;
}

/* Makes a step at a without changing what is covered; its index. */
static size_t split(struct ranges *s, const struct addr *a)
{
	size_t i = upper(s, a);
	if (i > 0 && addr_eq(&s->steps[i - 1].at, a))
		return i - 1;
	assert(s->len < s->room);
	memmove(&s->steps[i + 1], &s->steps[i], (s->len - i) * sizeof(s->steps[0]));
	s->len++;
	s->steps[i] = (struct step){*a, depth_before(s, i)};
	return i;
}

/* Takes step i away if it changes nothing. */
static void join(struct ranges *s, size_t i)
{
	if (s->steps[i].depth != depth_before(s, i))
		return;
	s->len--;
	memmove(&s->steps[i], &s->steps[i + 1], (s->len - i) * sizeof(s->steps[0]));
}

static void shift(struct ranges *s, const struct addr *first, const struct addr *last, uint32_t by)
{
	struct addr end = addr_add(last, 1);
	size_t i = split(s, first), j = split(s, &end);
	for (size_t k = i; k < j; k++)
		s->steps[k].depth += by;
	/* Depths within moved together; only the two ends can have become alike. */
	join(s, j);
	join(s, i);
}

int ranges_reserve(struct ranges *s)
{
	/* n ranges have at most 2n steps; two more while one is deleted. */
	size_t want = 2 * (size_t)s->count + 4;
	if (want > s->room) {
		size_t room = MAX(want, 2 * s->room);
		struct step *steps = mem_resize(s->mem, s->steps, room, sizeof(*steps));
		if (!steps)
			return -ENOMEM;
		s->steps = steps;
		s->room = room;
	}
	return 0;
}

void ranges_add(struct ranges *s, const struct addr *first, const struct addr *last)
{
	assert(addr_cmp(first, last) <= 0);
	s->count++;
	shift(s, first, last, 1);
}

void ranges_del(struct ranges *s, const struct addr *first, const struct addr *last)
{
	assert(ranges_have(s, first, last));
	shift(s, first, last, UINT32_MAX); /* less one */
	s->count--;
}

bool ranges_have(const struct ranges *s, const struct addr *first, const struct addr *last)
{
	size_t i = upper(s, first);
	if (depth_before(s, i) == 0)
		return false;
	while (i < s->len && s->steps[i].depth > 0)
		i++;
	return i < s->len && addr_cmp(last, &s->steps[i].at) < 0;
}

void ranges_joined(const struct ranges *s, const struct addr *first, const struct addr *last,
	struct addr *ret_first, struct addr *ret_last)
{
	struct addr left = before(first), right = addr_add(last, 1);
	*ret_first = *first;
	for (size_t i = upper(s, &left); depth_before(s, i) > 0; i--)
		*ret_first = s->steps[i - 1].at;
	*ret_last = *last;
	for (size_t i = upper(s, &right); depth_before(s, i) > 0; i++)
		*ret_last = before(&s->steps[i].at);
}

bool ranges_next(const struct ranges *s, const struct addr *from, struct addr *ret_first,
	struct addr *ret_last)
{
	size_t i = upper(s, from);
	if (depth_before(s, i) == 0) {
		if (i == s->len)
			return false;
		i++; /* a step up from 0 */
	}
	size_t first = i - 1;
	while (depth_before(s, first) > 0)
		first--;
	while (s->steps[i].depth > 0)
		i++;
	*ret_first = s->steps[first].at;
	*ret_last = before(&s->steps[i].at);
	return true;
}

uint64_t ranges_count(const struct ranges *s)
{
	return s->count;
}
