#include "docs.h"
#include "nl6-check/conf.h"

static void put_begin(struct text *t)
{
	text_put(t,
		".TH NL6\\-CHECK 1 \"\" \"nl6 " NL6_VERSION "\" \"User Commands\"\n"
		".SH NAME\n"
		"nl6\\-check \\- find what is wrong with recordings of SNMP agents\n"
		".SH SYNOPSIS\n"
		".B nl6\\-check\n"
		".RI [ \\-flag\\ value ]...\n"
		".IR FILE ...\n"
		".SH DESCRIPTION\n"
		"Reads recordings, which are device types for\n"
		".BR nl6 (1):\n"
		"snmpsim's .snmprec or the output of snmpwalk (.snmpwalk), each also compressed\n"
		"(.bz2), and tells each fault with its line: what is no record, a value that is "
		"none\n"
		"of its type, a type other than the MIB's, an object without an instance, an OID "
		"that\n"
		"comes after a greater one, and one that was there before.\n"
		".PP\n"
		"nl6 takes records in any order, and the last of several with one OID; with a "
		"record\n"
		"that is none it refuses the file.\n"
		".B \\-convert\n"
		"writes those that are right in order, and leaves the others out.\n"
		".SH OPTIONS\n"
		"A flag is written with one dash or two, before or after the files; what follows\n"
		".B \\-\\-\n"
		"is a file.\n");
}

static void put_end(struct text *t)
{
	text_put(t, ".SH EXIT STATUS\n"
		    ".TP\n"
		    ".B 0\n"
		    "Nothing is wrong.\n"
		    ".TP\n"
		    ".B 1\n"
		    "There are faults, or a file could not be read or written.\n"
		    ".TP\n"
		    ".B 2\n"
		    "A flag is wrong, or no file was given.\n"
		    ".SH EXAMPLES\n"
		    "A walk that was printed with names, as a type:\n"
		    ".PP\n"
		    ".EX\n"
		    "nl6\\-check \\-mibs /usr/share/snmp/mibs \\-convert types/edge1.snmprec "
		    "edge1.snmpwalk\n"
		    "nl6 \\-devices types \\-auto\\-type edge1 \\-auto\\-start\\-ip 127.10.0.1\n"
		    ".EE\n"
		    ".SH SEE ALSO\n"
		    ".BR nl6 (1),\n"
		    ".BR snmpwalk (1)\n");
}

void docs_check_man(struct text *t)
{
	put_begin(t);
	for (const struct flag *f = check_flags->flags; f->name; f++)
		docs_man_flag(f, t);
	put_end(t);
}
