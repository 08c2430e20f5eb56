#include "profiling/ehframe_impl.h"
#include <errno.h>

static uint32_t recipe_hash(const struct ehframe_recipe *r)
{
	uint32_t h = 2166136261u;
	const uint8_t *b = (const uint8_t *)r;
	for (size_t i = 0; i < sizeof(*r); i++)
		h = (h ^ b[i]) * 16777619u;
	return h;
}

static int grow_hash(struct ehframe_table *t)
{
	uint32_t size = t->hash_size ? t->hash_size * 2 : 256;
	uint32_t *hash = mem_array(t->mem, size, sizeof(*hash));
	if (!hash)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->n_recipes; i++) {
		uint32_t at = recipe_hash(&t->recipe[i]) & (size - 1);
		while (hash[at])
			at = (at + 1) & (size - 1);
		hash[at] = i + 1;
	}
	mem_free(t->mem, t->hash);
	t->hash = hash;
	t->hash_size = size;
	return 0;
}

static int intern(struct ehframe_table *t, const struct ehframe_recipe *r, uint16_t *ret_index)
{
	if (t->n_recipes * 2 >= t->hash_size && grow_hash(t) < 0)
		return -ENOMEM;
	uint32_t at = recipe_hash(r) & (t->hash_size - 1);
	for (; t->hash[at]; at = (at + 1) & (t->hash_size - 1)) {
		uint32_t i = t->hash[at] - 1;
		if (memcmp(&t->recipe[i], r, sizeof(*r)) == 0) {
			*ret_index = (uint16_t)i;
			return 0;
		}
	}
	if (t->n_recipes == UINT16_MAX)
		return -EFBIG;
	if (t->n_recipes == t->recipes_room) {
		uint32_t room = t->recipes_room ? t->recipes_room * 2 : 64;
		void *p = mem_resize(t->mem, t->recipe, room, sizeof(*t->recipe));
		if (!p)
			return -ENOMEM;
		t->recipe = p;
		t->recipes_room = room;
	}
	t->recipe[t->n_recipes] = *r;
	t->hash[at] = ++t->n_recipes;
	*ret_index = (uint16_t)(t->n_recipes - 1);
	return 0;
}

int ehframe_add_row(struct ehframe_table *t, uintptr_t pc, const struct ehframe_recipe *r)
{
	uintptr_t off = pc - t->base;
	uint16_t index;
	if (off > UINT32_MAX)
		return -EFBIG;
	int e = intern(t, r, &index);
	if (e < 0)
		return e;
	if (t->n && t->pcs[t->n - 1] == (uint32_t)off) {
		t->recipes[t->n - 1] = index;
		return 0;
	}
	if (t->n && t->recipes[t->n - 1] == index && t->pcs[t->n - 1] < (uint32_t)off &&
		r->cfa != EHFRAME_NONE)
		return 0;
	if (t->n == t->room) {
		uint32_t room = t->room ? t->room * 2 : 1024;
		uint32_t *pcs = mem_resize(t->mem, t->pcs, room, sizeof(*pcs));
		if (!pcs)
			return -ENOMEM;
		t->pcs = pcs;
		uint16_t *recipes = mem_resize(t->mem, t->recipes, room, sizeof(*recipes));
		if (!recipes)
			return -ENOMEM;
		t->recipes = recipes;
		t->room = room;
	}
	t->pcs[t->n] = (uint32_t)off;
	t->recipes[t->n++] = index;
	return 0;
}
