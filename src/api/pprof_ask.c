#include "api/pprof_ask.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CPU_SECONDS_DEFAULT 30
#define TRACE_SECONDS_DEFAULT 1.0
#define SECONDS_LIMIT ((long long)(GATE_CAPTURE_MAX_NS / NS_PER_SEC))

/* A number as Go reads it: all of the text, a sign or none. */
static bool read_number(const char *s, long long *ret_n)
{
	char *end;
	if (!s || !*s || isspace((unsigned char)*s))
		return false;
	errno = 0;
	long long n = strtoll(s, &end, 10);
	if (*end || end == s || errno)
		return false;
	*ret_n = n;
	return true;
}

static double read_seconds(const char *s, double otherwise)
{
	char *end;
	if (!s || !*s || isspace((unsigned char)*s))
		return otherwise;
	double n = strtod(s, &end);
	return !*end && n > 0 && isfinite(n) ? n : otherwise;
}

static int too_long(const char **reterr_text)
{
	*reterr_text = "profile duration exceeds server's WriteTimeout";
	return -EINVAL;
}

static int set_whole(struct capture_ask *ask, long long seconds, const char **reterr_text)
{
	if (seconds >= SECONDS_LIMIT)
		return too_long(reterr_text);
	ask->duration_ns = (uint64_t)seconds * NS_PER_SEC;
	return 0;
}

static int read_delta(
	struct capture_ask *ask, const char *seconds, long long debug, const char **reterr_text)
{
	long long n = 0;
	if (!read_number(seconds, &n) || n <= 0) {
		*reterr_text = "invalid value for \"seconds\" - must be a positive integer";
		return -EINVAL;
	}
	if (n >= SECONDS_LIMIT)
		return too_long(reterr_text);
	if (debug != 0) {
		*reterr_text = "seconds and debug params are incompatible";
		return -EINVAL;
	}
	return set_whole(ask, n, reterr_text);
}

int pprof_ask_read(const struct url *url, struct capture_ask *ret_ask, const char **reterr_text)
{
	const char *seconds = url_query(url, "seconds");
	long long n = 0, debug = 0;
	switch (ret_ask->kind) {
	case CAPTURE_TRACE: {
		double some = read_seconds(seconds, TRACE_SECONDS_DEFAULT);
		if (some >= (double)SECONDS_LIMIT)
			return too_long(reterr_text);
		ret_ask->duration_ns = (uint64_t)(some * (double)NS_PER_SEC) + 1;
		return 0;
	}
	case CAPTURE_CPU:
	case CAPTURE_OFFCPU:
		if (!read_number(seconds, &n) || n <= 0)
			n = CPU_SECONDS_DEFAULT;
		return set_whole(ret_ask, n, reterr_text);
	case CAPTURE_SYMBOL:
	case CAPTURE_DELTA_HEAP:
	case CAPTURE_DELTA_MUTEX:
	case CAPTURE_DELTA_BLOCK:
		return 0;
	default:
		break;
	}
	(void)read_number(url_query(url, "debug"), &debug);
	if (seconds && *seconds)
		return read_delta(ret_ask, seconds, debug, reterr_text);
	ret_ask->debug = debug < 0 ? 1 : (unsigned)MIN(debug, 2);
	return 0;
}

int pprof_ask_addresses(const struct mem *mem, const char *s, uintptr_t **ret_pcs, uint32_t *ret_n)
{
	uintptr_t *pcs = NULL;
	uint32_t n = 0, room = 0;
	while (*s && n < PPROF_ASK_ADDRESSES) {
		char *end = NULL;
		errno = 0;
		unsigned long long pc = isdigit((unsigned char)*s) ? strtoull(s, &end, 0) : 0;
		size_t word = strcspn(s, "+ ");
		if (pc && errno == 0 && end == s + word) {
			if (n == room) {
				room = room ? 2 * room : 64;
				uintptr_t *more = mem_resize(mem, pcs, room, sizeof(*pcs));
				if (!more) {
					mem_free(mem, pcs);
					return -ENOMEM;
				}
				pcs = more;
			}
			pcs[n++] = (uintptr_t)pc;
		}
		s += word;
		s += *s != 0;
	}
	*ret_pcs = pcs;
	*ret_n = n;
	return 0;
}
