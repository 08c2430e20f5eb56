#include "profiling/ingest.h"
#include <stdio.h>
#include <string.h>

#define VALUE_BYTES 2048 /* the server refuses longer ones */
#define NAME_TAGS 32	 /* and more labels than 30 */

/* A byte of a value that would end it, or that is no text. */
static bool is_unsafe(unsigned char c)
{
	return c < ' ' || c == 0x7f || c == ',' || c == '{' || c == '}';
}

static void put_value(struct text *to, const char *value)
{
	const char *s = value + strspn(value, " "), *end = value + strlen(value);
	while (end > s && end[-1] == ' ')
		end--;
	for (unsigned n, done = 0; s < end; s += n) {
		n = text_utf8_bytes(s);
		bool safe = n > 1 || (n == 1 && !is_unsafe((unsigned char)*s));
		n = n ? n : 1;
		done += n;
		if (done > VALUE_BYTES)
			return;
		text_write(to, safe ? s : "_", n);
	}
}

void ingest_name(const struct upload_tag *tags, uint32_t n_tags, uint64_t session, struct text *to)
{
	char id[17];
	struct upload_tag all[NAME_TAGS];
	uint32_t n = MIN(n_tags, NAME_TAGS - 1u);
	(void)snprintf(id, sizeof(id), "%016lx", (unsigned long)session);
	all[0] = (struct upload_tag){"__session_id__", id};
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = i + 1;
		for (; at > 0 && strcmp(all[at - 1].name, tags[i].name) > 0; at--)
			all[at] = all[at - 1];
		all[at] = tags[i];
	}
	text_put(to, "nl6{");
	for (uint32_t i = 0; i <= n; i++) {
		text_printf(to, "%s%s=", i ? "," : "", all[i].name);
		put_value(to, all[i].value);
	}
	text_put(to, "}");
}

static void put_escaped(struct text *to, const char *s)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~";
	for (; *s; s++)
		if (strchr(plain, *s))
			text_write(to, s, 1);
		else
			text_printf(to, "%%%02X", (unsigned)(unsigned char)*s);
}

static const struct ingest_kind {
	const char *units, *aggregation, *config;
} kinds[PROFILE_KINDS] = {
	[PROFILE_CPU] = {"samples", "sum", NULL},
	[PROFILE_HEAP] = {"", "",
		"{\"alloc_objects\":{\"units\":\"objects\"},\"alloc_space\":{\"units\":\"bytes\"},"
		"\"inuse_objects\":{\"units\":\"objects\",\"aggregation\":\"average\"},"
		"\"inuse_space\":{\"units\":\"bytes\",\"aggregation\":\"average\"}}"},
	[PROFILE_GOROUTINE] = {"goroutines", "average",
		"{\"goroutine\":{\"units\":\"goroutines\",\"aggregation\":\"average\","
		"\"display-name\":\"goroutines\"}}"},
	[PROFILE_MUTEX] = {"", "",
		"{\"contentions\":{\"units\":\"lock_samples\",\"display-name\":\"mutex_count\"},"
		"\"delay\":{\"units\":\"lock_nanoseconds\",\"display-name\":\"mutex_duration\"}}"},
	[PROFILE_BLOCK] = {"", "",
		"{\"contentions\":{\"units\":\"lock_samples\",\"display-name\":\"block_count\"},"
		"\"delay\":{\"units\":\"lock_nanoseconds\",\"display-name\":\"block_duration\"}}"},
};

const char *ingest_config(enum profile_kind kind)
{
	return kinds[kind].config;
}

static const char *text_or_empty(const char *s)
{
	return s ? s : "";
}

/* The heap's rate is no rate of samples; the original's client tells 100 all the same. */
static uint32_t sample_rate(const struct upload_profile *profile)
{
	return profile->kind == PROFILE_CPU ? profile->hz : profile->kind == PROFILE_HEAP ? 100 : 0;
}

void ingest_url(const char *address, const char *name, const struct upload_profile *profile,
	struct text *to)
{
	const struct ingest_kind *kind = &kinds[profile->kind];
	uint64_t until_ns = MAX(profile->until_ns, profile->from_ns + 1); /* the clock was set */
	size_t n = strlen(address);
	while (n && address[n - 1] == '/')
		n--;
	text_write(to, address, n);
	text_printf(to,
		"/ingest?aggregationType=%s&from=%lu&name=", text_or_empty(kind->aggregation),
		(unsigned long)profile->from_ns);
	put_escaped(to, name);
	text_printf(to, "&sampleRate=%u&spyName=nl6&units=%s&until=%lu", sample_rate(profile),
		text_or_empty(kind->units), (unsigned long)until_ns);
}
