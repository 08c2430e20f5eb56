#include "sim/fleet/batch_book.h"
#include <errno.h>
#include <string.h>

static void wish_unref(struct batch_book *b, struct batch_wish *w)
{
	if (w && --w->refs == 0)
		(void)mem_free(b->mem, w);
}

static struct batch_wish *wish_get(struct batch_book *b, const char *text)
{
	struct batch_wish *w = b->last_wish;
	if (!w || strcmp(w->text, text) != 0) {
		size_t bytes = strlen(text) + 1;
		w = mem_alloc(b->mem, sizeof(*w) + bytes);
		if (!w)
			return NULL;
		w->refs = 1;
		memcpy(w->text, text, bytes);
		wish_unref(b, b->last_wish);
		b->last_wish = w;
	}
	w->refs++;
	return w;
}

void batch_book_free(struct batch_book *b, struct batch_holding *h)
{
	wish_unref(b, h->wish);
	(void)mem_free(b->mem, h);
}

void batch_book_done(struct batch_book *b)
{
	for (uint32_t i = 0; i < b->n_buckets; i++)
		for (struct batch_holding *h = b->bucket[i], *next; h; h = next) {
			next = h->next;
			batch_book_free(b, h);
		}
	for (struct batch_holding *h; (h = batch_book_dead(b));)
		batch_book_free(b, h);
	wish_unref(b, b->last_wish);
	(void)mem_free(b->mem, b->bucket);
	*b = (struct batch_book){.mem = b->mem};
}

static struct batch_holding **bucket_of(const struct batch_book *b, uint32_t batch)
{
	return &b->bucket[batch & (b->n_buckets - 1)];
}

/* Where the pointer to the batch's holding is; NULL when it has none. */
static struct batch_holding **find(const struct batch_book *b, uint32_t batch)
{
	if (b->n_buckets == 0)
		return NULL;
	for (struct batch_holding **at = bucket_of(b, batch); *at; at = &(*at)->next)
		if ((*at)->batch == batch)
			return at;
	return NULL;
}

/* Twice as many buckets. */
static int grow(struct batch_book *b)
{
	uint32_t old = b->n_buckets, n = old ? old * 2 : 64;
	struct batch_holding **from = b->bucket,
			     **to = mem_array(b->mem, n, sizeof(struct batch_holding *));
	if (!to)
		return -ENOMEM;
	b->bucket = to;
	b->n_buckets = n;
	for (uint32_t i = 0; i < old; i++)
		for (struct batch_holding *h = from[i], *next; h; h = next) {
			next = h->next;
			h->next = *bucket_of(b, h->batch);
			*bucket_of(b, h->batch) = h;
		}
	(void)mem_free(b->mem, from);
	return 0;
}

int batch_book_open(
	struct batch_book *b, uint32_t batch, const struct batch_holding *holding, const char *wish)
{
	if (b->n >= b->n_buckets && grow(b) < 0)
		return -ENOMEM;
	struct batch_holding *h = mem_zalloc(b->mem, sizeof(*h));
	if (!h)
		return -ENOMEM;
	*h = *holding;
	h->batch = batch;
	h->open = true;
	h->wish = wish_get(b, wish);
	if (!h->wish) {
		(void)mem_free(b->mem, h);
		return -ENOMEM;
	}
	h->next = *bucket_of(b, batch);
	*bucket_of(b, batch) = h;
	b->n++;
	return 0;
}

const struct batch_holding *batch_book_find(const struct batch_book *b, uint32_t batch)
{
	struct batch_holding **at = find(b, batch);
	return at ? *at : NULL;
}

static struct batch_holding *unlink_at(struct batch_book *b, struct batch_holding **at)
{
	struct batch_holding *h = *at;
	*at = h->next;
	b->n--;
	return h;
}

void batch_book_forget(struct batch_book *b, uint32_t batch)
{
	struct batch_holding **at = find(b, batch);
	if (at)
		batch_book_free(b, unlink_at(b, at));
}

static void settle(struct batch_book *b, struct batch_holding **at)
{
	if ((*at)->open || (*at)->live > 0)
		return;
	struct batch_holding *h = unlink_at(b, at);
	h->next = b->dead;
	b->dead = h;
}

void batch_book_close(struct batch_book *b, uint32_t batch, uint64_t created)
{
	struct batch_holding **at = find(b, batch);
	if (!at)
		return;
	(*at)->open = false;
	(*at)->live += (int64_t)created;
	settle(b, at);
}

int64_t batch_book_live(const struct batch_book *b, uint32_t batch)
{
	struct batch_holding **at = find(b, batch);
	return !at ? 0 : (*at)->open ? -1 : (*at)->live;
}

void batch_book_gone(struct batch_book *b, uint32_t batch, uint64_t n)
{
	struct batch_holding **at = find(b, batch);
	if (!at)
		return;
	(*at)->live -= (int64_t)n;
	settle(b, at);
}

struct batch_holding *batch_book_dead(struct batch_book *b)
{
	struct batch_holding *h = b->dead;
	if (h)
		b->dead = h->next;
	return h;
}
