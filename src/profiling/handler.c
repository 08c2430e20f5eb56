#include "profiling/handler.h"
#include "base/attr.h"
#include "profiling/unwind_machine.h"
#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define RECORD_WORDS (sizeof(struct handler_record) / sizeof(uint64_t))

_Static_assert(sizeof(struct handler_record) % sizeof(uint64_t) == 0, "records are whole words");
_Static_assert(sizeof(uintptr_t) == sizeof(uint64_t), "a word holds an address");

static void take_sample(struct handler_thread *t, const void *uc, enum handler_kind kind,
	uint32_t weight, uint32_t request)
{
	struct unwind_regs regs;
	struct unwind_stack stack = {t->self->stack_lo, t->self->stack_hi};
	unwind_regs_from_ucontext(uc, &regs);
	bool foreign = regs.sp < stack.lo || regs.sp >= stack.hi;
	if (foreign && kind != HANDLER_PERF) {
		t->lost_foreign_stack += weight;
		return;
	}
	struct handler_record *rec = ring_reserve(&t->ring, RECORD_WORDS + UNWIND_DEPTH);
	if (!rec) {
		t->lost_ring_full += weight;
		return;
	}
	stack.lo = MAX(stack.lo, regs.sp - unwind_red_zone);
	/* The kernel's part is true on whatever stack. */
	enum unwind_end end = UNWIND_BAD_STACK;
	unsigned n = foreign ? 0
			     : unwind_walk(walker_tables(t->walker), &regs, &stack,
				       (uintptr_t *)(rec + 1), UNWIND_DEPTH, &end);
	rec->weight = weight;
	rec->n = (uint16_t)n;
	rec->end = (uint8_t)end;
	rec->kind = (uint8_t)kind;
	rec->request = request;
	rec->label = __atomic_load_n(&t->self->label, __ATOMIC_RELAXED);
	/* The thread may be changing them just now: then the last one is 0. */
	rec->span[2] = __atomic_load_n(&t->self->span_link[2], __ATOMIC_RELAXED);
	rec->span[0] = rec->span[2] ? t->self->span_link[0] : 0;
	rec->span[1] = rec->span[2] ? t->self->span_link[1] : 0;
	rec->span_name = rec->span[2] ? t->self->span_name : NULL;
	rec->perf_from = t->perf_from;
	rec->perf_to = t->perf_to;
	ring_put(&t->ring, (uint32_t)(RECORD_WORDS + n));
}

/* One signal may stand for several samples: all since the last go with this stack. */
static void take_perf(struct handler_thread *t, const void *uc)
{
	uint64_t head = perf_ring_head(&t->perf);
	if (head == t->perf_to)
		return;
	t->perf_from = t->perf_to;
	t->perf_to = head;
	take_sample(t, uc, HANDLER_PERF, 0, 0);
}

static void on_sigprof(int sig UNUSED, siginfo_t *si, void *uc)
{
	int saved = errno;
	__atomic_store_n(&nl6_self.in_handler, 1, __ATOMIC_SEQ_CST); /* pairs with handler_wait */
	struct handler_thread *t = __atomic_load_n(&nl6_self.sampler, __ATOMIC_SEQ_CST);
	/* The cookie tells our signals from others'; a late one of a thread that left finds NULL. A
	 * thread that blocks SIGSEGV is in a crash handler: leave it alone. */
	bool ours = t && !sigismember(&((ucontext_t *)uc)->uc_sigmask, SIGSEGV);
	if (ours && si->si_code == POLL_IN) {
		if (t->perf.fd >= 0 && si->si_fd == t->perf.fd)
			take_perf(t, uc);
	} else if (ours && si->si_value.sival_ptr == t) {
		if (si->si_code == SI_TIMER)
			take_sample(t, uc, HANDLER_CPU, 1 + (uint32_t)MAX(si->si_overrun, 0), 0);
		else if (si->si_code == SI_QUEUE)
			take_sample(t, uc, HANDLER_SNAPSHOT, 0,
				__atomic_load_n(&t->snapshot_asked, __ATOMIC_ACQUIRE));
	}
	__atomic_store_n(&nl6_self.in_handler, 0, __ATOMIC_RELEASE);
	errno = saved;
}

void handler_wait(const struct self *thread)
{
	while (__atomic_load_n(&thread->in_handler, __ATOMIC_SEQ_CST))
		(void)sched_yield();
}

/* The system call itself, since a sanitizer's sigaction would defer the handler to the next
 * interceptor, which a loop of its own never reaches. */
#if defined(__x86_64__)
#define SA_RESTORER_FLAG 0x04000000
void handler_restore(void);
__asm__(".text\n"
	".globl handler_restore\n" /* under LTO its user may be in another object */
	".hidden handler_restore\n"
	".type handler_restore,@function\n"
	"	.cfi_startproc\n"
	"	.cfi_signal_frame\n"
	"	.cfi_def_cfa rsp, 8\n"
	"	nop\n" /* unwinders look up the return address less one */
	"handler_restore:\n"
	"	movq $15, %rax\n" /* rt_sigreturn */
	"	syscall\n"
	"	.cfi_endproc\n"
	".size handler_restore,.-handler_restore\n");
struct kernel_sigaction {
	void (*handler)(int, siginfo_t *, void *);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};
int handler_install(void)
{
	struct kernel_sigaction sa = {on_sigprof,
		SA_SIGINFO | SA_RESTART | SA_ONSTACK | SA_RESTORER_FLAG, handler_restore, 0};
	return syscall(SYS_rt_sigaction, SIGPROF, &sa, NULL, sizeof(sa.mask)) < 0 ? -errno : 0;
}
#else
int handler_install(void)
{
	struct sigaction sa = {
		.sa_sigaction = on_sigprof, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
	return sigaction(SIGPROF, &sa, NULL) < 0 ? -errno : 0;
}
#endif

int handler_ask(struct handler_thread *t, int pid, int tid, uint32_t request)
{
	siginfo_t si = {0};
	si.si_signo = SIGPROF;
	si.si_code = SI_QUEUE;
	si.si_pid = pid;
	si.si_uid = getuid();
	si.si_value.sival_ptr = t;
	__atomic_store_n(&t->snapshot_asked, request, __ATOMIC_RELEASE);
	return syscall(SYS_rt_tgsigqueueinfo, pid, tid, SIGPROF, &si) < 0 ? -errno : 0;
}
