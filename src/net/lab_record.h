/* What a run of the lab network made, as lines of text in its lock file: each line is written
 * before the step it tells of, so that whoever comes after a killed run can undo it. Pure; the
 * caller owns the record. A line, by its first word: boot ID, netns INODE, pid N      where and by
 * whom (the first three lines) dir                              /run/netns was made name TARGET
 * /run/netns/NAME is a symbolic link to TARGET link NAME MAC                    a veth pair, its
 * host end mark N                           local-prefix routes in the present namespace, of metric
 * N sysctl PATH OLD NEW              below /proc/sys/net after PATH OLD                   what the
 * kernel changes along with the sysctl before */
#pragma once
#include "base/attr.h"
#include "base/mem.h"
#include "base/text.h"
#include "net/nl.h"

#define LAB_RECORD_MAX_BYTES (64 << 10)
#define LAB_RECORD_PATH_BYTES 64
#define LAB_RECORD_VALUE_BYTES 16
#define LAB_RECORD_TARGET_BYTES 64

struct lab_setting {
	char path[LAB_RECORD_PATH_BYTES]; /* "ipv4/ip_forward" */
	char old[LAB_RECORD_VALUE_BYTES];
	char new[LAB_RECORD_VALUE_BYTES]; /* empty: an "after" */
};
struct lab_record {
	const struct mem *mem; /* of settings */
	uint32_t pid;	       /* 0: not told */
	char boot[40];
	uint64_t netns;
	bool made_dir;
	char target[LAB_RECORD_TARGET_BYTES]; /* empty: no name was made */
	struct nl_link link;		      /* name empty: no link was made */
	uint32_t mark;			      /* 0: no routes were made */
	struct lab_setting *settings;
	uint32_t settings_len;
	uint32_t bad_lines; /* skipped: not ours, or cut by the end of the run */
};

/* Reads bytes of text; what is not understood is skipped and counted. -ENOMEM. */
MUST_CHECK int lab_record_parse(
	const struct mem *mem, const char *s, size_t bytes, struct lab_record *ret_record);
void lab_record_done(struct lab_record *r);
#define AUTO_RECORD __attribute__((cleanup(lab_record_done)))
/* The sysctl of that path with its "after" lines: index and *ret_n settings. false: none. */
bool lab_record_find(
	const struct lab_record *r, const char *path, uint32_t *ret_index, uint32_t *ret_n);

/* The lines, to be appended. */
void lab_record_put_head(struct text *t, const char *boot, uint64_t netns, uint32_t pid);
void lab_record_put_dir(struct text *t);
void lab_record_put_name(struct text *t, const char *target);
void lab_record_put_link(struct text *t, const struct nl_link *link);
void lab_record_put_mark(struct text *t, uint32_t mark);
void lab_record_put_setting(struct text *t, const struct lab_setting *s);
