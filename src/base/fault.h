/* What is wrong with an input, told once for the flag, the file and the REST answer alike. */
#pragma once
#include "base/attr.h"

struct fault {
	int code;	   /* -errno */
	char field[512];   /* flag name, JSON pointer or file:line:key; may be empty */
	char text[320];	   /* one sentence without a full stop, printable ASCII */
	char allowed[160]; /* what would be right; may be empty */
};

/* Fills *f (when not NULL) and returns code. Foreign bytes in the arguments are made printable. */
int fault_set(struct fault *f, int code, const char *field, const char *allowed, const char *fmt,
	...) PRINTF(5, 6);
