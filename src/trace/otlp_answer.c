#include "trace/otlp_answer.h"
#include "base/clk.h"
#include "base/num.h"
#include "base/text.h"
#include "otlp_service.pb-c.h"
#include "rpc_status.pb-c.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* What an answer may cost once it is unpacked, whose fields need not have more than two bytes. */
#define UNPACK_MAX_BYTES (1u << 20)
#define FRAME_BYTES 5

/* https://grpc.io/docs/guides/status-codes: names, and which of them OTLP lets send again. */
static const struct {
	const char *name;
	bool retry;
} codes[] = {{"OK", false}, {"CANCELLED", true}, {"UNKNOWN", false}, {"INVALID_ARGUMENT", false},
	{"DEADLINE_EXCEEDED", true}, {"NOT_FOUND", false}, {"ALREADY_EXISTS", false},
	{"PERMISSION_DENIED", false}, {"RESOURCE_EXHAUSTED", false}, {"FAILED_PRECONDITION", false},
	{"ABORTED", true}, {"OUT_OF_RANGE", true}, {"UNIMPLEMENTED", false}, {"INTERNAL", false},
	{"UNAVAILABLE", true}, {"DATA_LOSS", true}, {"UNAUTHENTICATED", false}};
enum { GRPC_OK = 0, GRPC_RESOURCE_EXHAUSTED = 8 };

/* The allocator of one unpacking: bounded. */
struct budget {
	const struct mem *mem;
	size_t left;
};

static void *budget_alloc(void *arg, size_t bytes)
{
	struct budget *b = arg;
	if (bytes > b->left)
		return NULL;
	b->left -= bytes;
	return mem_alloc(b->mem, bytes);
}

static void budget_free(void *arg, void *p)
{
	(void)mem_free(((struct budget *)arg)->mem, p);
}

struct unpacking {
	struct budget budget;
	ProtobufCAllocator allocator;
	ProtobufCMessage *message;
};

/* NULL: not such a message, or too large a one. The caller calls unpack_done. */
static void *unpack(struct unpacking *u, const struct mem *mem,
	const ProtobufCMessageDescriptor *descriptor, const void *bytes, size_t len)
{
	u->budget = (struct budget){mem, UNPACK_MAX_BYTES};
	u->allocator = (ProtobufCAllocator){budget_alloc, budget_free, &u->budget};
	u->message = protobuf_c_message_unpack(descriptor, &u->allocator, len, bytes);
	return u->message;
}

static void unpack_done(struct unpacking *u)
{
	if (u->message)
		protobuf_c_message_free_unpacked(u->message, &u->allocator);
}
#define AUTO_UNPACKING __attribute__((cleanup(unpack_done)))

static void accept_part(struct otlp_answer *a, int64_t rejected, const char *message)
{
	a->rejected = rejected > 0 ? (uint64_t)rejected : 0;
	if (a->rejected)
		(void)fault_set(&a->told, -EREMOTEIO, "", NULL, "%llu rejected: %s",
			(unsigned long long)a->rejected, message);
	else if (message[0])
		(void)fault_set(&a->told, -EREMOTEIO, "", NULL, "warning: %s", message);
}

/* The body of an answer that says that all is well, or says how well. */
static void read_response(const struct mem *mem, const struct otlp_heard *heard, const void *bytes,
	size_t len, struct otlp_answer *a)
{
	AUTO_UNPACKING struct unpacking u = {0};
	bool traces = heard->signal == EXPORT_TRACES;
	void *m = unpack(&u, mem,
		traces ? &otlp__export_trace_service_response__descriptor
		       : &otlp__export_profiles_service_response__descriptor,
		bytes, len);
	if (!m) {
		(void)fault_set(
			&a->told, -EBADMSG, "", NULL, "accepted, but the answer cannot be read");
	} else if (traces) {
		const Otlp__ExportTracePartialSuccess *p =
			((Otlp__ExportTraceServiceResponse *)m)->partial_success;
		if (p)
			accept_part(a, p->rejected_spans, p->error_message);
	} else {
		const Otlp__ExportProfilesPartialSuccess *p =
			((Otlp__ExportProfilesServiceResponse *)m)->partial_success;
		if (p)
			accept_part(a, p->rejected_profiles, p->error_message);
	}
}

static bool is_type(const char *type, const char *want)
{
	size_t n = strlen(want);
	return type && strncasecmp(type, want, n) == 0 && (!type[n] || strchr("; +", type[n]));
}

static void tell_status(struct otlp_answer *a, int status, const char *message, size_t len)
{
	while (len && strchr("\r\n \t", message[len - 1])) /* bodies end in a newline */
		len--;
	(void)fault_set(&a->told, -EIO, "", NULL, "HTTP status %d%s%.*s", status, len ? ": " : "",
		(int)MIN(len, sizeof(a->told.text)), len ? message : "");
}

static bool may_retry_status(int status)
{
	return status == 429 || (status >= 502 && status <= 504);
}

static void refuse_status(
	const struct mem *mem, const struct otlp_heard *heard, struct otlp_answer *a)
{
	AUTO_UNPACKING struct unpacking u = {0};
	const char *message = heard->body;
	size_t len = heard->body_bytes;
	if (is_type(heard->type, "application/x-protobuf")) {
		Rpc__Status *s = unpack(&u, mem, &rpc__status__descriptor, message, len);
		message = s ? s->message : "";
		len = strlen(message);
	}
	a->verdict = may_retry_status(heard->status) ? OTLP_RETRY : OTLP_REFUSED;
	a->wait_ns = heard->retry_after_s * NS_PER_SEC;
	tell_status(a, heard->status, message, len);
}

static void read_http(const struct mem *mem, const struct otlp_heard *heard, struct otlp_answer *a)
{
	if (heard->status < 200 || heard->status > 299)
		refuse_status(mem, heard, a);
	else if (heard->body_bytes && is_type(heard->type, "application/x-protobuf"))
		read_response(mem, heard, heard->body, heard->body_bytes, a);
}

/* grpc-message is percent-encoded; what is not well so stays. */
static void percent_decode(const char *s, char *to, size_t room)
{
	size_t n = 0;
	for (; *s && n + 1 < room; n++) {
		int byte = *s == '%' ? num_hex_pair(s + 1) : -1;
		to[n] = byte < 0 ? *s : (char)byte;
		s += byte < 0 ? 1 : 3;
	}
	to[n] = '\0';
}

/* Base64 (RFC 4648 4) with its padding or without. -EBADMSG. */
static int base64_decode(const char *s, struct text *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint32_t bits = 0, n = 0;
	for (; *s && *s != '='; s++) {
		const char *at = strchr(digits, *s);
		if (!at)
			return -EBADMSG;
		bits = bits << 6 | (uint32_t)(at - digits);
		if (++n % 4 == 0)
			text_write(out,
				(uint8_t[]){
					(uint8_t)(bits >> 16), (uint8_t)(bits >> 8), (uint8_t)bits},
				3);
	}
	if (n % 4 == 1 || s[strspn(s, "=")])
		return -EBADMSG;
	if (n % 4 == 2)
		text_write(out, (uint8_t[]){(uint8_t)(bits >> 4)}, 1);
	if (n % 4 == 3)
		text_write(out, (uint8_t[]){(uint8_t)(bits >> 10), (uint8_t)(bits >> 2)}, 2);
	return out->err;
}

static bool is_retry_info(const char *type_url)
{
	const char *slash = strrchr(type_url, '/');
	return strcmp(slash ? slash + 1 : type_url, "google.rpc.RetryInfo") == 0;
}

static uint64_t delay_ns(const Rpc__Duration *d)
{
	if (!d || d->seconds < 0 || d->nanos < 0)
		return 0;
	uint64_t s = MIN((uint64_t)d->seconds, OTLP_ANSWER_WAIT_MAX_NS / NS_PER_SEC);
	return s * NS_PER_SEC + (uint64_t)d->nanos;
}

/* Does the status have a RetryInfo among its details? Then when. */
static bool find_retry_info(const struct mem *mem, const char *details, uint64_t *ret_ns)
{
	AUTO_TEXT struct text bytes = TEXT(mem);
	AUTO_UNPACKING struct unpacking u = {0};
	if (!details || base64_decode(details, &bytes) < 0 || !bytes.len)
		return false;
	Rpc__Status *s = unpack(&u, mem, &rpc__status__descriptor, bytes.s, bytes.len);
	for (size_t i = 0; s && i < s->n_details; i++) {
		const Rpc__Any *any = s->details[i];
		AUTO_UNPACKING struct unpacking inner = {0};
		if (!is_retry_info(any->type_url))
			continue;
		Rpc__RetryInfo *info = unpack(
			&inner, mem, &rpc__retry_info__descriptor, any->value.data, any->value.len);
		if (!info)
			return false;
		*ret_ns = delay_ns(info->retry_delay);
		return true;
	}
	return false;
}

static void refuse_code(
	const struct mem *mem, const struct otlp_heard *heard, uint64_t code, struct otlp_answer *a)
{
	bool known = code < ARRAY_SIZE(codes);
	char message[sizeof(a->told.text)] = "";
	bool has_info = find_retry_info(mem, heard->grpc_details, &a->wait_ns);
	bool retry = (known && codes[code].retry) || (code == GRPC_RESOURCE_EXHAUSTED && has_info);
	a->verdict = retry ? OTLP_RETRY : OTLP_REFUSED;
	if (heard->grpc_message)
		percent_decode(heard->grpc_message, message, sizeof(message));
	(void)fault_set(&a->told, -EIO, "", NULL, "gRPC status %llu%s%s%s%s",
		(unsigned long long)code, known ? " " : "", known ? codes[code].name : "",
		message[0] ? ": " : "", message);
}

/* The message of one frame: a byte that says whether it is compressed, four of length. */
static void read_frame(const struct mem *mem, const struct otlp_heard *heard, struct otlp_answer *a)
{
	const uint8_t *b = (const uint8_t *)heard->body;
	uint32_t len =
		heard->body_bytes < FRAME_BYTES
			? 0
			: (uint32_t)b[1] << 24 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 8 | b[4];
	/* Nobody asked for compression. */
	if (heard->body_bytes < FRAME_BYTES || b[0] != 0 || len > heard->body_bytes - FRAME_BYTES)
		(void)fault_set(
			&a->told, -EBADMSG, "", NULL, "accepted, but the answer cannot be read");
	else
		read_response(mem, heard, b + FRAME_BYTES, len, a);
}

static void read_grpc(const struct mem *mem, const struct otlp_heard *heard, struct otlp_answer *a)
{
	uint64_t code;
	if (heard->status != 200) { /* of something before the service */
		refuse_status(mem, heard, a);
	} else if (!heard->grpc_status || num_u64(heard->grpc_status, 0, INT32_MAX, &code) < 0) {
		a->verdict = OTLP_REFUSED;
		(void)fault_set(&a->told, -EPROTO, "", NULL,
			"the answer has no status of gRPC (Content-Type: %s)",
			heard->type ? heard->type : "none");
	} else if (code == GRPC_OK) {
		read_frame(mem, heard, a);
	} else {
		refuse_code(mem, heard, code, a);
	}
}

void otlp_answer_read(
	const struct mem *mem, const struct otlp_heard *heard, struct otlp_answer *ret_answer)
{
	struct otlp_answer *a = ret_answer;
	*a = (struct otlp_answer){.verdict = OTLP_ACCEPTED};
	if (heard->status == 0) {
		/* Whether it was taken nobody knows: it may arrive twice. An answer without an end
		 * would have none again. */
		a->verdict = heard->too_long ? OTLP_REFUSED : OTLP_RETRY;
		(void)fault_set(&a->told, -EIO, "", NULL, "%s", heard->error);
	} else if (heard->grpc) {
		read_grpc(mem, heard, a);
	} else {
		read_http(mem, heard, a);
	}
	a->wait_ns = MIN(a->wait_ns, OTLP_ANSWER_WAIT_MAX_NS);
}
