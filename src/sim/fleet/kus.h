/* The Kus (keys.h) of the passwords that were used last, so that thousands of creates with one
 * password hash one MiB. Any thread. */
#pragma once
#include "sim/fleet/keys.h"

#define KUS_PASSWORD_BYTES 255
struct kus;
MUST_CHECK int kus_new(const struct mem *mem, struct kus **ret_kus);
struct kus *kus_free(struct kus *k); /* wipes */
/* Password of 1..KUS_PASSWORD_BYTES bytes. -ENOMEM. */
MUST_CHECK int kus_get(struct kus *k, enum keys_auth a, const char *password,
	uint8_t ret_ku[static KEYS_HASH_BYTES]);
CLEANUP(kus);
/* A number that it never gave before, from 1. */
uint64_t kus_serial(struct kus *k);
