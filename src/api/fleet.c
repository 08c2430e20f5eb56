/* The fleet as a whole over REST. */
#include "api/fleet.h"
#include "api/api.h"

const struct schema fleet_schemas[] = {
	{"Imported", "{lines:int, creates:int, created:int 'New devices'"
		     ", existing:int 'Were there already, with the same type and settings'"
		     ", differing:int 'Were there already and are left as they are'"
		     ", devices:int 'On which something was set'}"},
	{0},
};
static const struct route_query export_query[] = {
	{"secrets", "true: communities and passwords, too; without it they are left out", "str",
		.pattern = "^(true|false)$"},
	{0}};
static const struct route_answer export_answers[] = {
	{200, "A JSON object a line: nl6, each create, each device on which something was set",
		"str", "application/x-ndjson"},
	{0}};
static const struct route_answer import_answers[] = {
	{200, "All lines are done", "Data<Imported>", NULL},
	{400, "The line that is named is at fault; no line is done", "Error", NULL},
	{409, "Another import is under way, or a batch has addresses of the line", "Error", NULL},
	{503, "The line that is named was not kept; those before it are done", "Error", NULL},
	{507, "There is no room for the line that is named", "Error", NULL}, {0}};
const struct route fleet_routes[] = {
	{GET, "/api/v1/fleet/export", fleet_export, 0, "Export what makes the fleet again",
		export_answers, export_query},
	{POST, "/api/v1/fleet/import", fleet_import, FLEET_IMPORT_BODY_BYTES,
		"Make a fleet from an export", import_answers},
	{0},
};
