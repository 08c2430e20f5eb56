/* A directory of the original's form; a NUL ends each file but the last. */
#include "fuzz.h"
#include "sim/fleet/check_type.h"

#define FILES_MAX 4

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t bytes)
{
	static const char *const names[FILES_MAX] = {
		"fuzz/a.json", "fuzz/b.json", "fuzz/c.json", "fuzz/syslog.json"};
	struct type_file files[FILES_MAX];
	char *text = malloc(bytes + 1);
	check_holds(text != NULL);
	if (bytes)
		memcpy(text, p, bytes);
	text[bytes] = 0;
	struct type_source s = {.files = files, .is_dir = true};
	for (char *from = text; s.n < FILES_MAX && from <= text + bytes; s.n++) {
		files[s.n] = (struct type_file){names[s.n], from, strlen(from)};
		from += files[s.n].len + 1;
	}
	check_compile(&s);
	free(text);
	return 0;
}
