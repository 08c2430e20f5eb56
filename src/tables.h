/* Every table of the program, listed once: flags (with the conf they fill), counters, routes.
 * Ranked with main.c; read by it and by tools/nl6-docs. */
#pragma once
#include "api/api.h"
#include "base/flags.h"
#include "base/log.h"
#include "base/stats.h"
#include "net/lab.h"
#include "profiling/gate.h"
#include "sim/fleet/access_flags.h"
#include "sim/fleet/boot.h"
#include "sim/fleet/store.h"
#include "sim/snmp/agent.h"
#include "trace/trace.h"

struct main_conf {
	bool help, version;
	const char *config;
};
struct nl6_conf {
	struct main_conf main;
	struct boot_conf boot;
	struct agent_conf agent;
	struct access_flags access;
	struct fleet_conf fleet;
	struct store_conf store;
	struct types_conf types;
	struct gate_conf gate;
	struct trace_conf trace;
	struct api_conf api;
	struct lab_conf lab;
	struct log_conf log;
};
extern const struct flag_set nl6_flags[];
/* Flags of the original that are known and no settings of this build. */
extern const struct flag_other nl6_other_flags[];
/* Names of main's flags for struct flags_ask. */
extern const char *const nl6_alone_flags[];
#define NL6_CONFIG_FLAG "config"
/* Every table of counters; ends with NULL. */
extern const struct counter *const nl6_counters[];
/* Every table of routes; ends with NULL. */
extern const struct route *const nl6_routes[];
/* First lines of -help. */
extern const char nl6_usage[];
