#include "wire/intern.h"
#include <errno.h>
#include <string.h>

static uint32_t hash_bytes(const void *p, size_t n)
{
	const uint8_t *b = p;
	uint64_t h = 0xcbf29ce484222325ull;
	for (size_t i = 0; i < n; i++)
		h = (h ^ b[i]) * 0x100000001b3ull;
	return (uint32_t)(h ^ (h >> 32));
}

bool intern_find(const struct intern *t, const void *key, size_t len, uint32_t *ret_id)
{
	if (t->size == 0)
		return false;
	for (uint32_t at = hash_bytes(key, len) & (t->size - 1); t->slots[at];
		at = (at + 1) & (t->size - 1)) {
		uint32_t i = t->slots[at] - 1;
		if (t->keys[i].len == len &&
			(len == 0 || memcmp(t->bytes.s + t->keys[i].at, key, len) == 0)) {
			*ret_id = i + 1;
			return true;
		}
	}
	return false;
}

static int grow(struct intern *t)
{
	const struct mem *mem = t->bytes.mem;
	if (t->n == t->room) {
		uint32_t room = t->room ? t->room * 2 : 64;
		void *keys = mem_resize(mem, t->keys, room, sizeof(*t->keys));
		if (!keys)
			return -ENOMEM;
		t->keys = keys;
		t->room = room;
	}
	if (t->n * 2 < t->size)
		return 0;
	uint32_t size = t->size ? t->size * 2 : 128;
	uint32_t *slots = mem_array(mem, size, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->n; i++) {
		uint32_t at = hash_bytes(t->bytes.s + t->keys[i].at, t->keys[i].len) & (size - 1);
		while (slots[at])
			at = (at + 1) & (size - 1);
		slots[at] = i + 1;
	}
	(void)mem_free(mem, t->slots);
	t->slots = slots;
	t->size = size;
	return 0;
}

int intern_add(struct intern *t, const void *key, size_t len, uint32_t *ret_id, bool *ret_new)
{
	*ret_new = false;
	if (intern_find(t, key, len, ret_id))
		return 0;
	if (grow(t) < 0 || t->bytes.len + len > UINT32_MAX)
		return -ENOMEM;
	size_t at = t->bytes.len;
	text_write(&t->bytes, key, len);
	if (t->bytes.err < 0)
		return -ENOMEM;
	t->keys[t->n].at = (uint32_t)at;
	t->keys[t->n].len = (uint32_t)len;
	uint32_t slot = hash_bytes(key, len) & (t->size - 1);
	while (t->slots[slot])
		slot = (slot + 1) & (t->size - 1);
	t->slots[slot] = ++t->n;
	*ret_id = t->n;
	*ret_new = true;
	return 0;
}

int intern_text(struct intern *t, const char *s, uint32_t *ret_id)
{
	bool fresh;
	size_t good = 0, n;
	const char *u = s ? s : "";
	while (u[good] && (n = text_utf8_bytes(u + good)) > 0)
		good += n;
	if (!u[good])
		return intern_add(t, u, good, ret_id, &fresh);
	struct text clean = TEXT(t->bytes.mem);
	for (size_t i = 0; u[i]; i += n ? n : 1) {
		n = text_utf8_bytes(u + i);
		text_write(&clean, n ? u + i : "?", n ? n : 1);
	}
	int r = clean.err;
	if (r == 0)
		r = intern_add(t, clean.s, clean.len, ret_id, &fresh);
	text_done(&clean);
	return r;
}

void intern_done(struct intern *t)
{
	const struct mem *mem = t->bytes.mem;
	t->slots = mem_free(mem, t->slots);
	t->keys = mem_free(mem, t->keys);
	t->n = t->size = t->room = 0;
	text_done(&t->bytes);
}
