/* Attributes and small macros that every file may use. */
#pragma once
#include <stddef.h>

#define MUST_CHECK __attribute__((warn_unused_result))
#define PRINTF(fmt_at, args_at) __attribute__((format(printf, fmt_at, args_at)))
#define UNUSED __attribute__((unused))
#define EXPORT __attribute__((visibility("default")))
#define CACHE_ALIGNED __attribute__((aligned(64)))
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MAX(a, b) \
	({ \
		__typeof__(a) max_a_ = (a); \
		__typeof__(b) max_b_ = (b); \
		max_a_ > max_b_ ? max_a_ : max_b_; \
	})
#define MIN(a, b) \
	({ \
		__typeof__(a) min_a_ = (a); \
		__typeof__(b) min_b_ = (b); \
		min_a_ < min_b_ ? min_a_ : min_b_; \
	})
#define CONTAINER_OF(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
/* A name of its own, so that scopes nest. */
#define UNIQUE(name) JOIN(name, __COUNTER__)

/* CLEANUP(x) makes AUTO(x) available for a type with `struct x *x_free(struct x *)`. */
#define CLEANUP(name) \
	static inline UNUSED void name##_cleanup_(struct name **p) \
	{ \
		if (*p) \
			(void)name##_free(*p); \
	} \
	struct name
#define AUTO(name) __attribute__((cleanup(name##_cleanup_), unused))
/* Hands a pointer or descriptor over: the variable no longer owns it. */
#define TAKE(ptr) \
	({ \
		__typeof__(ptr) taken_ = (ptr); \
		(ptr) = NULL; \
		taken_; \
	})
#define TAKE_FD(fd) \
	({ \
		int taken_ = (fd); \
		(fd) = -1; \
		taken_; \
	})
void fd_cleanup_(int *fd);
/* A descriptor that is closed at the end of its scope; -1 is none. */
#define AUTO_FD __attribute__((cleanup(fd_cleanup_), unused))
