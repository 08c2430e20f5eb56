/* Runs a fuzz target without a fuzzer: every file of the corpus folders named on the command line,
 * and for each some prefixes of it and some copies with a byte changed, always the same ones. */
#include "base/rnd.h"
#include "fuzz.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIXES 64
#define CHANGES 256
#define FILE_BYTES_MAX (1 << 20)

/* On memory of exactly that size, so that a sanitizer sees one byte too far. */
static void run(const uint8_t *p, size_t bytes)
{
	uint8_t *exact = malloc(bytes);
	if (!exact && bytes)
		abort();
	if (bytes)
		memcpy(exact, p, bytes);
	(void)LLVMFuzzerTestOneInput(exact, bytes);
	free(exact);
}

static void run_variants(uint8_t *p, size_t bytes)
{
	run(p, bytes);
	size_t step = bytes / PREFIXES + 1;
	for (size_t n = 0; n < bytes; n += step)
		run(p, n);
	for (uint64_t i = 0; i < CHANGES && bytes > 0; i++) {
		size_t at = rnd_below(bytes, 1, i, (uint32_t)bytes);
		uint8_t kept = p[at];
		p[at] ^= (uint8_t)(1 + rnd_below(bytes, 2, i, 255));
		run(p, bytes);
		p[at] = kept;
	}
}

static int replay_file(const char *path)
{
	static uint8_t buf[FILE_BYTES_MAX];
	FILE *f = fopen(path, "rbe");
	if (!f) {
		(void)fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return 1;
	}
	size_t n = fread(buf, 1, sizeof(buf), f);
	int bad = ferror(f);
	(void)fclose(f);
	run_variants(buf, n);
	return bad;
}

static int is_seed(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

static int replay_dir(const char *dir)
{
	struct dirent **names;
	int n = scandir(dir, &names, is_seed, alphasort);
	if (n <= 0) {
		(void)fprintf(stderr, "%s: no corpus\n", dir);
		return 1;
	}
	int bad = 0;
	for (int i = 0; i < n; i++) {
		char path[4096];
		(void)snprintf(path, sizeof(path), "%s/%s", dir, names[i]->d_name);
		bad |= replay_file(path);
		free(names[i]);
	}
	free(names);
	(void)printf("%s: %d seeds\n", dir, n);
	return bad;
}

int main(int argc, char **argv)
{
	int bad = argc < 2;
	for (int i = 1; i < argc; i++)
		bad |= replay_dir(argv[i]);
	return bad;
}
