#include "profiling/heap_own.h"
#include <linux/futex.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void *heap_own_map(struct heap_own *o, size_t bytes)
{
	if (__atomic_add_fetch(&o->bytes, bytes, __ATOMIC_RELAXED) <= o->max) {
		void *p = mmap(
			NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p != MAP_FAILED)
			return p;
	}
	(void)__atomic_fetch_sub(&o->bytes, bytes, __ATOMIC_RELAXED);
	return NULL;
}

void heap_own_unmap(struct heap_own *o, void *p, size_t bytes)
{
	if (!p)
		return;
	(void)munmap(p, bytes);
	(void)__atomic_fetch_sub(&o->bytes, bytes, __ATOMIC_RELAXED);
}

void heap_lock_take(struct heap_lock *l)
{
	uint32_t was = 0;
	if (__atomic_compare_exchange_n(
		    &l->state, &was, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	while (__atomic_exchange_n(&l->state, 2, __ATOMIC_ACQUIRE) != 0)
		(void)syscall(SYS_futex, &l->state, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

void heap_lock_drop(struct heap_lock *l)
{
	if (__atomic_exchange_n(&l->state, 0, __ATOMIC_RELEASE) == 2)
		(void)syscall(SYS_futex, &l->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
