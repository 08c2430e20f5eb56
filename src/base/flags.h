/* Reads a program's settings from its command line (Go style), its environment (NL6_...) and a
 * configuration file into its conf, as the tables of flag.h say. The command line wins over the
 * environment, that over the file, that over the default. Pure but for the one function that reads
 * files. The result owns the strings that the conf points to; one thread. */
#pragma once
#include "base/flag.h"

struct flags;
struct flags_env { /* borrowed during flags_parse; mem as long as the result */
	const struct mem *mem;
	/* Reads a whole file of at most max bytes into memory that the caller frees with
	 * mem_free; a NUL follows. Negative errno; -EFBIG. */
	int (*read_file)(void *arg, const struct mem *mem, const char *path, size_t max,
		char **ret_bytes, size_t *ret_len);
	void *arg;
};
struct flags_ask { /* borrowed */
	const struct flag_set *sets;
	const struct flag_other *others; /* may be NULL */
	int argc;
	char **argv; /* argv[0] is not looked at; the bytes of secrets are overwritten */
	/* Ends with NULL; may be NULL. Bytes of secrets are overwritten here, too. */
	char *const *envp;
	/* Names of flags: the boolean ones after which environment and file are not read (help,
	 * version), ends with NULL; and the one that names the file. May be NULL. */
	const char *const *alone;
	const char *config;
	bool takes_files; /* arguments that are no flags are for flags_file, not a fault */
};
/* Fills conf (all of the sets' fields) with defaults and settings, then runs the sets' checks.
 * -EINVAL, -ERANGE or the errno of a file: the fault tells flag, variable or file and line, the
 * value and what is allowed; -ENOMEM. conf is undefined after a failure. */
MUST_CHECK int flags_parse(const struct flags_env *env, const struct flags_ask *ask, void *conf,
	struct flags **ret_flags, struct fault *reterr_fault);
struct flags *flags_free(struct flags *f); /* the conf's strings go with it */
CLEANUP(flags);

/* Was it set by anyone (not left at its default)? */
bool flags_is_set(const struct flags *f, const char *name);
/* The arguments that are no flags, "-" too, in order; what follows "--" is none. Borrowed of argv.
 * NULL past the last. */
const char *flags_file(const struct flags *f, uint32_t i);
/* What was accepted and deserves a word: unknown variables, meaningless flags. */
uint32_t flags_warnings(const struct flags *f);
const char *flags_warning(const struct flags *f, uint32_t i);

/* The text of -help: usage, then each set under its title with defaults. */
void flags_help(const struct flag_set *sets, const char *usage, struct text *t);
/* The number of entries of a table, and the flag of a name (NULL: none) with its set. */
uint32_t flags_count(const struct flag *table);
const struct flag *flags_find(
	const struct flag_set *sets, const char *name, const struct flag_set **ret_set);
