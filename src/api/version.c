#include "api/api.h"

static int version_get(struct request *rq)
{
	struct text *t = reply_raw(rq, 200, NULL);
	text_put(t, "{");
	text_kv_str(t, "version", api_env(rq->api)->version);
	text_put(t, "}\n");
	reply_header(&rq->reply, "Cache-Control", "private, max-age=3600");
	return 0;
}

static const struct route_answer version_answers[] = {
	{200, "The version", "{version:str}", NULL},
	{0},
};
const struct route version_routes[] = {
	{GET, "/api/v1/version", version_get, 0, "Tell the version", version_answers},
	{0},
};
