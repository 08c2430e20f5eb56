#include "net/caps.h"
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

struct sets {
	struct __user_cap_data_struct half[_LINUX_CAPABILITY_U32S_3];
};

static int get(struct sets *ret_sets)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	return syscall(SYS_capget, &head, ret_sets->half) < 0 ? -errno : 0;
}

uint64_t caps_mask(void)
{
	struct sets s;
	if (get(&s) < 0)
		return 0;
	return s.half[0].effective | (uint64_t)s.half[1].effective << 32;
}

static void empty_bounding_set(uint64_t but)
{
	for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		if (cap > 63 || !(but & CAPS_BIT(cap)))
			(void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
}

int caps_keep(uint64_t mask)
{
	struct sets s;
	int r = get(&s);
	if (r < 0)
		return r;
	/* While it still has CAP_SETPCAP. Without, no_new_privs does what matters. */
	empty_bounding_set(mask);
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		uint32_t kept = (uint32_t)(mask >> (32 * i)) & s.half[i].permitted;
		s.half[i] = (struct __user_cap_data_struct){kept, kept, 0};
	}
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	if (syscall(SYS_capset, &head, s.half) < 0)
		return -errno;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return 0;
}

const char *caps_text(uint64_t mask, char *buf, size_t bytes)
{
	static const struct {
		int cap;
		const char *name;
	} names[] = {
		{CAP_NET_ADMIN, "CAP_NET_ADMIN"},
		{CAP_SYS_ADMIN, "CAP_SYS_ADMIN"},
		{CAP_NET_BIND_SERVICE, "CAP_NET_BIND_SERVICE"},
	};
	size_t len = 0;
	buf[0] = 0;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if ((mask & CAPS_BIT(names[i].cap)) && len < bytes)
			len += (size_t)snprintf(
				buf + len, bytes - len, "%s%s", len ? " and " : "", names[i].name);
	return buf;
}
