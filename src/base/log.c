#include "base/log.h"
#include "base/self.h"
#include "base/text.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static const struct flag_choice levels[] = {{"error", LOG_LEVEL_ERROR}, {"warn", LOG_LEVEL_WARN},
	{"info", LOG_LEVEL_INFO}, {"debug", LOG_LEVEL_DEBUG}, {0}};
static const struct flag_choice formats[] = {{"text", false}, {"json", true}, {0}};
const struct flag log_flags[] = {FLAG_ENUM(struct log_conf, level, "log-level", "info", levels,
					 "Least level that is logged"),
	FLAG_ENUM(struct log_conf, json, "log-format", "text", formats,
		"Form of a line on standard error"),
	{0}};

struct log {
	struct log_env env;
	struct log_conf conf;
};

int log_new(const struct log_env *env, const struct log_conf *conf, struct log **ret_log)
{
	struct log *l = mem_alloc(env->mem, sizeof(*l));
	if (!l)
		return -ENOMEM;
	*l = (struct log){*env, *conf};
	*ret_log = l;
	return 0;
}

struct log *log_free(struct log *l)
{
	return l ? mem_free(l->env.mem, l) : NULL;
}

bool log_wants(enum log_level level)
{
	const struct log *l = nl6_self.log;
	return l && level <= l->conf.level;
}

/* May the site write now? *ret_held lines were held back before this one. */
static bool site_passes(struct log_site *site, uint64_t now_ns, uint32_t *ret_held)
{
	uint64_t now_ms = now_ns / NS_PER_MS;
	uint64_t old = __atomic_load_n(&site->window, __ATOMIC_RELAXED), next;
	bool opens;
	do {
		uint64_t lines = old & 0xff;
		opens = lines == 0 || now_ms - (old >> 8) >= LOG_SITE_NS / NS_PER_MS;
		if (!opens && lines >= LOG_SITE_LINES) {
			(void)__atomic_fetch_add(&site->held, 1, __ATOMIC_RELAXED);
			return false;
		}
		next = opens ? now_ms << 8 | 1 : old + 1;
	} while (!__atomic_compare_exchange_n(
		&site->window, &old, next, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	*ret_held = opens ? __atomic_exchange_n(&site->held, 0, __ATOMIC_RELAXED) : 0;
	return true;
}

/* A line in the making. The room always suffices for what follows the message. */
struct line {
	bool json;
	size_t len;
	char s[LOG_LINE_BYTES];
};
#define MESSAGE_END (LOG_LINE_BYTES - 128) /* errno's name, held, "..." and the end fit behind */
#define SUBJECT_END 1024

static void put(struct line *l, const char *s)
{
	size_t n = strlen(s);
	memcpy(l->s + l->len, s, n);
	l->len += n;
}

/* Printable ASCII stays; the rest becomes \xNN. */
static size_t plain_char(const char **s, char out[static TEXT_JSON_CHAR_BYTES])
{
	static const char hex[] = "0123456789abcdef";
	unsigned char c = (unsigned char)*(*s)++;
	if (c == '\\')
		out[1] = '\\';
	if (c >= 0x20 && c < 0x7f) {
		out[0] = (char)c;
		return c == '\\' ? 2 : 1;
	}
	out[0] = '\\';
	out[1] = 'x';
	out[2] = hex[c >> 4];
	out[3] = hex[c & 15];
	return 4;
}

/* Foreign text up to position end of the line. */
static void put_foreign(struct line *l, const char *s, size_t end)
{
	while (*s) {
		char c[TEXT_JSON_CHAR_BYTES];
		size_t n = l->json ? text_json_char(&s, c) : plain_char(&s, c);
		if (l->len + n > end) {
			put(l, "...");
			return;
		}
		memcpy(l->s + l->len, c, n);
		l->len += n;
	}
}

/* Date and time in UTC. gmtime_r would take a lock of libc. */
static void put_time(struct line *l, uint64_t wall_ns)
{
	uint64_t ms = wall_ns / NS_PER_MS, second = ms / 1000 % 86400;
	uint64_t days = ms / 86400000 + 719468; /* since 0000-03-01: leap days come last */
	uint64_t era = days / 146097, day = days % 146097; /* of 400 years */
	uint64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
	uint64_t of_year = day - (365 * year + year / 4 - year / 100);
	uint64_t march_month = (5 * of_year + 2) / 153;
	uint64_t of_month = of_year - (153 * march_month + 2) / 5 + 1;
	uint64_t month = march_month < 10 ? march_month + 3 : march_month - 9;
	year += era * 400 + (month <= 2);
	int n = snprintf(l->s + l->len, 40, "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ", (unsigned)year,
		(unsigned)month, (unsigned)of_month, (unsigned)(second / 3600),
		(unsigned)(second / 60 % 60), (unsigned)(second % 60), (unsigned)(ms % 1000));
	l->len += (size_t)n;
}

static void put_errno(struct line *l, int r)
{
	const char *name = strerrorname_np(-r);
	char number[16];
	(void)snprintf(number, sizeof(number), "%d", r);
	put(l, name ? name : number);
}

static const char *const level_names[] = {"error", "warn", "info", "debug"};

/* What a line says, besides its message. */
struct facts {
	uint64_t wall_ns;
	enum log_level level;
	char thread[16];
	const char *subject; /* or NULL */
	int r;
	uint32_t held;
};

static void make_plain(struct line *l, const struct facts *f, const char *message)
{
	char held[24];
	put_time(l, f->wall_ns);
	put(l, " ");
	put(l, level_names[f->level]);
	put(l, " ");
	put_foreign(l, f->thread, SUBJECT_END);
	put(l, " ");
	put_foreign(l, f->subject ? f->subject : "-", SUBJECT_END);
	put(l, ": ");
	put_foreign(l, message, MESSAGE_END);
	if (f->r) {
		put(l, ": ");
		put_errno(l, f->r);
	}
	if (f->held) {
		(void)snprintf(held, sizeof(held), " (+%u)", f->held);
		put(l, held);
	}
	put(l, "\n");
}

static void make_json(struct line *l, const struct facts *f, const char *message)
{
	char held[24];
	put(l, "{\"time\":\"");
	put_time(l, f->wall_ns);
	put(l, "\",\"level\":\"");
	put(l, level_names[f->level]);
	put(l, "\",\"thread\":\"");
	put_foreign(l, f->thread, SUBJECT_END);
	if (f->subject) {
		put(l, "\",\"subject\":\"");
		put_foreign(l, f->subject, SUBJECT_END);
	}
	put(l, "\",\"message\":\"");
	put_foreign(l, message, MESSAGE_END);
	if (f->r) {
		put(l, "\",\"error\":\"");
		put_errno(l, f->r);
	}
	put(l, "\"");
	if (f->held) {
		(void)snprintf(held, sizeof(held), ",\"held\":%u", f->held);
		put(l, held);
	}
	put(l, "}\n");
}

/* Whoever reads the log may be slow or gone: a line that cannot be written is lost. */
static void write_all(int fd, const char *s, size_t bytes)
{
	while (bytes > 0) {
		ssize_t n = write(fd, s, bytes);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		s += n;
		bytes -= (size_t)n;
	}
}

void log_line(struct log_site *site, enum log_level level, const char *subject, int r,
	const char *fmt, ...)
{
	const struct log *log = nl6_self.log;
	int saved_errno = errno;
	struct facts f = {.level = level, .subject = subject, .r = r};
	if (!log || !site_passes(site, clk_ns(log->env.clk), &f.held))
		return;
	f.wall_ns = clk_wall_ns(log->env.clk);
	memcpy(f.thread, nl6_self.name, sizeof(f.thread));
	if (!f.thread[0])
		(void)prctl(PR_GET_NAME, f.thread);
	char message[MESSAGE_END];
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	if (n < 0)
		message[0] = 0;
	struct line l;
	l.json = log->conf.json;
	l.len = 0;
	(l.json ? make_json : make_plain)(&l, &f, message);
	write_all(log->conf.fd, l.s, l.len);
	errno = saved_errno;
}
