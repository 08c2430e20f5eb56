/* Create batches: what runs, and how one went. */
#include "api/api.h"
#include "api/batch_json.h"
#include <errno.h>

#define WARNINGS ", warnings?:[{field:str, requested:str, effective:str, message:str}]"
#define BATCH \
	"id:int, state:str 'waiting, running, done or failed', first:str, last:str, requested:int" \
	", done:int 'Devices looked at so far', created:int 'New devices'" \
	", existing:int 'Were there already, with the same type and settings'" \
	", differing:int 'Were there already and are left as they are'" \
	", waited_seconds:num, ran_seconds:num, message?:str 'Why it failed'"
const struct schema batch_schemas[] = {
	{"Batch", "{" BATCH WARNINGS "}"},
	{"Created", "{created:int 'Those that were there already included', requested:int, "
		    "failed:int" WARNINGS ", batch:{" BATCH "}}"},
	{0},
};

struct listing {
	struct text *t;
	uint64_t now_ns, n;
};

static void list_one(void *arg, const struct batch_info *b)
{
	struct listing *l = arg;
	text_put(l->t, l->n++ ? ",{" : "{");
	batch_json(l->t, b, l->now_ns);
	text_put(l->t, "}");
}

static int batches_list(struct request *rq)
{
	const struct api_env *env = api_env(rq->api);
	struct listing l = {reply_data(rq, 200, NULL), clk_ns(env->clk), 0};
	text_put(l.t, "[");
	batch_each_active(env->batches, list_one, &l);
	text_put(l.t, "]");
	reply_page(l.t, NULL, l.n);
	reply_data_end(rq);
	return 0;
}

static int batches_get(struct request *rq)
{
	const struct api_env *env = api_env(rq->api);
	const char *id_text = request_param(rq, "id");
	uint64_t id;
	struct batch_info info;
	if (num_u64(id_text, 1, UINT64_MAX, &id) < 0 || batch_get(env->batches, id, &info) < 0)
		return fault_set(&rq->fault, -ENOENT, "", NULL, "no batch %.40s", id_text);
	struct text *t = reply_data(rq, 200, NULL);
	text_put(t, "{");
	batch_json(t, &info, clk_ns(env->clk));
	if (info.added.differing) {
		text_key(t, "warnings");
		text_put(t, "[");
		batch_json_warnings(t, &info);
		text_put(t, "]");
	}
	text_put(t, "}");
	reply_data_end(rq);
	return 0;
}

static const struct route_answer list_answers[] = {
	{200, "The batches that wait or run", "Page<[Batch]>", NULL}, {0}};
static const struct route_answer get_answers[] = {{200, "The batch", "Data<Batch>", NULL},
	{404, "No such batch, or it ended too long ago", "Error", NULL}, {0}};
const struct route batches_routes[] = {
	{GET, "/api/v1/batches", batches_list, 0, "List the create batches that wait or run",
		list_answers},
	{GET, "/api/v1/batches/{id}", batches_get, 0, "Tell how a create batch is going",
		get_answers},
	{0},
};
