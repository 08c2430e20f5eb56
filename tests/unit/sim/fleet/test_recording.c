#include "fake.h"
#include "sim/fleet/recording.h"
#include <bzlib.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/test_recording.XXXXXX";

static void write_file(const void *s, size_t n)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, s, n), (ssize_t)n);
	(void)close(fd);
}

static size_t squeeze(const char *s, char *to, size_t room)
{
	unsigned n = (unsigned)room;
	ck_assert_int_eq(
		BZ2_bzBuffToBuffCompress(to, &n, (char *)s, (unsigned)strlen(s), 1, 0, 0), BZ_OK);
	return n;
}

/* "line:OID=value" of each, "line!what" of what is wrong, and how it ended. */
static int told(struct fake *f, enum recording_form form, char out[static 4096])
{
	struct recording *r = NULL;
	int e = recording_open(f->mem, path, form, NULL, &r);
	size_t at = 0;
	out[0] = 0;
	while (e == 0 || e == -EINVAL) {
		struct record rec;
		const char *what;
		char oid[OID_TEXT_BYTES];
		e = recording_next(r, &rec, &what);
		if (e == -EINVAL)
			at += (size_t)snprintf(
				out + at, 4096 - at, "%u!%s ", recording_line(r), what);
		else if (e == 0)
			at += (size_t)snprintf(out + at, 4096 - at, "%u:%s=%.*s ",
				recording_line(r), oid_text(&rec.oid, oid, sizeof(oid)),
				rec.value.tag == BER_OCTET_STRING ? MIN(rec.value.len, 9) : 0,
				(const char *)rec.value.bytes);
	}
	recording_free(r);
	return e;
}
static void tells(struct fake *f, enum recording_form form, int end, const char *want)
{
	char out[4096];
	ck_assert_int_eq(told(f, form, out), end);
	ck_assert_str_eq(out, want);
}

START_TEST(forms_by_name)
{
	enum recording_form form;
	size_t ending;
	ck_assert_int_eq(recording_form_of("a.b.snmprec", &form, &ending), 0);
	ck_assert(form == RECORDING_REC && ending == 3);
	ck_assert_int_eq(recording_form_of("a.snmpwalk.bz2", &form, &ending), 0);
	ck_assert(form == RECORDING_WALK && ending == 1);
	ck_assert_int_eq(recording_form_of(".snmprec", &form, &ending), -EINVAL);
	ck_assert_int_eq(recording_form_of("a.json", &form, &ending), -EINVAL);
	ck_assert_int_eq(recording_form_of("a.bz2", &form, &ending), -EINVAL);
}
END_TEST

static const char snmprec[] = "# a comment\n1.3.6|4|a\n\n1.3.7|4|b\r\n1.3.8|2\n1.3.9|4|last";
static const char rec_told[] = "2:1.3.6=a 4:1.3.7=b 5!no OID|TAG|VALUE 6:1.3.9=last ";

START_TEST(snmprec_files)
{
	struct fake f = fake_make();
	char small[1024], twice[2048];
	write_file(snmprec, sizeof(snmprec) - 1);
	tells(&f, RECORDING_REC, -ENODATA, rec_told);
	size_t n = squeeze(snmprec, small, sizeof(small));
	write_file(small, n);
	tells(&f, RECORDING_REC, -ENODATA, rec_told);
	/* Two streams: as one text. */
	memcpy(twice, small, n);
	size_t m = squeeze("\n1.4|4|next\n", twice + n, sizeof(twice) - n);
	write_file(twice, n + m);
	tells(&f, RECORDING_REC, -ENODATA,
		"2:1.3.6=a 4:1.3.7=b 5!no OID|TAG|VALUE 6:1.3.9=last 7:1.4=next ");
	write_file("", 0);
	tells(&f, RECORDING_REC, -ENODATA, "");
	fake_done(&f);
}
END_TEST

START_TEST(damaged_compression)
{
	struct fake f = fake_make();
	char small[1024];
	size_t n = squeeze(snmprec, small, sizeof(small));
	write_file(small, n - 5);
	tells(&f, RECORDING_REC, -EBADMSG, "2:1.3.6=a 4:1.3.7=b 5!no OID|TAG|VALUE ");
	unsigned damaged = 0;
	for (size_t bit = 8 * 4; bit < 8 * n; bit++) { /* behind what tells the compression */
		char out[4096];
		small[bit / 8] ^= (char)(1 << bit % 8);
		write_file(small, n);
		int e = told(&f, RECORDING_REC, out);
		damaged += e == -EBADMSG;
		ck_assert_msg(e == -EBADMSG || (e == -ENODATA && strcmp(out, rec_told) == 0),
			"bit %zu: %d %s", bit, e, out);
		small[bit / 8] ^= (char)(1 << bit % 8);
	}
	ck_assert_uint_gt(damaged, 4 * n);
	fake_done(&f);
}
END_TEST

START_TEST(walks_of_several_lines)
{
	static const char walk[] = ".1.3.6 = STRING: \"a\nb\n\nc\"\n.1.3.7 = Hex-STRING: 41\n42 \n"
				   ".1.3.8 = Foo: x\nand more\n.1.3.9 = \"\"\n"
				   "sysDescr.0 = STRING: x\nVariables found: 5\n";
	struct fake f = fake_make();
	write_file(walk, sizeof(walk) - 1);
	tells(&f, RECORDING_WALK, -ENODATA,
		"1:1.3.6=a\nb\n\nc 5:1.3.7=AB 7!no type of a value that net-snmp prints "
		"9:1.3.9= 10!a name, not an OID in numbers ");
	write_file("text\n", 5);
	tells(&f, RECORDING_WALK, -ENODATA, "1!no OID = TYPE: VALUE ");
	fake_done(&f);
}
END_TEST

/* The octets of each, in hex. */
START_TEST(hints_of_known_objects_are_read_back)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{".1.3.6.1.2.1.2.2.1.6.1 = STRING: 0:1b:2c:3:4:ff", "001b2c0304ff"},
		{".1.3.6.1.2.1.2.2.1.6.1 = STRING: 0:1b:", "303a31623a"}, /* as it is */
		{".1.3.6.1.2.1.2.2.1.6.1 = STRING: 0:1bc", "303a316263"},
		{".1.3.6.1.2.1.2.2.1.6.1 = \"\"", ""},
		{".1.3.6.1.2.1.2.2.1.2.1 = STRING: 0:1b", "303a3162"}, /* ifDescr */
		{".1.3.6.1.2.1.25.1.2.0 = STRING: 2026-3-1,9:8:7.6,+1:30", "07ea03010908"
									   "07062b011e"},
		{".1.3.6.1.2.1.25.1.2.0 = STRING: 2026-3-1,9:8:7.6", "07ea030109080706"},
		{".1.3.6.1.2.1.25.1.2.0 = STRING: 2026-3-1", "323032362d332d31"},
	};
	struct fake f = fake_make();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct recording *r = NULL;
		struct record rec;
		const char *what;
		char hex[64] = "";
		write_file(cases[i].text, strlen(cases[i].text));
		ck_assert_int_eq(recording_open(f.mem, path, RECORDING_WALK, NULL, &r), 0);
		ck_assert_int_eq(recording_next(r, &rec, &what), 0);
		for (unsigned k = 0; k < rec.value.len; k++)
			(void)snprintf(hex + 2 * k, 3, "%02x", rec.value.bytes[k]);
		ck_assert_msg(strcmp(hex, cases[i].want) == 0, "%s: %s", cases[i].text, hex);
		recording_free(r);
	}
	fake_done(&f);
}
END_TEST

static int find_name(void *arg UNUSED, const char *name, struct oid *ret_oid)
{
	if (strcmp(name, "A-MIB::b.0") != 0)
		return -ENOENT;
	return oid_parse("1.3.6.1.4.1.32473.1.2.3.4.5.6.7.8.9.0", ret_oid);
}

START_TEST(names_stand_for_what_is_known)
{
	static const char walk[] = "A-MIB::b.0 = OID: A-MIB::b.0\nC-MIB::d.0 = OID: A-MIB::b.0\n"
				   ".1.3.6 = OID: C-MIB::d.0\n.1.3.6 = STRING: A-MIB::b.0\n";
	struct recording_names names = {find_name, NULL};
	struct fake f = fake_make();
	struct recording *r = NULL;
	struct record rec;
	struct oid oid;
	char text[OID_TEXT_BYTES];
	const char *what;
	write_file(walk, sizeof(walk) - 1);
	ck_assert_int_eq(recording_open(f.mem, path, RECORDING_WALK, &names, &r), 0);
	ck_assert_int_eq(recording_next(r, &rec, &what), 0);
	ck_assert_str_eq(
		oid_text(&rec.oid, text, sizeof(text)), "1.3.6.1.4.1.32473.1.2.3.4.5.6.7.8.9.0");
	ck_assert_int_eq(oid_from_ber(rec.value.bytes, rec.value.len, &oid), 0);
	ck_assert_int_eq(oid_cmp(&oid, &rec.oid), 0);
	ck_assert_int_eq(recording_next(r, &rec, &what), -EINVAL);
	ck_assert_str_eq(what, "a name, not an OID in numbers");
	ck_assert_int_eq(recording_next(r, &rec, &what), -EINVAL);
	ck_assert_str_eq(what, "its value is no OID in numbers");
	ck_assert_int_eq(recording_next(r, &rec, &what), 0);
	ck_assert_uint_eq(rec.value.len, 10);
	recording_free(r);
	fake_done(&f);
}
END_TEST

START_TEST(what_is_too_long_is_passed_over)
{
	struct fake f = fake_make();
	size_t n = RECORDING_RECORD_MAX + 100;
	char *s = malloc(n);
	memset(s, 'x', n);
	memcpy(s, "1.3.6|4|", 8);
	memcpy(s + n - 12, "\n1.3.7|4|b\n", 11);
	s[n - 1] = '\n';
	write_file(s, n);
	tells(&f, RECORDING_REC, -ENODATA, "1!longer than 1 MiB 2:1.3.7=b ");
	memcpy(s, ".1.3.6 = STRING: ", 17);
	memcpy(s + n - 24, "\n.1.3.7 = STRING: \"b\"  \n", 24);
	write_file(s, n);
	char out[4096];
	ck_assert_int_eq(told(&f, RECORDING_WALK, out), -ENODATA);
	ck_assert_msg(strncmp(out, "1!longer than 1 MiB 2:1.3.7=b", 29) == 0, "%s", out);
	free(s);
	fake_done(&f);
}
END_TEST

static int whole(struct fake *f, void *form)
{
	char out[4096];
	int e = told(f, *(enum recording_form *)form, out);
	return e == -ENODATA ? 0 : e;
}

START_TEST(memory_may_fail)
{
	struct fake f = fake_make();
	enum recording_form form = RECORDING_REC;
	char small[1024];
	write_file(small, squeeze(snmprec, small, sizeof(small)));
	fake_fail_each(&f, whole, &form);
	form = RECORDING_WALK;
	write_file(".1.3.6 = STRING: \"a\nb\"\n.1.3.7 = 5\n", 35);
	fake_fail_each(&f, whole, &form);
	struct recording *r;
	(void)unlink(path);
	ck_assert_int_eq(recording_open(f.mem, path, form, NULL, &r), -ENOENT);
	fake_done(&f);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {forms_by_name, snmprec_files, damaged_compression,
		walks_of_several_lines, hints_of_known_objects_are_read_back,
		names_stand_for_what_is_known, what_is_too_long_is_passed_over, memory_may_fail};
	(void)close(mkstemp(path));
	int r = unit_run(__FILE__, tests, ARRAY_SIZE(tests));
	(void)unlink(path);
	return r;
}
