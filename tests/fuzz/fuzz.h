/* What every fuzz target defines. It returns 0; a broken promise of the code under test aborts. */
#pragma once
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t bytes);
