#include "base/fault.h"
#include <stdarg.h>
#include <stdio.h>

static void make_printable(char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || (unsigned char)*s > 0x7e)
			*s = '?';
}

int fault_set(
	struct fault *f, int code, const char *field, const char *allowed, const char *fmt, ...)
{
	if (!f)
		return code;
	f->code = code;
	(void)snprintf(f->field, sizeof(f->field), "%s", field ? field : "");
	(void)snprintf(f->allowed, sizeof(f->allowed), "%s", allowed ? allowed : "");
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
	make_printable(f->field);
	make_printable(f->text);
	make_printable(f->allowed);
	return code;
}
