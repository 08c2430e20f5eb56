#include "base/rcu.h"
#include "base/self.h"
#include <assert.h>

/* TSan cannot judge liburcu, whose readers and writers share plain words ordered by membarrier: it
 * gets the library's own, uninstrumented functions, and each end of a section is told to it as a
 * release that the end of a grace period acquires. Else the read side is inline. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RCU_TSAN 1
#endif
#elif defined(__SANITIZE_THREAD__)
#define RCU_TSAN 1
#endif
#ifdef RCU_TSAN
#include <sanitizer/tsan_interface.h>
static char tsan_sections;
#define SECTION_ENDS() __tsan_release(&tsan_sections)
#define SECTIONS_ENDED() __tsan_acquire(&tsan_sections)
#else
#define _LGPL_SOURCE /* allows the inline functions */
#define SECTION_ENDS() ((void)0)
#define SECTIONS_ENDED() ((void)0)
#endif
#include <urcu/urcu-memb.h>

void rcu_thread_init(void)
{
	if (nl6_self.rcu_count++ == 0)
		urcu_memb_register_thread();
}

void rcu_thread_done(void)
{
	assert(nl6_self.rcu_count > 0);
	if (--nl6_self.rcu_count == 0)
		urcu_memb_unregister_thread();
}

void rcu_in(void)
{
	assert(nl6_self.rcu_count > 0);
	urcu_memb_read_lock();
}

void rcu_out(void)
{
	SECTION_ENDS();
	urcu_memb_read_unlock();
}

void rcu_wait(void)
{
	assert(nl6_self.rcu_count > 0 && !urcu_memb_read_ongoing());
	urcu_memb_synchronize_rcu();
	SECTIONS_ENDED();
}
