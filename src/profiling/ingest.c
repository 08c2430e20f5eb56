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

/* Bytes of the valid UTF-8 sequence at s (RFC 3629 4), 0: there is none. */
static size_t utf8_bytes(const unsigned char *s)
{
	size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	if (s[0] > 0xf4)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	bool overlong = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xf0 && s[1] < 0x90);
	bool outside = (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf4 && s[1] > 0x8f);
	return overlong || outside ? 0 : n;
}

static void put_value(struct text *to, const char *value)
{
	const unsigned char *s = (const unsigned char *)value;
	size_t end = strlen(value), done = 0;
	while (end && value[end - 1] == ' ')
		end--;
	s += strspn(value, " ");
	for (size_t n; s < (const unsigned char *)value + end && done < VALUE_BYTES; s += n) {
		n = utf8_bytes(s);
		bool safe = n > 1 || (n == 1 && !is_unsafe(*s));
		if (done + n > VALUE_BYTES)
			return;
		text_write(to, safe ? (const char *)s : "_", safe ? n : 1);
		done += safe ? n : 1;
		n = n ? n : 1;
	}
}

void ingest_name(const struct upload_tag *tags, uint32_t n_tags, uint64_t session, struct text *to)
{
	char id[17];
	struct upload_tag all[NAME_TAGS];
	uint32_t n = MIN(n_tags, NAME_TAGS - 1u);
	(void)snprintf(id, sizeof(id), "%016lx", (unsigned long)session);
	/* An upper-case letter comes before it, a small one after: a place of its own, like others.
	 */
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
