#include "base/flagbag.h"
#include <errno.h>
#include <string.h>

void flagbag_done(struct flagbag *b)
{
	for (uint32_t i = 0; i < b->kept_n; i++)
		(void)mem_free(b->mem, b->kept[i]);
	(void)mem_free(b->mem, b->kept);
	(void)mem_free(b->mem, b->settings);
	*b = (struct flagbag){.mem = b->mem};
}

/* Takes p (NULL: -ENOMEM) into the bag's care; frees it when that fails. */
static int keep(struct flagbag *b, void *p)
{
	if (!p)
		return -ENOMEM;
	void **kept = mem_resize(b->mem, b->kept, b->kept_n + 1u, sizeof(*kept));
	if (!kept) {
		(void)mem_free(b->mem, p);
		return -ENOMEM;
	}
	b->kept = kept;
	b->kept[b->kept_n++] = p;
	return 0;
}

int flagbag_keep(struct flagbag *b, const char *s, size_t n, const char **ret_s)
{
	char *copy = mem_alloc(b->mem, n + 1);
	if (copy) {
		memcpy(copy, s, n);
		copy[n] = 0;
	}
	int r = keep(b, copy);
	if (r == 0)
		*ret_s = copy;
	return r;
}

int flagbag_add(struct flagbag *b, const struct flagbag_setting *s)
{
	struct flagbag_setting *list = mem_resize(b->mem, b->settings, b->n + 1u, sizeof(*list));
	if (!list)
		return -ENOMEM;
	b->settings = list;
	struct flagbag_setting *new = &list[b->n];
	*new = *s;
	int r = flagbag_keep(b, s->origin, strlen(s->origin), &new->origin);
	if (r == 0)
		r = flagbag_keep(b, s->value, strlen(s->value), &new->value);
	if (r == 0)
		b->n++;
	return r;
}

const struct flagbag_setting *flagbag_winner(const struct flagbag *b, const struct flag *flag)
{
	const struct flagbag_setting *best = NULL;
	for (uint32_t i = 0; i < b->n; i++) {
		const struct flagbag_setting *s = &b->settings[i];
		if (s->flag == flag && (!best || s->source >= best->source))
			best = s;
	}
	return best;
}

/* A list's are separated by commas; a secret is one. */
static size_t count_items(const struct flag *flag, const char *value)
{
	size_t n = 1;
	for (; *value && flag->kind == FLAG_KIND_LIST; value++)
		n += *value == ',';
	return n;
}

/* Judges the items of one value and appends them to a list that has room. */
static int split(struct flagbag *b, const struct flag *flag, const char *origin, const char *value,
	struct fault *fault, const char **items, uint32_t *n)
{
	for (const char *s = value;; s++) {
		size_t len = flag->kind == FLAG_KIND_LIST ? strcspn(s, ",") : strlen(s);
		union flag_value ignored;
		int r = flagbag_keep(b, s, len, &items[*n]);
		if (r == 0)
			r = flag_judge(flag, items[*n], origin, &ignored, fault);
		if (r < 0)
			return r;
		++*n;
		s += len;
		if (!*s)
			return 0;
	}
}

/* The items of every setting of the winning source; those that lose are only judged. */
static int store_list(struct flagbag *b, const struct flag *flag, const struct flagbag_setting *won,
	void *conf, struct fault *fault)
{
	struct flag_list list = {0};
	size_t room = !won && flag->text_default ? count_items(flag, flag->text_default) : 0;
	for (uint32_t i = 0; i < b->n; i++)
		if (b->settings[i].flag == flag)
			room += count_items(flag, b->settings[i].value);
	if (room) {
		const char **items = mem_array(b->mem, room, sizeof(*items));
		int r = keep(b, items);
		if (r == 0 && !won)
			r = split(b, flag, flag->name, flag->text_default, fault, items, &list.n);
		for (uint32_t i = 0; r == 0 && i < b->n; i++) {
			const struct flagbag_setting *s = &b->settings[i];
			uint32_t judged = list.n;
			if (s->flag == flag)
				r = split(b, flag, s->origin, s->value, fault, items,
					s->source == won->source ? &list.n : &judged);
		}
		if (r < 0)
			return r;
		list.items = items;
	}
	memcpy((char *)conf + flag->offset, &list, sizeof(list));
	return 0;
}

static int judge_all(struct flagbag *b, const struct flag *flag, struct fault *fault)
{
	union flag_value ignored;
	for (uint32_t i = 0; i < b->n; i++) {
		const struct flagbag_setting *s = &b->settings[i];
		if (s->flag != flag)
			continue;
		int r = flag_judge(flag, s->value, s->origin, &ignored, fault);
		if (r < 0)
			return r;
	}
	return 0;
}

int flagbag_store(
	struct flagbag *b, const struct flag *flag, void *conf, struct fault *reterr_fault)
{
	const struct flagbag_setting *won = flagbag_winner(b, flag);
	if (flag->kind == FLAG_KIND_LIST || flag->kind == FLAG_KIND_SECRETS)
		return store_list(b, flag, won, conf, reterr_fault);
	int r = judge_all(b, flag, reterr_fault);
	if (r < 0)
		return r;
	char buf[FLAG_DEFAULT_BYTES];
	const char *text = won ? won->value : flag_default(flag, buf);
	if (flag->kind == FLAG_KIND_STR || flag->kind == FLAG_KIND_PATH ||
		flag->kind == FLAG_KIND_SECRET) {
		if (text && !text[0])
			text = NULL;
		memcpy((char *)conf + flag->offset, &text, sizeof(text));
		return 0;
	}
	union flag_value v;
	memset(&v, 0, sizeof(v));
	if (text)
		r = flag_judge(flag, text, won ? won->origin : flag->name, &v, reterr_fault);
	if (r == 0)
		flag_store(flag, &v, conf);
	return r;
}
