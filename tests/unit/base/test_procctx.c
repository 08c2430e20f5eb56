#include "base/procctx.h"
#include "fake.h"
#include <stdio.h>
#include <string.h>

/* Attributes of the threads in two names. */
static const char *const keys[] = {"subsystem", "second", NULL};
static const struct procctx_conf conf = {"nl6", "v1", keys};

/* The start of the mapping by the name, 0: there is none. */
static uintptr_t find_mapping(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	unsigned long found = 0, start;
	ck_assert_ptr_nonnull(maps);
	while (fgets(line, sizeof(line), maps))
		if (strstr(line, "OTEL_CTX") && sscanf(line, "%lx-", &start) == 1) {
			ck_assert_uint_eq(found, 0);
			found = start;
		}
	(void)fclose(maps);
	return found;
}

static int publish_once(struct fake *f, void *arg UNUSED)
{
	AUTO(procctx) struct procctx *c = NULL;
	int r = procctx_publish(f->mem, &conf, &c);
	ck_assert((r == 0) == (find_mapping() != 0));
	return r;
}

static const char payload[] = "\x0a\x30"
			      "\x0a\x15\x0a\x0cservice.name\x12\x05\x0a\x03nl6"
			      "\x0a\x17\x0a\x0fservice.version\x12\x04\x0a\x02v1"
			      "\x12\x2e\x0a\x1athreadlocal.schema_version"
			      "\x12\x10\x0a\x0etlsdesc_v1_dev"
			      "\x12\x3a\x0a\x1dthreadlocal.attribute_key_map"
			      "\x12\x19\x2a\x17\x0a\x0b\x0a\x09subsystem\x0a\x08\x0a\x06second";

START_TEST(it_is_found_by_name_and_taken_back)
{
	struct fake f = fake_make();
	struct procctx *c;
	ck_assert_int_eq(procctx_publish(f.mem, &conf, &c), 0);
	const char *at = (const char *)find_mapping();
	struct {
		uint32_t version, bytes;
		uint64_t published, payload;
	} h;
	ck_assert_ptr_nonnull(at);
	ck_assert_mem_eq(at, "OTEL_CTX", 8);
	memcpy(&h, at + 8, sizeof(h));
	ck_assert_uint_eq(h.version, 2);
	ck_assert_uint_gt(h.published, 0);
	ck_assert_uint_eq(h.bytes, sizeof(payload) - 1);
	ck_assert_mem_eq((const void *)h.payload, payload, sizeof(payload) - 1);
	ck_assert_ptr_null(procctx_free(c));
	ck_assert_uint_eq(find_mapping(), 0);
	ck_assert_ptr_null(procctx_free(NULL));
	fake_done(&f);
}
END_TEST

START_TEST(want_of_memory_leaves_nothing)
{
	struct fake f = fake_make();
	fake_fail_each(&f, publish_once, NULL);
	fake_done(&f);
}
END_TEST

UNIT_MAIN(it_is_found_by_name_and_taken_back, want_of_memory_leaves_nothing)
