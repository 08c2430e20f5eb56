#include "base/label.h"
#include "base/self.h"
#include "base/thread.h"
#include "fake.h"
#include <dlfcn.h>
#include <string.h>

static LABEL_SUBSYSTEM(label_one, "one");
static LABEL_SUBSYSTEM(label_longest, "gnmi-dialout-and-thirty-bytes.");

/* What a reader of the names in .dynsym sees in this thread. */
static const struct label *custom_labels(void)
{
	const struct label **word = dlsym(RTLD_DEFAULT, "custom_labels_current_set");
	ck_assert_ptr_nonnull(word);
	return *word;
}

static const struct label_context *thread_context(void)
{
	const struct label_context **word = dlsym(RTLD_DEFAULT, "otel_thread_ctx_v1");
	ck_assert_ptr_nonnull(word);
	return *word;
}

static void check_shown(const struct label *l, const char *value)
{
	const struct label_context *c = thread_context();
	ck_assert_ptr_eq(nl6_self.label, l);
	ck_assert_ptr_eq(custom_labels(), l);
	ck_assert_ptr_eq(c, &l->context);
	ck_assert_str_eq(label_get(l, "subsystem"), value);
	ck_assert_ptr_eq(l->storage, l->pairs);
	ck_assert_uint_eq(l->count, 1);
	ck_assert_uint_eq(l->pairs[0].key.bytes, strlen("subsystem"));
	ck_assert_uint_eq(l->pairs[0].value.bytes, strlen(value));
	ck_assert_uint_eq(c->valid, 1);
	ck_assert_uint_eq(c->attrs_bytes, 2 + strlen(value));
	ck_assert_str_eq(label_keys[c->attr_key], "subsystem");
	ck_assert_uint_eq(c->attr_bytes, strlen(value));
	ck_assert_mem_eq(c->attr, value, strlen(value));
}

START_TEST(every_view_follows_nested_scopes)
{
	thread_adopt("test", &label_main);
	check_shown(&label_main, "main");
	{
		LABEL_SCOPE(&label_one);
		check_shown(&label_one, "one");
		for (int i = 0; i < 2; i++) {
			LABEL_SCOPE(&label_longest);
			check_shown(&label_longest, "gnmi-dialout-and-thirty-bytes.");
			LABEL_SCOPE(&label_snmp);
			check_shown(&label_snmp, "snmp");
		}
		check_shown(&label_one, "one");
	}
	check_shown(&label_main, "main");
	ck_assert_ptr_null(label_get(&label_main, "other"));
}
END_TEST

static void look(void *arg UNUSED)
{
	check_shown(&label_one, "one");
}

START_TEST(a_thread_shows_its_label_from_birth)
{
	struct fake f = fake_make();
	struct thread *t;
	const struct thread_conf conf = {"one-0", &label_one, look, NULL};
	ck_assert_int_eq(thread_start(f.mem, &conf, &t), 0);
	ck_assert_ptr_null(thread_join(t));
	const struct thread_conf inherits = {"one-1", NULL, look, NULL};
	LABEL_SCOPE(&label_one);
	ck_assert_int_eq(thread_start(f.mem, &inherits, &t), 0);
	ck_assert_ptr_null(thread_join(t));
	fake_done(&f);
}
END_TEST

START_TEST(the_abi_has_a_version)
{
	const uint32_t *version = dlsym(RTLD_DEFAULT, "custom_labels_abi_version");
	ck_assert_ptr_nonnull(version);
	ck_assert_uint_eq(*version, 1);
}
END_TEST

UNIT_MAIN(every_view_follows_nested_scopes, a_thread_shows_its_label_from_birth,
	the_abi_has_a_version)
