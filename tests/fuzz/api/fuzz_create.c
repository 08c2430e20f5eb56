/* Bodies of POST /api/v1/devices, judged by the real handler over batches that are not started: no
 * body makes a device, and each gets an answer that is JSON. */
#include "api/api.h"
#include "api/devices.h"
#include "base/rcu.h"
#include "fuzz.h"
#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct world {
	struct stats *stats;
	struct fleet *fleet;
	struct types *types;
	struct batches *batches;
	struct api *api;
};

static int no_prepare(void *arg, const struct addr *first, const struct addr *last, uint16_t port,
	struct fault *reterr_fault)
{
	(void)arg, (void)first, (void)last, (void)port, (void)reterr_fault;
	abort();
}

static void no_undo(void *arg, const struct addr *first, const struct addr *last, uint16_t port)
{
	(void)arg, (void)first, (void)last, (void)port;
	abort();
}

static const struct world *make_world(void)
{
	static struct world w;
	static const struct route *const tables[] = {devices_routes, NULL};
	static char dir[4096];
	if (w.api)
		return &w;
	const char *root = getenv("SOURCE_ROOT");
	(void)snprintf(dir, sizeof(dir), "%s/devices", root ? root : ".");
	struct fleet_conf fleet_conf = {.seed = 1};
	struct types_conf types_conf = {dir, NULL};
	rcu_thread_init();
	int r = stats_new(&mem_libc, &w.stats);
	if (r == 0)
		r = fleet_new(&(struct fleet_env){&mem_libc, &clk_system, w.stats}, &fleet_conf,
			&w.fleet);
	if (r == 0)
		r = types_new(&(struct types_env){&mem_libc}, &types_conf, &w.types);
	struct batches_env batches_env = {.mem = &mem_libc,
		.clk = &clk_system,
		.stats = w.stats,
		.fleet = w.fleet,
		.prepare = no_prepare,
		.undo = no_undo};
	if (r == 0)
		r = batches_new(&batches_env, &w.batches);
	struct api_env env = {.mem = &mem_libc,
		.clk = &clk_system,
		.stats = w.stats,
		.fleet = w.fleet,
		.batches = w.batches,
		.types = w.types,
		.routes = tables,
		.version = "v0"};
	struct api_conf conf = {.connections = 1, .connections_per_address = 1};
	if (r == 0)
		r = api_new(&env, &conf, &w.api, NULL);
	assert(r == 0);
	return &w;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t bytes)
{
	const struct world *w = make_world();
	if (bytes > DEVICES_CREATE_BODY_BYTES)
		return 0;
	char *body = malloc(bytes + 1);
	if (!body)
		abort();
	if (bytes)
		memcpy(body, p, bytes);
	body[bytes] = 0;
	struct request rq = {
		.mem = &mem_libc, .api = w->api, .method = POST, .body = body, .body_bytes = bytes};
	reply_init(&rq.reply, &mem_libc);
	int r = devices_create(&rq);
	/* Judged good means handed to the batches, which are not started. */
	assert(r == -ESHUTDOWN || r == -EINVAL);
	assert(r != -EINVAL || (rq.fault.code == r && rq.fault.text[0]));
	reply_error(&rq, r);
	assert(rq.reply.status == (r == -EINVAL ? 400 : 503));
	json_error_t error;
	json_t *answer = json_loadb(rq.reply.body.s, rq.reply.body.len, 0, &error);
	assert(json_is_object(answer) && json_is_false(json_object_get(answer, "success")));
	json_decref(answer);
	request_done(&rq);
	assert(fleet_count(w->fleet) == 0);
	free(body);
	return 0;
}
