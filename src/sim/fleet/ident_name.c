#include "base/rnd.h"
#include "sim/fleet/ident.h"
#include <ctype.h>
#include <stdio.h>
#include <strings.h>

/* What devices are called, by what they are for; matched with the type's doc_category. */
struct roles {
	const char *purpose;
	const char *role[8]; /* at most 6 letters */
};
static const struct roles roles_of[] = {
	{"Core", {"core", "p", "cr", "bb", "xr", "rr", "ix", "peer"}},
	{"Edge", {"edge", "pe", "br", "ce", "gw", "wan", "agg", "bng"}},
	{"DC", {"spine", "leaf", "tor", "eor", "bleaf", "fab", "dsw", "san"}},
	{"Campus", {"acc", "dist", "sw", "idf", "mdf", "floor", "stack", "lan"}},
	{"Firewall", {"fw", "dmz", "vpn", "utm", "guard", "ips", "sec", "wall"}},
	{"Server", {"app", "db", "web", "mail", "batch", "vm", "cache", "ctl"}},
	{"GPU", {"gpu", "train", "infer", "ml", "hpc", "dgx", "node", "sim"}},
	{"Storage", {"nas", "obj", "blk", "stor", "vault", "bkp", "arc", "pool"}},
	{"Optical", {"wdm", "otn", "roadm", "ila", "mux", "oadm", "line", "dci"}},
	{"", {"dev", "unit", "box", "sys", "host", "node", "ne", "mgmt"}},
};
/* Words of at most 8 letters. */
static const char *const stages[] = {"prod", "corp", "lab", "test", "stage", "mgmt", "cust", "ops",
	"dev", "edu", "retail", "plant"};
static const char *const animals[] = {"otter", "lynx", "heron", "badger", "falcon", "marten",
	"osprey", "bison", "gecko", "walrus", "condor", "tapir", "ibex", "puffin", "jackal",
	"mantis", "stork", "viper", "beaver", "magpie", "orca", "panther", "quokka", "raven",
	"salmon", "toucan", "urchin", "weasel", "yak", "zebra", "hornet", "kestrel"};
static const char *const myths[] = {"atlas", "hermes", "athena", "odin", "freya", "loki", "ra",
	"isis", "anubis", "juno", "vesta", "janus", "titan", "gaia", "eos", "helios", "selene",
	"triton", "orion", "pegasus", "phoenix", "hydra", "cyclops", "minos", "osiris", "thoth",
	"baldur", "heimdal", "nyx", "rhea", "vulcan", "ceres"};
static const char *const greek[] = {"alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta",
	"theta", "iota", "kappa", "lambda", "mu", "nu", "xi", "omicron", "pi", "rho", "sigma",
	"tau", "upsilon", "phi", "chi", "psi", "omega"};

enum stream { STREAM_ROLE = 0x6e616d65, STREAM_NUMBER, STREAM_WORD, STREAM_RACK };
#define PICK(d, stream, list) ((list)[rnd_below((d)->seed, stream, 0, ARRAY_SIZE(list))])

static const char *role(const struct device *d)
{
	const char *purpose = d->conf->type->doc_category;
	const struct roles *r = roles_of;
	while (strncasecmp(purpose ? purpose : "", r->purpose, strlen(r->purpose)) != 0)
		r++;
	return PICK(d, STREAM_ROLE, r->role);
}

/* At most 18 letters. Devices of a site are named in one manner. */
static int pattern(const struct device *d, char *buf, size_t room)
{
	const char *at = ident_city(d)->code;
	unsigned site = 1 + d->site % 9, nr = 1 + rnd_below(d->seed, STREAM_NUMBER, 0, 99);
	unsigned rack = 1 + rnd_below(d->seed, STREAM_RACK, 0, 40);
	switch (d->site / 9 % 8) {
	case 0:
		return snprintf(buf, room, "%s%u-%s-%02u", at, site, role(d), nr);
	case 1:
		return snprintf(buf, room, "%s%02u-%s%u", role(d), nr, at, site);
	case 2:
		return snprintf(
			buf, room, "%s-%s-%s%02u", PICK(d, STREAM_WORD, stages), at, role(d), nr);
	case 3:
		return snprintf(buf, room, "%s-%02u", PICK(d, STREAM_WORD, animals), nr);
	case 4:
		return snprintf(buf, room, "%s-%s%u", PICK(d, STREAM_WORD, myths), at, site);
	case 5:
		return snprintf(
			buf, room, "%s-%s-%02u", role(d), PICK(d, STREAM_WORD, animals), nr);
	case 6:
		return snprintf(buf, room, "%s%u-r%02u-%s%u", at, site, rack, role(d), nr % 9 + 1);
	default:
		return snprintf(buf, room, "%s-%s-%02u", PICK(d, STREAM_WORD, greek), role(d), nr);
	}
}

#define LABEL_BYTES 63 /* RFC 1035 2.3.4 */

const char *ident_name(const struct device *d, char buf[static IDENT_TEXT_BYTES])
{
	char digits[IDENT_TEXT_BYTES];
	size_t tail = strlen(ident_addr_digits(&d->addr, digits));
	size_t at = (size_t)pattern(d, buf, IDENT_TEXT_BYTES);
	buf[at++] = '-';
	/* The slug in letters, digits and single dashes; one dash and the address follow. */
	for (const char *p = d->conf->type->slug; *p && at + tail + 1 < LABEL_BYTES; p++) {
		unsigned char c = (unsigned char)*p;
		bool plain =
			(c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
		if (plain)
			buf[at++] = (char)tolower(c);
		else if (buf[at - 1] != '-')
			buf[at++] = '-';
	}
	if (buf[at - 1] != '-')
		buf[at++] = '-';
	memcpy(buf + at, digits, tail + 1);
	return buf;
}
