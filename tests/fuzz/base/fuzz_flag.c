/* Command line, environment and configuration file. Lines of the input: "-..." and whatever follows
 * until a line "ENV" are arguments, then variables until a line "FILE", then the file. What is
 * accepted lies within its bounds, what is refused tells why in printable text. */
#include "base/flags.h"
#include "fuzz.h"
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum colour { RED = 1, GREEN };
struct conf {
	bool help, on;
	uint16_t port;
	uint32_t count;
	uint64_t seed, wait_ns;
	const char *name, *dir, *config, *token;
	enum colour colour;
	struct flag_list hosts, keys;
	struct addr listen;
	struct prefix net;
};
static const struct flag_choice colours[] = {{"red", RED}, {"green", GREEN}, {0}};
static const struct flag table[] = {FLAG_BOOL(struct conf, help, "help", false, "Help"),
	FLAG_BOOL(struct conf, on, "on", false, "Switch"),
	FLAG_U16(struct conf, port, "port", 161, 1, 50000, "Port"),
	FLAG_U32(struct conf, count, "auto-count", 0, 0, 16000000, "Count"),
	FLAG_U64(struct conf, seed, "seed", 1, 0, UINT64_MAX, "Seed"),
	FLAG_DURATION(struct conf, wait_ns, "wait", "30s", 1000000000, 3600000000000, "Time"),
	FLAG_STR(struct conf, name, "name", "nl6sim", "Name"),
	FLAG_PATH(struct conf, dir, "dir", NULL, "Folder"),
	FLAG_PATH(struct conf, config, "config", NULL, "File"),
	FLAG_SECRET(struct conf, token, "token", NULL, "Token"),
	FLAG_SECRETS(struct conf, keys, "key", NULL, "Keys"),
	FLAG_ENUM(struct conf, colour, "colour", "red", colours, "Colour"),
	FLAG_LIST(struct conf, hosts, "host", NULL, "Hosts"),
	FLAG_ADDR(struct conf, listen, "listen", "127.0.0.1", "Address"),
	FLAG_PREFIX(struct conf, net, "net", NULL, "Network"), {0}};
static const struct flag_set sets[] = {{table, 0, "All", NULL}, {0}};
static const struct flag_other others[] = {
	{"trap-mode", FLAG_NOT_BUILT, NULL}, {"force-gc", FLAG_MEANINGLESS, "nothing"}, {0}};
static const char *const alone[] = {"help", NULL};

struct parts {
	char *argv[64], *envp[64];
	int argc, envc;
	const char *file;
};

/* Every path names the input's file. */
static int read_part(void *arg, const struct mem *mem, const char *path UNUSED, size_t max,
	char **ret_bytes, size_t *ret_len)
{
	const struct parts *parts = arg;
	if (!parts->file)
		return -ENOENT;
	size_t n = strlen(parts->file);
	if (n > max)
		return -EFBIG;
	*ret_bytes = mem_copy(mem, parts->file, n + 1);
	*ret_len = n;
	return *ret_bytes ? 0 : -ENOMEM;
}

static void take_apart(char *text, struct parts *parts)
{
	static char name[] = "nl6";
	bool env = false;
	parts->argv[parts->argc++] = name;
	while (text) {
		char *next = strchr(text, '\n');
		if (next)
			*next++ = 0;
		if (strcmp(text, "FILE") == 0) {
			parts->file = next ? next : "";
			break;
		}
		if (strcmp(text, "ENV") == 0)
			env = true;
		else if (env && parts->envc < 63)
			parts->envp[parts->envc++] = text;
		else if (!env && parts->argc < 63)
			parts->argv[parts->argc++] = text;
		text = next;
	}
}

static void check_accepted(const struct conf *c, struct flags *flags)
{
	assert(c->port >= 1 && c->port <= 50000 && c->count <= 16000000);
	assert(c->wait_ns >= 1000000000 && c->wait_ns <= 3600000000000);
	assert(c->colour == RED || c->colour == GREEN);
	assert(c->name && c->name[0] && (!c->dir || c->dir[0]) && (!c->token || c->token[0]));
	assert(c->net.len <= 128);
	for (uint32_t i = 0; i < c->hosts.n; i++)
		assert(c->hosts.items[i][0] && !strchr(c->hosts.items[i], ','));
	for (uint32_t i = 0; i < flags_warnings(flags); i++)
		assert(flags_warning(flags, i)[0]);
}

static void check_refused(const struct fault *f, int r)
{
	assert(f->code == r && f->text[0]);
	for (const char *s = f->text; *s; s++)
		assert(*s >= 0x20 && *s < 0x7f);
	for (const char *s = f->field; *s; s++)
		assert(*s >= 0x20 && *s < 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t bytes)
{
	char *text = malloc(bytes + 1);
	if (!text)
		return 0;
	memcpy(text, p, bytes);
	text[bytes] = 0;
	struct parts parts = {.argc = 0};
	take_apart(text, &parts);
	struct flags_env env = {&mem_libc, read_part, &parts};
	struct flags_ask ask = {sets, others, parts.argc, parts.argv, parts.envp, alone, "config"};
	struct conf conf;
	struct fault fault = {0};
	struct flags *flags = NULL;
	int r = flags_parse(&env, &ask, &conf, &flags, &fault);
	if (r == 0)
		check_accepted(&conf, flags);
	else
		check_refused(&fault, r);
	(void)flags_free(flags);
	free(text);
	return 0;
}
