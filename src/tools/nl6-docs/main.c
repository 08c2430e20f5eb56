/* nl6-docs: makes the documents that follow from the programs' tables. NAME prints one; -w DIR
 * writes those that are committed into DIR. */
#include "base/mem.h"
#include "docs.h"
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	void (*make)(struct text *t);
	bool committed;
} documents[] = {
	{"flags.md", docs_flags_md, true},
	{"metrics.md", docs_metrics_md, true},
	{"oids.md", docs_oids_md, true},
	{"openapi.json", docs_openapi_json, true},
	{"nl6.1", docs_man, false},
	{"nl6.bash", docs_bash, false},
	{"_nl6", docs_zsh, false},
	{"nl6.fish", docs_fish, false},
	{"nl6-pprof-link-flags.md", docs_link_flags_md, true},
	{"nl6-pprof-link.1", docs_link_man, false},
	{"nl6-pprof-link.bash", docs_link_bash, false},
	{"_nl6-pprof-link", docs_link_zsh, false},
	{"nl6-pprof-link.fish", docs_link_fish, false},
	{"nl6-check-flags.md", docs_check_flags_md, true},
	{"nl6-check.1", docs_check_man, false},
	{"nl6-check.bash", docs_check_bash, false},
	{"_nl6-check", docs_check_zsh, false},
	{"nl6-check.fish", docs_check_fish, false},
};

static int put(FILE *to, void (*make)(struct text *t))
{
	AUTO_TEXT struct text t = TEXT(&mem_libc);
	make(&t);
	if (t.err)
		return t.err;
	if (fwrite(t.s, 1, t.len, to) != t.len || fflush(to) != 0)
		return -errno;
	return 0;
}

static int write_all(const char *dir)
{
	for (unsigned i = 0; i < ARRAY_SIZE(documents); i++) {
		char path[4096];
		if (!documents[i].committed)
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", dir, documents[i].name);
		FILE *to = fopen(path, "we");
		int r = to ? put(to, documents[i].make) : -errno;
		if (to && fclose(to) != 0 && r == 0)
			r = -errno;
		if (r < 0) {
			(void)fprintf(stderr, "nl6-docs: %s: %s\n", path, strerrordesc_np(-r));
			return r;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "-w") == 0)
		return write_all(argv[2]) < 0;
	for (unsigned i = 0; argc == 2 && i < ARRAY_SIZE(documents); i++)
		if (strcmp(argv[1], documents[i].name) == 0)
			return put(stdout, documents[i].make) < 0;
	(void)fprintf(stderr, "usage: nl6-docs NAME | -w DIR, where NAME is one of");
	for (unsigned i = 0; i < ARRAY_SIZE(documents); i++)
		(void)fprintf(stderr, " %s%s", documents[i].name,
			documents[i].committed ? " (committed)" : "");
	(void)fprintf(stderr, "\n");
	return 2;
}
