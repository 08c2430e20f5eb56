#include "profiling/task.h"
#include "base/attr.h"
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The calls in which threads are found to wait; another is shown by its number. */
static const struct {
	long number;
	const char *name;
} calls[] = {
	{SYS_read, "read"},
	{SYS_write, "write"},
	{SYS_pread64, "pread64"},
	{SYS_pwrite64, "pwrite64"},
	{SYS_readv, "readv"},
	{SYS_writev, "writev"},
	{SYS_openat, "openat"},
	{SYS_close, "close"},
	{SYS_fsync, "fsync"},
	{SYS_fdatasync, "fdatasync"},
	{SYS_flock, "flock"},
	{SYS_fcntl, "fcntl"},
	{SYS_futex, "futex"},
	{SYS_epoll_pwait, "epoll_pwait"},
	{SYS_ppoll, "ppoll"},
	{SYS_pselect6, "pselect6"},
	{SYS_accept, "accept"},
	{SYS_accept4, "accept4"},
	{SYS_connect, "connect"},
	{SYS_recvfrom, "recvfrom"},
	{SYS_recvmsg, "recvmsg"},
	{SYS_recvmmsg, "recvmmsg"},
	{SYS_sendto, "sendto"},
	{SYS_sendmsg, "sendmsg"},
	{SYS_sendmmsg, "sendmmsg"},
	{SYS_nanosleep, "nanosleep"},
	{SYS_clock_nanosleep, "clock_nanosleep"},
	{SYS_wait4, "wait4"},
	{SYS_waitid, "waitid"},
	{SYS_membarrier, "membarrier"},
	{SYS_madvise, "madvise"},
	{SYS_mmap, "mmap"},
	{SYS_munmap, "munmap"},
	{SYS_rt_sigtimedwait, "rt_sigtimedwait"},
	{SYS_rt_sigsuspend, "rt_sigsuspend"},
	{SYS_sched_yield, "sched_yield"},
#ifdef SYS_epoll_wait
	{SYS_epoll_wait, "epoll_wait"},
	{SYS_poll, "poll"},
	{SYS_select, "select"},
	{SYS_pause, "pause"},
#endif
};

/* A small file of the thread in /proc as a string; false when it cannot be read. */
static bool read_file(int tid, const char *name, char *buf, size_t room)
{
	char path[64];
	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/%s", tid, name);
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;
	while (fd >= 0 && (n = read(fd, buf, room - 1)) < 0 && errno == EINTR)
		;
	if (n <= 0)
		return false;
	buf[n] = 0;
	buf[strcspn(buf, "\n")] = 0;
	return true;
}

/* "running", or the number of the call with its arguments; -1 when it is blocked in none. */
static void name_call(const char *text, struct task_state *st)
{
	char *end;
	long number = strtol(text, &end, 10);
	if (end == text || number < 0)
		return;
	for (unsigned i = 0; i < ARRAY_SIZE(calls); i++)
		if (calls[i].number == number) {
			(void)snprintf(st->syscall, sizeof(st->syscall), "%s", calls[i].name);
			return;
		}
	(void)snprintf(st->syscall, sizeof(st->syscall), "syscall %ld", number);
}

void task_look(int tid, struct task_state *ret_state)
{
	char buf[512];
	struct task_state st = {0};
	/* The name, in parentheses, may hold anything. */
	const char *name_end = read_file(tid, "stat", buf, sizeof(buf)) ? strrchr(buf, ')') : NULL;
	if (name_end && name_end[1] == ' ')
		st.state = name_end[2];
	if (read_file(tid, "syscall", buf, sizeof(buf)))
		name_call(buf, &st);
	if (read_file(tid, "wchan", buf, sizeof(buf)) && strcmp(buf, "0") != 0)
		(void)snprintf(st.wchan, sizeof(st.wchan), "%.*s", (int)sizeof(st.wchan) - 1, buf);
	*ret_state = st;
}

const char *task_state_text(char state)
{
	switch (state) {
	case 'R':
		return "running";
	case 'S':
		return "sleeping";
	case 'D':
		return "disk sleep";
	case 'T':
	case 't':
		return "stopped";
	case 0:
		return "gone";
	default:
		return "idle";
	}
}
