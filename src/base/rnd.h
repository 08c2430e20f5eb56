/* Counter-based random numbers: a pure function of (seed, stream, index), no state. */
#pragma once
#include <stdint.h>

/* 64 uniform bits. Distinct arguments give independent values. */
static inline uint64_t rnd_mix(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ull;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ull;
	x ^= x >> 32;
	return x;
}
static inline uint64_t rnd_u64(uint64_t seed, uint64_t stream, uint64_t index)
{
	uint64_t h = rnd_mix(seed + 0x9e3779b97f4a7c15ull);
	h = rnd_mix(h ^ (stream + 0xc2b2ae3d27d4eb4full));
	return rnd_mix(h + index * 0x9e3779b97f4a7c15ull + 0x165667b19e3779f9ull);
}
/* Uniform in 0..n-1; n > 0. */
static inline uint32_t rnd_below(uint64_t seed, uint64_t stream, uint64_t index, uint32_t n)
{
	return (uint32_t)(((rnd_u64(seed, stream, index) >> 32) * n) >> 32);
}
