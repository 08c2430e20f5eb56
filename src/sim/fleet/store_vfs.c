#include "sim/fleet/store_vfs.h"
#include "base/crc32c.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SUMMED_BYTES (STORE_PAGE_BYTES - STORE_SUM_BYTES)

struct file { /* the file of the system's VFS lies behind it */
	sqlite3_file base;
	struct store_vfs *vfs;
	int kind; /* SQLITE_OPEN_MAIN_DB, SQLITE_OPEN_WAL or another */
};

static sqlite3_file *below(sqlite3_file *f)
{
	return (sqlite3_file *)((struct file *)f + 1);
}

static uint32_t page_sum(const uint8_t *page, uint32_t number)
{
	uint8_t no[4] = {(uint8_t)(number >> 24), (uint8_t)(number >> 16), (uint8_t)(number >> 8),
		(uint8_t)number};
	return crc32c(crc32c(0, no, sizeof(no)), page, SUMMED_BYTES);
}

bool store_page_is_sound(const uint8_t page[static STORE_PAGE_BYTES], uint32_t number)
{
	uint32_t sum = page_sum(page, number);
	return memcmp(page + SUMMED_BYTES, &sum, sizeof(sum)) == 0;
}

static bool is_page(const struct file *f, int bytes, sqlite3_int64 at)
{
	return f->kind == SQLITE_OPEN_MAIN_DB && bytes == STORE_PAGE_BYTES &&
	       at % STORE_PAGE_BYTES == 0;
}

static uint32_t page_number(sqlite3_int64 at)
{
	return (uint32_t)(at / STORE_PAGE_BYTES + 1);
}

/* Keeps the errno of what failed, which SQLite forgets for a full disk. */
static int told(sqlite3_file *f, int r)
{
	if (r != SQLITE_OK)
		((struct file *)f)->vfs->error = (r & 0xff) == SQLITE_FULL ? ENOSPC
						 : errno		   ? errno
									   : EIO;
	return r;
}

static int file_close(sqlite3_file *f)
{
	return below(f)->pMethods->xClose(below(f));
}

static int file_read(sqlite3_file *f, void *buf, int bytes, sqlite3_int64 at)
{
	int r = below(f)->pMethods->xRead(below(f), buf, bytes, at);
	if (r == SQLITE_OK && is_page((struct file *)f, bytes, at) &&
		!store_page_is_sound(buf, page_number(at)))
		return SQLITE_IOERR_DATA;
	return r;
}

static int write_page(sqlite3_file *f, const void *buf, sqlite3_int64 at)
{
	uint8_t page[STORE_PAGE_BYTES];
	memcpy(page, buf, SUMMED_BYTES);
	uint32_t sum = page_sum(page, page_number(at));
	memcpy(page + SUMMED_BYTES, &sum, sizeof(sum));
	return below(f)->pMethods->xWrite(below(f), page, STORE_PAGE_BYTES, at);
}

/* Commits are written in one go, from front to back: what lies behind is of one that failed, or of
 * before the last checkpoint. So all frames that are whole are valid, and one that is not was
 * damaged later. */
static int cut_log(sqlite3_file *f, sqlite3_int64 at)
{
	sqlite3_int64 size;
	int r = below(f)->pMethods->xFileSize(below(f), &size);
	return r == SQLITE_OK && size > at ? below(f)->pMethods->xTruncate(below(f), at) : r;
}

static int file_write(sqlite3_file *f, const void *buf, int bytes, sqlite3_int64 at)
{
	errno = 0;
	if (is_page((struct file *)f, bytes, at))
		return told(f, write_page(f, buf, at));
	int r = SQLITE_OK;
	if (((struct file *)f)->kind == SQLITE_OPEN_WAL)
		r = cut_log(f, at);
	if (r == SQLITE_OK)
		r = below(f)->pMethods->xWrite(below(f), buf, bytes, at);
	return told(f, r);
}

static int file_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	errno = 0;
	return told(f, below(f)->pMethods->xTruncate(below(f), size));
}

static int file_sync(sqlite3_file *f, int flags)
{
	errno = 0;
	return told(f, below(f)->pMethods->xSync(below(f), flags));
}

static int file_size(sqlite3_file *f, sqlite3_int64 *size)
{
	return below(f)->pMethods->xFileSize(below(f), size);
}

static int file_lock(sqlite3_file *f, int level)
{
	return below(f)->pMethods->xLock(below(f), level);
}

static int file_unlock(sqlite3_file *f, int level)
{
	return below(f)->pMethods->xUnlock(below(f), level);
}

static int file_reserved(sqlite3_file *f, int *out)
{
	return below(f)->pMethods->xCheckReservedLock(below(f), out);
}

static int file_control(sqlite3_file *f, int op, void *arg)
{
	return below(f)->pMethods->xFileControl(below(f), op, arg);
}

static int file_sector(sqlite3_file *f)
{
	return below(f)->pMethods->xSectorSize(below(f));
}

static int file_device(sqlite3_file *f)
{
	return below(f)->pMethods->xDeviceCharacteristics(below(f));
}

/* Of version 1: no memory is shared with other processes, the file is locked for this one. */
static const sqlite3_io_methods methods = {
	.iVersion = 1,
	.xClose = file_close,
	.xRead = file_read,
	.xWrite = file_write,
	.xTruncate = file_truncate,
	.xSync = file_sync,
	.xFileSize = file_size,
	.xLock = file_lock,
	.xUnlock = file_unlock,
	.xCheckReservedLock = file_reserved,
	.xFileControl = file_control,
	.xSectorSize = file_sector,
	.xDeviceCharacteristics = file_device,
};

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *out)
{
	struct store_vfs *v = vfs->pAppData;
	struct file *file = (struct file *)f;
	*file = (struct file){.vfs = v, .kind = flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL)};
	errno = 0;
	int r = v->below->xOpen(v->below, name, below(f), flags, out);
	if (r == SQLITE_OK)
		file->base.pMethods = &methods;
	else
		v->error = errno ? errno : EIO;
	return r;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
	struct store_vfs *v = vfs->pAppData;
	return v->below->xDelete(v->below, name, sync);
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *out)
{
	struct store_vfs *v = vfs->pAppData;
	return v->below->xAccess(v->below, name, flags, out);
}

static int vfs_path(sqlite3_vfs *vfs, const char *name, int room, char *out)
{
	struct store_vfs *v = vfs->pAppData;
	return v->below->xFullPathname(v->below, name, room, out);
}

static int vfs_last_error(sqlite3_vfs *vfs, int room UNUSED, char *out UNUSED)
{
	return ((struct store_vfs *)vfs->pAppData)->error;
}

int store_vfs_init(struct store_vfs *v)
{
	sqlite3_vfs *system = sqlite3_vfs_find(NULL);
	if (!system)
		return -ENOMEM;
	*v = (struct store_vfs){.vfs = *system, .below = system};
	(void)snprintf(v->name, sizeof(v->name), "nl6-%p", (void *)v);
	v->vfs.pNext = NULL;
	v->vfs.zName = v->name;
	v->vfs.pAppData = v;
	v->vfs.szOsFile = (int)sizeof(struct file) + system->szOsFile;
	v->vfs.xOpen = vfs_open;
	v->vfs.xDelete = vfs_delete;
	v->vfs.xAccess = vfs_access;
	v->vfs.xFullPathname = vfs_path;
	v->vfs.xGetLastError = vfs_last_error;
	return sqlite3_vfs_register(&v->vfs, 0) == SQLITE_OK ? 0 : -ENOMEM;
}

void store_vfs_done(struct store_vfs *v)
{
	if (v->below)
		(void)sqlite3_vfs_unregister(&v->vfs);
	v->below = NULL;
}
