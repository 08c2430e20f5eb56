/* Drives a lab network for its tests: commands on standard input, one a line, each answered by one
 * line; sockets echo what they get from the address that was asked. At the end of the input, or on
 * "quit", it undoes all. Commands:
 *   add FIRST LAST, del FIRST LAST, protect ADDR, unprotect ADDR
 *   echo ADDR PORT        a socket where ADDR lives; answers "ok PORT"
 *   join ADDR PORT        one more of that port, which stays silent
 *   caps                  capabilities of the first thread and of lab-0
 *   status */
#include "base/log.h"
#include "base/num.h"
#include "base/self.h"
#include "base/thread.h"
#include "net/lab.h"
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SOCKETS_MAX 16

static LABEL_SUBSYSTEM(label_driver, "test");

struct driver {
	struct lab *lab;
	struct pollfd fds[1 + SOCKETS_MAX];
	nfds_t n;
	char in[4096];
	size_t len;
};

static void answer(int r, const struct fault *f, const char *ok)
{
	if (r < 0)
		printf("error %d %s|%s|%s\n", -r, f->field, f->text, f->allowed);
	else
		printf("ok%s%s\n", ok[0] ? " " : "", ok);
}

/* Sends the datagram back from the address it came to. */
static void echo(int fd)
{
	char bytes[2048];
	_Alignas(struct cmsghdr) char control[128];
	struct sockaddr_storage peer;
	struct iovec iov = {bytes, sizeof(bytes)};
	struct msghdr m = {&peer, sizeof(peer), &iov, 1, control, sizeof(control), 0};
	ssize_t n = recvmsg(fd, &m, 0);
	if (n < 0)
		return;
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	if (c && c->cmsg_level == IPPROTO_IP) {
		struct in_pktinfo *i = (struct in_pktinfo *)(void *)CMSG_DATA(c);
		i->ipi_spec_dst = i->ipi_addr;
		i->ipi_ifindex = 0;
	} else if (c) {
		((struct in6_pktinfo *)(void *)CMSG_DATA(c))->ipi6_ifindex = 0;
	}
	iov.iov_len = (size_t)n;
	m.msg_flags = 0;
	if (sendmsg(fd, &m, 0) < 0)
		fprintf(stderr, "sendmsg: %s\n", strerror(errno));
}

static int open_socket(struct driver *d, const struct addr *a, const char *port_text, bool join,
	char *ok, size_t ok_bytes, struct fault *f)
{
	uint64_t port;
	int fd, r = num_u64(port_text, 0, 65535, &port);
	if (r == 0 && d->n == ARRAY_SIZE(d->fds))
		r = -EMFILE;
	if (r == 0)
		r = lab_udp_socket(d->lab, a, (uint16_t)port, join, &fd, f);
	if (r < 0)
		return r;
	struct sockaddr_storage ss = {0};
	socklen_t len = sizeof(ss);
	struct addr any;
	uint16_t bound;
	r = getsockname(fd, (struct sockaddr *)&ss, &len) < 0 ? -errno : 0;
	if (r == 0)
		r = addr_from_sockaddr((struct sockaddr *)&ss, &any, &bound);
	if (r < 0)
		return r;
	(void)snprintf(ok, ok_bytes, "%u", bound);
	d->fds[d->n++] = (struct pollfd){join ? -1 : fd, POLLIN, 0};
	return 0;
}

/* CapPrm and NoNewPrivs of a thread of ours. */
static void put_caps(const char *task, struct text *t)
{
	char path[64], line[128];
	(void)snprintf(path, sizeof(path), "/proc/self/task/%s/status", task);
	FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		if (strncmp(line, "Name:", 5) == 0 || strncmp(line, "Cap", 3) == 0 ||
			strncmp(line, "NoNewPrivs:", 11) == 0)
			text_printf(t, "%s ", line);
	}
	if (f)
		(void)fclose(f);
}

static void show_caps(void)
{
	AUTO_TEXT struct text t = TEXT(&mem_libc);
	FILE *p = popen("ls /proc/$PPID/task", "re");
	char task[32];
	while (p && fgets(task, sizeof(task), p)) {
		task[strcspn(task, "\n")] = 0;
		put_caps(task, &t);
	}
	if (p)
		(void)pclose(p);
	for (char *s = t.s; s && *s; s++)
		if (*s == '\t')
			*s = ' ';
	answer(0, NULL, t.s);
}

static bool command(struct driver *d, char *line)
{
	char *save = NULL, *w[3] = {0}, ok[64] = "";
	for (int i = 0; i < 3; i++)
		w[i] = strtok_r(i ? NULL : line, " ", &save);
	struct addr a = {{0}}, b = {{0}};
	struct fault f = {0};
	int r = w[1] ? addr_parse(w[1], &a) : 0;
	if (r < 0 || !w[0] || strcmp(w[0], "quit") == 0)
		return false;
	if (strcmp(w[0], "status") == 0) {
		AUTO_TEXT struct text t = TEXT(&mem_libc);
		text_put(&t, "{");
		lab_status(d->lab, &t);
		text_put(&t, "}");
		answer(t.err, &f, t.s);
		return true;
	}
	if (strcmp(w[0], "caps") == 0) {
		show_caps();
		return true;
	}
	if (strcmp(w[0], "add") == 0 || strcmp(w[0], "del") == 0) {
		if (!w[2] || addr_parse(w[2], &b) < 0)
			return false;
		if (w[0][0] == 'a')
			r = lab_add(d->lab, &a, &b, &f);
		else
			lab_del(d->lab, &a, &b);
	} else if (strcmp(w[0], "protect") == 0) {
		r = lab_protect(d->lab, &a, "the collector of traps", &f);
	} else if (strcmp(w[0], "unprotect") == 0) {
		lab_unprotect(d->lab, &a);
	} else if (strcmp(w[0], "echo") == 0 || strcmp(w[0], "join") == 0) {
		r = open_socket(d, &a, w[2] ? w[2] : "", w[0][0] == 'j', ok, sizeof(ok), &f);
	} else {
		return false;
	}
	answer(r, &f, ok);
	return true;
}

static bool take_input(struct driver *d)
{
	ssize_t n = read(0, d->in + d->len, sizeof(d->in) - d->len - 1);
	if (n <= 0)
		return false;
	d->len += (size_t)n;
	for (char *nl; (nl = memchr(d->in, '\n', d->len));) {
		*nl = 0;
		size_t taken = (size_t)(nl - d->in) + 1;
		if (!command(d, d->in))
			return false;
		(void)fflush(stdout);
		d->len -= taken;
		memmove(d->in, d->in + taken, d->len);
	}
	return true;
}

static int run(const struct lab_conf *conf)
{
	struct fault f = {0};
	struct driver d = {.n = 1, .fds = {{0, POLLIN, 0}}};
	int r = lab_conf_check(conf, &f);
	if (r == 0)
		r = lab_new(&(struct lab_env){&mem_libc}, conf, &d.lab);
	if (r == 0)
		r = lab_start(d.lab, &f);
	answer(r, &f, "started");
	(void)fflush(stdout);
	while (r == 0 && poll(d.fds, d.n, -1) >= 0) {
		for (nfds_t i = 1; i < d.n; i++)
			if (d.fds[i].revents & POLLIN)
				echo(d.fds[i].fd);
		if (d.fds[0].revents && !take_input(&d))
			break;
	}
	for (nfds_t i = 1; i < d.n; i++)
		(void)close(d.fds[i].fd);
	if (d.lab)
		lab_stop(d.lab);
	(void)lab_free(d.lab);
	return r < 0;
}

/* lab_driver NAMESPACE VETH_NET [no-namespace] */
int main(int argc, char **argv)
{
	struct lab_conf conf = {.ns_name = argc > 1 ? argv[1] : "",
		.no_namespace = argc > 3 && strcmp(argv[3], "no-namespace") == 0,
		.run_dir = getenv("LAB_RUN_DIR")};
	if (argc < 3 || prefix_parse(argv[2], &conf.veth_net) < 0)
		return 2;
	thread_adopt("main", &label_driver);
	AUTO(log) struct log *log = NULL;
	const struct log_conf log_conf = {.fd = 2, .level = LOG_LEVEL_INFO};
	if (log_new(&(struct log_env){&mem_libc, &clk_system}, &log_conf, &log) < 0)
		return 1;
	nl6_self.log = log;
	int r = run(&conf);
	nl6_self.log = NULL;
	return r;
}
