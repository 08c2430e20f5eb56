#include "tables.h"
#include "api/exchange.h"
#include "api/watch.h"
#include "sim/fleet/ifset.h"
#include "sim/snmp/set_queue.h"

static const struct flag main_flags[] = {
	FLAG_BOOL(struct main_conf, help, "help", false, "Show this help"),
	FLAG_BOOL(struct main_conf, version, "version", false, "Show the version"),
	FLAG_PATH(struct main_conf, config, NL6_CONFIG_FLAG, NULL,
		"Read settings from `FILE`, a \"flag = value\" a line"),
	{0}};

const struct flag_set nl6_flags[] = {
	{boot_flags, offsetof(struct nl6_conf, boot), "Fleet at start", boot_conf_check},
	{agent_flags, offsetof(struct nl6_conf, agent), "SNMP agents", NULL},
	{access_flags, offsetof(struct nl6_conf, access), "SNMPv3", access_flags_check},
	{fleet_flags, offsetof(struct nl6_conf, fleet), "Fleet", NULL},
	{store_flags, offsetof(struct nl6_conf, store), "State across restarts", store_conf_check},
	{types_flags, offsetof(struct nl6_conf, types), "Device types", NULL},
	{lab_flags, offsetof(struct nl6_conf, lab), "Lab network", lab_conf_check},
	{gate_flags, offsetof(struct nl6_conf, gate), "Profiling", NULL},
	{push_flags, offsetof(struct nl6_conf, gate.push), "Push of profiles to Pyroscope",
		push_conf_check},
	{otlp_flags, offsetof(struct nl6_conf, trace.otlp), "Export of traces and profiles by OTLP",
		otlp_conf_check},
	{trace_flags, offsetof(struct nl6_conf, trace), "Traces and linked profiles", NULL},
	{api_flags, offsetof(struct nl6_conf, api), "API and console", NULL},
	{log_flags, offsetof(struct nl6_conf, log), "Log", NULL},
	{main_flags, offsetof(struct nl6_conf, main), "Program", NULL}, {0}};

const struct counter *const nl6_counters[] = {agent_counters, responder_counters,
	set_queue_counters, fleet_counters, keeper_counters, ifset_counters, store_counters,
	batches_counters, gate_counters, upload_counters, linked_counters, tracer_counters,
	export_counters, exchange_counters, watch_counters, NULL};

const struct route *const nl6_routes[] = {health_routes, console_routes, devices_routes,
	interfaces_routes, sets_routes, batches_routes, fleet_routes, resources_routes,
	status_routes, system_stats_routes, sd_routes, version_routes, openapi_routes,
	metrics_routes, profiling_routes, pprof_routes, NULL};

const char *const nl6_alone_flags[] = {"help", "version", NULL};

const char nl6_usage[] =
	"Usage: nl6 [-flag value | -flag=value]...\n"
	"\n"
	"Simulates a fleet of network devices in one process.\n"
	"\n"
	"Every flag may also come as environment variable NL6_FLAG_NAME, or from a file\n"
	"(-config); the command line wins over the environment, that over the file.\n";

#define NOT_BUILT(name) \
	{ \
		name, FLAG_NOT_BUILT, NULL \
	}
const struct flag_other nl6_other_flags[] = {
	{"profiling-force-gc", FLAG_MEANINGLESS, "there is no garbage collector here"},
	NOT_BUILT("if-flap-scenario"), NOT_BUILT("if-flap-global-cap"),
	NOT_BUILT("optical-scenario"), NOT_BUILT("flow-collector"), NOT_BUILT("flow-protocol"),
	NOT_BUILT("flow-tick-interval"), NOT_BUILT("flow-active-timeout"),
	NOT_BUILT("flow-inactive-timeout"), NOT_BUILT("flow-template-interval"),
	NOT_BUILT("flow-sub-agent-id"), NOT_BUILT("flow-option-interface-table"),
	NOT_BUILT("flow-source-per-device"), NOT_BUILT("trap-collector"), NOT_BUILT("trap-mode"),
	NOT_BUILT("trap-interval"), NOT_BUILT("trap-global-cap"), NOT_BUILT("trap-catalog"),
	NOT_BUILT("trap-community"), NOT_BUILT("trap-snmp-version"), NOT_BUILT("trap-snmpv3-user"),
	NOT_BUILT("trap-snmpv3-auth"), NOT_BUILT("trap-snmpv3-priv"),
	NOT_BUILT("trap-snmpv3-password"), NOT_BUILT("trap-snmpv3-priv-password"),
	NOT_BUILT("trap-source-per-device"), NOT_BUILT("trap-inform-timeout"),
	NOT_BUILT("trap-inform-retries"), NOT_BUILT("syslog-collector"), NOT_BUILT("syslog-format"),
	NOT_BUILT("syslog-interval"), NOT_BUILT("syslog-global-cap"), NOT_BUILT("syslog-catalog"),
	NOT_BUILT("syslog-transport"), NOT_BUILT("syslog-framing"), NOT_BUILT("syslog-tls-ca"),
	NOT_BUILT("syslog-tls-insecure"), NOT_BUILT("syslog-source-per-device"),
	NOT_BUILT("gnmi-port"), NOT_BUILT("gnmi-disable"), NOT_BUILT("gnmi-mode"),
	NOT_BUILT("gnmi-dialout-collector"), NOT_BUILT("gnmi-dialout-flavor"),
	NOT_BUILT("gnmi-dialout-encoding"), NOT_BUILT("gnmi-dialout-sub-mode"),
	NOT_BUILT("gnmi-dialout-interval"), NOT_BUILT("gnmi-dialout-tls"),
	NOT_BUILT("gnmi-dialout-tls-insecure"), NOT_BUILT("gnmi-dialout-tls-ca"),
	NOT_BUILT("gnmi-dialout-mtls"), NOT_BUILT("fidelity"), NOT_BUILT("scenario-pen"),
	NOT_BUILT("topology-config"), NOT_BUILT("dns-enable"), NOT_BUILT("dns-domain"),
	NOT_BUILT("dns-listen"), NOT_BUILT("dns-reverse-zone"), NOT_BUILT("dns-notify"),
	NOT_BUILT("dns-debounce"), {0}};
