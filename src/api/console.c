/* The console: its page and the files the page asks for. */
#include "api/api.h"
#include "api/files.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Is the file's tag in the If-None-Match header (RFC 9110 13.1.2)? */
static bool client_has_it(const struct request *rq, const struct file *f)
{
	const char *tags = request_header(rq, "If-None-Match");
	return tags && (strcmp(tags, "*") == 0 || strstr(tags, f->etag));
}

static int reply_file(struct request *rq, const char *path)
{
	const struct file *f = files_find(api_files(rq->api), path);
	if (!f)
		return fault_set(&rq->fault, -ENOENT, "", NULL, "no such file");
	if (client_has_it(rq, f))
		(void)reply_raw(rq, 304, NULL);
	else
		reply_fixed(rq, 200, f->type, f->bytes, f->len);
	rq->reply.static_file = true;
	reply_header(&rq->reply, "ETag", "%s", f->etag);
	/* A new version of nl6 may change any of them: the browser asks each time. */
	reply_header(&rq->reply, "Cache-Control", "no-cache");
	return 0;
}

static int console_page(struct request *rq)
{
	return reply_file(rq, "index.html");
}

static int console_file(struct request *rq)
{
	char path[512];
	size_t len = 0;
	/* The segments below /web, decoded. "..", or a slash in one, are no name of a file read. */
	for (unsigned i = 1; i < rq->url.n_segments; i++) {
		int n = snprintf(path + len, sizeof(path) - len, "%s%s", i > 1 ? "/" : "",
			rq->url.segments[i]);
		if (n < 0 || (size_t)n >= sizeof(path) - len)
			return fault_set(&rq->fault, -ENOENT, "", NULL, "no such file");
		len += (size_t)n;
	}
	return reply_file(rq, path);
}

const struct route console_routes[] = {
	{GET, "/", console_page, 0, "Show the console", .any_query = true},
	{GET, "/ui", console_page, 0, "Show the console", .any_query = true},
	{GET, "/web/{path*}", console_file, 0, "Give a file of the console", .any_query = true},
	{0},
};
