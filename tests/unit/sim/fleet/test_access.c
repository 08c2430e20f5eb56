#include "fake.h"
#include "sim/fleet/access.h"
#include "sim/fleet/access_flags.h"
#include "sim/fleet/access_json.h"
#include <errno.h>
#include <string.h>

static const char block[] =
	"{\"enabled\":true,\"engine_id\":\"80001f8804deadbeef\",\"username\":\"ops\","
	"\"password\":\"long enough\",\"auth_protocol\":4,\"priv_protocol\":\"aes256\","
	"\"set_min_security_level\":\"priv\",\"contexts\":[\"blue\",\"red\"],\"users\":["
	"{\"username\":\"guest\"},{\"username\":\"old\",\"auth_protocol\":\"md5\","
	"\"password\":\"12345678\",\"priv_protocol\":1,\"priv_password\":\"abcdefgh\","
	"\"min_security_level\":\"auth\"}]}";

static int read_block(struct fake *f, struct kus *kus, const char *text, const struct access **ret)
{
	struct fault fault;
	json_t *o = json_loads(text, 0, NULL);
	ck_assert_ptr_nonnull(o);
	int r = access_read_json(f->mem, kus, o, ret, &fault);
	json_decref(o);
	return r;
}

START_TEST(a_block_is_written_and_read_back)
{
	struct fake f = fake_make();
	struct kus *kus;
	const struct access *a, *b, *other;
	ck_assert_int_eq(kus_new(f.mem, &kus), 0);
	ck_assert_int_eq(read_block(&f, kus, block, &a), 0);
	ck_assert_uint_eq(a->conf.n_users, 3);
	ck_assert_int_eq(access_find_user(a, (const uint8_t *)"old", 3), 2);
	ck_assert_int_eq(access_find_user(a, (const uint8_t *)"ol", 2), -1);
	ck_assert(access_has_context(a, (const uint8_t *)"red", 3));
	ck_assert(access_has_context(a, (const uint8_t *)"", 0));
	ck_assert(!access_has_context(a, (const uint8_t *)"re", 2));
	struct text t = TEXT(f.mem);
	access_write_json(&t, a);
	ck_assert_int_eq(t.err, 0);
	ck_assert_int_eq(read_block(&f, kus, t.s, &b), 0);
	ck_assert(access_eq(a, b) && !access_eq(a, NULL));
	ck_assert_uint_ne(a->serial, b->serial);
	ck_assert_int_eq(read_block(&f, kus, "{\"enabled\":true}", &other), 0);
	ck_assert(!access_eq(a, other));
	ck_assert_str_eq(other->conf.users[0].name, "simadmin");
	text_done(&t);
	(void)access_unref(access_ref(a));
	(void)access_unref(a);
	(void)access_unref(b);
	(void)access_unref(other);
	(void)kus_free(kus);
	fake_done(&f);
}
END_TEST

static int make_once(struct fake *f, void *arg)
{
	const struct access *a;
	int r = read_block(f, arg, block, &a);
	if (r == 0)
		(void)access_unref(a);
	return r;
}

START_TEST(each_allocation_may_fail)
{
	struct fake f = fake_make();
	struct kus *kus;
	ck_assert_int_eq(kus_new(f.mem, &kus), 0);
	fake_fail_each(&f, make_once, kus);
	(void)kus_free(kus);
	fake_done(&f);
}
END_TEST

START_TEST(engine_ids_are_judged)
{
	uint8_t id[ACCESS_ENGINE_ID_BYTES], n;
	static const char *const bad[] = {"", "0x", "80", "800000000", "80000000zz", "0000000000",
		"ffffffffff", "0x80 0000001"};
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_int_eq(access_engine_id_parse(bad[i], "-x", id, &n, NULL), -EINVAL);
	ck_assert_int_eq(access_engine_id_parse("0x8000000001", "-x", id, &n, NULL), 0);
	ck_assert(n == 5 && id[0] == 0x80 && id[4] == 1);
	ck_assert_int_eq(access_engine_id_parse("800000000A", "-x", id, &n, NULL), 0);
	ck_assert(n == 5 && id[4] == 10);
}
END_TEST

START_TEST(files_of_users)
{
	struct fake f = fake_make();
	static const char text[] = "# who\n\n ops sha256 \"two \\\"words\\\"\" aes min=priv\r\n"
				   "guest # nobody\nold 1 12345678 1 abcdefgh";
	struct access_users u = {0};
	struct fault fault;
	ck_assert_int_eq(access_users_read(f.mem, text, strlen(text), "f", &u, &fault), 0);
	ck_assert_uint_eq(u.n, 3);
	ck_assert_str_eq(u.user[0].password, "two \"words\"");
	ck_assert(u.user[0].auth == KEYS_SHA256 && u.user[0].priv == KEYS_AES128);
	ck_assert_int_eq(u.user[0].min_level, ACCESS_PRIV);
	ck_assert(!u.user[1].password && u.user[1].auth == KEYS_AUTH_NONE && u.line[1] == 4);
	ck_assert_str_eq(u.user[2].priv_password, "abcdefgh");
	access_users_done(&u);
	fake_done(&f);
}
END_TEST

UNIT_MAIN(a_block_is_written_and_read_back, each_allocation_may_fail, engine_ids_are_judged,
	files_of_users)
