#include "base/rnd.h"
#include "fake.h"
#include "net/lab_record.h"
#include <errno.h>
#include <string.h>

static const struct lab_setting forward = {"ipv4/ip_forward", "0", "1"},
				redirects = {"ipv4/conf/all/accept_redirects", "1", ""},
				alone = {"ipv4/conf/eth0.7/forwarding", "1", ""},
				forward6 = {"ipv6/conf/all/forwarding", "0", "1"};
static const struct nl_link link_sim = {
	.name = "veth-sim-host", .mac = {0x02, 0x6e, 0x6c, 0x05, 0xe7, 0xfe}};

static void put_all(struct text *t)
{
	lab_record_put_head(t, "b19a15b1-3c44-4e28-81b0-2341f0a2f707", 4026531840, 4242);
	lab_record_put_dir(t);
	lab_record_put_name(t, "/proc/4242/task/4243/ns/net");
	lab_record_put_link(t, &link_sim);
	lab_record_put_mark(t, 1073741999);
	lab_record_put_setting(t, &forward);
	lab_record_put_setting(t, &redirects);
	lab_record_put_setting(t, &alone);
	lab_record_put_setting(t, &forward6);
}

START_TEST(what_is_put_is_read)
{
	struct fake f = fake_make();
	struct text t = TEXT(f.mem);
	struct lab_record r = {0};
	put_all(&t);
	ck_assert_str_eq(t.s, "boot b19a15b1-3c44-4e28-81b0-2341f0a2f707\n"
			      "netns 4026531840\n"
			      "pid 4242\n"
			      "dir\n"
			      "name /proc/4242/task/4243/ns/net\n"
			      "link veth-sim-host 02:6e:6c:05:e7:fe\n"
			      "mark 1073741999\n"
			      "sysctl ipv4/ip_forward 0 1\n"
			      "after ipv4/conf/all/accept_redirects 1\n"
			      "after ipv4/conf/eth0.7/forwarding 1\n"
			      "sysctl ipv6/conf/all/forwarding 0 1\n");
	ck_assert_int_eq(lab_record_parse(f.mem, t.s, t.len, &r), 0);
	ck_assert_uint_eq(r.bad_lines, 0);
	ck_assert_str_eq(r.boot, "b19a15b1-3c44-4e28-81b0-2341f0a2f707");
	ck_assert_uint_eq(r.netns, 4026531840);
	ck_assert_uint_eq(r.pid, 4242);
	ck_assert(r.made_dir);
	ck_assert_str_eq(r.target, "/proc/4242/task/4243/ns/net");
	ck_assert_str_eq(r.link.name, "veth-sim-host");
	ck_assert_int_eq(memcmp(r.link.mac, link_sim.mac, 6), 0);
	ck_assert_uint_eq(r.mark, 1073741999);
	ck_assert_uint_eq(r.settings_len, 4);
	uint32_t i = 9, n = 9;
	ck_assert(lab_record_find(&r, "ipv4/ip_forward", &i, &n));
	ck_assert_uint_eq(i, 0);
	ck_assert_uint_eq(n, 3);
	ck_assert_int_eq(memcmp(&r.settings[2], &alone, sizeof(alone)), 0);
	ck_assert(lab_record_find(&r, "ipv6/conf/all/forwarding", &i, &n));
	ck_assert_uint_eq(i, 3);
	ck_assert_uint_eq(n, 1);
	ck_assert(!lab_record_find(&r, "ipv4/conf/all/accept_redirects", &i, &n));
	lab_record_done(&r);
	text_done(&t);
	fake_done(&f);
}
END_TEST

/* What a run that ends within a write leaves: the lines before count, the piece does not. */
START_TEST(every_cut_is_read_up_to_its_last_line)
{
	struct fake f = fake_make();
	struct text t = TEXT(f.mem);
	put_all(&t);
	for (size_t len = 0; len <= t.len; len++) {
		struct lab_record r = {0};
		ck_assert_int_eq(lab_record_parse(f.mem, t.s, len, &r), 0);
		bool whole = len == 0 || t.s[len - 1] == '\n';
		ck_assert_uint_eq(r.bad_lines, whole ? 0 : 1);
		const char *link = strstr(t.s, "\nmark");
		ck_assert_int_eq(r.link.name[0] != 0, len > (size_t)(link - t.s));
		lab_record_done(&r);
	}
	text_done(&t);
	fake_done(&f);
}
END_TEST

START_TEST(what_is_not_ours_is_skipped)
{
	static const char *const bad[] = {"", " ", "dir now", "dir ", "name", "name /etc/passwd",
		"name /proc/1/task/1/ns/net x", "link eth0", "link eth0 02:6e:6c:05:e7",
		"link eth0 02:6e:6c:05:e7:fe:01", "link eth0 02:6e:6c:05:e7-fe",
		"link e/h0 02:6e:6c:05:e7:fe", "link abcdefghijklmnop 02:6e:6c:05:e7:fe", "mark 0",
		"mark 4294967296", "mark -1", "pid 0", "pid x", "netns", "after ipv4/x 1",
		"sysctl ipv4/../../kernel/panic 0 1", "sysctl ipv4/./x 0 1", "sysctl ipv4//x 0 1",
		"sysctl ipv4/ 0 1", "sysctl kernel/panic 0 1", "sysctl /proc/sys/net/ipv4/x 0 1",
		"sysctl ipv4/x 0", "sysctl ipv4/x a 1", "sysctl ipv4/x 0 1 2", "sysctl ipv4/x  1",
		"sysctl ipv4/x 0 -1", "unlink /", "sysctl ipv4/.. 0 1"};
	struct fake f = fake_make();
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct text t = TEXT(f.mem);
		struct lab_record r = {0};
		text_printf(&t, "%s\npid 7\n", bad[i]);
		ck_assert_int_eq(lab_record_parse(f.mem, t.s, t.len, &r), 0);
		ck_assert_msg(r.bad_lines == 1 && r.pid == 7 && !r.made_dir && !r.target[0] &&
				      !r.link.name[0] && !r.mark && !r.settings_len,
			"%s", bad[i]);
		lab_record_done(&r);
		text_done(&t);
	}
	fake_done(&f);
}
END_TEST

/* Bytes changed, added and taken away at random: whatever is read stays below /proc/sys/net and
 * within its fields. */
START_TEST(damage_does_no_harm)
{
	struct fake f = fake_make();
	struct text t = TEXT(f.mem);
	put_all(&t);
	for (uint64_t i = 0; i < 20000; i++) {
		char buf[1024];
		size_t len = t.len;
		memcpy(buf, t.s, len);
		for (unsigned k = 0, n = 1 + rnd_below(1, 1, i, 8); k < n; k++) {
			uint32_t at = rnd_below(1, 2 + k, i, (uint32_t)len);
			switch (rnd_below(1, 20 + k, i, 4)) {
			case 0:
				buf[at] = (char)rnd_u64(1, 40 + k, i);
				break;
			case 1:
				buf[at] = " \n/.:0"[rnd_below(1, 60 + k, i, 6)];
				break;
			case 2:
				memmove(buf + at, buf + at + 1, --len - at);
				break;
			default:
				memmove(buf + at + 1, buf + at, len++ - at);
				break;
			}
		}
		struct lab_record r = {0};
		ck_assert_int_eq(lab_record_parse(f.mem, buf, len, &r), 0);
		for (uint32_t k = 0; k < r.settings_len; k++) {
			const char *path = r.settings[k].path;
			ck_assert(memchr(path, 0, sizeof(r.settings[k].path)));
			ck_assert(strncmp(path, "ipv4/", 5) == 0 || strncmp(path, "ipv6/", 5) == 0);
			ck_assert_ptr_null(strstr(path, "/../"));
		}
		ck_assert(!r.target[0] || strncmp(r.target, "/proc/", 6) == 0);
		lab_record_done(&r);
	}
	text_done(&t);
	fake_done(&f);
}
END_TEST

static int put_and_parse(struct fake *f, void *arg UNUSED)
{
	AUTO_TEXT struct text t = TEXT(f->mem);
	put_all(&t);
	if (t.err)
		return t.err;
	AUTO_RECORD struct lab_record r = {0};
	return lab_record_parse(f->mem, t.s, t.len, &r);
}

START_TEST(each_allocation_may_fail)
{
	struct fake f = fake_make();
	fake_fail_each(&f, put_and_parse, NULL);
	fake_done(&f);
}
END_TEST

UNIT_MAIN(what_is_put_is_read, every_cut_is_read_up_to_its_last_line, what_is_not_ours_is_skipped,
	damage_does_no_harm, each_allocation_may_fail)
