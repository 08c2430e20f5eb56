/* What the kernel tells of a thread of this process: whether it runs, the system call it is in, and
 * what that waits for. */
#pragma once

struct task_state {
	char state;	  /* as in proc(5): R S D T …; 0: the thread is gone */
	char syscall[32]; /* "epoll_wait", or "syscall 999"; empty: in none, or not told */
	char wchan[48];	  /* a function of the kernel; empty: in none, or not told */
};
/* Any thread of this process. */
void task_look(int tid, struct task_state *ret_state);
/* "running", "sleeping", … */
const char *task_state_text(char state);
