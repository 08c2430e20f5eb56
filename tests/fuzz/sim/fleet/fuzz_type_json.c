/* A single file in either form, as a user writes it. */
#include "fuzz.h"
#include "sim/fleet/check_type.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t bytes)
{
	char *text = malloc(bytes + 1);
	check_holds(text != NULL);
	if (bytes)
		memcpy(text, p, bytes);
	text[bytes] = 0;
	struct type_file file = {"fuzz.json", text, bytes};
	struct type_source s = {.files = &file, .n = 1};
	check_compile(&s);
	free(text);
	return 0;
}
