#include "api/watch.h"
#include "fake.h"
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SHORT_NS (30 * NS_PER_MS)
#define LONG_NS (600 * NS_PER_SEC)

struct scene {
	struct fake f;
	struct stats *stats;
	struct watch *watch;
	int ours, peer; /* a connection */
	struct watched *c;
};

/* A TCP connection to ourselves: the watch asks the kernel what moved over it. */
static void connect_pair(int *ret_ours, int *ret_peer)
{
	struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(sa);
	AUTO_FD int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&sa, sizeof(sa)), 0);
	ck_assert_int_eq(listen(listener, 1), 0);
	ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&sa, &len), 0);
	*ret_peer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(connect(*ret_peer, (struct sockaddr *)&sa, sizeof(sa)), 0);
	*ret_ours = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	ck_assert_int_ge(*ret_ours, 0);
}

static void scene_up(struct scene *s, uint64_t idle_ns, uint64_t receive_ns, uint64_t send_ns)
{
	s->f = fake_make();
	ck_assert_int_eq(stats_new(s->f.mem, &s->stats), 0);
	struct watch_env env = {s->f.mem, &clk_system, s->stats};
	struct watch_conf conf = {idle_ns, receive_ns, send_ns, 1000};
	ck_assert_int_eq(watch_new(&env, &conf, &s->watch), 0);
	ck_assert_int_eq(watch_start(s->watch), 0);
	connect_pair(&s->ours, &s->peer);
	ck_assert_int_eq(watch_add(s->watch, s->ours, &s->c), 0);
}

static void scene_down(struct scene *s)
{
	watch_del(s->watch, s->c);
	watch_stop(s->watch);
	s->watch = watch_free(s->watch);
	s->stats = stats_free(s->stats);
	(void)close(s->ours);
	(void)close(s->peer);
	fake_done(&s->f);
}

struct find {
	const char *field;
	uint64_t value;
};

static void find_field(void *arg, const struct counter *c, const char *name UNUSED, uint64_t value)
{
	struct find *f = arg;
	if (strcmp(c->field, f->field) == 0)
		f->value = value;
}

static uint64_t counted(struct scene *s, const char *field)
{
	struct find f = {field, UINT64_MAX};
	stats_each(s->stats, find_field, &f);
	return f.value;
}

/* Is the connection shut down within ms? */
static bool is_cut(struct scene *s, int ms)
{
	struct pollfd p = {.fd = s->peer, .events = POLLRDHUP};
	return poll(&p, 1, ms) == 1;
}

START_TEST(each_phase_has_its_deadline)
{
	static const struct {
		enum watch_phase phase;
		const char *counter;
	} cases[] = {{WATCH_IDLE, "idle_timeouts"}, {WATCH_RECEIVE, "receive_timeouts"},
		{WATCH_SEND, "send_timeouts"}};
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		struct scene s;
		scene_up(&s, i == 0 ? SHORT_NS : LONG_NS, i == 1 ? SHORT_NS : LONG_NS,
			i == 2 ? SHORT_NS : LONG_NS);
		uint64_t begin_ns = clk_ns(&clk_system);
		watch_enter(s.watch, s.c, cases[i].phase, NULL);
		ck_assert(is_cut(&s, 20000));
		ck_assert_uint_ge(clk_ns(&clk_system) - begin_ns, SHORT_NS);
		for (unsigned k = 0; k < ARRAY_SIZE(cases); k++)
			ck_assert_uint_eq(counted(&s, cases[k].counter), k == i);
		scene_down(&s);
	}
}
END_TEST

START_TEST(a_new_connection_has_a_deadline)
{
	struct scene s;
	scene_up(&s, LONG_NS, SHORT_NS, LONG_NS);
	ck_assert(is_cut(&s, 20000));
	ck_assert_uint_eq(counted(&s, "receive_timeouts"), 1);
	/* What is cut stays cut: it is not counted again. */
	watch_enter(s.watch, s.c, WATCH_RECEIVE, NULL);
	(void)poll(NULL, 0, 3 * SHORT_NS / NS_PER_MS);
	ck_assert_uint_eq(counted(&s, "receive_timeouts"), 1);
	scene_down(&s);
}
END_TEST

START_TEST(work_has_none_and_taken_bytes_move_it)
{
	struct scene s;
	scene_up(&s, SHORT_NS, LONG_NS, SHORT_NS);
	watch_enter(s.watch, s.c, WATCH_WORK, NULL);
	ck_assert(!is_cut(&s, 3 * SHORT_NS / NS_PER_MS));
	uint64_t begin_ns = clk_ns(&clk_system);
	watch_enter(s.watch, s.c, WATCH_SEND, NULL);
	char some[100] = {0};
	ck_assert_int_eq(write(s.ours, some, sizeof(some)), sizeof(some)); /* 100 ms at 1,000/s */
	ck_assert(is_cut(&s, 20000));
	ck_assert_uint_ge(clk_ns(&clk_system) - begin_ns, SHORT_NS + 100 * NS_PER_MS);
	ck_assert_uint_eq(counted(&s, "send_timeouts"), 1);
	scene_down(&s);
}
END_TEST

START_TEST(the_first_byte_begins_a_request)
{
	struct scene s;
	scene_up(&s, LONG_NS, SHORT_NS, LONG_NS);
	watch_enter(s.watch, s.c, WATCH_IDLE, NULL);
	ck_assert(!is_cut(&s, 3 * SHORT_NS / NS_PER_MS));
	ck_assert_int_eq(write(s.peer, "G", 1), 1);
	ck_assert(is_cut(&s, 20000));
	ck_assert_uint_eq(counted(&s, "receive_timeouts"), 1);
	ck_assert_uint_eq(counted(&s, "idle_timeouts"), 0);
	scene_down(&s);
}
END_TEST

START_TEST(who_is_gone_fires_no_more)
{
	struct scene s;
	scene_up(&s, LONG_NS, SHORT_NS, LONG_NS);
	watch_del(s.watch, TAKE(s.c));
	ck_assert(!is_cut(&s, 3 * SHORT_NS / NS_PER_MS));
	ck_assert_uint_eq(counted(&s, "connections"), 0);
	ck_assert_uint_eq(counted(&s, "receive_timeouts"), 0);
	/* Start may follow stop; an earlier deadline than the one slept for is seen. */
	watch_stop(s.watch);
	ck_assert_int_eq(watch_start(s.watch), 0);
	ck_assert_int_eq(watch_add(s.watch, s.ours, &s.c), 0);
	ck_assert(is_cut(&s, 20000));
	scene_down(&s);
}
END_TEST

UNIT_MAIN(each_phase_has_its_deadline, a_new_connection_has_a_deadline,
	work_has_none_and_taken_bytes_move_it, the_first_byte_begins_a_request,
	who_is_gone_fires_no_more)
