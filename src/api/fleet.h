/* Export and import of the fleet: one JSON object a line. */
#pragma once
#include "api/request.h"

int fleet_export(struct request *rq); /* fleet_export.c */
int fleet_import(struct request *rq); /* fleet_import.c */
#define FLEET_IMPORT_BODY_BYTES (64u << 20)
#define FLEET_FORMAT 1 /* of the lines; told in the first */

/* One import at a time, on a thread of its own. */
struct import;
MUST_CHECK int import_new(const struct mem *mem, struct import **ret_import);
struct import *import_free(struct import *i); /* stops first */
void import_stop(struct import *i);	      /* ends with the line in work; takes NULL */
/* May a member with this name of a create be told only to who asks for secrets? */
bool fleet_is_secret(const char *name);
