/* Every table of the program, listed once: flags (with the conf they fill), counters, routes.
 * Ranked with main.c; read by it and by tools/nl6-docs. */
#pragma once
#include "base/flags.h"
#include "base/log.h"
#include "base/stats.h"
#include "net/lab.h"

struct main_conf {
	bool help, version;
	const char *config;
};
struct nl6_conf {
	struct main_conf main;
	struct lab_conf lab;
	struct log_conf log;
};
extern const struct flag_set nl6_flags[];
/* Flags of the original that are known and no settings of this build. */
extern const struct flag_other nl6_other_flags[];
/* Names of main's flags for struct flags_ask. */
extern const char *const nl6_alone_flags[];
#define NL6_CONFIG_FLAG "config"
/* First lines of -help. */
extern const char nl6_usage[];
