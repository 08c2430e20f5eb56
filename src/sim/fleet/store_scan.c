#include "sim/fleet/store_scan.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The log as SQLite writes it (https://sqlite.org/fileformat2.html 4). */
#define LOG_HEAD_BYTES 32
#define FRAME_HEAD_BYTES 24
#define FRAME_BYTES (FRAME_HEAD_BYTES + STORE_PAGE_BYTES)
#define LOG_MAGIC 0x377f0682u /* with the lowest bit: sums over big-endian words */
#define LOG_VERSION 3007000u
/* Offsets in the database's header (1.3). */
#define AT_PAGES 28
#define AT_VERSION 60
#define PAGES_MAX (1u << 26) /* 256 GiB */

static uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static int read_at(int fd, void *buf, size_t bytes, uint64_t at)
{
	for (size_t done = 0; done < bytes;) {
		ssize_t n = pread(fd, (uint8_t *)buf + done, bytes - done, (off_t)(at + done));
		if (n == 0)
			return -ENODATA;
		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static int open_file(const char *path, int *ret_fd, uint64_t *ret_bytes)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		(void)close(fd);
		return -EINVAL;
	}
	*ret_fd = fd;
	*ret_bytes = (uint64_t)st.st_size;
	return 0;
}

/* The running sum of the log (4.2). */
struct log_sum {
	uint32_t s0, s1;
	bool big;
};

static void log_add(struct log_sum *sum, const uint8_t *p, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 8) {
		uint32_t x0 = be32(p + i), x1 = be32(p + i + 4);
		sum->s0 += (sum->big ? x0 : __builtin_bswap32(x0)) + sum->s1;
		sum->s1 += (sum->big ? x1 : __builtin_bswap32(x1)) + sum->s0;
	}
}

static bool log_is(const struct log_sum *sum, const uint8_t *p)
{
	return sum->s0 == be32(p) && sum->s1 == be32(p + 4);
}

static void damage(struct store_scan *s, const char *before, uint32_t number, const char *after)
{
	char text[64];
	(void)snprintf(text, sizeof(text), "%s%u%s", before, number, after);
	s->env.damaged(s->env.arg, text);
}

static bool log_begin(struct log_sum *sum, const uint8_t head[static LOG_HEAD_BYTES])
{
	*sum = (struct log_sum){.big = head[3] & 1};
	log_add(sum, head, 24);
	return (be32(head) & ~1u) == LOG_MAGIC && be32(head + 4) == LOG_VERSION &&
	       be32(head + 8) == STORE_PAGE_BYTES && log_is(sum, head + 24);
}

static int map_grow(struct store_scan *s, uint32_t pages, uint32_t *room)
{
	if (pages <= *room)
		return 0;
	uint32_t want = MAX(pages, *room * 2);
	uint32_t *map = mem_resize(s->env.mem, s->frame, want, sizeof(*map));
	if (!map)
		return -ENOMEM;
	memset(map + *room, 0, (want - *room) * sizeof(*map));
	s->frame = map;
	*room = want;
	return 0;
}

/* Enters the frames of a commit, first..last, into the map. */
static int log_commit(struct store_scan *s, uint32_t first, uint32_t last, uint32_t *room)
{
	for (uint32_t i = first; i <= last; i++) {
		uint8_t head[4];
		int r = read_at(
			s->log_fd, head, sizeof(head), LOG_HEAD_BYTES + (uint64_t)i * FRAME_BYTES);
		uint32_t page = be32(head);
		if (r == 0 && (page == 0 || page > PAGES_MAX))
			continue;
		if (r == 0)
			r = map_grow(s, page, room);
		if (r < 0)
			return r;
		s->frame[page - 1] = i + 1;
	}
	return 0;
}

/* Every frame that is whole must be valid: store_vfs.c cuts off what is not. */
static int log_frames(struct store_scan *s, struct log_sum *sum, const uint8_t *salts,
	uint64_t bytes, uint32_t *room)
{
	uint32_t begun = 0, n = (uint32_t)((bytes - LOG_HEAD_BYTES) / FRAME_BYTES);
	uint8_t frame[FRAME_BYTES];
	for (uint32_t i = 0; i < n; i++) {
		int r = read_at(s->log_fd, frame, sizeof(frame),
			LOG_HEAD_BYTES + (uint64_t)i * FRAME_BYTES);
		if (r < 0)
			return r;
		log_add(sum, frame, 8);
		log_add(sum, frame + FRAME_HEAD_BYTES, STORE_PAGE_BYTES);
		if (memcmp(frame + 8, salts, 8) != 0 || !log_is(sum, frame + 16)) {
			s->log_is_bad = true;
			damage(s, "frame ", i + 1, " of the log and what follows it");
			return 0;
		}
		uint32_t pages = be32(frame + 4);
		if (pages == 0)
			continue;
		r = log_commit(s, begun, i, room);
		if (r < 0)
			return r;
		s->n_pages = MIN(pages, PAGES_MAX);
		s->n_frames = begun = i + 1;
	}
	return 0;
}

static int scan_log(struct store_scan *s, uint64_t bytes, uint32_t *room)
{
	uint8_t head[LOG_HEAD_BYTES];
	struct log_sum sum;
	if (bytes < LOG_HEAD_BYTES)
		return 0; /* killed in its first write: nothing was committed in it */
	int r = read_at(s->log_fd, head, sizeof(head), 0);
	if (r < 0)
		return r;
	if (!log_begin(&sum, head)) {
		s->log_is_bad = true;
		s->env.damaged(s->env.arg, "the header of the log, so that all of it is lost");
		return 0;
	}
	return log_frames(s, &sum, head + 16, bytes, room);
}

static int read_page(const struct store_scan *s, uint32_t number, uint8_t *page)
{
	if (s->frame[number - 1])
		return read_at(s->log_fd, page, STORE_PAGE_BYTES,
			LOG_HEAD_BYTES + (uint64_t)(s->frame[number - 1] - 1) * FRAME_BYTES +
				FRAME_HEAD_BYTES);
	int r = s->db_fd < 0 ? -ENODATA
			     : read_at(s->db_fd, page, STORE_PAGE_BYTES,
				       (uint64_t)(number - 1) * STORE_PAGE_BYTES);
	if (r == 0 && !store_page_is_sound(page, number))
		return -EBADMSG;
	return r;
}

static int scan_pages(struct store_scan *s)
{
	uint8_t page[STORE_PAGE_BYTES];
	for (uint32_t i = 1; i <= s->n_pages; i++) {
		int r = read_page(s, i, page);
		if (i == 1 && r == 0) {
			s->version = be32(page + AT_VERSION);
			if (s->n_frames == 0 && be32(page + AT_PAGES))
				s->n_pages = MIN(s->n_pages, be32(page + AT_PAGES));
		}
		if (r == 0)
			continue;
		if (r != -EBADMSG && r != -ENODATA && r != -EIO)
			return r;
		s->bad[i - 1] = 1;
		s->n_bad++;
		damage(s, "page ", i, "");
	}
	return 0;
}

int store_scan_open(struct store_scan *s, const struct store_scan_env *env, const char *db_path,
	const char *log_path)
{
	uint64_t db_bytes = 0, log_bytes = 0;
	uint32_t room = 0;
	*s = (struct store_scan){.env = *env, .db_fd = -1, .log_fd = -1};
	int r = open_file(db_path, &s->db_fd, &db_bytes);
	if (r == 0)
		r = open_file(log_path, &s->log_fd, &log_bytes);
	if (r == 0 && db_bytes / STORE_PAGE_BYTES > PAGES_MAX)
		r = -EFBIG;
	s->n_pages = (uint32_t)((db_bytes + STORE_PAGE_BYTES - 1) / STORE_PAGE_BYTES);
	if (r == 0 && s->log_fd >= 0)
		r = scan_log(s, log_bytes, &room);
	if (r == 0)
		r = map_grow(s, s->n_pages + 1, &room);
	if (r == 0 && !(s->bad = mem_zalloc(env->mem, s->n_pages + 1)))
		r = -ENOMEM;
	if (r == 0)
		r = scan_pages(s);
	if (r < 0)
		store_scan_done(s);
	return r;
}

void store_scan_done(struct store_scan *s)
{
	if (s->db_fd >= 0)
		(void)close(s->db_fd);
	if (s->log_fd >= 0)
		(void)close(s->log_fd);
	s->db_fd = s->log_fd = -1;
	s->frame = mem_free(s->env.mem, s->frame);
	s->bad = mem_free(s->env.mem, s->bad);
}

static bool sound_page(void *arg, uint32_t number, uint8_t page[static STORE_PAGE_BYTES])
{
	const struct store_scan *s = arg;
	return number >= 1 && number <= s->n_pages && !s->bad[number - 1] &&
	       read_page(s, number, page) == 0;
}

int store_scan_records(
	struct store_scan *s, int (*fn)(void *arg, const struct store_raw *r), void *arg)
{
	struct store_pages pages = {sound_page, s};
	uint8_t page[STORE_PAGE_BYTES];
	for (uint32_t i = 2; i <= s->n_pages; i++) {
		if (!sound_page(s, i, page))
			continue;
		int r = store_page_records(s->env.mem, &pages, page, fn, arg);
		if (r != 0)
			return r;
	}
	return 0;
}
