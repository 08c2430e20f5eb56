#include "base/procctx.h"
#include "base/protobuf.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define NAME "OTEL_CTX"
#define SIGNATURE "OTEL_CTX"
#define VERSION 2
/* How a reader finds the threads' records, until the OTEP's name for it is final. */
#define SCHEMA "tlsdesc_v1_dev"

/* Linux 6.3 and 5.17; libc's headers are older. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008u
#endif
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

/* Field numbers of opentelemetry-proto 1.11: ProcessContext, Resource, KeyValue, AnyValue,
 * ArrayValue. */
enum { CONTEXT_RESOURCE = 1, CONTEXT_ATTRIBUTES = 2 };
enum { RESOURCE_ATTRIBUTES = 1 };
enum { KEYVALUE_KEY = 1, KEYVALUE_VALUE = 2 };
enum { ANY_STRING = 1, ANY_ARRAY = 5 };
enum { ARRAY_VALUES = 1 };

struct header {
	char signature[8];
	uint32_t version, payload_bytes;
	uint64_t published_ns; /* CLOCK_BOOTTIME; 0: being written */
	uint64_t payload;      /* its address */
};
_Static_assert(sizeof(struct header) == 32, "OTEP 4719");

struct procctx {
	const struct mem *mem;
	struct header *map;
	size_t bytes;
};

/* A field whose value is the message m. */
static void put(struct text *t, unsigned field, const struct text *m)
{
	protobuf_bytes(t, field, m->s, m->len);
	t->err = MIN(t->err, m->err);
}

static void put_pair(struct text *t, unsigned field, const char *key, const struct text *value)
{
	AUTO_TEXT struct text pair = TEXT(t->mem);
	protobuf_bytes(&pair, KEYVALUE_KEY, key, strlen(key));
	put(&pair, KEYVALUE_VALUE, value);
	put(t, field, &pair);
}

static void put_string(struct text *t, unsigned field, const char *key, const char *s)
{
	AUTO_TEXT struct text any = TEXT(t->mem);
	protobuf_bytes(&any, ANY_STRING, s, strlen(s));
	put_pair(t, field, key, &any);
}

static void put_strings(struct text *t, unsigned field, const char *key, const char *const *list)
{
	AUTO_TEXT struct text array = TEXT(t->mem), any = TEXT(t->mem);
	for (; *list; list++) {
		AUTO_TEXT struct text item = TEXT(t->mem);
		protobuf_bytes(&item, ANY_STRING, *list, strlen(*list));
		put(&array, ARRAY_VALUES, &item);
	}
	put(&any, ANY_ARRAY, &array);
	put_pair(t, field, key, &any);
}

static void put_context(struct text *t, const struct procctx_conf *conf)
{
	AUTO_TEXT struct text resource = TEXT(t->mem);
	put_string(&resource, RESOURCE_ATTRIBUTES, "service.name", conf->service);
	put_string(&resource, RESOURCE_ATTRIBUTES, "service.version", conf->version);
	put(t, CONTEXT_RESOURCE, &resource);
	put_string(t, CONTEXT_ATTRIBUTES, "threadlocal.schema_version", SCHEMA);
	put_strings(t, CONTEXT_ATTRIBUTES, "threadlocal.attribute_key_map", conf->keys);
}

/* A mapping whose line in /proc/PID/maps has the name, be it of the file or given afterwards. */
static void *map_named(size_t bytes, bool *ret_named)
{
	AUTO_FD int fd = memfd_create(NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd >= 0 && ftruncate(fd, (off_t)bytes) < 0) {
		(void)close(fd);
		fd = -1;
	}
	*ret_named = fd >= 0;
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | (fd < 0 ? MAP_ANONYMOUS : 0),
		fd, 0);
}

static uint64_t boottime_ns(void)
{
	struct timespec ts;
	if (clock_gettime(CLOCK_BOOTTIME, &ts) < 0)
		return 1;
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Fills the mapping, its time last: a reader that sees the time sees the rest. */
static void fill(struct procctx *c, const struct text *payload)
{
	struct header *h = c->map;
	char *bytes = (char *)(h + 1);
	memcpy(bytes, payload->s, payload->len);
	*h = (struct header){.version = VERSION,
		.payload_bytes = (uint32_t)payload->len,
		.payload = (uintptr_t)bytes};
	memcpy(h->signature, SIGNATURE, sizeof(h->signature));
	__atomic_store_n(&h->published_ns, boottime_ns(), __ATOMIC_SEQ_CST);
}

int procctx_publish(
	const struct mem *mem, const struct procctx_conf *conf, struct procctx **ret_ctx)
{
	AUTO_TEXT struct text payload = TEXT(mem);
	bool named;
	put_context(&payload, conf);
	if (payload.err < 0)
		return payload.err;
	AUTO(procctx) struct procctx *c = mem_zalloc(mem, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->mem = mem;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	c->bytes = (sizeof(struct header) + payload.len + page - 1) / page * page;
	void *map = map_named(c->bytes, &named);
	if (map == MAP_FAILED)
		return -ENOMEM;
	c->map = map;
	(void)madvise(map, c->bytes, MADV_DONTFORK);
	fill(c, &payload);
	/* Always tried: it is where readers that watch the kernel's calls look. */
	if (prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, map, c->bytes, NAME) == 0)
		named = true;
	if (!named)
		return -EOPNOTSUPP;
	*ret_ctx = TAKE(c);
	return 0;
}

struct procctx *procctx_free(struct procctx *c)
{
	if (!c)
		return NULL;
	if (c->map)
		(void)munmap(c->map, c->bytes);
	return mem_free(c->mem, c);
}
