/* Makes the lab's network, step by step, each noted in the lock before it is taken. The lab thread
 * calls it. */
#pragma once
#include "net/lab_gear.h"

struct lab_up {
	struct lab_lock *lock; /* NULL: nothing is made */
	bool v6;	       /* the IPv6 part, too */
	bool named;	       /* "ip netns" sees the namespace */
	uint32_t host_link;    /* index of the veth's host end */
	char unnamed_why[192];
	char forward_why[2][256]; /* of IPv4 and IPv6: why other hosts do not get through */
};

/* Takes the lock and undoes what a killed run left. */
MUST_CHECK int lab_up_lock(struct lab_gear *g, struct lab_up *u, struct fault *reterr_fault);
/* With the lock: names the namespace, makes the veth pair with its IPv4 part, lets the host
 * forward; with no_namespace notes the mark of the routes. A failure leaves a part made:
 * lab_up_down. */
MUST_CHECK int lab_up_make(struct lab_gear *g, struct lab_up *u, struct fault *reterr_fault);
/* The IPv6 part, after lab_up_make. */
MUST_CHECK int lab_up_make_v6(struct lab_gear *g, struct lab_up *u, struct fault *reterr_fault);
/* Undoes all and lets the lock go; what could not be undone stays noted. */
void lab_up_down(struct lab_gear *g, struct lab_up *u);
