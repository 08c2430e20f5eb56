#include "peer.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static char *join(const char *a, const char *b)
{
	size_t n = strlen(a) + strlen(b) + 1;
	char *s = mem_alloc(&mem_libc, n);
	if (s)
		(void)snprintf(s, n, "%s%s", a, b);
	return s;
}

int peer_init(struct peer *p, const struct link_peer_conf *conf)
{
	uint32_t n = 0;
	*p = (struct peer){0};
	for (uint32_t i = 0; i < conf->headers.n && n < PEER_HEADERS - 3; i++)
		p->headers[n++] = conf->headers.items[i];
	if (conf->tenant) {
		p->owned[0] = join("X-Scope-OrgID: ", conf->tenant);
		p->headers[n++] = p->owned[0];
	}
	if (conf->token) {
		p->owned[1] = join("Authorization: Bearer ", conf->token);
		p->headers[n++] = p->owned[1];
	}
	if (conf->basic_auth) {
		p->owned[2] = join(conf->basic_auth, "");
		char *colon = p->owned[2] ? strchr(p->owned[2], ':') : NULL;
		if (colon) {
			*colon = 0;
			p->user = p->owned[2];
			p->password = colon + 1;
		}
	}
	if ((conf->tenant && !p->owned[0]) || (conf->token && !p->owned[1]) ||
		(conf->basic_auth && !p->owned[2])) {
		peer_done(p);
		return -ENOMEM;
	}
	return 0;
}

void peer_done(struct peer *p)
{
	if (p->owned[2] && p->password)
		explicit_bzero((char *)(uintptr_t)p->password, strlen(p->password));
	for (unsigned i = 0; i < ARRAY_SIZE(p->owned); i++) {
		if (p->owned[i])
			explicit_bzero(p->owned[i], strlen(p->owned[i]));
		p->owned[i] = mem_free(&mem_libc, p->owned[i]);
	}
}
