#include "api/api.h"

static int health_get(struct request *rq)
{
	reply_fixed(rq, 200, "text/plain; charset=utf-8", "OK", 2);
	return 0;
}

static const struct route_answer health_answers[] = {
	{200, "The server answers", "str", "text/plain"},
	{0},
};
const struct route health_routes[] = {
	{GET, "/health", health_get, 0, "Tell that the server answers", health_answers,
		.any_query = true},
	{0},
};
