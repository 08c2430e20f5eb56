/* The API: HTTP server, routes and what the handlers need. Made by main, which lists the routes in
 * tables.c; every route's table is declared here. */
#pragma once
#include "api/router.h"
#include "api/schema.h"
#include "base/addr.h"
#include "base/attr.h"
#include "base/clk.h"
#include "base/fault.h"
#include "base/flag.h"
#include "base/mem.h"
#include "base/stats.h"
#include "sim/fleet/batch.h"
#include "sim/fleet/fleet.h"
#include "sim/fleet/keeper.h"
#include "sim/fleet/type.h"

struct files;
struct gate;
struct import;
struct lab;
struct store;
struct trace;
struct api;
struct api_env { /* borrowed */
	const struct mem *mem;
	const struct clk *clk;
	struct stats *stats;
	struct fleet *fleet;
	struct batches *batches;
	struct types *types;
	struct keeper *keeper;
	struct ifset *ifset;
	struct store *store; /* NULL: nothing survives the program */
	struct gate *gate;
	struct trace *trace;		   /* NULL: nothing is told of it */
	struct lab *lab;		   /* NULL: the status tells nothing of it */
	const struct route *const *routes; /* NULL-terminated list of tables */
	const char *version;		   /* "v1.2.3" */
	const char *web_dir;		   /* of the console's files; NULL: none */
};
struct api_conf {
	struct addr listen;
	uint16_t port;
	const char *token;
	struct flag_list allowed_hosts;
	uint32_t connections, connections_per_address;
	uint64_t idle_ns, receive_ns, send_ns;
};
extern const struct flag api_flags[];

/* -EINVAL and the like with a fault. */
MUST_CHECK int api_new(const struct api_env *env, const struct api_conf *conf, struct api **ret_api,
	struct fault *reterr_fault);
struct api *api_free(struct api *a); /* stops first */
CLEANUP(api);
/* Takes the address and port, before privileges are dropped; api_start does it else. */
MUST_CHECK int api_bind(struct api *a, struct fault *reterr_fault);
MUST_CHECK int api_start(struct api *a, struct fault *reterr_fault);
void api_stop(struct api *a);
/* The port it listens on, once started. */
uint16_t api_port(const struct api *a);

/* For handlers, on the API's thread. */
const struct api_env *api_env(const struct api *a);
const struct router *api_router(const struct api *a);
uint64_t api_started_ns(const struct api *a); /* monotonic */
const struct text *api_openapi(const struct api *a);
const struct files *api_files(const struct api *a);
struct import *api_import(const struct api *a);
/* Of all CPUs of the host, since the call before (the first: since the start). */
double api_cpu_percent(struct api *a);
/* true at the first call with this bit; for what is logged once. */
bool api_first(struct api *a, unsigned bit);

extern const struct route batches_routes[], console_routes[], devices_routes[], fleet_routes[],
	health_routes[], interfaces_routes[], metrics_routes[], openapi_routes[], pprof_routes[],
	profiling_routes[], resources_routes[], sd_routes[], sets_routes[], status_routes[],
	system_stats_routes[], version_routes[];
extern const struct schema batch_schemas[], device_schemas[], fleet_schemas[], interface_schemas[],
	set_schemas[], otlp_schemas[], profiling_schemas[], resource_schemas[], status_schemas[];
