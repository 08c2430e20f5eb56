#include "api/sysinfo.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* The text of a small file of /proc, NUL-terminated; empty when it cannot be read. */
static void read_text(const char *path, char *buf, size_t room)
{
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n;
	while (fd >= 0 && len + 1 < room && (n = read(fd, buf + len, room - 1 - len)) > 0)
		len += (size_t)n;
	buf[len] = 0;
}

/* The number behind a line's "Name:", in kB as bytes. */
static uint64_t kb_of(const char *text, const char *name)
{
	const char *at = strstr(text, name);
	return at ? strtoull(at + strlen(name), NULL, 10) << 10 : 0;
}

void sysinfo_read_host(struct sysinfo_host *ret_host)
{
	char buf[4096];
	*ret_host = (struct sysinfo_host){.cpus = (unsigned)sysconf(_SC_NPROCESSORS_ONLN)};
	read_text("/proc/meminfo", buf, sizeof(buf));
	ret_host->total_bytes = kb_of(buf, "MemTotal:");
	ret_host->available_bytes = kb_of(buf, "MemAvailable:");
	(void)!getloadavg(ret_host->load, 3);
}

static uint64_t count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	uint64_t n = 0;
	if (!dir)
		return 0;
	for (const struct dirent *e; (e = readdir(dir));)
		n += e->d_name[0] != '.';
	(void)closedir(dir);
	return n - 1; /* the directory's own */
}

/* Field (from 1) of /proc/self/stat; the name in field 2 may hold anything, so count behind it. */
static uint64_t stat_field(const char *stat, unsigned field)
{
	const char *p = strrchr(stat, ')');
	for (unsigned i = 2; p && i < field; i++)
		p = strchr(p + 1, ' ');
	return p ? strtoull(p, NULL, 10) : 0;
}

static double boot_unix_seconds(void)
{
	struct timespec now, up;
	if (clock_gettime(CLOCK_REALTIME, &now) < 0 || clock_gettime(CLOCK_BOOTTIME, &up) < 0)
		return 0;
	return (double)(now.tv_sec - up.tv_sec) + (double)(now.tv_nsec - up.tv_nsec) / 1e9;
}

void sysinfo_read_self(struct sysinfo_self *ret_self)
{
	char buf[4096];
	struct rusage usage;
	struct rlimit limit;
	struct sysinfo_self s = {.fds = count_fds()};
	read_text("/proc/self/stat", buf, sizeof(buf));
	s.threads = stat_field(buf, 20);
	s.start_unix_seconds =
		boot_unix_seconds() + (double)stat_field(buf, 22) / (double)sysconf(_SC_CLK_TCK);
	read_text("/proc/self/statm", buf, sizeof(buf));
	char *end = buf;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	s.virtual_bytes = strtoull(buf, &end, 10) * page;
	s.resident_bytes = strtoull(end, NULL, 10) * page;
	read_text("/proc/self/status", buf, sizeof(buf));
	s.anonymous_bytes = kb_of(buf, "RssAnon:");
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		s.max_fds = limit.rlim_cur;
	if (getrusage(RUSAGE_SELF, &usage) == 0)
		s.cpu_seconds = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
				(double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
	*ret_self = s;
}

void sysinfo_read_cpu(struct sysinfo_cpu *ret_cpu)
{
	char buf[512];
	struct sysinfo_cpu c = {0};
	read_text("/proc/stat", buf, sizeof(buf));
	char *p = buf + strcspn(buf, " ");
	/* user nice system idle iowait irq softirq steal */
	for (unsigned i = 0; i < 8; i++) {
		uint64_t ticks = strtoull(p, &p, 10);
		c.all += ticks;
		c.busy += i == 3 || i == 4 ? 0 : ticks;
	}
	*ret_cpu = c;
}

double sysinfo_cpu_percent(const struct sysinfo_cpu *before, const struct sysinfo_cpu *now)
{
	uint64_t all = now->all - before->all, busy = now->busy - before->busy;
	return all ? 100.0 * (double)busy / (double)all : 0;
}
