#include "sim/fleet/batch_impl.h"
#include "sim/fleet/store_create.h"
#include <errno.h>
#include <stdlib.h>

static int by_id(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

int batches_living(struct batches *b, const struct mem *mem, uint32_t **ret_ids, uint32_t *ret_n)
{
	LOCK_SCOPE(&b->lock);
	const struct batch_book *book = &b->book;
	uint32_t n = 0, *ids = mem_array(mem, MAX(book->n, 1u), sizeof(*ids));
	if (!ids)
		return -ENOMEM;
	for (uint32_t i = 0; i < book->n_buckets; i++)
		for (const struct batch_holding *h = book->bucket[i]; h; h = h->next)
			if (!h->open)
				ids[n++] = h->batch;
	qsort(ids, n, sizeof(*ids), by_id);
	*ret_ids = ids;
	*ret_n = n;
	return 0;
}

int batches_asked(struct batches *b, uint32_t id, struct text *t)
{
	LOCK_SCOPE(&b->lock);
	const struct batch_holding *h = batch_book_find(&b->book, id);
	if (!h || h->open)
		return -ENOENT;
	store_create_join(t, &h->first, h->count, h->wish->text);
	return t->err;
}
