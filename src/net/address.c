#include "net/address.h"
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#define FORM "http://HOST:PORT or https://HOST:PORT"

static int refuse(struct fault *f, const char *field, const char *text)
{
	return fault_set(f, -EINVAL, field, FORM, "%s", text);
}

/* The end of the host's part: "host", "host:4040", "[::1]:4040". */
static bool host_is_good(const char *host, size_t n)
{
	const char *end = host + n, *p = host;
	if (*p == '[') {
		p = memchr(host, ']', n);
		if (!p || p == host + 1 ||
			strspn(host + 1, "0123456789abcdefABCDEF:.") != (size_t)(p - host - 1))
			return false;
		p++;
	} else {
		while (p < end && (isalnum((unsigned char)*p) || strchr("-._~", *p)))
			p++;
	}
	if (p == end)
		return true;
	if (*p++ != ':')
		return false;
	unsigned long port = 0;
	for (; p < end && isdigit((unsigned char)*p) && port < 65536; p++)
		port = port * 10 + (unsigned long)(*p - '0');
	return p == end && port < 65536;
}

int address_check(const char *address, const struct address_use *use, struct fault *reterr_fault)
{
	size_t len = strlen(address);
	if (len >= ADDRESS_BYTES)
		return refuse(reterr_fault, use->field, "the address is too long");
	for (const char *p = address; *p; p++)
		if ((unsigned char)*p <= ' ' || (unsigned char)*p >= 0x7f)
			return refuse(reterr_fault, use->field,
				"not a URL: a blank or control character");
	if (strncmp(address, "://", 3) == 0)
		return refuse(reterr_fault, use->field, "not a URL: the scheme is missing");
	const char *host = strncasecmp(address, "http://", 7) == 0    ? address + 7
			   : strncasecmp(address, "https://", 8) == 0 ? address + 8
								      : NULL;
	if (!host)
		return refuse(reterr_fault, use->field, "must use http:// or https://");
	size_t n = strcspn(host, "/?#");
	if (memchr(host, '@', n))
		return fault_set(reterr_fault, -EINVAL, use->field, FORM,
			"must not embed credentials; use %s", use->auth_flag);
	if (n == 0 || host[0] == ':')
		return refuse(reterr_fault, use->field, "there is no host in the URL");
	if (!host_is_good(host, n))
		return refuse(reterr_fault, use->field, "not a URL: bad host or port");
	if (strpbrk(host + n, "?#"))
		return fault_set(reterr_fault, -EINVAL, use->field, FORM,
			"a query or fragment is not allowed: %s is appended to the path",
			use->path);
	return 0;
}

bool address_is_same(const char *a, const char *b)
{
	const char *host_a = strstr(a, "://"), *host_b = strstr(b, "://");
	if (!host_a || !host_b)
		return strcmp(a, b) == 0;
	size_t n = (size_t)(host_a - a) + 3 + strcspn(host_a + 3, "/");
	if (strncasecmp(a, b, n) != 0)
		return false;
	const char *path_a = a + n, *path_b = b + n;
	if (*path_b && *path_b != '/') /* b's host goes on */
		return false;
	size_t len_a = strlen(path_a), len_b = strlen(path_b);
	len_a -= len_a > 0 && path_a[len_a - 1] == '/';
	len_b -= len_b > 0 && path_b[len_b - 1] == '/';
	return len_a == len_b && memcmp(path_a, path_b, len_a) == 0;
}
