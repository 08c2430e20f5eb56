/* One recording, judged: each fault is a line "FILE:LINE: text" on standard output. */
#pragma once
#include "conf.h"
#include "sim/fleet/recording.h"
#include <stdio.h>

struct check {
	const struct check_conf *conf;
	const struct recording_names *names; /* NULL: none */
	const char *path;
	FILE *out; /* faults */
	uint64_t records, faults;
	/* What was read, for order, doubles and -convert. */
	struct check_record *list;
	uint32_t n, room;
	char *bytes;
	size_t bytes_n, bytes_room;
};
struct check_record {
	uint32_t key_at, key_n;	  /* in bytes: the order of the OID (oid.h) */
	uint32_t text_at, text_n; /* as a line of .snmprec; 0: nobody converts */
	uint32_t line;
};
/* Reads and judges a file. Negative: it could not be read to its end, which has been told. */
MUST_CHECK int check_file(struct check *c, const char *path);
/* The records in order, of several with one OID the last, as .snmprec. Negative errno. */
MUST_CHECK int check_write(struct check *c, FILE *to);
void check_done(struct check *c);
