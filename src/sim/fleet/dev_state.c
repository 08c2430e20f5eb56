#include "sim/fleet/dev_state.h"
#include <assert.h>

struct dev_state *dev_state_new(
	const struct mem *mem, const struct dev_sets *sets, const struct dev_ifs *ifs)
{
	assert(sets || ifs);
	struct dev_state *s = mem_alloc(mem, sizeof(*s));
	if (s)
		*s = (struct dev_state){sets, ifs};
	return s;
}

void dev_state_free(const struct mem *mem, const struct dev_state *s, const struct dev_state *kept)
{
	if (!s)
		return;
	if (!kept || kept->sets != s->sets)
		(void)mem_free(mem, (void *)s->sets);
	if (!kept || kept->ifs != s->ifs)
		(void)mem_free(mem, (void *)s->ifs);
	(void)mem_free(mem, (void *)s);
}
