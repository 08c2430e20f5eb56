#include "docs.h"
#include "tables.h"
#include <string.h>

/* Text with what roff would take for its own escaped. */
static void put_roff(struct text *t, const char *s)
{
	bool line_start = true;
	for (; *s; s++) {
		if (line_start && (*s == '.' || *s == '\''))
			text_put(t, "\\&");
		if (*s == '\\')
			text_put(t, "\\e");
		else if (*s == '-')
			text_put(t, "\\-");
		else
			text_write(t, s, 1);
		line_start = *s == '\n';
	}
}

void docs_man_flag(const struct flag *f, struct text *t)
{
	char meta[FLAG_META_BYTES], def[FLAG_DEFAULT_BYTES], allowed[FLAG_ALLOWED_BYTES];
	const char *value = flag_meta(f, meta), *given = flag_default(f, def);
	text_put(t, ".TP\n\\fB\\-");
	put_roff(t, f->name);
	text_printf(t, "\\fR%s", value[0] ? " \\fI" : "");
	put_roff(t, value);
	text_put(t, value[0] ? "\\fR\n" : "\n");
	struct text help = TEXT(t->mem);
	flag_help_text(f, &help);
	if (help.s)
		put_roff(t, help.s);
	t->err = t->err ? t->err : help.err;
	text_done(&help);
	if (value[0]) {
		text_put(t, ".\nAllowed: ");
		put_roff(t, flag_allowed(f, allowed));
	}
	if (given && given[0]) {
		text_put(t, ".\nDefault: ");
		put_roff(t, given);
	}
	text_put(t, ".\n");
	if (!flag_is_secret(f))
		return;
	text_put(t, ".TP\n\\fB\\-");
	put_roff(t, f->name);
	text_put(t, "\\-file\\fR \\fIFILE\\fR\nLike\n.BR \\-");
	put_roff(t, f->name);
	text_put(t, f->kind == FLAG_KIND_SECRETS ? " ,\nread from a file, a line each.\n"
						 : " ,\nread from a file of one line.\n");
}

void docs_man(struct text *t)
{
	text_put(t, ".TH NL6 1 \"\" \"nl6 " NL6_VERSION "\" \"User Commands\"\n"
		    ".SH NAME\n"
		    "nl6 \\- simulate a fleet of network devices\n"
		    ".SH SYNOPSIS\n"
		    ".B nl6\n"
		    ".RI [ \\-flag\\ value | \\-flag=value ]...\n"
		    ".SH DESCRIPTION\n"
		    ".B nl6\n"
		    "stands in for a fleet of network devices, so that monitoring systems and\n"
		    "collectors can be tested at a scale that no hardware lab has.\n"
		    "Its devices answer SNMP; a REST interface and a web page on\n"
		    ".B \\-port\n"
		    "create, list and delete them.\n"
		    ".PP\n"
		    "Devices with addresses in 127.0.0.0/8 need no privileges.\n"
		    "Others live in a network namespace, which takes\n"
		    ".B CAP_NET_ADMIN\n"
		    "and\n"
		    ".BR CAP_SYS_ADMIN .\n"
		    ".PP\n"
		    "When the interface listens and the fleet that the\n"
		    ".B \\-auto\\-*\n"
		    "flags ask for answers, one line on standard output tells the ports:\n"
		    ".PP\n"
		    ".EX\n"
		    "ready api=127.0.0.1:8080 snmp=161\n"
		    ".EE\n"
		    ".SH OPTIONS\n"
		    "A flag is written with one dash or two.\n"
		    "A flag without a value is a boolean, which is only written\n"
		    ".B \\-flag\n"
		    "or\n"
		    ".BR \\-flag=false .\n"
		    "A duration is a number of seconds or a text such as 1m30s.\n");
	for (const struct flag_set *s = nl6_flags; s->flags; s++) {
		text_printf(t, ".SS %s\n", s->title);
		for (const struct flag *f = s->flags; f->name; f++)
			docs_man_flag(f, t);
	}
	text_put(t,
		".SH EXIT STATUS\n"
		".TP\n"
		".B 0\n"
		"Ended by SIGINT or SIGTERM.\n"
		".TP\n"
		".B 1\n"
		"Could not start or go on.\n"
		".TP\n"
		".B 2\n"
		"A flag, variable or line of the file is wrong.\n"
		".SH ENVIRONMENT\n"
		"Every flag may come as a variable: NL6_, then its name in capitals with\n"
		"underscores, as in NL6_AUTO_COUNT.\n"
		"The command line wins over the environment, and that over the file of\n"
		".BR \\-config .\n"
		".TP\n"
		".B NOTIFY_SOCKET\n"
		"Where a service manager is told that the program is ready.\n"
		".SH FILES\n"
		".TP\n"
		".I /run/nl6/NAME.lock\n"
		"Held while a namespace is in use; remembers what to restore.\n"
		".SH SIGNALS\n"
		"SIGINT and SIGTERM end the program after it has undone what it made; a second\n"
		"one ends it at once, when only the lab network has been undone.\n"
		"SIGHUP is ignored.\n"
		".SH EXAMPLES\n"
		"A thousand mixed devices, without privileges:\n"
		".PP\n"
		".EX\n"
		"nl6 \\-auto\\-start\\-ip 127.10.0.1 \\-auto\\-count 1000 \\-auto\\-round\\-robin "
		"\\-snmp\\-port 1161\n"
		"snmpwalk \\-v2c \\-c public 127.10.0.1:1161\n"
		".EE\n");
}
