/* GET /api/v1/system-stats: the process and its host. */
#include "api/api.h"
#include "api/sysinfo.h"

#define MB (1024.0 * 1024.0)
#define GB (1024.0 * 1024.0 * 1024.0)

/* Two decimals, as megabytes and percents need. */
static void put_num(struct text *t, const char *key, double value)
{
	text_key(t, key);
	text_printf(t, "%.2f", value);
}

static void put_memory(struct text *t, const struct sysinfo_host *host, uint64_t own_bytes)
{
	double total = (double)host->total_bytes, available = (double)host->available_bytes;
	double own = (double)own_bytes, used = total - available;
	put_num(t, "simulator_memory_mb", own / MB);
	put_num(t, "simulator_memory_gb", own / GB);
	put_num(t, "total_memory_mb", total / MB);
	put_num(t, "total_memory_gb", total / GB);
	put_num(t, "used_memory_mb", used / MB);
	put_num(t, "used_memory_gb", used / GB);
	put_num(t, "free_memory_mb", available / MB);
	put_num(t, "free_memory_gb", available / GB);
	put_num(t, "memory_usage_percent", total > 0 ? 100 * used / total : 0);
}

static int system_stats_get(struct request *rq)
{
	struct sysinfo_host host;
	struct sysinfo_self self;
	sysinfo_read_host(&host);
	sysinfo_read_self(&self);
	struct text *t = reply_data(rq, 200, NULL);
	text_put(t, "{");
	put_memory(t, &host, self.anonymous_bytes);
	put_num(t, "cpu_usage_percent", api_cpu_percent(rq->api));
	text_kv_u64(t, "num_cpu", host.cpus);
	put_num(t, "load_avg_1", host.load[0]);
	put_num(t, "load_avg_5", host.load[1]);
	put_num(t, "load_avg_15", host.load[2]);
	text_key(t, "process");
	text_put(t, "{");
	text_kv_u64(t, "file_descriptors", self.fds);
	text_kv_u64(t, "max_file_descriptors", self.max_fds);
	text_kv_u64(t, "threads", self.threads);
	put_num(t, "cpu_seconds", self.cpu_seconds);
	text_kv_u64(t, "resident_bytes", self.resident_bytes);
	text_kv_u64(t, "anonymous_bytes", self.anonymous_bytes);
	text_put(t, "}}");
	reply_data_end(rq);
	return 0;
}

static const struct route_answer system_stats_answers[] = {
	{200, "Memory, CPU and load",
		"Data<{simulator_memory_mb:num 'Anonymous memory of nl6', simulator_memory_gb:num"
		", total_memory_mb:num, total_memory_gb:num, used_memory_mb:num"
		", used_memory_gb:num, free_memory_mb:num, free_memory_gb:num"
		", memory_usage_percent:num"
		", cpu_usage_percent:num 'Of all CPUs, since the last question'"
		", num_cpu:int, load_avg_1:num, load_avg_5:num, load_avg_15:num"
		", process:{file_descriptors:int, max_file_descriptors:int, threads:int"
		", cpu_seconds:num, resident_bytes:int, anonymous_bytes:int}}>",
		NULL},
	{0}};
const struct route system_stats_routes[] = {
	{GET, "/api/v1/system-stats", system_stats_get, 0, "Tell the state of process and host",
		system_stats_answers},
	{0},
};
