/* For tests that change the network: the program starts itself again in a network and mount
 * namespace of its own (with a user namespace if it has no privileges), where /run is empty. */
#pragma once
#include "fake.h"

/* Call it first in main. Returns in the new namespaces, as root there, with the loopback device up;
 * ends the program with an error if there are none to be had. */
void apart_enter(void);

#define UNIT_MAIN_APART(...) \
	int main(void) \
	{ \
		const TTest *const tests_[] = {__VA_ARGS__}; \
		apart_enter(); \
		return unit_run(__FILE__, tests_, sizeof(tests_) / sizeof(tests_[0])); \
	}
