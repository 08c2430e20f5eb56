#include "sim/fleet/template.h"
#include <string.h>

enum template_word template_word(const uint8_t *s, size_t left, size_t *ret_len)
{
	static const char *const words[TEMPLATE_NONE] = {"{serial}", "{mac}", "{ip}", "{name}"};
	for (unsigned i = 0; i < TEMPLATE_NONE; i++) {
		size_t n = strlen(words[i]);
		if (n <= left && memcmp(s, words[i], n) == 0) {
			*ret_len = n;
			return (enum template_word)i;
		}
	}
	return TEMPLATE_NONE;
}
