#include "net/lab_record.h"
#include "base/num.h"
#include <errno.h>
#include <string.h>

#define WORDS_MAX 4

void lab_record_done(struct lab_record *r)
{
	if (r->mem)
		r->settings = mem_free(r->mem, r->settings);
	r->settings_len = 0;
}

static bool copy_word(char *to, size_t room, const char *word)
{
	size_t len = strlen(word);
	if (len == 0 || len >= room)
		return false;
	memcpy(to, word, len + 1);
	return true;
}

static bool copy_digits(char *to, size_t room, const char *word)
{
	return strspn(word, "0123456789") == strlen(word) && copy_word(to, room, word);
}

/* Below /proc/sys/net/ipv4 or ipv6, and no way out of there. */
static bool copy_path(char to[static LAB_RECORD_PATH_BYTES], const char *word)
{
	if (strncmp(word, "ipv4/", 5) != 0 && strncmp(word, "ipv6/", 5) != 0)
		return false;
	for (const char *s = word; s; s = strchr(s, '/')) {
		s += *s == '/';
		size_t len = strcspn(s, "/");
		if (len == 0 || (len <= 2 && strspn(s, ".") >= len))
			return false;
	}
	return copy_word(to, LAB_RECORD_PATH_BYTES, word);
}

static bool take_link(struct lab_record *r, char *const word[WORDS_MAX])
{
	struct nl_link link = {0};
	if (!copy_word(link.name, sizeof(link.name), word[1]) || strchr(link.name, '/'))
		return false;
	const char *s = word[2];
	for (unsigned i = 0; i < 6; i++, s += 3) {
		char hex[3] = {s[0], s[0] ? s[1] : 0, 0};
		size_t n;
		if (num_hex(hex, &link.mac[i], 1, &n) < 0 || n != 1 || s[2] != (i < 5 ? ':' : 0))
			return false;
	}
	r->link = link;
	return true;
}

static int take_setting(struct lab_record *r, char *const word[WORDS_MAX], bool after)
{
	struct lab_setting s = {{0}};
	if (!copy_path(s.path, word[1]) || !copy_digits(s.old, sizeof(s.old), word[2]))
		return -EINVAL;
	if (after ? r->settings_len == 0 : !copy_digits(s.new, sizeof(s.new), word[3]))
		return -EINVAL;
	struct lab_setting *grown =
		mem_resize(r->mem, r->settings, r->settings_len + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	r->settings = grown;
	r->settings[r->settings_len++] = s;
	return 0;
}

static bool is_target(const char *s)
{
	return strncmp(s, "/proc/", 6) == 0;
}

/* -EINVAL: not understood. */
static int take_line(struct lab_record *r, char *const word[WORDS_MAX], unsigned n)
{
	uint64_t v;
	bool ok = false;
	if (n == 2 && strcmp(word[0], "boot") == 0) {
		ok = copy_word(r->boot, sizeof(r->boot), word[1]);
	} else if (n == 2 && strcmp(word[0], "netns") == 0) {
		ok = num_u64(word[1], 1, UINT64_MAX, &r->netns) == 0;
	} else if (n == 2 && strcmp(word[0], "pid") == 0) {
		ok = num_u64(word[1], 1, INT32_MAX, &v) == 0;
		r->pid = ok ? (uint32_t)v : 0;
	} else if (n == 1 && strcmp(word[0], "dir") == 0) {
		r->made_dir = ok = true;
	} else if (n == 2 && strcmp(word[0], "name") == 0) {
		ok = is_target(word[1]) && copy_word(r->target, sizeof(r->target), word[1]);
	} else if (n == 3 && strcmp(word[0], "link") == 0) {
		ok = take_link(r, word);
	} else if (n == 2 && strcmp(word[0], "mark") == 0) {
		ok = num_u64(word[1], 1, UINT32_MAX, &v) == 0;
		r->mark = ok ? (uint32_t)v : 0;
	} else if (n == 4 && strcmp(word[0], "sysctl") == 0) {
		return take_setting(r, word, false);
	} else if (n == 3 && strcmp(word[0], "after") == 0) {
		return take_setting(r, word, true);
	}
	return ok ? 0 : -EINVAL;
}

/* Cuts the line at single blanks; 0: too many words, or a byte that no line has. */
static unsigned cut(char *line, size_t len, char *ret_word[WORDS_MAX])
{
	unsigned n = 0;
	for (char *s = line; s;) {
		if (n == WORDS_MAX)
			return 0;
		ret_word[n++] = s;
		s = memchr(s, ' ', (size_t)(line + len - s));
		if (s)
			*s++ = 0;
	}
	return n;
}

int lab_record_parse(
	const struct mem *mem, const char *s, size_t bytes, struct lab_record *ret_record)
{
	AUTO_RECORD struct lab_record r = {.mem = mem};
	while (bytes > 0) {
		char line[256], *word[WORDS_MAX];
		const char *end = memchr(s, '\n', bytes);
		size_t len = end ? (size_t)(end - s) : bytes;
		int bad = -EINVAL;
		/* Without its end the line was cut; its step was not taken. */
		if (end && len < sizeof(line) && !memchr(s, 0, len)) {
			memcpy(line, s, len);
			line[len] = 0;
			unsigned n = cut(line, len, word);
			bad = n ? take_line(&r, word, n) : -EINVAL;
		}
		if (bad == -ENOMEM)
			return -ENOMEM;
		r.bad_lines += bad < 0;
		len += end ? 1 : 0;
		s += len;
		bytes -= len;
	}
	*ret_record = r;
	r.settings = NULL;
	return 0;
}

bool lab_record_find(
	const struct lab_record *r, const char *path, uint32_t *ret_index, uint32_t *ret_n)
{
	for (uint32_t i = 0; i < r->settings_len; i++) {
		if (!r->settings[i].new[0] || strcmp(r->settings[i].path, path) != 0)
			continue;
		uint32_t n = 1;
		while (i + n < r->settings_len && !r->settings[i + n].new[0])
			n++;
		*ret_index = i;
		*ret_n = n;
		return true;
	}
	return false;
}

void lab_record_put_head(struct text *t, const char *boot, uint64_t netns, uint32_t pid)
{
	text_printf(t, "boot %s\nnetns %llu\npid %u\n", boot, (unsigned long long)netns, pid);
}

void lab_record_put_dir(struct text *t)
{
	text_put(t, "dir\n");
}

void lab_record_put_name(struct text *t, const char *target)
{
	text_printf(t, "name %s\n", target);
}

void lab_record_put_link(struct text *t, const struct nl_link *link)
{
	const uint8_t *m = link->mac;
	text_printf(t, "link %s %02x:%02x:%02x:%02x:%02x:%02x\n", link->name, m[0], m[1], m[2],
		m[3], m[4], m[5]);
}

void lab_record_put_mark(struct text *t, uint32_t mark)
{
	text_printf(t, "mark %u\n", mark);
}

void lab_record_put_setting(struct text *t, const struct lab_setting *s)
{
	if (s->new[0])
		text_printf(t, "sysctl %s %s %s\n", s->path, s->old, s->new);
	else
		text_printf(t, "after %s %s\n", s->path, s->old);
}
