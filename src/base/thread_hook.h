/* Birth of threads. thread_hook.c defines pthread_create for the whole program, so threads that
 * libraries make inherit their maker's label and log and are registered for RCU, like ours. */
#pragma once
#include <pthread.h>

/* pthread_create(3) with what a thread inherits. thread.c calls it by this name: the reference
 * pulls this file, and with it the interposed pthread_create, out of the static library. */
int thread_hook_create(
	pthread_t *ret_thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg);
