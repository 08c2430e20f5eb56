/* Octets that net-snmp prints by a DISPLAY-HINT, read back: it does so where its modules tell it
 * what an object is. Only recording.c includes this. */
#pragma once
#include "wire/record.h"

/* Of objects that we know (mib.h): addresses "0:1b:2c:3:4:5" (PhysAddress, MacAddress) and times
 * "2026-3-1,9:0:0.0,+1:0" (DateAndTime, RFC 2579). Over the text; what is in no such form stays. */
void recording_hint(struct record *rec);
