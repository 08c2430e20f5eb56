#include "api/api.h"
#include "api/files.h"
#include "api/fleet.h"
#include "api/guard.h"
#include "api/http.h"
#include "api/openapi.h"
#include "api/sysinfo.h"
#include <errno.h>

struct api {
	struct api_env env;
	struct api_conf conf;
	uint64_t started_ns;
	struct router *router;
	struct guard *guard;
	struct http *http;
	struct files *files;
	struct import *import;
	struct text openapi;
	/* The API's thread only: */
	struct sysinfo_cpu cpu;
	unsigned told;
};

const struct flag api_flags[] = {
	FLAG_ADDR(struct api_conf, listen, "listen", "127.0.0.1",
		"Address that the API and the console listen on; 0.0.0.0 or :: is all"),
	FLAG_U16(struct api_conf, port, "port", 8080, 0, 65535,
		"TCP port of the API and the console; 0 picks a free one"),
	FLAG_SECRET(struct api_conf, token, "api-token", NULL,
		"Bearer token that /api, /debug/pprof and /metrics then ask for"),
	FLAG_LIST(struct api_conf, allowed_hosts, "allowed-host", NULL,
		"Host `NAME` that browsers may use for the API besides localhost, the host's own "
		"name and addresses"),
	FLAG_U32(struct api_conf, connections, "api-connections", 1024, 1, 65536,
		"Connections the API holds at most"),
	FLAG_U32(struct api_conf, connections_per_address, "api-connections-per-address", 256, 1,
		65536, "Connections the API holds at most of one client address"),
	FLAG_DURATION(struct api_conf, idle_ns, "api-idle-timeout", "2m", NS_PER_SEC,
		3600 * NS_PER_SEC, "Time after which a connection without a request is closed"),
	FLAG_DURATION(struct api_conf, receive_ns, "api-receive-timeout", "30s", NS_PER_SEC / 10,
		3600 * NS_PER_SEC, "Time a client has to send a whole request"),
	FLAG_DURATION(struct api_conf, send_ns, "api-send-timeout", "30s", NS_PER_SEC / 10,
		3600 * NS_PER_SEC,
		"Time a client has to take an answer; a second more for each 64 KiB it has taken"),
	{0},
};

int api_new(const struct api_env *env, const struct api_conf *conf, struct api **ret_api,
	struct fault *reterr_fault)
{
	AUTO(api) struct api *a = mem_zalloc(env->mem, sizeof(*a));
	if (!a)
		return -ENOMEM;
	a->env = *env;
	a->conf = *conf;
	a->started_ns = clk_ns(env->clk);
	a->openapi = (struct text)TEXT(env->mem);
	sysinfo_read_cpu(&a->cpu);
	int r = router_new(env->mem, env->routes, &a->router);
	if (r == 0)
		r = openapi_write(a->router, env->version, &a->openapi);
	if (r < 0)
		return fault_set(reterr_fault, r, "", NULL, "cannot make the API's routes");
	r = import_new(env->mem, &a->import);
	if (r < 0)
		return r;
	r = files_new(env->mem, env->web_dir, &a->files, reterr_fault);
	if (r < 0)
		return r;
	struct guard_conf guard_conf = {
		conf->token, conf->allowed_hosts.items, conf->allowed_hosts.n};
	r = guard_new(env->mem, &guard_conf, &a->guard, reterr_fault);
	if (r < 0)
		return r;
	struct http_env http_env = {env->mem, env->clk, env->stats, a->router, a->guard, a};
	struct http_conf http_conf = {conf->listen, conf->port, conf->connections,
		conf->connections_per_address, conf->idle_ns, conf->receive_ns, conf->send_ns};
	r = http_new(&http_env, &http_conf, &a->http);
	if (r < 0)
		return fault_set(reterr_fault, r, "", NULL, "cannot make the HTTP server");
	*ret_api = TAKE(a);
	return 0;
}

struct api *api_free(struct api *a)
{
	if (!a)
		return NULL;
	a->http = http_free(a->http);
	a->guard = guard_free(a->guard);
	a->router = router_free(a->router);
	a->files = files_free(a->files);
	a->import = import_free(a->import);
	text_done(&a->openapi);
	return mem_free(a->env.mem, a);
}

int api_bind(struct api *a, struct fault *reterr_fault)
{
	return http_bind(a->http, reterr_fault);
}

int api_start(struct api *a, struct fault *reterr_fault)
{
	return http_start(a->http, reterr_fault);
}

void api_stop(struct api *a)
{
	http_stop(a->http);
	import_stop(a->import);
}

uint16_t api_port(const struct api *a)
{
	return http_port(a->http);
}

const struct api_env *api_env(const struct api *a)
{
	return &a->env;
}

const struct router *api_router(const struct api *a)
{
	return a->router;
}

uint64_t api_started_ns(const struct api *a)
{
	return a->started_ns;
}

const struct text *api_openapi(const struct api *a)
{
	return &a->openapi;
}

const struct files *api_files(const struct api *a)
{
	return a->files;
}

struct import *api_import(const struct api *a)
{
	return a->import;
}

double api_cpu_percent(struct api *a)
{
	struct sysinfo_cpu now;
	sysinfo_read_cpu(&now);
	double percent = sysinfo_cpu_percent(&a->cpu, &now);
	/* Two questions within a tick: the time between them has no share yet. */
	if (now.all != a->cpu.all)
		a->cpu = now;
	return percent;
}

bool api_first(struct api *a, unsigned bit)
{
	bool first = !(a->told & bit);
	a->told |= bit;
	return first;
}
