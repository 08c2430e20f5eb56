#include "profiling/symbol.h"
#include "profiling/kallsyms.h"
#include "profiling/maps.h"
#include <ctype.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define MAX_INLINES 16

struct cached {
	uintptr_t pc; /* 0: free */
	struct symbol symbol;
};
struct symbols {
	const struct mem *mem;
	Dwfl *dwfl;
	struct maps maps;
	struct symbol_mapping *mappings; /* as many as maps.n */
	struct cached *cache;
	uint32_t cache_size, cache_n;
	struct symbols_info info;
	struct kallsyms *kernel; /* NULL: not read, or not permitted */
	bool kernel_asked;	 /* it was tried */
	uint64_t kernel_bytes;
	struct loads {
		uint64_t adds, subs;
	} loads;	  /* of objects, when all was read */
	const char *file; /* symbols_new_of_file: instead of the process */
	uintptr_t base;
	/* Blocks that hold frames and names until the end. */
	struct block {
		struct block *next;
		size_t used, room;
		_Alignas(16) char bytes[];
	} * blocks;
};

static const struct symbol_mapping kernel_mapping = {
	.start = SYMBOL_KERNEL_START, .limit = UINT64_MAX, .file = "[kernel]"};

static void *keep(struct symbols *s, size_t bytes)
{
	bytes = (bytes + 15) & ~(size_t)15;
	struct block *b = s->blocks;
	if (!b || b->room - b->used < bytes) {
		size_t room = MAX(bytes, (size_t)16000);
		b = mem_alloc(s->mem, sizeof(*b) + room);
		if (!b)
			return NULL;
		*b = (struct block){.next = s->blocks, .room = room};
		s->blocks = b;
		s->info.bytes += sizeof(*b) + room;
	}
	void *p = b->bytes + b->used;
	b->used += bytes;
	return p;
}

size_t symbol_name_bytes(const char *system_name)
{
	static const char *const suffixes[] = {
		".isra", ".part", ".constprop", ".cold", ".lto_priv", ".llvm"};
	size_t n = strlen(system_name);
	for (unsigned i = 0; i < ARRAY_SIZE(suffixes); i++) {
		const char *at = strstr(system_name + (n ? 1 : 0), suffixes[i]);
		char after = at ? at[strlen(suffixes[i])] : 'x';
		if (at && (after == 0 || after == '.'))
			n = MIN(n, (size_t)(at - system_name));
	}
	return n;
}

/* As .gnu_debuglink has it of the debug file it names: that of another build would give wrong
 * names.
 */
static uint32_t file_crc(int fd)
{
	uint8_t buf[16384];
	uLong crc = crc32(0, NULL, 0);
	ssize_t n;
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		crc = crc32(crc, buf, (uInt)n);
	return (uint32_t)crc;
}

/* Debug files as gdb finds them on this machine: by build id, then by .gnu_debuglink next to the
 * file and below /usr/lib/debug. libdwfl's standard search would also ask the network. */
static int find_debuginfo(Dwfl_Module *mod, void **userdata, const char *modname, Dwarf_Addr base,
	const char *file, const char *debuglink, GElf_Word crc, char **debug_file)
{
	int fd = dwfl_build_id_find_debuginfo(
		mod, userdata, modname, base, file, debuglink, crc, debug_file);
	if (fd >= 0 || !debuglink || !file)
		return fd;
	static const char *const forms[] = {"%.*s/%s", "%.*s/.debug/%s", "/usr/lib/debug%.*s/%s"};
	const char *slash = strrchr(file, '/');
	if (!slash || strchr(debuglink, '/'))
		return -1;
	for (unsigned i = 0; i < ARRAY_SIZE(forms); i++) {
		char path[512];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		int n = snprintf(
			path, sizeof(path), forms[i], (int)(slash - file), file, debuglink);
#pragma GCC diagnostic pop
		if (n < 0 || (size_t)n >= sizeof(path) || strcmp(path, file) == 0)
			continue;
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0 && file_crc(fd) == crc) { /* libelf reads by pread */
			*debug_file = strdup(path);
			return fd;
		}
		if (fd >= 0)
			(void)close(fd);
	}
	return -1;
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_linux_proc_find_elf,
	.find_debuginfo = find_debuginfo,
	.section_address = dwfl_offline_section_address, /* a file may say that it is an object */
};

static int see_counts(struct dl_phdr_info *info, size_t size UNUSED, void *arg)
{
	*(struct loads *)arg = (struct loads){info->dlpi_adds, info->dlpi_subs};
	return 1;
}

/* How many objects have been loaded and unloaded since the process began. */
static struct loads count_loads(void)
{
	struct loads n = {0};
	(void)dl_iterate_phdr(see_counts, &n);
	return n;
}

/* (Re)reads what is mapped; libraries may have come since. more: none has gone. */
static int report(struct symbols *s, bool more)
{
	struct maps maps;
	int r = maps_read(s->mem, &maps);
	if (r < 0)
		return r;
	struct symbol_mapping *m = mem_array(s->mem, maps.n ? maps.n : 1, sizeof(*m));
	if (!m) {
		maps_done(&maps);
		return -ENOMEM;
	}
	s->loads.adds = count_loads().adds;
	if (more)
		dwfl_report_begin_add(s->dwfl);
	else
		dwfl_report_begin(s->dwfl);
	if (s->file)
		(void)dwfl_report_elf(s->dwfl, s->file, s->file, -1, s->base, true);
	else
		(void)dwfl_linux_proc_report(s->dwfl, getpid());
	(void)dwfl_report_end(s->dwfl, NULL, NULL);
	for (uint32_t i = 0; i < maps.n; i++) {
		const struct map *from = &maps.list[i];
		m[i] = (struct symbol_mapping){
			.start = from->start, .limit = from->limit, .offset = from->offset};
		memcpy(m[i].file, from->file, sizeof(m[i].file));
		memcpy(m[i].build_id, from->build_id, sizeof(m[i].build_id));
	}
	maps_done(&s->maps);
	mem_free(s->mem, s->mappings);
	s->maps = maps;
	s->mappings = m;
	for (uint32_t i = 0; i < s->cache_size; i++)
		if (s->cache[i].pc && s->cache[i].pc < SYMBOL_KERNEL_START)
			s->cache[i].symbol.mapping = maps_find(&s->maps, s->cache[i].pc);
	return 0;
}

int symbols_new_of_file(
	const struct mem *mem, const char *file, uintptr_t base, struct symbols **ret_symbols)
{
	struct symbols *s = mem_zalloc(mem, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->mem = s->maps.mem = mem;
	s->file = file;
	s->base = base;
	s->dwfl = dwfl_begin(&callbacks);
	s->loads = count_loads();
	int r = s->dwfl ? report(s, false) : -ENOMEM;
	if (r < 0) {
		(void)symbols_free(s);
		return r;
	}
	*ret_symbols = s;
	return 0;
}

int symbols_new(const struct mem *mem, struct symbols **ret_symbols)
{
	return symbols_new_of_file(mem, NULL, 0, ret_symbols);
}

/* Forgets what was looked up. */
static void forget(struct symbols *s)
{
	mem_free(s->mem, s->cache);
	s->cache = NULL;
	s->cache_size = s->cache_n = 0;
	s->info.bytes = 0;
	while (s->blocks) {
		struct block *b = s->blocks;
		s->blocks = b->next;
		mem_free(s->mem, b);
	}
}

int symbols_refresh(struct symbols *s)
{
	struct loads now = count_loads();
	if (now.subs == s->loads.subs)
		return 0;
	forget(s);
	int r = report(s, false);
	if (r == 0)
		s->loads.subs = now.subs;
	return r;
}

struct symbols *symbols_free(struct symbols *s)
{
	if (!s)
		return NULL;
	if (s->dwfl)
		dwfl_end(s->dwfl);
	maps_done(&s->maps);
	mem_free(s->mem, s->mappings);
	forget(s);
	(void)kallsyms_free(s->kernel);
	return mem_free(s->mem, s);
}

static struct cached *slot_of(const struct symbols *s, uintptr_t pc)
{
	uint32_t at = (uint32_t)((pc * 0x9e3779b97f4a7c15ull) >> 40) & (s->cache_size - 1);
	while (s->cache[at].pc && s->cache[at].pc != pc)
		at = (at + 1) & (s->cache_size - 1);
	return &s->cache[at];
}

static int grow_cache(struct symbols *s)
{
	struct symbols fresh = {.cache_size = s->cache_size ? s->cache_size * 2 : 1024};
	fresh.cache = mem_array(s->mem, fresh.cache_size, sizeof(*fresh.cache));
	if (!fresh.cache)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->cache_size; i++)
		if (s->cache[i].pc)
			*slot_of(&fresh, s->cache[i].pc) = s->cache[i];
	s->info.bytes += (fresh.cache_size - s->cache_size) * sizeof(*s->cache);
	mem_free(s->mem, s->cache);
	s->cache = fresh.cache;
	s->cache_size = fresh.cache_size;
	return 0;
}

static const char *die_name(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attr));
	return name ? name : dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attr));
}

static const char *call_file(Dwarf_Die *cu, Dwarf_Die *inlined)
{
	Dwarf_Attribute attr;
	Dwarf_Word n;
	Dwarf_Files *files;
	if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attr), &n) != 0 ||
		dwarf_getsrcfiles(cu, &files, NULL) != 0)
		return NULL;
	return dwarf_filesrc(files, n, NULL, NULL);
}

static uint32_t call_line(Dwarf_Die *inlined)
{
	Dwarf_Attribute attr;
	Dwarf_Word n;
	return dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attr), &n) == 0 ? (uint32_t)n
										     : 0;
}

/* The compilation unit with pc. libdwfl looks in .debug_aranges, which clang does not write. */
static Dwarf_Die *unit_of(Dwfl_Module *mod, uintptr_t pc, Dwarf_Addr *ret_bias)
{
	Dwarf_Die *cu = dwfl_module_addrdie(mod, pc, ret_bias);
	if (cu)
		return cu;
	while ((cu = dwfl_module_nextcu(mod, cu, ret_bias)))
		if (dwarf_haspc(cu, pc - *ret_bias) > 0)
			return cu;
	return NULL;
}

#define MAX_SCOPES 64

/* The functions, inlined ones and blocks within each other that contain pc, outermost first. (The
 * library's dwarf_getscopes finds nothing where an inlined function was defined in another unit, as
 * link-time optimisation leaves it.) */
static unsigned scopes_of(const Dwarf_Die *cu, Dwarf_Addr pc, Dwarf_Die scopes[MAX_SCOPES])
{
	Dwarf_Die at = *cu;
	unsigned n = 0;
	while (n < MAX_SCOPES) {
		Dwarf_Die child;
		int r = dwarf_child(&at, &child);
		for (; r == 0; r = dwarf_siblingof(&child, &child)) {
			int tag = dwarf_tag(&child);
			if ((tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine ||
				    tag == DW_TAG_lexical_block) &&
				dwarf_haspc(&child, pc) > 0)
				break;
		}
		if (r != 0)
			break;
		scopes[n++] = at = child;
	}
	return n;
}

/* The functions that contain pc, innermost first: inlined ones, then the one that has the code. */
static unsigned dwarf_frames(
	Dwfl_Module *mod, uintptr_t pc, struct symbol_frame *frames, unsigned room)
{
	Dwarf_Addr bias;
	Dwarf_Die *cu = unit_of(mod, pc, &bias), scopes[MAX_SCOPES];
	if (!cu)
		return 0;
	const char *file = NULL;
	int line = 0;
	Dwarf_Line *src = dwarf_getsrc_die(cu, pc - bias);
	if (src) {
		file = dwarf_linesrc(src, NULL, NULL);
		(void)dwarf_lineno(src, &line);
	}
	unsigned found = 0;
	for (unsigned n = scopes_of(cu, pc - bias, scopes); n > 0 && found < room; n--) {
		Dwarf_Die *scope = &scopes[n - 1];
		int tag = dwarf_tag(scope);
		if (tag == DW_TAG_lexical_block)
			continue;
		const char *name = die_name(scope);
		if (name)
			frames[found++] = (struct symbol_frame){.name = name,
				.system_name = name,
				.file = file,
				.line = (uint32_t)line};
		if (tag == DW_TAG_subprogram)
			break;
		file = call_file(cu, scope);
		line = (int)call_line(scope);
	}
	return found;
}

static int keep_frames(
	struct symbols *s, struct symbol_frame *frames, unsigned n, struct symbol *ret_symbol)
{
	struct symbol_frame *kept = keep(s, n * sizeof(*kept));
	if (!kept)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++) {
		kept[i] = frames[i];
		if (!kept[i].file)
			kept[i].file = "";
		size_t bytes = symbol_name_bytes(frames[i].system_name);
		if (frames[i].system_name[bytes] == 0)
			continue;
		char *name = keep(s, bytes + 1);
		if (!name)
			return -ENOMEM;
		memcpy(name, frames[i].system_name, bytes);
		name[bytes] = 0;
		kept[i].name = name;
	}
	ret_symbol->n = n;
	ret_symbol->frames = kept;
	return 0;
}

/* The kernel tells its functions, not their lines. */
static int look_up_kernel(struct symbols *s, uintptr_t pc, struct symbol *ret_symbol)
{
	struct symbol out = {.mapping = SYMBOL_MAPPING_KERNEL};
	uint64_t start = 0;
	if (!s->kernel_asked && kallsyms_new(s->mem, &s->kernel) == 0)
		s->kernel_bytes = kallsyms_bytes(s->kernel);
	s->kernel_asked = true;
	const char *name = s->kernel ? kallsyms_find(s->kernel, pc, &start) : NULL;
	struct symbol_frame frame = {.name = name, .system_name = name};
	s->info.addresses++;
	s->info.unknown += !name;
	if (!name && !s->info.missing[0])
		(void)snprintf(s->info.missing, sizeof(s->info.missing), "%s", kernel_mapping.file);
	if (name) {
		out.offset = pc - start;
		int r = keep_frames(s, &frame, 1, &out);
		if (r < 0)
			return r;
	}
	*ret_symbol = out;
	return 0;
}

static int look_up(struct symbols *s, uintptr_t pc, struct symbol *ret_symbol)
{
	struct symbol_frame frames[MAX_INLINES];
	struct symbol out = {.mapping = maps_find(&s->maps, pc)};
	if (out.mapping == UINT32_MAX && !s->file && count_loads().adds != s->loads.adds &&
		report(s, true) == 0)
		out.mapping = maps_find(&s->maps, pc);
	Dwfl_Module *mod = dwfl_addrmodule(s->dwfl, pc);
	GElf_Sym sym;
	GElf_Off off;
	const char *name = mod ? dwfl_module_addrinfo(mod, pc, &off, &sym, NULL, NULL, NULL) : NULL;
	unsigned n = mod ? dwarf_frames(mod, pc, frames, MAX_INLINES) : 0;
	bool lines = n > 0;
	/* The symbol table tells clones apart, which DWARF does not. */
	if (n > 0 && name &&
		strncmp(name, frames[n - 1].system_name, strlen(frames[n - 1].system_name)) == 0)
		frames[n - 1].system_name = name;
	if (name)
		out.offset = off;
	if (n == 0 && name)
		frames[n++] = (struct symbol_frame){.name = name, .system_name = name};
	s->info.addresses++;
	s->info.unknown += n == 0;
	if (out.mapping != UINT32_MAX) {
		const struct symbol_mapping *m = &s->mappings[out.mapping];
		Dwarf_Addr bias;
		/* Single functions, of the start files or in assembly, may lack it all the same. */
		if (!lines && m->file[0] == '/' && !s->info.missing[0] &&
			!(mod && dwfl_module_getdwarf(mod, &bias)))
			(void)snprintf(s->info.missing, sizeof(s->info.missing), "%s", m->file);
	}
	if (n > 0 && keep_frames(s, frames, n, &out) < 0)
		return -ENOMEM;
	*ret_symbol = out;
	return 0;
}

int symbols_find(struct symbols *s, uintptr_t pc, struct symbol *ret_symbol)
{
	if (s->cache_n * 2 >= s->cache_size && grow_cache(s) < 0)
		return -ENOMEM;
	struct cached *c = slot_of(s, pc);
	if (!c->pc) {
		int r = pc >= SYMBOL_KERNEL_START ? look_up_kernel(s, pc, &c->symbol)
						  : look_up(s, pc, &c->symbol);
		if (r < 0)
			return r;
		c->pc = pc;
		s->cache_n++;
	}
	*ret_symbol = c->symbol;
	return 0;
}

bool symbols_name(const struct symbols *s, uintptr_t pc, char *buf, size_t bytes)
{
	struct symbol_frame frames[MAX_INLINES];
	const struct cached *c = s->cache_size ? slot_of(s, pc) : NULL;
	if (c && c->pc) {
		const struct symbol *sym = &c->symbol;
		if (sym->n)
			(void)snprintf(buf, bytes, "%s", sym->frames[sym->n - 1].name);
		return sym->n > 0;
	}
	Dwfl_Module *mod = pc < SYMBOL_KERNEL_START ? dwfl_addrmodule(s->dwfl, pc) : NULL;
	unsigned n = mod ? dwarf_frames(mod, pc, frames, MAX_INLINES) : 0;
	const char *name = n > 0 ? frames[n - 1].name : mod ? dwfl_module_addrname(mod, pc) : NULL;
	if (name)
		(void)snprintf(buf, bytes, "%.*s", (int)symbol_name_bytes(name), name);
	return name != NULL;
}

const struct symbol_mapping *symbols_mapping(const struct symbols *s, uint32_t index)
{
	return index == SYMBOL_MAPPING_KERNEL ? &kernel_mapping : &s->mappings[index];
}

uint32_t symbols_mappings(const struct symbols *s)
{
	return s->maps.n;
}

void symbols_info(const struct symbols *s, struct symbols_info *ret_info)
{
	*ret_info = s->info;
	ret_info->bytes += s->kernel_bytes;
}
