#include "docs.h"
#include "nl6-pprof-link/conf.h"

static void put_begin(struct text *t)
{
	text_put(t,
		".TH NL6\\-PPROF\\-LINK 1 \"\" \"nl6 " NL6_VERSION "\" \"User Commands\"\n"
		".SH NAME\n"
		"nl6\\-pprof\\-link \\- link the samples of profiles to spans of traces\n"
		".SH SYNOPSIS\n"
		".B nl6\\-pprof\\-link\n"
		"\\-url URL | \\-file FILE | \\-listen ADDR:PORT\n"
		"\\-send URL | \\-out FILE\n"
		".RI [ \\-flag\\ value ]...\n"
		".SH DESCRIPTION\n"
		"Pulls profiles of pprof from an address, reads one from a file, or receives\n"
		"OTLP profiles, and sends them on as OTLP profiles.\n"
		"Labels of a sample that tell the trace and the span it was taken in become a\n"
		"link, and are dropped then; all else is kept.\n"
		"A sample with one of the two, or with one that is no id, stays as it is, and is\n"
		"counted.\n"
		".PP\n"
		"A profile is judged whole before any of it is sent.\n"
		"It is cut into exports of at most 15,000 samples and 2 MiB.\n"
		"Values of 0 are left out.\n"
		".SH OPTIONS\n"
		"A flag is written with one dash or two.\n"
		"A flag without a value is a boolean, which is only written\n"
		".B \\-flag\n"
		"or\n"
		".BR \\-flag=false .\n"
		"A duration is a number of seconds or a text such as 1m30s; a list repeats its\n"
		"flag or separates items by commas.\n");
}

static void put_end(struct text *t)
{
	text_put(t, ".SH EXIT STATUS\n"
		    ".TP\n"
		    ".B 0\n"
		    "All was sent or written; or, with\n"
		    ".B \\-interval\n"
		    "or\n"
		    ".BR \\-listen ,\n"
		    "ended by a signal.\n"
		    ".TP\n"
		    ".B 1\n"
		    "The input is malformed, could not be had, or was not taken by the receiver.\n"
		    ".TP\n"
		    ".B 2\n"
		    "A flag is wrong.\n"
		    ".SH SIGNALS\n"
		    "SIGINT and SIGTERM end the program, which goes on to send for two seconds; a\n"
		    "second one ends it at once.\n"
		    ".SH EXAMPLES\n"
		    "Four of every five seconds of a Go service to Pyroscope:\n"
		    ".PP\n"
		    ".EX\n"
		    "nl6\\-pprof\\-link \\-url http://app:6060/debug/pprof/profile?seconds=4 "
		    "\\-interval 5s \\e\n"
		    "  \\-service\\-name app \\-send http://pyroscope:4040\n"
		    ".EE\n"
		    ".SH SEE ALSO\n"
		    ".BR nl6 (1)\n");
}

void docs_link_man(struct text *t)
{
	put_begin(t);
	for (const struct flag_set *s = link_flags; s->flags; s++) {
		text_printf(t, ".SS %s\n", s->title);
		for (const struct flag *f = s->flags; f->name; f++)
			docs_man_flag(f, t);
	}
	put_end(t);
}
