/* Places where devices stand: cities with a part in the world's networks. Constant data. */
#pragma once
#include <stdint.h>

struct city {
	char code[4];			    /* in names: "fra"; lower case, one city each */
	const char *name, *admin, *country; /* ASCII; admin (the region) may be empty */
	double lat, lon;		    /* degrees, north and east positive */
};
extern const struct city cities[];
extern const uint32_t n_cities;
