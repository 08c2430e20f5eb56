#include "base/clk.h"
#include "base/rcu.h"
#include "base/self.h"
#include "base/thread.h"
#include "fake.h"
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

static LABEL_SUBSYSTEM(label_a, "a");
static LABEL_SUBSYSTEM(label_b, "b");

/* What a thread finds at its birth. */
struct view {
	const struct label *label;
	struct log *log;
	char name[16], comm[16];
	unsigned rcu_count;
	sigset_t blocked;
};

static void look(void *arg)
{
	struct view *v = arg;
	v->label = nl6_self.label;
	v->log = nl6_self.log;
	memcpy(v->name, nl6_self.name, sizeof(v->name));
	(void)prctl(PR_GET_NAME, v->comm);
	v->rcu_count = nl6_self.rcu_count;
	(void)pthread_sigmask(SIG_SETMASK, NULL, &v->blocked);
	RCU_SCOPE; /* asserts that the thread is registered */
}

static void check_signals(const struct view *v)
{
	static const int blocked[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGPIPE, SIGCHLD};
	static const int open[] = {SIGPROF, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
	for (unsigned i = 0; i < ARRAY_SIZE(blocked); i++)
		ck_assert_int_eq(sigismember(&v->blocked, blocked[i]), 1);
	for (unsigned i = 0; i < ARRAY_SIZE(open); i++)
		ck_assert_int_eq(sigismember(&v->blocked, open[i]), 0);
}

static char any_log; /* stands for a log: only its address counts */

START_TEST(ours_have_name_label_log_and_signals)
{
	struct fake f = fake_make();
	struct view v = {0};
	struct thread *t;
	struct thread_conf conf = {"fifteen-bytes-1", NULL, look, &v};
	sigset_t before, after, prof;
	(void)sigemptyset(&prof);
	(void)sigaddset(&prof, SIGPROF);
	(void)pthread_sigmask(SIG_BLOCK, &prof, &before);
	nl6_self.log = (struct log *)&any_log;
	{
		LABEL_SCOPE(&label_a);
		ck_assert_int_eq(thread_start(f.mem, &conf, &t), 0);
		ck_assert_ptr_null(thread_join(t));
	}
	ck_assert_ptr_eq(v.label, &label_a);
	ck_assert_ptr_eq(v.log, &any_log);
	ck_assert_str_eq(v.name, "fifteen-bytes-1");
	ck_assert_str_eq(v.comm, "fifteen-bytes-1");
	ck_assert_uint_eq(v.rcu_count, 1);
	check_signals(&v);
	conf.label = &label_b;
	ck_assert_int_eq(thread_start(f.mem, &conf, &t), 0);
	ck_assert_ptr_null(thread_join(t));
	ck_assert_ptr_eq(v.label, &label_b);
	ck_assert_ptr_eq(nl6_self.label, &label_main); /* the maker's stays */
	(void)pthread_sigmask(SIG_SETMASK, &before, &after);
	ck_assert_int_eq(sigismember(&after, SIGPROF), 1);
	ck_assert_int_eq(sigismember(&after, SIGTERM), 0);
	nl6_self.log = NULL;
	ck_assert_ptr_null(thread_join(NULL));
	fake_done(&f);
}
END_TEST

static enum MHD_Result look_in_handler(void *arg, struct MHD_Connection *connection,
	const char *url UNUSED, const char *method UNUSED, const char *version UNUSED,
	const char *upload UNUSED, size_t *upload_bytes UNUSED, void **state UNUSED)
{
	look(arg);
	struct MHD_Response *r =
		MHD_create_response_from_buffer(2, (void *)"ok", MHD_RESPMEM_PERSISTENT);
	enum MHD_Result result = MHD_queue_response(connection, 200, r);
	MHD_destroy_response(r);
	return result;
}

static void get_once(uint16_t port)
{
	static const char ask[] = "GET / HTTP/1.0\r\n\r\n";
	struct sockaddr_in sa = {.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	AUTO_FD int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	ck_assert_int_eq(write(fd, ask, sizeof(ask) - 1), sizeof(ask) - 1);
	char answer[512];
	ck_assert_int_gt(read(fd, answer, sizeof(answer)), 12);
	ck_assert_int_eq(memcmp(answer + 9, "200", 3), 0);
}

START_TEST(threads_of_a_library_inherit)
{
	struct view v = {0};
	struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct MHD_Daemon *d;
	nl6_self.log = (struct log *)&any_log;
	{
		LABEL_SCOPE(&label_b);
		d = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, look_in_handler,
			&v, MHD_OPTION_SOCK_ADDR, &sa, MHD_OPTION_END);
	}
	nl6_self.log = NULL;
	ck_assert_ptr_nonnull(d);
	get_once(MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT)->port);
	MHD_stop_daemon(d);
	ck_assert_ptr_eq(v.label, &label_b);
	ck_assert_ptr_eq(v.log, &any_log);
	ck_assert_str_eq(v.name, "");
	ck_assert_uint_eq(v.rcu_count, 1);
	check_signals(&v);
}
END_TEST

struct early {
	struct view view;
	pthread_key_t key;
	unsigned rcu_count_at_end;
};

/* Runs when the thread has left all its functions. */
static void look_at_end(void *arg)
{
	((struct early *)arg)->rcu_count_at_end = nl6_self.rcu_count;
}

static void *exit_early(void *arg)
{
	struct early *e = arg;
	look(&e->view);
	(void)pthread_setspecific(e->key, e);
	pthread_exit(arg);
}

START_TEST(a_thread_that_exits_early_is_unregistered)
{
	struct early e = {.rcu_count_at_end = 9};
	pthread_t id;
	void *result;
	ck_assert_int_eq(pthread_key_create(&e.key, look_at_end), 0);
	ck_assert_int_eq(pthread_create(&id, NULL, exit_early, &e), 0);
	ck_assert_int_eq(pthread_join(id, &result), 0);
	(void)pthread_key_delete(e.key);
	ck_assert_ptr_eq(result, &e);
	ck_assert_uint_eq(e.view.rcu_count, 1);
	ck_assert_uint_eq(e.rcu_count_at_end, 0);
	rcu_wait(); /* would read the dead thread's record */
}
END_TEST

START_TEST(a_thread_that_cannot_be_made)
{
	pthread_attr_t attr;
	pthread_t id;
	struct early e = {0};
	ck_assert_int_eq(pthread_attr_init(&attr), 0);
	ck_assert_int_eq(pthread_attr_setstacksize(&attr, (size_t)1 << 46), 0);
	ck_assert_int_ne(pthread_create(&id, &attr, exit_early, &e), 0);
	(void)pthread_attr_destroy(&attr);
	ck_assert_ptr_null(e.view.label);
}
END_TEST

static int start_one(struct fake *f, void *arg)
{
	struct thread_conf conf = {"one", NULL, look, arg};
	struct thread *t;
	int r = thread_start(f->mem, &conf, &t);
	if (r == 0)
		t = thread_join(t);
	return r;
}

START_TEST(each_allocation_may_fail)
{
	struct fake f = fake_make();
	struct view v;
	fake_fail_each(&f, start_one, &v);
	fake_done(&f);
}
END_TEST

START_TEST(labels_nest)
{
	ck_assert_str_eq(label_get(nl6_self.label, "subsystem"), "main");
	{
		LABEL_SCOPE(&label_snmp);
		ck_assert_str_eq(label_get(nl6_self.label, "subsystem"), "snmp");
		{
			LABEL_SCOPE(&label_api);
			ck_assert_str_eq(label_get(nl6_self.label, "subsystem"), "api");
		}
		ck_assert_ptr_eq(nl6_self.label, &label_snmp);
		ck_assert_ptr_null(label_get(nl6_self.label, "device"));
	}
	ck_assert_ptr_eq(nl6_self.label, &label_main);
}
END_TEST

/* Profilers find the record by its name in the executable's dynamic symbols. */
START_TEST(self_is_found_by_name)
{
	ck_assert_ptr_eq(dlsym(RTLD_DEFAULT, "nl6_self"), &nl6_self);
}
END_TEST

struct gate {
	struct lock lock;
	struct cond changed;
	unsigned passed;
	bool open;
};

static void pass(void *arg)
{
	struct gate *g = arg;
	LOCK_SCOPE(&g->lock);
	while (!g->open)
		cond_wait(&g->changed, &g->lock);
	g->passed++;
	cond_wake(&g->changed);
}

START_TEST(conditions_wake_and_time_out)
{
	struct gate g = {0};
	struct thread *threads[3];
	struct thread_conf conf = {"gate", NULL, pass, &g};
	lock_init(&g.lock);
	cond_init(&g.changed);
	for (unsigned i = 0; i < ARRAY_SIZE(threads); i++)
		ck_assert_int_eq(thread_start(&mem_libc, &conf, &threads[i]), 0);
	lock_take(&g.lock);
	uint64_t until_ns = clk_ns(&clk_system) + NS_PER_MS;
	while (cond_wait_until(&g.changed, &g.lock, until_ns) == 0)
		;
	ck_assert_uint_ge(clk_ns(&clk_system), until_ns);
	ck_assert_uint_eq(g.passed, 0);
	g.open = true;
	cond_wake_all(&g.changed);
	while (g.passed < ARRAY_SIZE(threads))
		cond_wait(&g.changed, &g.lock);
	ck_assert_int_eq(cond_wait_until(&g.changed, &g.lock, 0), -ETIMEDOUT);
	lock_drop(&g.lock);
	for (unsigned i = 0; i < ARRAY_SIZE(threads); i++)
		threads[i] = thread_join(threads[i]);
	cond_done(&g.changed);
	lock_done(&g.lock);
}
END_TEST

static void *adopt_late(void *arg)
{
	thread_adopt("a-name-that-is-cut", &label_a);
	look(arg);
	return NULL;
}

START_TEST(a_thread_can_be_adopted)
{
	struct view v = {0};
	pthread_t id;
	ck_assert_int_eq(pthread_create(&id, NULL, adopt_late, &v), 0);
	ck_assert_int_eq(pthread_join(id, NULL), 0);
	ck_assert_ptr_eq(v.label, &label_a);
	ck_assert_str_eq(v.name, "a-name-that-is-");
	ck_assert_str_eq(v.comm, v.name);
	ck_assert_uint_eq(v.rcu_count, 1); /* it had been registered at birth */
}
END_TEST

UNIT_MAIN(ours_have_name_label_log_and_signals, threads_of_a_library_inherit,
	a_thread_that_exits_early_is_unregistered, a_thread_that_cannot_be_made,
	each_allocation_may_fail, labels_nest, self_is_found_by_name, conditions_wake_and_time_out,
	a_thread_can_be_adopted)
