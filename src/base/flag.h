/* Flags: one table per module says what may be set, with type, default and bounds. Command line,
 * environment, configuration file, -help, man page, completion and docs are made from it (flags.h
 * reads them, tools/nl6-docs writes them). Tables are constant; nothing here keeps state. */
#pragma once
#include "base/addr.h"
#include "base/attr.h"
#include "base/fault.h"
#include "base/mem.h"
#include "base/text.h"
#include <stdbool.h>
#include <stdint.h>

enum flag_kind {
	FLAG_KIND_BOOL,	    /* bool */
	FLAG_KIND_NUM,	    /* uint16_t, uint32_t, uint64_t */
	FLAG_KIND_STR,	    /* const char *; NULL: empty, only without a default */
	FLAG_KIND_PATH,	    /* likewise, a file or directory */
	FLAG_KIND_DURATION, /* uint64_t nanoseconds */
	FLAG_KIND_RATIO,    /* uint64_t millionths, 0 to 1 as typed */
	FLAG_KIND_ENUM,	    /* an enum or bool; one of choices */
	FLAG_KIND_LIST,	    /* struct flag_list; repeated or separated by commas */
	FLAG_KIND_SECRET,   /* const char *; also as NAME-file, wiped from the arguments */
	FLAG_KIND_SECRETS,  /* struct flag_list; a secret that may be repeated: a line each in its
			       file,  commas are its own */
	FLAG_KIND_ADDR,	    /* struct addr; all zero when unset and without a default */
	FLAG_KIND_PREFIX    /* struct prefix */
};
struct flag_choice {
	const char *name;
	unsigned value;
};
struct flag_list {
	const char *const *items;
	uint32_t n;
};
/* Make entries with the macros below; a table ends with {0}. */
struct flag {
	const char *name; /* without dash */
	const char *help; /* one sentence without a full stop; `NAME` in it names the value */
	enum flag_kind kind;
	size_t offset, bytes;		   /* of the field in the module's conf */
	const char *text_default;	   /* as typed; NULL: none. Not for NUM and BOOL */
	uint64_t num_default;		   /* NUM, BOOL */
	uint64_t min, max;		   /* NUM; DURATION in ns */
	const struct flag_choice *choices; /* ENUM; ends with {0} */
};

/* Where a table's conf lies in the program's, and its heading in -help. A list ends with {0}. */
struct flag_set {
	const struct flag *flags;
	size_t offset;
	const char *title;
	/* What no single flag can tell (NULL: nothing): runs on the module's conf when all is set.
	 * Negative errno and a fault. */
	int (*check)(const void *conf, struct fault *reterr_fault);
};
/* Names that are known and not settings of this build. A list ends with {0}. */
enum flag_other_kind {
	FLAG_NOT_BUILT,	  /* refused by name */
	FLAG_MEANINGLESS, /* a boolean that is accepted with a warning */
};
struct flag_other {
	const char *name;
	enum flag_other_kind kind;
	const char *why; /* MEANINGLESS: ends the warning */
};

static inline bool flag_is_secret(const struct flag *f)
{
	return f->kind == FLAG_KIND_SECRET || f->kind == FLAG_KIND_SECRETS;
}

/* offsetof with a check that the field has the type. */
#define FLAG_FIELD_(type, field, want) \
	(offsetof(type, field) + \
		0 * sizeof(char[__builtin_types_compatible_p(__typeof__(((type *)0)->field), want) \
					? 1 \
					: -1]))
#define FLAG_NUM_(type, field, ctype, name_, def, lo, hi, text) \
	{ \
		.name = (name_), .help = (text), .kind = FLAG_KIND_NUM, \
		.offset = FLAG_FIELD_(type, field, ctype), .bytes = sizeof(ctype), \
		.num_default = (def), .min = (lo), .max = (hi) \
	}
#define FLAG_TEXT_(type, field, ctype, kind_, name_, def, text) \
	{ \
		.name = (name_), .help = (text), .kind = (kind_), \
		.offset = FLAG_FIELD_(type, field, ctype), .bytes = sizeof(ctype), \
		.text_default = (def) \
	}
#define FLAG_BOOL(type, field, name_, def, text) \
	{ \
		.name = (name_), .help = (text), .kind = FLAG_KIND_BOOL, \
		.offset = FLAG_FIELD_(type, field, bool), .bytes = sizeof(bool), \
		.num_default = (def) \
	}
#define FLAG_U16(type, field, name, def, lo, hi, text) \
	FLAG_NUM_(type, field, uint16_t, name, def, lo, hi, text)
#define FLAG_U32(type, field, name, def, lo, hi, text) \
	FLAG_NUM_(type, field, uint32_t, name, def, lo, hi, text)
#define FLAG_U64(type, field, name, def, lo, hi, text) \
	FLAG_NUM_(type, field, uint64_t, name, def, lo, hi, text)
/* def: text or NULL. The strings that parsing stores live as long as its struct flags. */
#define FLAG_STR(type, field, name, def, text) \
	FLAG_TEXT_(type, field, const char *, FLAG_KIND_STR, name, def, text)
#define FLAG_PATH(type, field, name, def, text) \
	FLAG_TEXT_(type, field, const char *, FLAG_KIND_PATH, name, def, text)
#define FLAG_LIST(type, field, name, def, text) \
	FLAG_TEXT_(type, field, struct flag_list, FLAG_KIND_LIST, name, def, text)
#define FLAG_SECRET(type, field, name, def, text) \
	FLAG_TEXT_(type, field, const char *, FLAG_KIND_SECRET, name, def, text)
#define FLAG_SECRETS(type, field, name, def, text) \
	FLAG_TEXT_(type, field, struct flag_list, FLAG_KIND_SECRETS, name, def, text)
#define FLAG_ADDR(type, field, name, def, text) \
	FLAG_TEXT_(type, field, struct addr, FLAG_KIND_ADDR, name, def, text)
#define FLAG_PREFIX(type, field, name, def, text) \
	FLAG_TEXT_(type, field, struct prefix, FLAG_KIND_PREFIX, name, def, text)
/* def: text as typed ("30s"); lo_ns, hi_ns: bounds. */
#define FLAG_DURATION(type, field, name_, def, lo_ns, hi_ns, text) \
	{ \
		.name = (name_), .help = (text), .kind = FLAG_KIND_DURATION, \
		.offset = FLAG_FIELD_(type, field, uint64_t), .bytes = sizeof(uint64_t), \
		.text_default = (def), .min = (lo_ns), .max = (hi_ns) \
	}
#define FLAG_RATIO(type, field, name, def, text) \
	FLAG_TEXT_(type, field, uint64_t, FLAG_KIND_RATIO, name, def, text)
/* choices_: array of struct flag_choice; the field is an enum or a bool. */
#define FLAG_ENUM(type, field, name_, def, choices_, text) \
	{ \
		.name = (name_), .help = (text), .kind = FLAG_KIND_ENUM, \
		.offset = offsetof(type, field), .bytes = sizeof(((type *)0)->field), \
		.text_default = (def), .choices = (choices_) \
	}

/* A value parsed, before it is stored. Only the member of the flag's kind is meaningful. */
union flag_value {
	uint64_t num; /* BOOL, NUM, DURATION, ENUM */
	struct addr addr;
	struct prefix prefix;
};
/* Judges the text of one value. STR, PATH, LIST and secrets must be free of control characters, and
 * not empty, unless a STR has no default (LIST: one item without commas). field names the origin in
 * the fault (a flag, a variable, a line of a file); the fault never shows a secret. -EINVAL,
 * -ERANGE. */
MUST_CHECK int flag_judge(const struct flag *f, const char *text, const char *field,
	union flag_value *ret_value, struct fault *reterr_fault);
/* Stores a judged value of any kind but the four with text into the module's conf. */
void flag_store(const struct flag *f, const union flag_value *value, void *conf);

/* Words for documents. What a value looks like: "N", "FILE", "DURATION", or what the help has
 * between backquotes; "" for a BOOL. */
#define FLAG_META_BYTES 32
const char *flag_meta(const struct flag *f, char buf[static FLAG_META_BYTES]);
/* What is allowed: "0..65535", "error, warn, info, debug", "an address". */
#define FLAG_ALLOWED_BYTES 160
const char *flag_allowed(const struct flag *f, char buf[static FLAG_ALLOWED_BYTES]);
/* The default as one would type it, or NULL when there is none (also for a BOOL that is false). */
#define FLAG_DEFAULT_BYTES 24
const char *flag_default(const struct flag *f, char buf[static FLAG_DEFAULT_BYTES]);
/* The help without its backquotes. */
void flag_help_text(const struct flag *f, struct text *t);
/* "NL6_AUTO_COUNT" of auto-count. */
#define FLAG_ENV_BYTES 64
const char *flag_env_name(const char *name, char buf[static FLAG_ENV_BYTES]);
