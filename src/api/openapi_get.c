/* GET /api/v1/openapi.json: the description of what is served. */
#include "api/api.h"

static int openapi_get(struct request *rq)
{
	const struct text *t = api_openapi(rq->api);
	reply_fixed(rq, 200, NULL, t->s, t->len);
	return 0;
}

static const struct route_answer openapi_answers[] = {
	{200, "An OpenAPI 3.0 document", "map<any>", NULL}, {0}};
const struct route openapi_routes[] = {
	{GET, "/api/v1/openapi.json", openapi_get, 0, "Describe the API", openapi_answers},
	{0},
};
