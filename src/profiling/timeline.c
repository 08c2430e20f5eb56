#include "profiling/timeline.h"
#include "base/thread.h"
#include "base/threads.h"
#include "profiling/timeline_cpu.h"
#include "profiling/timeline_json.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Of a thread: 16,384 changes of its label between two polls. */
#define RING_WORDS (1u << 16)
#define MAX_THREADS 8192u

struct timeline_thread {
	struct timeline_track track;
	struct scopes scopes;
	struct timeline_cpu cpu;
	bool gone;
	uint64_t lost; /* counted so far */
};
_Static_assert(offsetof(struct timeline_thread, track) == 0, "a thread stands for its track");
struct timeline {
	struct timeline_env env;
	struct timeline_conf conf;
	struct threads_hooks hooks;
	bool recording;
	enum timeline_switches switches;
	struct kallsyms *kernel; /* NULL: waits have no names */
	/* Guards what follows; taken within the registry's lock, never around it. */
	struct lock lock;
	struct timeline_store store;
	struct timeline_thread **threads; /* in the order of their tracks */
	unsigned n_threads, room_threads;
	uint64_t lost_scopes, unseen_threads;
	struct timeline_cpus cpus;
	unsigned no_switches;  /* threads whose switches are not recorded */
	int no_switches_error; /* of the last of them */
	char switches_state[128];
	struct timeline_json json;
};

static bool grow(struct timeline *t)
{
	if (t->n_threads < t->room_threads)
		return true;
	if (t->n_threads >= MAX_THREADS)
		return false;
	unsigned room = t->room_threads ? t->room_threads * 2 : 32;
	void *p = mem_resize(t->env.mem, t->threads, room, sizeof(struct timeline_thread *));
	if (!p)
		return false;
	t->threads = p;
	t->room_threads = room;
	return true;
}

static struct timeline_thread *thread_new(struct timeline *t, const struct self *self)
{
	if (!grow(t))
		return NULL;
	struct timeline_thread *th = mem_zalloc(t->env.mem, sizeof(*th));
	if (!th)
		return NULL;
	void *ring = mmap(NULL, RING_WORDS * sizeof(uint64_t), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (ring == MAP_FAILED)
		return mem_free(t->env.mem, th);
	th->track.tid = self->tid;
	th->track.index = (uint16_t)t->n_threads;
	th->scopes.ring = ring_make(ring, RING_WORDS);
	th->scopes.clk = t->env.clk;
	t->threads[t->n_threads++] = th;
	return th;
}

static void open_switches(struct timeline *t, struct timeline_thread *th)
{
	if (t->switches == TIMELINE_SWITCHES_NONE)
		return;
	int r = timeline_cpu_open(&th->cpu, th->track.tid, t->switches, th->track.since_ns);
	if (r < 0) {
		t->no_switches++;
		t->no_switches_error = r;
	}
}

static void born(void *arg, struct self *self)
{
	struct timeline *t = arg;
	LOCK_SCOPE(&t->lock);
	struct timeline_thread *th = thread_new(t, self);
	if (!th) {
		t->unseen_threads++;
		return;
	}
	th->track.since_ns = clk_ns(t->env.clk);
	open_switches(t, th);
	scopes_attach(self, &th->scopes);
}

static void drain(struct timeline *t, struct timeline_thread *th)
{
	const struct scopes_record *rec;
	while ((rec = ring_peek(&th->scopes.ring))) {
		timeline_store_apply(&t->store, &th->track, rec);
		ring_next(&th->scopes.ring);
	}
	uint64_t lost = __atomic_load_n(&th->scopes.lost, __ATOMIC_RELAXED);
	t->lost_scopes += lost - th->lost;
	th->lost = lost;
	timeline_cpu_drain(&th->cpu, &t->cpus, &th->track);
}

/* Threads of libraries have no name of ours. */
static void name_track(struct timeline_track *track, const struct self *self)
{
	char path[64];
	memcpy(track->name, self->name, sizeof(track->name));
	if (track->name[0])
		return;
	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/comm", track->tid);
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, track->name, sizeof(track->name) - 1);
	track->name[MAX(n, 0)] = 0;
	track->name[strcspn(track->name, "\n")] = 0;
}

static struct timeline_thread *find(struct timeline *t, const struct scopes *s)
{
	return s ? CONTAINER_OF(s, struct timeline_thread, scopes) : NULL;
}

static void gone(void *arg, struct self *self)
{
	struct timeline *t = arg;
	struct timeline_thread *th = find(t, self->scopes);
	if (!th)
		return;
	scopes_detach(self);
	LOCK_SCOPE(&t->lock);
	drain(t, th);
	uint64_t now_ns = clk_ns(t->env.clk);
	timeline_cpu_close(&th->cpu, &t->cpus, &th->track, now_ns);
	timeline_store_close(
		&t->store, &th->track, __atomic_load_n(&self->label, __ATOMIC_RELAXED), now_ns);
	name_track(&th->track, self);
	(void)munmap(th->scopes.ring.words, RING_WORDS * sizeof(uint64_t));
	th->gone = true;
}

/* Which switches may be recorded here, and what to say of it. */
static enum timeline_switches find_switches(
	const struct mem *mem, struct kallsyms **ret_kernel, char *state, size_t bytes)
{
	int r;
	enum timeline_switches found = timeline_cpu_probe(&r);
	const char *what = "recorded, without the wait";
	if (found == TIMELINE_SWITCHES_NONE)
		what = "not permitted";
	if (found == TIMELINE_SWITCHES_KERNEL && (r = kallsyms_new(mem, ret_kernel)) < 0) {
		found = TIMELINE_SWITCHES_USER;
		what = "recorded, without the wait: kernel symbols";
	}
	if (r < 0)
		(void)snprintf(state, bytes, "%s (%s)", what, strerrorname_np(-r));
	else
		(void)snprintf(state, bytes, "recorded");
	return found;
}

void timeline_switches_probe(const struct mem *mem, char *buf, size_t bytes)
{
	AUTO(kallsyms) struct kallsyms *k = NULL;
	(void)find_switches(mem, &k, buf, bytes);
}

int timeline_start(const struct timeline_env *env, const struct timeline_conf *conf,
	struct timeline **ret_timeline)
{
	assert(conf->max_events >= 64);
	struct timeline *t = mem_zalloc(env->mem, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->env = *env;
	t->conf = *conf;
	int r = timeline_store_init(&t->store, conf->max_events);
	if (r < 0) {
		(void)mem_free(env->mem, t);
		return r;
	}
	lock_init(&t->lock);
	t->cpus.store = &t->store;
	if (conf->switches)
		t->switches = find_switches(
			env->mem, &t->kernel, t->switches_state, sizeof(t->switches_state));
	else
		(void)snprintf(t->switches_state, sizeof(t->switches_state), "not asked for");
	t->cpus.kernel = t->kernel;
	t->recording = true;
	t->json = (struct timeline_json){.store = &t->store,
		.pid = getpid(),
		.start_ns = clk_ns(env->clk),
		.piece = TEXT(env->mem)};
	t->hooks = (struct threads_hooks){born, gone, t, NULL};
	threads_subscribe(&t->hooks);
	*ret_timeline = t;
	return 0;
}

void timeline_poll(struct timeline *t)
{
	LOCK_SCOPE(&t->lock);
	for (unsigned i = 0; i < t->n_threads; i++)
		if (!t->threads[i]->gone)
			drain(t, t->threads[i]);
}

static void note_threads_without(struct timeline *t)
{
	size_t len = strlen(t->switches_state);
	if (t->no_switches)
		(void)snprintf(t->switches_state + len, sizeof(t->switches_state) - len,
			", but of %u threads (%s)", t->no_switches,
			strerrorname_np(-t->no_switches_error));
}

void timeline_stop(struct timeline *t)
{
	if (!t->recording)
		return;
	threads_unsubscribe(&t->hooks);
	t->recording = false;
	timeline_store_sort(&t->store);
	note_threads_without(t);
	struct timeline_json *j = &t->json;
	j->duration_ns = clk_ns(t->env.clk) - j->start_ns;
	j->tracks = (const struct timeline_track *const *)t->threads;
	j->n_tracks = t->n_threads;
	j->lost_scopes = t->lost_scopes;
	j->unseen_threads = t->unseen_threads;
	j->lost_switches = t->cpus.lost;
	j->n_cpus = t->cpus.n;
	j->kernel = t->kernel;
	j->switches = t->switches_state;
}

ssize_t timeline_read(struct timeline *t, char *buf, size_t room)
{
	assert(!t->recording);
	return timeline_json_read(&t->json, buf, room);
}

struct timeline *timeline_free(struct timeline *t)
{
	if (!t)
		return NULL;
	timeline_stop(t);
	for (unsigned i = 0; i < t->n_threads; i++)
		(void)mem_free(t->env.mem, t->threads[i]);
	(void)mem_free(t->env.mem, t->threads);
	(void)kallsyms_free(t->kernel);
	timeline_store_done(&t->store);
	text_done(&t->json.piece);
	lock_done(&t->lock);
	return mem_free(t->env.mem, t);
}

const char *timeline_switches_state(const struct timeline *t)
{
	return t->switches_state;
}
