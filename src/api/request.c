#include "api/request.h"
#include "api/router.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *const names[METHODS] = {
	[GET] = "GET",
	[HEAD] = "HEAD",
	[POST] = "POST",
	[PUT] = "PUT",
	[PATCH] = "PATCH",
	[DELETE] = "DELETE",
	[OPTIONS] = "OPTIONS",
};

const char *method_name(enum method m)
{
	return names[m] ? names[m] : "?";
}

enum method method_of(const char *name)
{
	for (unsigned m = 0; m < METHODS; m++)
		if (names[m] && strcmp(names[m], name) == 0)
			return (enum method)m;
	return METHOD_OTHER;
}

const char *request_header(const struct request *rq, const char *name)
{
	return rq->header ? rq->header(rq->header_arg, name) : NULL;
}

const char *request_param(const struct request *rq, const char *name)
{
	return route_param(rq->route, &rq->url, name);
}

const char *request_query(const struct request *rq, const char *name)
{
	return url_query(&rq->url, name);
}

int request_query_u64(
	struct request *rq, const char *name, uint64_t min, uint64_t max, uint64_t *ret_n)
{
	const char *s = request_query(rq, name);
	if (!s)
		return 0;
	int r = num_u64(s, min, max, ret_n);
	if (r == 0)
		return 0;
	char allowed[48];
	(void)snprintf(allowed, sizeof(allowed), "%llu..%llu", (unsigned long long)min,
		(unsigned long long)max);
	return fault_set(
		&rq->fault, -EINVAL, name, allowed, "%.40s is not a number in %s", s, allowed);
}

bool request_prefers(const struct request *rq, const char *token)
{
	const char *s = request_header(rq, "Prefer");
	size_t n = strlen(token);
	while (s && *s) {
		s += strspn(s, " \t,");
		if (strncasecmp(s, token, n) == 0 && strchr(" \t,;=", s[n]))
			return true;
		s = strchr(s, ',');
	}
	return false;
}

void request_done(struct request *rq)
{
	if (rq->work_done)
		rq->work_done(rq->work);
	rq->work_done = NULL;
	rq->later = later_unref(rq->later);
	reply_done(&rq->reply);
}
