/* The record in a lock file: whatever is read is written back and reads the same. */
#include "fuzz.h"
#include "net/lab_record.h"
#include <assert.h>
#include <string.h>

static void put(struct text *t, const struct lab_record *r)
{
	for (uint32_t i = 0; i < r->settings_len; i++)
		lab_record_put_setting(t, &r->settings[i]);
	if (r->mark)
		lab_record_put_mark(t, r->mark);
	if (r->link.name[0])
		lab_record_put_link(t, &r->link);
	if (r->target[0])
		lab_record_put_name(t, r->target);
	if (r->made_dir)
		lab_record_put_dir(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t bytes)
{
	AUTO_RECORD struct lab_record r = {0}, again = {0};
	AUTO_TEXT struct text t = TEXT(&mem_libc);
	assert(lab_record_parse(&mem_libc, (const char *)p, bytes, &r) == 0);
	put(&t, &r);
	assert(lab_record_parse(&mem_libc, t.s, t.len, &again) == 0);
	assert(again.bad_lines == 0 && again.mark == r.mark && again.made_dir == r.made_dir);
	assert(strcmp(again.target, r.target) == 0 && strcmp(again.link.name, r.link.name) == 0);
	assert(memcmp(again.link.mac, r.link.mac, sizeof(r.link.mac)) == 0);
	assert(again.settings_len == r.settings_len);
	for (uint32_t i = 0; i < r.settings_len; i++) {
		uint32_t at, n;
		assert(strcmp(again.settings[i].path, r.settings[i].path) == 0);
		assert(strcmp(again.settings[i].old, r.settings[i].old) == 0);
		assert(strcmp(again.settings[i].new, r.settings[i].new) == 0);
		assert(!r.settings[i].new[0] || lab_record_find(&r, r.settings[i].path, &at, &n));
	}
	return 0;
}
