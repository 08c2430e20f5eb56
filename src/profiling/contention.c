#include "profiling/contention.h"
#include <errno.h>

struct contention {
	struct contention_env env;
	struct contention_conf conf;
	bool offcpu;
};

int contention_open(const struct contention_env *env, const struct contention_conf *conf,
	struct contention **ret_c)
{
	struct contention *c = mem_zalloc(env->mem, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->env = *env;
	c->conf = *conf;
	*ret_c = c;
	return 0;
}

struct contention *contention_close(struct contention *c)
{
	return c ? mem_free(c->env.mem, c) : NULL;
}

void contention_read(
	struct contention *c UNUSED, enum contention_kind kind UNUSED, struct stacks *to UNUSED)
{
}

int contention_offcpu_start(struct contention *c)
{
	if (c->offcpu)
		return -EBUSY;
	c->offcpu = true;
	return 0;
}

int contention_offcpu_stop(struct contention *c, struct sampler *sampler UNUSED)
{
	c->offcpu = false;
	return 0;
}

bool contention_offcpu_running(struct contention *c)
{
	return c->offcpu;
}

uint64_t contention_bytes(struct contention *c)
{
	return sizeof(*c);
}
