/* The fleet's devices over REST: the routes, and what needs no file of its own. */
#include "api/devices.h"
#include "api/api.h"
#include "api/change_wait.h"
#include "api/device_json.h"
#include "api/devices.h"
#include "base/rcu.h"
#include <errno.h>

static int devices_delete_all(struct request *rq)
{
	uint64_t n;
	int r = batches_delete_all(api_env(rq->api)->batches, &n, &rq->fault);
	if (r < 0)
		return r;
	reply_message(rq, 200, "All devices deleted");
	return 0;
}

/* A delete that waits for the keeper, as its records are forgotten first. */
struct removal {
	struct change_wait wait;
	struct batches *batches;
};

static int removal_apply(struct change *c, struct keeping *k, const struct device *d)
{
	struct removal *m = CONTAINER_OF(c, struct removal, wait.change);
	return d ? batches_forget(m->batches, k, d) : -ENOENT;
}

static void removal_told(struct change_wait *w, int r)
{
	if (r == 0)
		batches_take(CONTAINER_OF(w, struct removal, wait)->batches, &w->change.addr);
}

static int removal_answer(struct request *rq)
{
	const struct removal *m = rq->work;
	if (m->wait.result < 0)
		return change_refused(rq, m->wait.result);
	reply_message(rq, 200, "Device %s deleted", request_param(rq, "id"));
	return 0;
}

static int delete_kept(struct request *rq, const struct addr *a)
{
	struct removal *m = mem_zalloc(rq->mem, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->batches = api_env(rq->api)->batches;
	m->wait.change.addr = *a;
	m->wait.change.alone = true;
	m->wait.change.apply = removal_apply;
	m->wait.told = removal_told;
	return change_wait(rq, &m->wait, removal_answer);
}

static int devices_delete(struct request *rq)
{
	const struct api_env *env = api_env(rq->api);
	const struct device *d;
	struct addr a = {{0}};
	rcu_in();
	int r = device_find(rq, &d);
	if (r == 0)
		a = d->addr;
	rcu_out();
	if (r == 0)
		r = batches_may_delete(env->batches, &rq->fault);
	if (r == 0 && env->store)
		return delete_kept(rq, &a);
	if (r == 0)
		r = batches_delete(env->batches, &a, &rq->fault);
	if (r == -ENOENT)
		return fault_set(
			&rq->fault, r, "", NULL, "no device %.80s", request_param(rq, "id"));
	if (r < 0)
		return r;
	reply_message(rq, 200, "Device %s deleted", request_param(rq, "id"));
	return 0;
}

#define DEVICE \
	"id:str 'Type and address; the address does as well wherever an id is asked for'" \
	", ip:str, interface?:str 'Not in this build', snmp_port:int" \
	", ssh_port:int '0: no SSH in this build', running:bool" \
	", resource_file?:str 'Absent for the default type', device_type:str" \
	", location:str, latitude:num, longitude:num"
#define DETAIL "sys_name:str, type:str 'Slug', netmask:int"
const struct schema device_schemas[] = {
	{"Device", "{" DEVICE ", detail:{" DETAIL "}}"},
	{"DeviceDetail", "{" DEVICE ", detail:{" DETAIL
			 ", type_name:str, category:str, sys_descr:str, sys_object_id:str"
			 ", uptime_seconds:num, serial:str, mac:str, engine_id:str"
			 ", snmp:map<int> 'Counters of the snmp group, 32 bits'"
			 ", interfaces:[Interface]}}"},
	{"Interface", "{index:int, name:str, descr:str, alias:str, type:int 'IANAifType', mtu:int"
		      ", speed_bps:int, admin_status:int 'ifAdminStatus of RFC 2863'"
		      ", oper_status:int 'ifOperStatus', in_octets:int, out_octets:int}"},
	{0},
};

static const struct route_query list_query[] = {
	{"limit", "At most so many; absent: all", "int", 1, UINT32_MAX},
	{"after", "Begin behind this address or id: what page.next says", "str"},
	{"type", "Only devices of this type: a slug, with or without .json", "str"},
	{"q", "Only devices with this in id, address, name or location, in any case", "str"}, {0}};
static const struct route_query one_query[] = {
	{"limit", "At most so many interfaces; absent: all", "int", 1, UINT32_MAX},
	{"after", "Begin behind the interface of this index", "int", 1, INT32_MAX}, {0}};
static const struct route_answer create_answers[] = {
	{201, "The batch is done, perhaps in part", "Data<Created>", NULL},
	{202, "The batch is under way; Location tells where to ask", "Data<Batch>", NULL},
	{400, "The body is at fault", "Error", NULL},
	{409, "A batch in progress has addresses of the range; try again", "Error", NULL},
	{507, "There is not enough memory", "Error", NULL}, {0}};
static const struct route_answer list_answers[] = {
	{200, "The devices in order of address", "Page<[Device]>", NULL}, {0}};
static const struct route_answer one_answers[] = {
	{200, "The device; page is about its interfaces", "Page<DeviceDetail>", NULL},
	{404, "No such device", "Error", NULL}, {0}};
static const struct route_answer delete_all_answers[] = {
	{200, "No device is left", "Message", NULL}, {0}};
static const struct route_answer delete_answers[] = {
	{200, "The device is gone", "Message", NULL}, {404, "No such device", "Error", NULL}, {0}};
static const struct route_answer export_answers[] = {
	{200, "A header and a line a device", "str", "text/csv"}, {0}};
static const struct route_answer script_answers[] = {
	{200, "A bash script", "str", "application/x-sh"}, {0}};
const struct route devices_routes[] = {
	{POST, "/api/v1/devices", devices_create, DEVICES_CREATE_BODY_BYTES, "Create devices",
		create_answers, .body = devices_create_keys, .may_be_async = true},
	{GET, "/api/v1/devices", devices_list, 0, "List the devices", list_answers, list_query},
	{DELETE, "/api/v1/devices", devices_delete_all, 0, "Delete all devices",
		delete_all_answers},
	{GET, "/api/v1/devices/export", devices_export, 0, "Export the devices as CSV",
		export_answers},
	{GET, "/api/v1/devices/routes", devices_routes_script, 0,
		"Get a script that adds routes to the devices on another host", script_answers},
	{GET, "/api/v1/devices/{id}", device_get, 0, "Show a device with its interfaces",
		one_answers, one_query},
	{DELETE, "/api/v1/devices/{id}", devices_delete, 0, "Delete a device", delete_answers},
	{0},
};
