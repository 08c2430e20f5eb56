#include "sim/fleet/access_flags.h"
#include <errno.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>

#define WORDS_MAX 8

/* One text in work. */
struct reader {
	struct access_users *u;
	const char *name;
	uint32_t line;
	struct fault *fault;
};

static int refuse(const struct reader *g, const char *allowed, const char *text)
{
	char field[sizeof(g->fault->field)];
	(void)snprintf(field, sizeof(field), "%.80s:%u", g->name, g->line);
	return fault_set(g->fault, -EINVAL, field, allowed, "%s", text);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* The next word of a line, written in place without quotes and ended; *ret_word is NULL at the end
 * of the line. */
static int next_word(const struct reader *g, char **at, char **ret_word)
{
	char *s = *at;
	while (is_blank(*s))
		s++;
	*ret_word = *s && *s != '#' ? s : NULL;
	if (!*ret_word)
		return 0;
	bool quoted = *s == '"';
	char *to = s;
	for (s += quoted; *s && (quoted ? *s != '"' : !is_blank(*s)); s++) {
		if (quoted && *s == '\\' && (s[1] == '"' || s[1] == '\\'))
			s++;
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return refuse(g, NULL, "has a control character");
		*to++ = *s;
	}
	if (quoted && *s != '"')
		return refuse(g, NULL, "a quote is not closed");
	if (quoted && s[1] && !is_blank(s[1]))
		return refuse(g, NULL, "a blank is missing behind a quote");
	*at = *s ? s + 1 : s;
	*to = 0;
	return 0;
}

static int read_user(const struct reader *g, char *const *words, unsigned n)
{
	struct access_users *u = g->u;
	struct access_user *user = &u->user[u->n];
	if (n > 1 && strncmp(words[n - 1], "min=", 4) == 0 &&
		access_level_parse(words[--n] + 4, &user->min_level) < 0)
		return refuse(g, ACCESS_LEVEL_NAMES, "min= is followed by no security level");
	if (n > 5)
		return refuse(g, NULL, "has more words than a user");
	if (n > 1 && keys_auth_parse(words[1], &user->auth) < 0)
		return refuse(g, KEYS_AUTH_NAMES, "the second word is no authentication protocol");
	if (n > 3 && keys_priv_parse(words[3], &user->priv) < 0)
		return refuse(g, KEYS_PRIV_NAMES, "the fourth word is no privacy protocol");
	user->name = words[0];
	user->password = n > 2 ? words[2] : NULL;
	user->priv_password = n > 4 ? words[4] : NULL;
	u->line[u->n++] = g->line;
	return 0;
}

static int read_line(const struct reader *g, char *s)
{
	char *words[WORDS_MAX], *word;
	unsigned n = 0;
	for (;;) {
		int r = next_word(g, &s, &word);
		if (r < 0)
			return r;
		if (!word)
			break;
		if (n == WORDS_MAX)
			return refuse(g, NULL, "has more words than a user");
		words[n++] = word;
	}
	if (n == 0)
		return 0;
	if (g->u->n == ACCESS_USERS_MAX)
		return refuse(g, "1..64 users", "is one user too many");
	return read_user(g, words, n);
}

int access_users_read(const struct mem *mem, const char *text, size_t bytes, const char *name,
	struct access_users *u, struct fault *reterr_fault)
{
	struct reader g = {u, name, 0, reterr_fault};
	u->mem = mem;
	u->bytes = bytes;
	u->words = mem_alloc(mem, bytes + 1);
	if (!u->words)
		return -ENOMEM;
	memcpy(u->words, text, bytes);
	u->words[bytes] = 0;
	char *end;
	for (char *s = u->words; s < u->words + bytes; s = end + 1) {
		g.line++;
		end = memchr(s, '\n', (size_t)(u->words + bytes - s));
		if (!end)
			end = u->words + bytes;
		*end = 0;
		if (strlen(s) != (size_t)(end - s))
			return refuse(&g, NULL, "has a NUL");
		int r = read_line(&g, s);
		if (r < 0)
			return r;
	}
	return 0;
}

void access_users_done(struct access_users *u)
{
	if (u->words)
		OPENSSL_cleanse(u->words, u->bytes);
	if (u->mem)
		u->words = mem_free(u->mem, u->words);
}
