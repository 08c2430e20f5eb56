/* unwind_ends cost PAIRS: what sampling at 100 Hz takes from a thread that computes twenty calls
 * deep; prints for each pair its CPU time for some work without by that with a reader. Nothing but
 * the thread's own clock is looked at, so that it holds on a busy machine, too.
 * unwind_ends sample ROUNDS: what one sample costs that thread, by signals it sends itself as the
 * timer would, and what draining it costs; prints for each round the ns of a sample with all in the
 * cache, of one after 8 MiB of other data, and of one drained. A signal's sending is in it.
 * unwind_ends memcpy|openssl|vdso WALKS: interrupts threads that work in code that is hard to walk
 * out of, by the CPU sampler at 1000 Hz and by asking for their stacks, until there are that many
 * walks. Prints how many walks there were, how many reached the thread's entry, and the other ends.
 */
#include "base/clk.h"
#include "base/self.h"
#include "base/thread.h"
#include "profiling/sampler.h"
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static LABEL_SUBSYSTEM(label_load, "load");
static bool over;
static uint64_t ends[UNWIND_ENDS];

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	(void)fprintf(stderr, "unwind_ends: %s\n", what);
	exit(1);
}

static bool goes_on(void)
{
	return !__atomic_load_n(&over, __ATOMIC_RELAXED);
}

/* Sizes that take each of the ways that libc has for them. */
static void copy(void *arg)
{
	(void)arg;
	static const size_t sizes[] = {3, 9, 31, 70, 200, 700, 3000, 20000, 300000, 3000000};
	char *from = malloc(3000064), *to = malloc(3000064);
	must(from && to, "no memory");
	memset(from, 1, 3000064);
	for (unsigned i = 0; goes_on(); i++) {
		size_t bytes = sizes[i % ARRAY_SIZE(sizes)];
		for (size_t done = 0; done < 200000; done += bytes) {
			memcpy(to + i % 13, from + i % 7, bytes);
			memmove(to + 3, to, bytes);
			__asm__ volatile("" ::"r"(to) : "memory");
			if (memchr(to, 2, bytes) || memcmp(from, to, 1) > 1)
				abort();
		}
	}
	free(from);
	free(to);
}

static void ask_clocks(void *arg)
{
	(void)arg;
	struct timespec ts;
	while (goes_on())
		for (unsigned i = 0; i < 1000; i++)
			(void)clock_gettime(i % 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME, &ts);
}

/* libcrypto by name, so that the bench needs no headers of it: the functions' types are those of
 * OpenSSL 3's manual pages EVP_DigestInit(3), EVP_EncryptInit(3). */
struct crypto {
	const void *(*md)(void *, const char *, const char *);
	const void *(*cipher)(void *, const char *, const char *);
	int (*digest)(const void *, size_t, unsigned char *, unsigned *, const void *, void *);
	void *(*ctx_new)(void);
	int (*init)(void *, const void *, void *, const unsigned char *, const unsigned char *);
	int (*update)(void *, unsigned char *, int *, const unsigned char *, int);
};

static struct crypto crypto_open(void)
{
	void *lib = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);
	must(lib != NULL, "no libcrypto.so.3");
	struct crypto c;
	*(void **)&c.md = dlsym(lib, "EVP_MD_fetch");
	*(void **)&c.cipher = dlsym(lib, "EVP_CIPHER_fetch");
	*(void **)&c.digest = dlsym(lib, "EVP_Digest");
	*(void **)&c.ctx_new = dlsym(lib, "EVP_CIPHER_CTX_new");
	*(void **)&c.init = dlsym(lib, "EVP_EncryptInit_ex");
	*(void **)&c.update = dlsym(lib, "EVP_EncryptUpdate");
	must(c.md && c.cipher && c.digest && c.ctx_new && c.init && c.update, dlerror());
	return c;
}

static void encrypt(void *arg)
{
	const struct crypto *c = arg;
	static const char *const mds[] = {"SHA1", "SHA256", "SHA512", "SHA3-256", "MD5"};
	static const char *const ciphers[] = {
		"AES-128-GCM", "AES-256-CBC", "AES-128-CTR", "ChaCha20-Poly1305"};
	static unsigned char text[16384]; /* read only */
	const void *md[ARRAY_SIZE(mds)], *cipher[ARRAY_SIZE(ciphers)];
	unsigned char *out = malloc(sizeof(text) + 64);
	void *ctx = c->ctx_new();
	must(out && ctx, "no memory");
	for (unsigned i = 0; i < ARRAY_SIZE(mds); i++)
		must((md[i] = c->md(NULL, mds[i], NULL)) != NULL, mds[i]);
	for (unsigned i = 0; i < ARRAY_SIZE(ciphers); i++)
		must((cipher[i] = c->cipher(NULL, ciphers[i], NULL)) != NULL, ciphers[i]);
	for (unsigned i = 0; goes_on(); i++) {
		unsigned char hash[64];
		unsigned n;
		int bytes;
		size_t len = 16u << i % 11;
		must(c->digest(text, len, hash, &n, md[i % ARRAY_SIZE(mds)], NULL) == 1, "digest");
		must(c->init(ctx, cipher[i % ARRAY_SIZE(ciphers)], NULL, text, text) == 1, "key");
		must(c->update(ctx, out, &bytes, text, (int)len) == 1, "encrypt");
	}
	free(out);
}

static void see(void *arg, const struct sampler_thread_info *info)
{
	(void)arg;
	if (info->label == &label_load && info->answered)
		ends[info->end]++;
}

static uint64_t walks(const struct sampler_status *st)
{
	uint64_t n = 0;
	for (unsigned i = 0; i < UNWIND_ENDS; i++)
		n += st->ends[i] + ends[i];
	return n;
}

static void measure(struct sampler *s, uint64_t wanted)
{
	struct sampler_status st;
	do {
		must(sampler_threads(s, see, NULL) == 0, "no snapshot");
		sampler_status(s, &st);
	} while (walks(&st) < wanted);
	(void)printf("%lu %lu", (unsigned long)walks(&st),
		(unsigned long)(st.ends[UNWIND_ENTRY] + ends[UNWIND_ENTRY]));
	for (unsigned i = 1; i < UNWIND_ENDS; i++)
		if (st.ends[i] + ends[i])
			(void)printf(" %s: %lu", unwind_end_text((enum unwind_end)i),
				(unsigned long)(st.ends[i] + ends[i]));
	(void)printf("\n");
}

static uint64_t thread_cpu_ns(void)
{
	struct timespec ts;
	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

#define WORK_TURNS 100000000u

__attribute__((noinline)) static unsigned work(unsigned depth, unsigned x)
{
	if (depth) {
		x = work(depth - 1, x + 1);
		__asm__ volatile("" : "+r"(x)); /* so that it stays a call */
		return x;
	}
	for (unsigned i = 0; i < WORK_TURNS; i++)
		x = x * 1664525 + 1013904223;
	return x;
}

static double work_ns(struct sampler *s)
{
	struct sampler_reader *r = NULL;
	struct stacks *stacks;
	uint64_t ns;
	volatile unsigned x = 1;
	must(!s || sampler_read_start(s, 1000, &r) == 0, "no reader");
	uint64_t begun_ns = thread_cpu_ns();
	x = work(20, x);
	double took_ns = (double)(thread_cpu_ns() - begun_ns);
	if (r) {
		sampler_read_stop(r, &stacks, &ns);
		(void)stacks_free(stacks);
	}
	return took_ns;
}

static void show_cost(struct sampler *s, unsigned long pairs)
{
	(void)work_ns(s);
	for (unsigned long i = 0; i < pairs; i++) {
		double first_ns = work_ns(i % 2 ? s : NULL), second_ns = work_ns(i % 2 ? NULL : s);
		(void)printf("%.6f\n", i % 2 ? second_ns / first_ns : first_ns / second_ns);
	}
}

#define BATCH 64
#define OTHER_BYTES (8u << 20)

struct batch {
	unsigned char *other; /* NULL: all stays in the cache */
	double ns;	      /* of a sample */
};

/* As handler_ask, but as a timer's. */
static void send_sample(void)
{
	siginfo_t si = {0};
	si.si_signo = SIGPROF;
	si.si_code = SI_TIMER;
	si.si_value.sival_ptr = nl6_self.sampler;
	must(syscall(SYS_rt_tgsigqueueinfo, getpid(), nl6_self.tid, SIGPROF, &si) == 0, "signal");
}

__attribute__((noinline)) static void take_batch(unsigned depth, struct batch *b)
{
	if (depth) {
		take_batch(depth - 1, b);
		__asm__ volatile("" ::"r"(b) : "memory");
		return;
	}
	uint64_t ns = 0;
	for (unsigned i = 0; i < BATCH; i++) {
		for (size_t at = 0; b->other && at < OTHER_BYTES; at += 64)
			b->other[at]++;
		uint64_t begun_ns = thread_cpu_ns();
		send_sample();
		ns += thread_cpu_ns() - begun_ns;
	}
	b->ns = (double)ns / BATCH;
}

static double drained_ns(struct sampler_reader *r)
{
	struct stacks *stacks;
	uint64_t lasted_ns, begun_ns = thread_cpu_ns();
	must(sampler_read_turn(r, &stacks, &lasted_ns) == 0, "no memory");
	uint64_t ns = thread_cpu_ns() - begun_ns;
	(void)stacks_free(stacks);
	return (double)ns / BATCH;
}

static void show_samples(struct sampler *s, unsigned long rounds)
{
	struct batch warm = {NULL, 0}, cold = {calloc(1, OTHER_BYTES), 0};
	struct sampler_reader *r;
	struct sampler_status st;
	struct stacks *stacks;
	uint64_t lasted_ns;
	must(cold.other != NULL, "no memory");
	must(sampler_read_start(s, 1000, &r) == 0, "no reader");
	for (unsigned long i = 0; i < rounds; i++) {
		take_batch(20, &cold);
		double drain_ns = drained_ns(r);
		take_batch(20, &warm);
		(void)drained_ns(r);
		(void)printf("%.0f %.0f %.0f\n", warm.ns, cold.ns, drain_ns);
	}
	sampler_read_stop(r, &stacks, &lasted_ns);
	(void)stacks_free(stacks);
	free(cold.other);
	sampler_status(s, &st);
	must(st.samples >= rounds * 2 * BATCH, "samples were lost");
}

static void measure_walks(struct sampler *s, const char *mode, uint64_t wanted)
{
	struct crypto crypto;
	struct sampler_reader *r;
	struct stacks *stacks;
	struct thread *threads[2];
	uint64_t ns;
	struct thread_conf conf = {.name = "load", .label = &label_load, .arg = &crypto};
	conf.run = strcmp(mode, "memcpy") == 0	  ? copy
		   : strcmp(mode, "openssl") == 0 ? encrypt
						  : ask_clocks;
	if (conf.run == encrypt)
		crypto = crypto_open();
	must(sampler_read_start(s, 1000, &r) == 0, "no reader");
	for (unsigned i = 0; i < ARRAY_SIZE(threads); i++)
		must(thread_start(&mem_libc, &conf, &threads[i]) == 0, "no thread");
	measure(s, wanted);
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < ARRAY_SIZE(threads); i++)
		thread_join(threads[i]);
	sampler_read_stop(r, &stacks, &ns);
	(void)stacks_free(stacks);
}

int main(int argc, char **argv)
{
	struct walker *walker;
	struct sampler *s;
	must(argc == 3, "usage: unwind_ends cost PAIRS|sample ROUNDS|memcpy|openssl|vdso WALKS");
	unsigned long n = strtoul(argv[2], NULL, 10);
	bool cost = strcmp(argv[1], "cost") == 0, sample = strcmp(argv[1], "sample") == 0;
	thread_adopt("main", &label_main);
	must(walker_new(&mem_libc, &walker) == 0, "no walker");
	struct sampler_env env = {&mem_libc, &clk_system, walker};
	struct sampler_conf conf = {cost || sample ? 100 : 1000};
	must(sampler_open(&env, &conf, &s) == 0, "no sampler");
	if (cost)
		show_cost(s, n);
	else if (sample)
		show_samples(s, n);
	else
		measure_walks(s, argv[1], n);
	(void)sampler_close(s);
	(void)walker_free(walker);
	return 0;
}
