#include "api/when.h"
#include "base/clk.h"
#include <time.h>

void when_kv(struct text *t, const char *key, uint64_t wall_ns)
{
	time_t s = (time_t)(wall_ns / NS_PER_SEC);
	struct tm tm;
	char buf[32];
	(void)strftime(buf, sizeof(buf), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&s, &tm));
	text_kv_str(t, key, buf);
}
