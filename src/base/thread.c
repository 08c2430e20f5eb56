#include "base/thread.h"
#include "base/clk.h"
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

static void must(int r)
{
	assert(r == 0);
}

void lock_init(struct lock *l)
{
	must(pthread_mutex_init(&l->m, NULL));
}

void lock_done(struct lock *l)
{
	must(pthread_mutex_destroy(&l->m));
}

void lock_take(struct lock *l)
{
	must(pthread_mutex_lock(&l->m));
}

void lock_drop(struct lock *l)
{
	must(pthread_mutex_unlock(&l->m));
}

void cond_init(struct cond *c)
{
	pthread_condattr_t attr;
	must(pthread_condattr_init(&attr));
	must(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC));
	must(pthread_cond_init(&c->c, &attr));
	must(pthread_condattr_destroy(&attr));
}

void cond_done(struct cond *c)
{
	must(pthread_cond_destroy(&c->c));
}

void cond_wait(struct cond *c, struct lock *l)
{
	must(pthread_cond_wait(&c->c, &l->m));
}

int cond_wait_until(struct cond *c, struct lock *l, uint64_t until_ns)
{
	struct timespec ts = {(time_t)(until_ns / NS_PER_SEC), (long)(until_ns % NS_PER_SEC)};
	int r = pthread_cond_timedwait(&c->c, &l->m, &ts);
	assert(r == 0 || r == ETIMEDOUT);
	return -r;
}

void cond_wake(struct cond *c)
{
	must(pthread_cond_signal(&c->c));
}

void cond_wake_all(struct cond *c)
{
	must(pthread_cond_broadcast(&c->c));
}
