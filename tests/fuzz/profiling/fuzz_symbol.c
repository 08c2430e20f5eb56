/* An ELF file with DWARF, damaged: looking up addresses all over it names something or nothing. */
#include "fuzz.h"
#include "profiling/symbol.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BASE 0x400000
#define LOOK_UPS 64

/* libdw forgets some of what it read of a file when it finds the next part damaged. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libdw.so";
}

static void check_frames(const struct symbol *sym)
{
	assert(sym->mapping == UINT32_MAX && sym->n <= 16);
	for (uint32_t i = 0; i < sym->n; i++) {
		const struct symbol_frame *f = &sym->frames[i];
		assert(f->name && f->system_name && f->file);
		assert(strlen(f->name) <= strlen(f->system_name));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t bytes)
{
	char path[64];
	struct symbols *s;
	int fd = memfd_create("damaged", MFD_CLOEXEC);
	if (fd < 0 || write(fd, p, bytes) != (ssize_t)bytes)
		abort();
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (symbols_new_of_file(&mem_libc, path, BASE, &s) == 0) {
		for (unsigned i = 0; i < LOOK_UPS; i++) {
			struct symbol sym;
			int r = symbols_find(s, BASE + 0x200 + i * 8, &sym);
			assert(r == 0 || r == -ENOMEM);
			if (r == 0)
				check_frames(&sym);
		}
		(void)symbols_free(s);
	}
	close(fd);
	return 0;
}
