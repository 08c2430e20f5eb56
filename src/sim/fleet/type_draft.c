#include "sim/fleet/type_draft.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define BLOCK_BYTES 8192
struct arena_block {
	struct arena_block *next;
	size_t used, room;
	max_align_t data[];
};

void *arena_zalloc(struct arena *a, size_t bytes)
{
	size_t need = (bytes + sizeof(max_align_t) - 1) & ~(sizeof(max_align_t) - 1);
	struct arena_block *b = a->blocks;
	if (!b || b->room - b->used < need) {
		size_t room = MAX(need, (size_t)BLOCK_BYTES);
		b = mem_alloc(a->mem, sizeof(*b) + room);
		if (!b)
			return NULL;
		*b = (struct arena_block){a->blocks, 0, room};
		a->blocks = b;
	}
	void *p = (char *)b->data + b->used;
	b->used += need;
	return memset(p, 0, need);
}

void *arena_copy(struct arena *a, const void *p, size_t bytes)
{
	void *to = arena_zalloc(a, bytes ? bytes : 1);
	if (to && bytes)
		memcpy(to, p, bytes);
	return to;
}

char *arena_strdup(struct arena *a, const char *s)
{
	return arena_copy(a, s, strlen(s) + 1);
}

void arena_done(struct arena *a)
{
	for (struct arena_block *b = a->blocks, *next; b; b = next) {
		next = b->next;
		mem_free(a->mem, b);
	}
	a->blocks = NULL;
}

void type_draft_init(struct type_draft *d, const struct mem *mem)
{
	*d = (struct type_draft){.arena = {mem, NULL}, .sys_services = -1};
}

void type_draft_done(struct type_draft *d)
{
	mem_free(d->arena.mem, d->ifs);
	mem_free(d->arena.mem, d->stacks);
	mem_free(d->arena.mem, d->objects);
	mem_free(d->arena.mem, d->warnings);
	arena_done(&d->arena);
}

/* The next entry of a growing list of *n entries of some bytes each. */
static void *grow(struct type_draft *d, void *list, uint32_t *n, uint32_t *room, size_t bytes)
{
	void **at = list;
	if (*n == *room) {
		uint32_t more = *room ? *room * 2 : 16;
		void *p = mem_resize(d->arena.mem, *at, more, bytes);
		if (!p)
			return NULL;
		*at = p;
		*room = more;
	}
	return memset((char *)*at + bytes * (*n)++, 0, bytes);
}

struct type_if *draft_if(struct type_draft *d)
{
	return grow(d, &d->ifs, &d->n_ifs, &d->ifs_room, sizeof(*d->ifs));
}

struct draft_stack *draft_stack(struct type_draft *d)
{
	return grow(d, &d->stacks, &d->n_stacks, &d->stacks_room, sizeof(*d->stacks));
}

struct draft_object *draft_object(struct type_draft *d)
{
	return grow(d, &d->objects, &d->n_objects, &d->objects_room, sizeof(*d->objects));
}

int draft_warn(struct type_draft *d, const char *fmt, ...)
{
	char text[400];
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	char *copy = arena_strdup(&d->arena, text);
	char **at =
		copy ? grow(d, &d->warnings, &d->n_warnings, &d->warnings_room, sizeof(*at)) : NULL;
	if (!at)
		return -ENOMEM;
	*at = copy;
	return 0;
}
