/* nl6: wiring only. Reads the settings, makes each module with what it depends on, starts them,
 * waits for a signal, stops them in reverse. */
#include "base/file.h"
#include "base/notify.h"
#include "base/procctx.h"
#include "base/self.h"
#include "base/share.h"
#include "base/span.h"
#include "base/thread.h"
#include "base/waits.h"
#include "sim/fleet/batch_memory.h"
#include "sim/fleet/ifset.h"
#include "sim/fleet/restore.h"
#include "tables.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { EXIT_USAGE = 2 };
#define ONE_SIGNAL_NS (100 * NS_PER_MS)
#define VERSION "v" NL6_VERSION

struct nl6 {
	struct nl6_conf conf;
	struct flags *flags;
	struct log *log;
	char *share, *web_dir, *devices_dir; /* the program's data */
	int signal_fd, booted_fd, stopped_fd;
	bool lab_is_undone;
	struct procctx *context;
	struct stats *stats;
	struct types *types;
	struct fleet *fleet;
	const struct access *access; /* of the fleet at start */
	struct store *store;	     /* NULL: without -state-dir */
	struct keeper_store kept;
	struct keeper *keeper;
	struct ifset *ifset;
	struct lab *lab;
	struct agent *agent;
	struct trace *trace;
	struct gate *gate;
	struct batches *batches;
	struct restore *restore; /* while what the store has comes back */
	struct api *api;
};

static void print_fault(const struct fault *f, int r)
{
	(void)fprintf(stderr, "nl6: %s%s%s", f->field, f->field[0] ? ": " : "",
		f->text[0] ? f->text : strerrordesc_np(-r));
	if (f->allowed[0])
		(void)fprintf(stderr, " (allowed: %s)", f->allowed);
	(void)fprintf(stderr, "\n");
}

static void log_fault(const struct fault *f, int r)
{
	const char *told = f->allowed[0] ? f->allowed : NULL;
	if (!f->text[0])
		log_error(NULL, r, "cannot start");
	else
		log_error(NULL, 0, "%s%s%s%s%s%s", f->field, f->field[0] ? ": " : "", f->text,
			told ? " (allowed: " : "", told ? told : "", told ? ")" : "");
}

/* A fault of a flag whose value only a started program can judge ends as any other of a flag. */
static int fault_status(const struct fault *f, int r)
{
	if (r == 0)
		return EXIT_SUCCESS;
	return f->field[0] == '-' && (r == -EINVAL || r == -ERANGE || r == -ENOENT) ? EXIT_USAGE
										    : EXIT_FAILURE;
}

static int read_file(void *arg UNUSED, const struct mem *mem, const char *path, size_t max,
	char **ret_bytes, size_t *ret_len)
{
	return file_read(mem, path, max, ret_bytes, ret_len);
}

static int print_help(void)
{
	AUTO_TEXT struct text t = TEXT(&mem_libc);
	flags_help(nl6_flags, nl6_usage, &t);
	if (t.err || fputs(t.s, stdout) < 0 || fflush(stdout) != 0)
		return EXIT_FAILURE;
	return EXIT_SUCCESS;
}

/* The signals that end the program go to a descriptor; those of a terminal, a client that went away
 * or a file that may not grow are no reason to end. */
static int take_signals(struct nl6 *n)
{
	sigset_t set;
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)signal(SIGHUP, SIG_IGN);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	n->signal_fd = signalfd(-1, &set, SFD_CLOEXEC);
	n->booted_fd = eventfd(0, EFD_CLOEXEC);
	n->stopped_fd = eventfd(0, EFD_CLOEXEC);
	return n->signal_fd < 0 || n->booted_fd < 0 || n->stopped_fd < 0 ? -errno : 0;
}

/* A fleet may hold more connections than the usual soft limit, which is meant for select(2). */
static void lift_nofile(void)
{
	struct rlimit lim;
	if (getrlimit(RLIMIT_NOFILE, &lim) == 0 && lim.rlim_cur < lim.rlim_max) {
		lim.rlim_cur = lim.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &lim);
	}
}

static int find_data(struct nl6 *n, struct fault *fault)
{
	int r = share_find(&mem_libc, "/proc/self/exe", &n->share, fault);
	if (r < 0)
		return r;
	n->web_dir = share_path(&mem_libc, n->share, "web");
	n->devices_dir = share_path(&mem_libc, n->share, "devices");
	n->conf.types.builtin_dir = n->devices_dir;
	return n->web_dir && n->devices_dir ? 0 : -ENOMEM;
}

static int udp_socket(void *arg, const struct addr *a, uint16_t port, bool join, int *ret_fd,
	struct fault *reterr_fault)
{
	return lab_udp_socket(((struct nl6 *)arg)->lab, a, port, join, ret_fd, reterr_fault);
}

/* Routes before sockets: the place of an address must be there to bind in it. */
static int prepare(void *arg, const struct addr *first, const struct addr *last, uint16_t snmp_port,
	struct fault *reterr_fault)
{
	struct nl6 *n = arg;
	int r = lab_add(n->lab, first, last, reterr_fault);
	if (r < 0)
		return r;
	r = agent_listen(n->agent, first, snmp_port, reterr_fault);
	if (r < 0)
		lab_del(n->lab, first, last);
	return r;
}

/* The sockets stay: others may use the port, and it is the program's now. */
static void undo(
	void *arg, const struct addr *first, const struct addr *last, uint16_t snmp_port UNUSED)
{
	lab_del(((struct nl6 *)arg)->lab, first, last);
}

static uint64_t available_bytes(void *arg UNUSED)
{
	return batch_memory_available("");
}

static void booted(void *arg, uint64_t id UNUSED)
{
	uint64_t one = 1;
	(void)!write(((struct nl6 *)arg)->booted_fd, &one, sizeof(one));
}

static int make_keeper(struct nl6 *n, struct fault *fault)
{
	struct store_env env = {&mem_libc, &clk_system, n->stats};
	int r = n->conf.store.dir ? store_open(&env, &n->conf.store, &n->store, fault) : 0;
	if (r < 0)
		return r;
	struct keeper_env keeper_env = {
		&mem_libc, &clk_system, n->stats, n->fleet, n->store ? &n->kept : NULL};
	if (n->store) {
		n->kept = store_keeper(n->store);
		fleet_set_boots(n->fleet, store_boots(n->store));
	}
	r = keeper_new(&keeper_env, &n->keeper);
	struct ifset_env ifset_env = {&mem_libc, &clk_system, n->stats, n->keeper, n->store};
	return r < 0 ? r : ifset_new(&ifset_env, &n->ifset);
}

static int make_fleet(struct nl6 *n, struct fault *fault)
{
	int r = types_new(&(struct types_env){&mem_libc}, &n->conf.types, &n->types);
	if (r == 0)
		r = fleet_new(&(struct fleet_env){&mem_libc, &clk_system, n->stats}, &n->conf.fleet,
			&n->fleet);
	if (r == 0)
		r = access_from_flags(
			&mem_libc, fleet_kus(n->fleet), &n->conf.access, &n->access, fault);
	if (r == 0)
		r = make_keeper(n, fault);
	if (r == 0)
		r = lab_new(&(struct lab_env){&mem_libc, gate_caps(&n->conf.gate)}, &n->conf.lab,
			&n->lab);
	struct agent_env agent_env = {
		&mem_libc, n->stats, n->fleet, udp_socket, n, n->keeper, n->store};
	if (r == 0)
		r = agent_new(&agent_env, &n->conf.agent, &n->agent);
	struct batches_env batches_env = {&mem_libc, &clk_system, n->stats, n->fleet, prepare, undo,
		n, available_bytes, n->keeper, n->store};
	if (r == 0)
		r = batches_new(&batches_env, &n->batches);
	struct restore_env restore_env = {
		&mem_libc, n->fleet, n->types, n->batches, n->keeper, n->store, booted, n};
	if (r == 0 && n->store)
		r = restore_new(&restore_env, &n->restore);
	return r;
}

static int make_api(struct nl6 *n, struct fault *fault)
{
	struct api_env env = {
		.mem = &mem_libc,
		.clk = &clk_system,
		.stats = n->stats,
		.fleet = n->fleet,
		.batches = n->batches,
		.types = n->types,
		.keeper = n->keeper,
		.ifset = n->ifset,
		.store = n->store,
		.gate = n->gate,
		.trace = n->trace,
		.lab = n->lab,
		.routes = nl6_routes,
		.version = VERSION,
		.web_dir = n->web_dir,
	};
	return api_new(&env, &n->conf.api, &n->api, fault);
}

static int make(struct nl6 *n, struct fault *fault)
{
	int r = find_data(n, fault);
	if (r == 0)
		r = stats_new(&mem_libc, &n->stats);
	if (r == 0)
		r = trace_new(&(struct trace_env){&mem_libc, &clk_system, n->stats, VERSION},
			&n->conf.trace, &n->trace, fault);
	if (r == 0)
		r = gate_new(&(struct gate_env){&mem_libc, &clk_system, n->stats, VERSION,
				     trace_sink(n->trace)},
			&n->conf.gate, &n->gate);
	if (r == 0)
		r = make_fleet(n, fault);
	if (r == 0)
		r = make_api(n, fault);
	return r;
}

static void unmake(struct nl6 *n)
{
	n->api = api_free(n->api);
	n->restore = restore_free(n->restore);
	n->batches = batches_free(n->batches);
	n->agent = agent_free(n->agent);
	n->lab = lab_free(n->lab);
	n->ifset = ifset_free(n->ifset);
	n->keeper = keeper_free(n->keeper);
	n->store = store_free(n->store);
	n->access = access_unref(n->access);
	n->fleet = fleet_free(n->fleet);
	n->types = types_free(n->types);
	n->gate = gate_free(n->gate);
	n->trace = trace_free(n->trace);
	n->stats = stats_free(n->stats);
	n->devices_dir = mem_free(&mem_libc, n->devices_dir);
	n->web_dir = mem_free(&mem_libc, n->web_dir);
	n->share = mem_free(&mem_libc, n->share);
}

/* With -snmp-port 0 the port is picked now, so that everything else can be told. */
static int pick_port(struct nl6 *n, struct fault *fault)
{
	struct addr loopback = addr_from_v4(0x7f000001);
	const struct addr *a = boot_is_wanted(&n->conf.boot) ? &n->conf.boot.start : &loopback;
	if (n->conf.agent.port)
		return 0;
	/* Only an address of the lab needs its network first. */
	int r = lab_add(n->lab, a, a, fault);
	if (r == 0)
		r = agent_listen(n->agent, a, 0, fault);
	return r;
}

static int start(struct nl6 *n, struct fault *fault)
{
	/* The lab takes the privileges that a port below 1024 needs. */
	int r = api_bind(n->api, fault);
	if (r == 0)
		r = lab_start(n->lab, fault);
	if (r == 0)
		r = trace_start(n->trace, fault);
	if (r == 0)
		r = gate_start(n->gate);
	if (r == 0)
		r = keeper_start(n->keeper);
	if (r == 0)
		r = agent_start(n->agent);
	if (r == 0)
		r = pick_port(n, fault);
	if (r == 0)
		r = batches_start(n->batches);
	if (r == 0)
		r = api_start(n->api, fault);
	return r;
}

/* The lab is undone once, by whoever comes first. */
static void undo_lab(struct nl6 *n)
{
	if (!__atomic_exchange_n(&n->lab_is_undone, true, __ATOMIC_ACQ_REL))
		lab_stop(n->lab);
}

/* Takes the unstarted. */
static void stop(void *arg)
{
	struct nl6 *n = arg;
	if (n->api)
		api_stop(n->api);
	if (n->gate)
		gate_stop(n->gate);
	if (n->batches)
		batches_stop(n->batches);
	/* What waits for the keeper may answer through the agents' sockets. */
	if (n->keeper)
		keeper_stop(n->keeper);
	if (n->agent)
		agent_stop(n->agent);
	if (n->lab)
		undo_lab(n);
	if (n->trace)
		trace_stop(n->trace);
	uint64_t one = 1;
	(void)!write(n->stopped_fd, &one, sizeof(one));
}

/* Waits for the descriptor fd (0), or for a signal that ends the program (its number). */
static int wait_for(struct nl6 *n, int fd)
{
	struct pollfd fds[2] = {{n->signal_fd, POLLIN, 0}, {fd, POLLIN, 0}};
	for (;;) {
		if (wait_poll(fds, fd < 0 ? 1 : 2, -1) < 0)
			continue;
		struct signalfd_siginfo info;
		if (fds[0].revents && read(n->signal_fd, &info, sizeof(info)) == sizeof(info))
			return (int)info.ssi_signo;
		if (fd >= 0 && fds[1].revents)
			return 0;
	}
}

/* As wait_for the end of the stop. Some send a signal to the process and to its group: two that
 * come at once are one. */
static int wait_for_second(struct nl6 *n)
{
	uint64_t begun_ns = clk_ns(&clk_system);
	int signal_no;
	do
		signal_no = wait_for(n, n->stopped_fd);
	while (signal_no && clk_ns(&clk_system) - begun_ns < ONE_SIGNAL_NS);
	return signal_no;
}

/* Stops in a thread of its own, so that a second signal can end a stop that takes long. */
static void stop_all(struct nl6 *n)
{
	struct thread_conf conf = {"main-stop", NULL, stop, n};
	struct thread *t;
	if (thread_start(&mem_libc, &conf, &t) < 0) {
		stop(n);
		return;
	}
	if (wait_for_second(n) != 0) {
		log_warn(NULL, 0, "second signal: ending at once");
		undo_lab(n);
		_exit(EXIT_FAILURE);
	}
	(void)thread_join(t);
}

/* Waits until a batch may have ended, or for a signal (its number). */
static int wait_for_batch(struct nl6 *n)
{
	eventfd_t seen;
	int signal_no = wait_for(n, n->booted_fd);
	if (!signal_no)
		(void)eventfd_read(n->booted_fd, &seen);
	return signal_no;
}

/* Makes again what the store has. As boot_auto. */
static int boot_restore(struct nl6 *n, const char *auto_flags, bool *ret_has_auto)
{
	struct device_conf of_flags = boot_settings(&n->conf.boot, agent_port(n->agent), n->access);
	int r;
	while ((r = restore_step(n->restore, &of_flags)) > 0) {
		int signal_no = wait_for_batch(n);
		if (signal_no)
			return signal_no;
	}
	if (r == 0)
		r = restore_sweep(n->restore);
	if (r < 0)
		return r;
	*ret_has_auto = auto_flags && restore_has_auto(n->restore, auto_flags);
	n->restore = restore_free(n->restore);
	return 0;
}

/* Makes the fleet of the -auto flags. 0, the number of a signal that came first, or an error. */
static int boot_auto(struct nl6 *n, const char *auto_flags, struct fault *fault)
{
	uint64_t id;
	struct batch_info info = {.state = BATCH_WAITING};
	int r = boot_submit(&n->conf.boot, agent_port(n->agent), n->access, n->types, n->batches,
		&mem_libc, auto_flags, booted, n, &id, fault);
	while (r == 0 && info.state != BATCH_DONE && info.state != BATCH_FAILED) {
		r = wait_for_batch(n);
		if (r == 0)
			r = batch_get(n->batches, id, &info);
	}
	if (r != 0 || info.state == BATCH_DONE)
		return r;
	if (n->store && (info.fault.code == -EROFS || info.fault.code == -ENOSPC)) {
		/* Refused as any other create: what there is goes on. */
		log_error(NULL, 0, "no device of the -auto flags: %s", info.fault.text);
		return 0;
	}
	*fault = info.fault;
	return info.fault.code;
}

static int boot_fleet(struct nl6 *n, struct span *span, struct fault *fault)
{
	AUTO_TEXT struct text flags = TEXT(&mem_libc);
	bool has_auto = false, wanted = boot_is_wanted(&n->conf.boot);
	int r = 0;
	SPAN_SCOPE(span);
	if (wanted && n->store)
		boot_text(&n->conf.boot, &flags);
	if (n->store)
		r = flags.err < 0 ? flags.err : boot_restore(n, flags.s, &has_auto);
	return r == 0 && wanted && !has_auto ? boot_auto(n, flags.s, fault) : r;
}

static int boot(struct nl6 *n, struct fault *fault)
{
	struct span *span = span_begin(&(struct span_ask){.name = "boot", .kind = SPAN_INTERNAL});
	int r = boot_fleet(n, span, fault);
	if (r < 0)
		span_fail(span, fault->text);
	span_end(span);
	return r;
}

/* For profilers outside of the program. Without it they do not learn what its labels are called;
 * that is no reason to log more than a note. */
static void tell_profilers(struct nl6 *n)
{
	int r = procctx_publish(
		&mem_libc, &(struct procctx_conf){"nl6", VERSION, label_keys}, &n->context);
	if (r < 0)
		log_debug(NULL, r, "cannot publish a process context");
}

static void tell_manager(const char *message)
{
	int r = notify_send(getenv("NOTIFY_SOCKET"), message);
	if (r < 0)
		log_warn(NULL, r, "cannot tell the service manager %s", message);
}

static void tell_ready(const struct nl6 *n)
{
	char buf[ADDR_PORT_TEXT_BYTES];
	const char *api = addr_port_text(&n->conf.api.listen, api_port(n->api), buf);
	if (printf("ready api=%s snmp=%u\n", api, agent_port(n->agent)) < 0 || fflush(stdout) != 0)
		log_warn(NULL, -errno, "cannot tell on standard output that it is ready");
	tell_manager("READY=1");
}

static int run(struct nl6 *n, struct fault *fault)
{
	int r = make(n, fault);
	if (r == 0)
		r = start(n, fault);
	if (r == 0)
		r = boot(n, fault);
	if (r < 0)
		return r;
	if (r == 0) {
		tell_ready(n);
		(void)wait_for(n, -1);
	}
	log_info(NULL, 0, "stopping");
	tell_manager("STOPPING=1");
	return 0;
}

/* From the settings on; the log is there. */
static int live(struct nl6 *n)
{
	struct fault fault = {0};
	thread_adopt("main", &label_main);
	nl6_self.log = n->log;
	for (uint32_t i = 0; i < flags_warnings(n->flags); i++)
		log_warn(NULL, 0, "%s", flags_warning(n->flags, i));
	const char *warning = boot_warning(&n->conf.boot);
	if (warning)
		log_warn(NULL, 0, "%s", warning);
	warning = access_flags_warning(&n->conf.access);
	if (warning)
		log_warn(NULL, 0, "%s", warning);
	lift_nofile();
	tell_profilers(n);
	int r = take_signals(n);
	if (r == 0)
		r = run(n, &fault);
	if (r < 0)
		log_fault(&fault, r);
	if (n->stopped_fd >= 0)
		stop_all(n);
	unmake(n);
	n->context = procctx_free(n->context);
	nl6_self.log = NULL;
	return fault_status(&fault, r < 0 ? r : 0);
}

/* Variables that libraries obey by themselves: no keys of TLS go to a file, no modules are loaded,
 * no authorities trusted and no names taken for others because of an environment that was meant for
 * other programs. */
static void forget_foreign(void)
{
	static const char *const names[] = {"SSLKEYLOGFILE", "SSL_CERT_FILE", "SSL_CERT_DIR",
		"OPENSSL_CONF", "OPENSSL_MODULES", "OPENSSL_ENGINES", "HOSTALIASES", "LOCALDOMAIN",
		"RES_OPTIONS"};
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
		(void)unsetenv(names[i]);
}

int main(int argc, char **argv)
{
	struct nl6 n = {.signal_fd = -1, .booted_fd = -1, .stopped_fd = -1};
	struct fault fault = {0};
	forget_foreign();
	struct flags_env env = {&mem_libc, read_file, NULL};
	struct flags_ask ask = {
		nl6_flags, nl6_other_flags, argc, argv, environ, nl6_alone_flags, NL6_CONFIG_FLAG};
	int r = flags_parse(&env, &ask, &n.conf, &n.flags, &fault);
	if (r < 0) {
		print_fault(&fault, r);
		(void)fprintf(stderr, "See nl6 -help.\n");
		return EXIT_USAGE;
	}
	int status = EXIT_FAILURE;
	n.conf.log.fd = STDERR_FILENO;
	n.conf.boot.netmask_given = flags_is_set(n.flags, "auto-netmask");
	if (n.conf.main.help)
		status = print_help();
	else if (n.conf.main.version)
		status = puts(VERSION) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
	else if (log_new(&(struct log_env){&mem_libc, &clk_system}, &n.conf.log, &n.log) == 0)
		status = live(&n);
	(void)log_free(n.log);
	(void)flags_free(n.flags);
	return status;
}
