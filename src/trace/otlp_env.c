#include "trace/otlp_env.h"
#include "base/num.h"
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const signals[] = {"TRACES_", "PROFILES_"};

static char *get(const char *signal, const char *what, char name[static OTLP_ENV_NAME_BYTES])
{
	(void)snprintf(name, OTLP_ENV_NAME_BYTES, "OTEL_EXPORTER_OTLP_%s%s", signal, what);
	char *value = getenv(name);
	return value && value[0] ? value : NULL;
}

const char *otlp_env_get(
	enum export_signal signal, const char *what, char name[static OTLP_ENV_NAME_BYTES])
{
	const char *value = get(signals[signal], what, name);
	return value ? value : get("", what, name);
}

/* Without the blanks around. -EINVAL: not percent-encoded, a control character, no room. */
static int decode(const char *s, size_t n, char *to, size_t room)
{
	size_t len = 0;
	for (; n && strchr(" \t", *s); n--)
		s++;
	while (n && strchr(" \t", s[n - 1]))
		n--;
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];
		if (c == '%') {
			int byte = num_hex_pair(n - i > 2 ? s + i + 1 : "");
			if (byte < 0)
				return -EINVAL;
			c = (unsigned char)byte;
			i += 2;
		}
		if (c < 0x20 || c == 0x7f || len + 1 >= room)
			return -EINVAL;
		to[len++] = (char)c;
	}
	to[len] = '\0';
	return 0;
}

int otlp_env_pair(const char **list, const char *field, struct otlp_env_pair *ret_pair,
	struct fault *reterr_fault)
{
	const char *s = *list + strspn(*list, ", \t");
	size_t n = strcspn(s, ","), name = strcspn(s, "=,");
	*list = s + n;
	ret_pair->key = NULL;
	if (n == 0)
		return 0;
	char *value = ret_pair->bytes + sizeof(ret_pair->bytes) / 2;
	if (name == n || decode(s, name, ret_pair->bytes, sizeof(ret_pair->bytes) / 2) < 0 ||
		decode(s + name + 1, n - name - 1, value, sizeof(ret_pair->bytes) / 2) < 0 ||
		!ret_pair->bytes[0])
		return fault_set(reterr_fault, -EINVAL, field,
			"key=value,key=value, percent-encoded", "not of the form key=value");
	ret_pair->key = ret_pair->bytes;
	ret_pair->value = value;
	return 0;
}

void otlp_env_wipe(void)
{
	char name[OTLP_ENV_NAME_BYTES];
	for (unsigned i = 0; i <= ARRAY_SIZE(signals); i++) {
		char *value = get(i < ARRAY_SIZE(signals) ? signals[i] : "", "HEADERS", name);
		if (value)
			memset(value, '*', strlen(value));
	}
}
