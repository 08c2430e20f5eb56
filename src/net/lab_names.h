/* What the lab network calls things, as a pure function of its settings, so that the next run knows
 * what a killed one left, and two of different -namespace and -veth-net do not meet. */
#pragma once
#include "base/addr.h"
#include "net/nl.h"

#define LAB_NS_NAME_MAX 60 /* bytes; the lock is NAME.lock */
#define LAB_RTPROT 110	   /* rtm_protocol of every route of ours; not in the kernel's list */

struct lab_names {
	/* The veth pair: veth-sim-host and veth-sim-ns for "nl6sim"; veth-NAME-host for another
	 * name of at most five bytes; else five characters of its hash. */
	char host_link[NL_NAME_BYTES], ns_link[NL_NAME_BYTES];
	uint8_t host_mac[6], ns_mac[6]; /* 02:6e:6c ("nl"), three bytes of the name's hash */
	uint32_t mark;			/* metric of our routes in the present namespace */
	/* The pair's networks, with the end's address in place of the network's: host .1 and
	 * namespace .2 of -veth-net; ::1 and ::2 of fd6e:6c36:XXXX:XXXX::/126, where the X are the
	 * network address of -veth-net. */
	struct prefix host_v4, ns_v4, host_v6, ns_v6;
	struct prefix net_v4, net_v6;
};

/* Letters, digits, ".", "_", "-"; not beginning with "." or "-"; 1 to LAB_NS_NAME_MAX bytes. */
bool lab_names_is_valid(const char *ns_name);
/* ns_name is valid; veth_net an IPv4 prefix of /8 to /30. */
void lab_names_make(
	const char *ns_name, const struct prefix *veth_net, struct lab_names *ret_names);
