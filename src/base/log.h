/* The log: lines on a descriptor, text or JSON, with a subject and a limit per call site.
 * base and wire never log. Thread-safe. The sink of a thread is nl6_self.log. */
#pragma once
#include "base/attr.h"
#include "base/clk.h"
#include "base/flag.h"
#include "base/mem.h"
#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };
struct log;
struct log_env { /* borrowed, outlives the log */
	const struct mem *mem;
	const struct clk *clk;
};
struct log_conf {
	int fd; /* borrowed; usually 2 */
	enum log_level level;
	bool json;
};
extern const struct flag log_flags[]; /* all but fd */
/* Counts what a call site held back: at most LOG_SITE_LINES lines a site in LOG_SITE_NS. Static,
 * one per site, zero at first. */
#define LOG_SITE_LINES 10
#define LOG_SITE_NS (10 * NS_PER_SEC)
struct log_site {
	uint64_t window; /* when it began, monotonic ms, above 8 bits that count its lines */
	uint32_t held;	 /* lines held back since the last one that was written */
};

/* The caller owns *ret_log; it must outlive every thread that inherits it. -ENOMEM. */
MUST_CHECK int log_new(
	const struct log_env *env, const struct log_conf *conf, struct log **ret_log);
struct log *log_free(struct log *l);
CLEANUP(log);

/* One line, one write(2) of at most LOG_LINE_BYTES: time level thread subject: message: ERRNO
 * (+held), or a JSON object with time, level, thread, subject, message, error, held, of which those
 * that are not there are left out. subject may be NULL; r is 0 or a negative errno; foreign bytes
 * are escaped, what is too long ends in "...". errno is kept. Use the macros. */
#define LOG_LINE_BYTES 4096
void log_line(struct log_site *site, enum log_level level, const char *subject, int r,
	const char *fmt, ...) PRINTF(5, 6);
bool log_wants(enum log_level level);
#define LOG_AT(level, subject, r, ...) \
	do { \
		static struct log_site log_site_; \
		if (log_wants(level)) \
			log_line(&log_site_, level, subject, r, __VA_ARGS__); \
	} while (0)
#define log_error(subject, r, ...) LOG_AT(LOG_LEVEL_ERROR, subject, r, __VA_ARGS__)
#define log_warn(subject, r, ...) LOG_AT(LOG_LEVEL_WARN, subject, r, __VA_ARGS__)
#define log_info(subject, r, ...) LOG_AT(LOG_LEVEL_INFO, subject, r, __VA_ARGS__)
#define log_debug(subject, r, ...) LOG_AT(LOG_LEVEL_DEBUG, subject, r, __VA_ARGS__)
