/* A library that comes and goes while the sampler runs: burns CPU in code of its own. */
unsigned visitor_burn(unsigned rounds);

__attribute__((noinline)) static unsigned turn(unsigned x)
{
	for (unsigned i = 0; i < 20000; i++)
		x = x * 1664525 + 1013904223;
	return x;
}

__attribute__((visibility("default"))) unsigned visitor_burn(unsigned rounds)
{
	unsigned x = rounds;
	while (rounds--)
		x = turn(x) + 1;
	return x;
}
