#include "api/openapi.h"
#include "api/api.h"
#include "api/body.h"
#include <ctype.h>
#include <errno.h>
#include <string.h>

/* Every table of named schemas. */
static const struct schema common_schemas[] = {
	{"Error", "{success:bool, message:str, detail:{code:str 'Name of an errno', "
		  "field?:str 'What is at fault: a JSON pointer, parameter or header', "
		  "allowed?:str 'What would be right'}}"},
	{"Message", "{success:bool, message:str}"},
	{0},
};
static const struct schema *const schema_tables[] = {common_schemas, batch_schemas, device_schemas,
	fleet_schemas, interface_schemas, set_schemas, otlp_schemas, profiling_schemas,
	resource_schemas, status_schemas};

static int write_schemas(struct text *t)
{
	text_key(t, "schemas");
	text_put(t, "{");
	for (unsigned i = 0; i < ARRAY_SIZE(schema_tables); i++)
		for (const struct schema *s = schema_tables[i]; s->name; s++) {
			text_key(t, s->name);
			int r = schema_write(t, s->notation);
			if (r < 0)
				return r;
		}
	text_put(t, "}");
	return 0;
}

/* "get_devices_id" of GET /api/v1/devices/{id}. */
static void write_operation_id(struct text *t, const struct route *route)
{
	const char *p = route->path;
	if (strncmp(p, "/api/v1", 7) == 0)
		p += 7;
	text_key(t, "operationId");
	text_put(t, "\"");
	for (const char *m = method_name(route->method); *m; m++)
		text_printf(t, "%c", tolower((unsigned char)*m));
	for (; *p; p++)
		if (isalnum((unsigned char)*p))
			text_printf(t, "%c", *p);
		else if (*p != '{' && *p != '}')
			text_put(t, "_");
	text_put(t, "\"");
}

struct parameter {
	const char *name, *in, *help;
	const struct route_query *q; /* NULL: any text */
	bool required;
};

static void write_parameter(struct text *t, const struct parameter *p, unsigned *n)
{
	bool is_int = p->q && strcmp(p->q->kind, "int") == 0;
	text_put(t, (*n)++ ? ",{" : "{");
	text_kv_str(t, "name", p->name);
	text_kv_str(t, "in", p->in);
	text_kv_bool(t, "required", p->required);
	if (p->help)
		text_kv_str(t, "description", p->help);
	text_put(t, ",\"schema\":{");
	text_kv_str(t, "type", is_int ? "integer" : "string");
	if (is_int)
		text_kv_u64(t, "minimum", p->q->min);
	else if (p->q && p->q->pattern)
		text_kv_str(t, "pattern", p->q->pattern);
	else
		text_kv_str(t, "pattern",
			p->q || !p->required ? "^[^\\x00-\\x1f\\x7f]+$" : "^[0-9A-Za-z._:-]+$");
	if (is_int && p->q->max)
		text_kv_u64(t, "maximum", p->q->max);
	text_put(t, "}}");
}

static void write_parameters(struct text *t, const struct route *route)
{
	char name[32];
	unsigned n = 0;
	text_key(t, "parameters");
	text_put(t, "[");
	for (const char *p = route->path; (p = strchr(p, '{')); p++) {
		size_t len = MIN(strcspn(p + 1, "}"), sizeof(name) - 1);
		memcpy(name, p + 1, len);
		name[len] = 0;
		write_parameter(t, &(struct parameter){name, "path", NULL, NULL, true}, &n);
	}
	for (const struct route_query *q = route->query; q && q->name; q++)
		write_parameter(t, &(struct parameter){q->name, "query", q->help, q, false}, &n);
	if (route->may_be_async)
		write_parameter(t,
			&(struct parameter){"Prefer", "header",
				"respond-async (RFC 7240): answer 202 at once, work meanwhile",
				NULL, false},
			&n);
	text_put(t, "]");
}

static void write_body_key(struct text *t, const struct body_key *k)
{
	int r;
	text_key(t, k->name);
	text_put(t, "{");
	switch (k->kind) {
	case BODY_STR:
		text_kv_str(t, "type", "string");
		if (k->pattern)
			text_kv_str(t, "pattern", k->pattern);
		break;
	case BODY_BOOL:
		text_kv_str(t, "type", "boolean");
		break;
	case BODY_INT:
		text_kv_str(t, "type", "integer");
		text_kv_i64(t, "minimum", k->min);
		text_kv_i64(t, "maximum", k->max);
		break;
	case BODY_JSON:
		text_put(t, "\"allOf\":[");
		r = schema_write(t, k->pattern);
		if (r < 0)
			t->err = r;
		text_put(t, "]");
		break;
	case BODY_CLEAN:
		text_kv_str(t, "type", "string");
		text_put(t, ",\"enum\":[\"\",\"clean\",null]");
		break;
	case BODY_ABSENT:
		text_kv_str(t, "type", "object");
		text_put(t, ",\"enum\":[null]");
		break;
	}
	if (!k->required)
		text_kv_bool(t, "nullable", true);
	text_kv_str(t, "description", k->help);
	text_put(t, "}");
}

static void write_body(struct text *t, const struct route *route)
{
	text_key(t, "requestBody");
	text_put(t, "{");
	text_kv_bool(t, "required", !route->body_optional);
	text_put(t, ",\"content\":{\"application/json\":{\"schema\":{\"type\":\"object\","
		    "\"additionalProperties\":false,\"properties\":{");
	bool any_required = false;
	for (const struct body_key *k = route->body; k->name; k++) {
		write_body_key(t, k);
		any_required |= k->required;
	}
	text_put(t, "}");
	if (any_required) {
		text_key(t, "required");
		text_put(t, "[");
		bool first = true;
		for (const struct body_key *k = route->body; k->name; k++) {
			if (!k->required)
				continue;
			text_put(t, first ? "" : ",");
			text_json(t, k->name);
			first = false;
		}
		text_put(t, "]");
	}
	text_put(t, "}}}}");
}

/* The answers of one status: one, or several that differ in their type. */
static int write_answer(struct text *t, const struct route_answer **a)
{
	unsigned status = (*a)->status;
	text_printf(t, ",\"%u\":{", status);
	text_kv_str(t, "description", (*a)->help);
	bool first = true;
	for (; (*a)->status == status; (*a)++) {
		if (!(*a)->schema)
			continue;
		if (first)
			text_put(t, ",\"content\":{");
		first = false;
		text_key(t, (*a)->type ? (*a)->type : "application/json");
		text_put(t, "{\"schema\":");
		int r = schema_write(t, (*a)->schema);
		if (r < 0)
			return r;
		text_put(t, "}");
	}
	text_put(t, first ? "}" : "}}");
	return 0;
}

static int write_answers(struct text *t, const struct route *route)
{
	text_key(t, "responses");
	text_put(t, "{\"default\":{\"description\":\"Why not\",\"content\":{\"application/json\":{"
		    "\"schema\":{\"$ref\":\"#/components/schemas/Error\"}}}}");
	for (const struct route_answer *a = route->answers; a->status;) {
		int r = write_answer(t, &a);
		if (r < 0)
			return r;
	}
	text_put(t, "}");
	return 0;
}

static int write_operation(struct text *t, const struct route *route)
{
	bool under_api = strncmp(route->path, "/api/", 5) == 0;
	const char *tag = route->path + (under_api ? strlen("/api/v1/") : 1);
	text_printf(t, "\"%s\":{",
		route->method == GET	? "get"
		: route->method == POST ? "post"
					: "delete");
	write_operation_id(t, route);
	text_kv_str(t, "summary", route->summary);
	text_printf(t, ",\"tags\":[\"%.*s\"]", (int)strcspn(tag, "/"), tag);
	if (under_api || strcmp(route->path, "/metrics") == 0)
		text_put(t, ",\"security\":[{\"token\":[]},{}]");
	write_parameters(t, route);
	if (route->body)
		write_body(t, route);
	int r = write_answers(t, route);
	text_put(t, "}");
	return r;
}

static int write_paths(struct text *t, const struct router *router)
{
	const char *path = "";
	text_key(t, "paths");
	text_put(t, "{");
	const struct route *route;
	for (unsigned i = 0; (route = router_nth(router, i)); i++) {
		if (!route->answers)
			continue;
		bool same = strcmp(path, route->path) == 0;
		if (same) {
			text_put(t, ",");
		} else {
			text_put(t, *path ? "}" : "");
			path = route->path;
			text_key(t, path);
			text_put(t, "{");
		}
		int r = write_operation(t, route);
		if (r < 0)
			return r;
	}
	text_put(t, *path ? "}}" : "}");
	return 0;
}

int openapi_write(const struct router *r, const char *version, struct text *t)
{
	text_put(t, "{\"openapi\":\"3.0.3\",\"info\":{\"title\":\"nl6\",\"description\":"
		    "\"A fleet of simulated network devices. With -api-token-file a Bearer token "
		    "is asked for. With -otlp-endpoint requests heed traceparent and tracestate "
		    "(W3C Trace Context), and the answers of sampled ones have traceresponse.\"");
	text_kv_str(t, "version", version);
	text_put(t, "}");
	int e = write_paths(t, r);
	if (e < 0)
		return e;
	text_put(t, ",\"components\":{\"securitySchemes\":{\"token\":{\"type\":\"http\","
		    "\"scheme\":\"bearer\"}}");
	e = write_schemas(t);
	text_put(t, "}}\n");
	return t->err < 0 ? t->err : e;
}
