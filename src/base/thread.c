#include "base/thread.h"
#include "base/rcu.h"
#include "base/self.h"
#include "base/thread_hook.h"
#include "base/threads.h"
#include <assert.h>
#include <errno.h>
#include <string.h>

struct thread {
	const struct mem *mem;
	struct thread_conf conf;
	pthread_t id;
};

static void *thread_main(void *arg)
{
	struct thread *t = arg;
	threads_rename(t->conf.name);
	if (t->conf.label)
		(void)label_swap(t->conf.label);
	t->conf.run(t->conf.arg);
	return NULL;
}

int thread_start(const struct mem *mem, const struct thread_conf *conf, struct thread **ret_t)
{
	assert(conf->name[0] && memchr(conf->name, 0, sizeof(conf->name)));
	struct thread *t = mem_alloc(mem, sizeof(*t));
	if (!t)
		return -ENOMEM;
	*t = (struct thread){mem, *conf, 0};
	int r = thread_hook_create(&t->id, NULL, thread_main, t);
	if (r != 0) {
		(void)mem_free(mem, t);
		return -r;
	}
	*ret_t = t;
	return 0;
}

struct thread *thread_join(struct thread *t)
{
	if (!t)
		return NULL;
	int r = pthread_join(t->id, NULL);
	assert(r == 0);
	return mem_free(t->mem, t);
}

void thread_adopt(const char *name, const struct label *label)
{
	char padded[16] = {0};
	memcpy(padded, name, strnlen(name, sizeof(padded) - 1));
	threads_rename(padded);
	(void)label_swap(label);
	if (nl6_self.rcu_count == 0)
		rcu_thread_init();
	threads_add();
}
