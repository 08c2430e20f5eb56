/* Handlers of the devices' routes that have files of their own. */
#pragma once
#include "api/body.h"
#include "api/request.h"

int devices_list(struct request *rq);	       /* devices_list.c */
int devices_create(struct request *rq);	       /* devices_create.c */
int device_get(struct request *rq);	       /* device_get.c */
int devices_export(struct request *rq);	       /* devices_export.c */
int devices_routes_script(struct request *rq); /* routes_script.c */
/* Names the answer as a file "<before><date and time, UTC><after>". */
void devices_attachment(struct request *rq, const char *before, const char *after);
extern const struct body_key devices_create_keys[];
#define DEVICES_CREATE_BODY_BYTES (64u << 10)
