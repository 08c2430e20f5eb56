#include "net/lab.h"
#include "base/queue.h"
#include "base/thread.h"
#include "net/caps.h"
#include "net/lab_check.h"
#include "net/lab_net.h"
#include "net/lab_sock.h"
#include <assert.h>
#include <errno.h>

#define INBOX_ROOM 64

struct lab {
	struct lab_env env;
	struct lab_conf conf;
	char *ns_name, *run_dir; /* conf's */
	struct lab_net *net;	 /* the thread's */
	struct queue *inbox;	 /* closed by lab_stop, kept for those who still call */
	struct thread *thread;
	struct lock lock; /* of requests' done */
	struct cond answered;
	bool wide; /* the thread's: a loopback socket could not be bound to lo */
};
/* A call, on the caller's stack: the lab thread runs it while the caller waits. */
struct request {
	int (*run)(struct lab *l, struct request *q);
	const struct addr *first, *last;
	const char *what; /* of an address to protect */
	struct text *status;
	int fd; /* of a socket to bind, or one made */
	uint16_t port;
	bool join;
	struct fault *fault;
	int r;
	bool done;
};

const struct flag lab_flags[] = {
	FLAG_STR(struct lab_conf, ns_name, "namespace", "nl6sim",
		"Network namespace `NAME` for device addresses outside 127.0.0.0/8"),
	FLAG_PREFIX(struct lab_conf, veth_net, "veth-net", "10.254.0.0/30",
		"IPv4 network between host and namespace"),
	FLAG_BOOL(struct lab_conf, no_namespace, "no-namespace", false,
		"Put device addresses into the present namespace"),
	FLAG_PATH(struct lab_conf, run_dir, "run-dir", NULL,
		"`DIR` of the locks, instead of /run/nl6"),
	{0},
};

int lab_conf_check(const void *lab_conf, struct fault *reterr_fault)
{
	const struct lab_conf *conf = lab_conf;
	if (!conf->ns_name || !lab_names_is_valid(conf->ns_name))
		return fault_set(reterr_fault, -EINVAL, "-namespace",
			"1 to 60 of A-Z a-z 0-9 . _ -, the first none of . -",
			"that is no name for a namespace");
	if (!addr_is_v4(&conf->veth_net.addr) || conf->veth_net.len < 96 + 8 ||
		conf->veth_net.len > 96 + 30)
		return fault_set(reterr_fault, -EINVAL, "-veth-net", "an IPv4 prefix of /8 to /30",
			"the network between host and namespace has two IPv4 addresses");
	return 0;
}

int lab_new(const struct lab_env *env, const struct lab_conf *conf, struct lab **ret_lab)
{
	int r = lab_conf_check(conf, NULL);
	if (r < 0)
		return r;
	struct lab *l = mem_alloc(env->mem, sizeof(*l));
	if (!l)
		return -ENOMEM;
	*l = (struct lab){.env = *env, .conf = *conf};
	lock_init(&l->lock);
	cond_init(&l->answered);
	l->conf.ns_name = l->ns_name = mem_strdup(env->mem, conf->ns_name);
	if (conf->run_dir)
		l->conf.run_dir = l->run_dir = mem_strdup(env->mem, conf->run_dir);
	if (!l->ns_name || (conf->run_dir && !l->run_dir))
		r = -ENOMEM;
	if (r == 0) {
		const struct lab_net_conf net = {
			l->ns_name, l->run_dir, conf->veth_net, conf->no_namespace};
		r = lab_net_new(env->mem, &net, &l->net);
	}
	if (r < 0)
		l = lab_free(l);
	else
		*ret_lab = l;
	return r;
}

struct lab *lab_free(struct lab *l)
{
	if (!l)
		return NULL;
	assert(!l->thread);
	(void)queue_free(l->inbox);
	(void)lab_net_free(l->net);
	cond_done(&l->answered);
	lock_done(&l->lock);
	(void)mem_free(l->env.mem, l->ns_name);
	(void)mem_free(l->env.mem, l->run_dir);
	return mem_free(l->env.mem, l);
}

static void run(void *arg)
{
	struct lab *l = arg;
	void *item;
	while (queue_take(l->inbox, &item) == 0) {
		struct request *q = item;
		int r = q->run(l, q);
		LOCK_SCOPE(&l->lock);
		q->r = r;
		q->done = true;
		cond_wake_all(&l->answered);
	}
	lab_net_leave(l->net);
}

/* Has the lab thread run q, and waits. */
static int ask(struct lab *l, struct request *q)
{
	LOCK_SCOPE(&l->lock);
	int r = -EPIPE;
	/* Full: each answer makes room. */
	while (l->inbox && (r = queue_put(l->inbox, q)) == -EAGAIN)
		cond_wait(&l->answered, &l->lock);
	if (r < 0)
		return fault_set(q->fault, r, "", "", "the lab network is down");
	while (!q->done)
		cond_wait(&l->answered, &l->lock);
	return q->r;
}

static int enter(struct lab *l, struct request *q)
{
	return lab_net_enter(l->net, q->fault);
}

int lab_start(struct lab *l, struct fault *reterr_fault)
{
	assert(!l->thread);
	l->inbox = queue_free(l->inbox);
	int r = queue_new(l->env.mem, INBOX_ROOM, &l->inbox);
	if (r == 0) {
		const struct thread_conf conf = {"lab-0", &label_main, run, l};
		r = thread_start(l->env.mem, &conf, &l->thread);
	}
	if (r < 0)
		return fault_set(reterr_fault, r, "", "", "cannot start the lab thread");
	struct request q = {.run = enter, .fault = reterr_fault};
	r = ask(l, &q);
	if (r == 0) {
		r = caps_keep(l->env.keep_caps);
		if (r < 0)
			(void)fault_set(reterr_fault, r, "", "", "cannot give up capabilities");
	}
	if (r < 0)
		lab_stop(l);
	return r;
}

void lab_stop(struct lab *l)
{
	if (!l->thread)
		return;
	queue_close(l->inbox);
	l->thread = thread_join(l->thread);
}

enum lab_place lab_place(const struct lab *l, const struct addr *a)
{
	return !l->conf.no_namespace && addr_is_loopback(a) ? LAB_PLACE_LO : LAB_PLACE_NET;
}

static int add(struct lab *l, struct request *q)
{
	return lab_net_add(l->net, q->first, q->last, q->fault);
}

int lab_add(struct lab *l, const struct addr *first, const struct addr *last,
	struct fault *reterr_fault)
{
	int r = lab_check_range(first, last, reterr_fault);
	if (r < 0 || addr_is_loopback(first))
		return r;
	struct request q = {.run = add, .first = first, .last = last, .fault = reterr_fault};
	return ask(l, &q);
}

static int del(struct lab *l, struct request *q)
{
	lab_net_del(l->net, q->first, q->last);
	return 0;
}

void lab_del(struct lab *l, const struct addr *first, const struct addr *last)
{
	struct request q = {.run = del, .first = first, .last = last};
	if (!addr_is_loopback(first))
		(void)!ask(l, &q);
}

static int protect(struct lab *l, struct request *q)
{
	return lab_net_protect(l->net, q->first, q->what, q->fault);
}

int lab_protect(struct lab *l, const struct addr *a, const char *what, struct fault *reterr_fault)
{
	struct request q = {.run = protect, .first = a, .what = what, .fault = reterr_fault};
	return ask(l, &q);
}

static int unprotect(struct lab *l, struct request *q)
{
	lab_net_unprotect(l->net, q->first);
	return 0;
}

void lab_unprotect(struct lab *l, const struct addr *a)
{
	struct request q = {.run = unprotect, .first = a};
	(void)!ask(l, &q);
}

static int bind_lo(struct lab *l, struct request *q)
{
	bool wide = false;
	int r = lab_sock_bind(
		q->fd, !addr_is_v4(q->first), q->port, true, q->join, &wide, q->fault);
	if (r == 0)
		l->wide |= wide;
	return r;
}

static int make_and_bind(struct lab *l UNUSED, struct request *q)
{
	bool v6 = !addr_is_v4(q->first), wide;
	AUTO_FD int fd = -1;
	int r = lab_sock_make(v6, &fd, q->fault);
	if (r == 0)
		r = lab_sock_bind(fd, v6, q->port, false, q->join, &wide, q->fault);
	if (r == 0)
		q->fd = TAKE_FD(fd);
	return r;
}

int lab_udp_socket(struct lab *l, const struct addr *a, uint16_t port, bool join, int *ret_fd,
	struct fault *reterr_fault)
{
	struct request q = {.run = make_and_bind,
		.first = a,
		.port = port,
		.join = join,
		.fd = -1,
		.fault = reterr_fault};
	AUTO_FD int fd = -1;
	if (lab_place(l, a) == LAB_PLACE_LO) {
		/* The lab thread has left the host's namespace: the caller makes the socket, the
		 * lab thread's privileges bind it. */
		int r = lab_sock_make(!addr_is_v4(a), &fd, reterr_fault);
		if (r < 0)
			return r;
		q.fd = fd;
		q.run = bind_lo;
	}
	int r = ask(l, &q);
	if (r < 0)
		return r;
	fd = -1;
	*ret_fd = q.fd;
	return 0;
}

static int status(struct lab *l, struct request *q)
{
	lab_net_status(l->net, q->status);
	text_kv_str(q->status, "loopback_sockets", l->wide ? "every device" : "device lo");
	return 0;
}

void lab_status(struct lab *l, struct text *t)
{
	struct request q = {.run = status, .status = t};
	(void)!ask(l, &q);
}
