#include "api/openapi.h"
#include "docs.h"
#include "tables.h"
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

static int make(struct text *t)
{
	AUTO_TEXT struct text dense = TEXT(t->mem);
	AUTO(router) struct router *router = NULL;
	int r = router_new(t->mem, nl6_routes, &router);
	if (r == 0)
		r = openapi_write(router, "v" NL6_VERSION, &dense);
	if (r < 0)
		return r;
	json_t *document = json_loads(dense.s, 0, NULL);
	if (!document)
		return -EBADMSG;
	char *pretty = json_dumps(document, JSON_INDENT(1));
	json_decref(document);
	if (!pretty)
		return -ENOMEM;
	text_put(t, pretty);
	text_put(t, "\n");
	free(pretty);
	return 0;
}

/* One key a line, so that changes can be read. */
void docs_openapi_json(struct text *t)
{
	int r = make(t);
	if (r < 0)
		t->err = r;
}
