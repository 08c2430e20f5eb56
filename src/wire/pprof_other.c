#include "wire/pprof_other.h"
#include "base/attr.h"
#include <string.h>

const char *pprof_other(const uint8_t *p, size_t n)
{
	static const struct {
		const char *begin, *name;
	} texts[] = {{"--- heap", "gperftools' legacy text format"},
		{"--- contention", "gperftools' legacy text format"},
		{"--- growth", "gperftools' legacy text format"},
		{"--- symbol", "gperftools' legacy text format with symbols"},
		{"--- profile", "gperftools' legacy format with symbols"},
		{"--- thread", "gperftools' legacy text format"},
		{"heap profile:", "gperftools' legacy text format of heaps"},
		{"growth profile:", "gperftools' legacy text format"},
		{"heapz v", "the legacy text format of heaps"},
		{"contentionz v", "the legacy text format of contentions"},
		{"MAPPED_LIBRARIES:", "gperftools' legacy text format"},
		{"goroutine profile:", "the text of debug=1"},
		{"goroutine ", "the text of debug=2"},
		{"threadcreate profile:", "the text of debug=1"}, {"<", "HTML or XML"},
		{"{", "JSON"}};
	for (unsigned i = 0; i < ARRAY_SIZE(texts); i++)
		if (n >= strlen(texts[i].begin) &&
			memcmp(p, texts[i].begin, strlen(texts[i].begin)) == 0)
			return texts[i].name;
	/* Words of 4 or 8 bytes, of either order: 0, 3, 0, period, 0. */
	static const uint8_t binary[][16] = {{[8] = 3}, {[4] = 3}, {[15] = 3}, {[7] = 3}};
	static const uint8_t bytes[] = {16, 12, 16, 12};
	for (unsigned i = 0; i < ARRAY_SIZE(binary); i++)
		if (n >= bytes[i] && memcmp(p, binary[i], bytes[i]) == 0)
			return "gperftools' legacy binary format of CPU profiles";
	return NULL;
}
