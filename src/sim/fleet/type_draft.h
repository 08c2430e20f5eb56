/* A device type while it is read from a file: what both file forms fill and the compiler turns into
 * a struct type. Owned by the thread that loads; all its memory is in one arena that the type takes
 * over. Only the type_*.c files include this. */
#pragma once
#include "base/fault.h"
#include "base/mem.h"
#include "sim/fleet/type.h"

struct arena {
	const struct mem *mem;
	struct arena_block *blocks;
};
/* Zeroed memory, aligned for any object; NULL when there is none. */
MUST_CHECK void *arena_zalloc(struct arena *a, size_t bytes);
MUST_CHECK char *arena_strdup(struct arena *a, const char *s);
MUST_CHECK void *arena_copy(struct arena *a, const void *p, size_t bytes);
void arena_done(struct arena *a);

/* A compiled type with what it owns; it lies in its own arena. */
struct type_box {
	struct type type;
	struct arena arena;
	uint32_t refs; /* atomic */
};

struct draft_or { /* a row of sysORTable */
	struct oid id;
	const char *descr;
};
struct draft_stack { /* a pair of ifStackTable, slots of interfaces */
	uint32_t upper, lower;
};
struct draft_object {
	struct oid oid;
	struct ber_value value; /* bytes in the arena */
	bool is_template;
	uint32_t number; /* in its file, for messages */
};
struct type_draft {
	struct arena arena;
	const char *slug, *name, *label, *category, *doc_category;
	const struct if_profile *profile;
	const char *sys_descr, *sys_contact; /* NULL: not served */
	struct oid sys_object_id;	     /* n == 0: not served */
	int32_t sys_services;		     /* < 0: not served */
	struct draft_or *ors;
	uint32_t n_ors;
	struct type_if *ifs; /* of the allocator, until compiled */
	uint32_t n_ifs, ifs_room, mgmt_slot;
	struct draft_stack *stacks;
	uint32_t n_stacks, stacks_room;
	struct draft_object *objects;
	uint32_t n_objects, objects_room;
	char **warnings;
	uint32_t n_warnings, warnings_room;
};
void type_draft_init(struct type_draft *d, const struct mem *mem);
void type_draft_done(struct type_draft *d);
/* Grow the lists; NULL: -ENOMEM. The entry is zeroed. */
MUST_CHECK struct type_if *draft_if(struct type_draft *d);
MUST_CHECK struct draft_stack *draft_stack(struct type_draft *d);
MUST_CHECK struct draft_object *draft_object(struct type_draft *d);
MUST_CHECK int draft_warn(struct type_draft *d, const char *fmt, ...) PRINTF(2, 3);

/* What the compiler found wrong with an object of the file. */
struct compile_fault {
	enum { COMPILE_OK, COMPILE_DUPLICATE, COMPILE_TAKEN } what;
	uint32_t number; /* of the object in its file */
	uint32_t other;	 /* COMPILE_DUPLICATE: the one before it */
};
/* Makes the type, with one reference for the caller; the draft is spent but still to be done.
 * -EINVAL: *reterr_fault tells; -ENOMEM. */
MUST_CHECK int type_compile(
	struct type_draft *d, struct type **ret_type, struct compile_fault *reterr_fault);
/* Makes the type of what the draft says of it and of a finished table, which it takes over. As
 * type_compile. */
MUST_CHECK int type_make(struct type_draft *d, struct oidtab *table, struct type **ret_type);
/* Does the engine make this object by itself (number of mib.h)? */
bool type_makes(uint16_t number);

/* The text of one file. */
struct type_file {
	const char *name; /* "asr9k.json", for messages */
	const char *text; /* NUL-terminated */
	size_t len;
};
/* Reads our form. -EINVAL with a fault "file:line: /pointer"; -ENOMEM. */
MUST_CHECK int type_json_read(
	struct type_draft *d, const struct type_file *file, struct fault *reterr_fault);
/* Tells what the compiler found wrong with an object of that file; returns -EINVAL. nl6's form
 * sorts such objects out while reading. */
int type_json_tell(const struct type_file *file, const struct compile_fault *wrong,
	struct fault *reterr_fault);
/* Is it nl6's own form (sections snmp, ssh, api, optical)? */
bool type_nl6_is(const struct type_file *file);
/* Reads nl6's form, the parts merged in the order given. */
MUST_CHECK int type_nl6_read(struct type_draft *d, const struct type_file *files, uint32_t n,
	struct fault *reterr_fault);
/* What the slug alone tells, for files that say nothing about it. */
struct type_identity {
	char name[64], label[64];
	const char *category, *doc_category, *profile; /* constant */
};
void type_nl6_identity(const char *slug, struct type_identity *ret_id);
/* Line, from 1, of the value that a JSON pointer names in a text that is valid JSON. */
unsigned type_pos_line(const char *text, size_t len, const char *pointer);
