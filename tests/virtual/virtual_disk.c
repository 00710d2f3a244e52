/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/virtual/virtual_disk.h"

#include <errno.h>
#include <sqlite3.h>
#include <string.h>

#include "common/error_fail.h"
#include "tests/virtual/virtual_platform_private.h"

/* What was in a place of a file before it was written, to be put back by a crash. */
struct undo {
	size_t size; /* of the whole file */
	size_t offset;
	size_t length; /* of what was written; 0: the file was truncated */
	GBytes *bytes;
};

/* The shared memory of a database's connections: the index of its WAL. */
struct shm {
	guint refs;
	GPtrArray *regions;
	guint shared[SQLITE_SHM_NLOCK];
	const struct handle *exclusive[SQLITE_SHM_NLOCK];
};

/* A file, whatever its names are. */
struct inode {
	guint refs;
	GByteArray *bytes;
	GArray *undos; /* struct undo since it was last synced */
	/* Locks of a database. */
	guint shared;
	const struct handle *reserved;
	const struct handle *pending; /* or exclusive */
	struct shm *shm;              /* NULL: none */
};

struct virtual_disk {
	sqlite3_vfs vfs;
	char *name;
	GHashTable *names;  /* path -> struct inode */
	GHashTable *synced; /* the same as on the disk */
	guint life;
	int fail_code; /* 0: nothing fails */
	guint fail_after;
	/* Called once in so many changes; 0: never. */
	guint watch_after;
	void (*watch)(void *data);
	void *watch_data;
	bool in_use; /* by a platform whose life has not ended */
};

/* An open database file, as SQLite has it. */
struct handle {
	sqlite3_file base; /* first: operations cast back */
	struct virtual_disk *disk;
	struct inode *inode;
	struct shm *shm; /* NULL: it uses none */
	char *path;      /* NULL: it has no name */
	guint life;
	int level; /* SQLITE_LOCK_* */
	unsigned int shm_shared, shm_exclusive;
	bool syncs_name; /* a new journal, whose name is synced with it */
};

/* Files. */

static void undo_clear(gpointer undo)
{
	g_bytes_unref(((struct undo *)undo)->bytes);
}

static struct inode *inode_new(void)
{
	struct inode *inode = g_new0(struct inode, 1);

	inode->refs = 1;
	inode->bytes = g_byte_array_new();
	inode->undos = g_array_new(FALSE, FALSE, sizeof(struct undo));
	g_array_set_clear_func(inode->undos, undo_clear);
	return inode;
}

static struct inode *inode_ref(struct inode *inode)
{
	inode->refs++;
	return inode;
}

static void shm_unref(struct shm *shm)
{
	if (!shm || --shm->refs > 0)
		return;
	g_ptr_array_unref(shm->regions);
	g_free(shm);
}

static void inode_unref(gpointer data)
{
	struct inode *inode = data;

	if (--inode->refs > 0)
		return;
	shm_unref(inode->shm);
	g_byte_array_unref(inode->bytes);
	g_array_unref(inode->undos);
	g_free(inode);
}

/* Remembers what is in a place, and how long the file is, before `written` bytes are put there. */
static void remember(struct inode *inode, size_t offset, size_t length, size_t written)
{
	const size_t size = inode->bytes->len;
	const size_t there = offset < size ? MIN(length, size - offset) : 0;
	const struct undo undo = {size, offset, written,
				  g_bytes_new(there ? inode->bytes->data + offset : NULL, there)};

	g_array_append_val(inode->undos, undo);
}

/* Bytes behind the former end are 0. */
static void resize(struct inode *inode, size_t size)
{
	const size_t before = inode->bytes->len;

	g_byte_array_set_size(inode->bytes, (guint)size);
	if (size > before)
		memset(inode->bytes->data + before, 0, size - before);
}

static void inode_write(struct inode *inode, size_t offset, const void *bytes, size_t length)
{
	remember(inode, offset, length, length);
	if (offset + length > inode->bytes->len)
		resize(inode, offset + length);
	if (length > 0)
		memcpy(inode->bytes->data + offset, bytes, length);
}

static void inode_truncate(struct inode *inode, size_t size)
{
	remember(inode, size, inode->bytes->len > size ? inode->bytes->len - size : 0, 0);
	resize(inode, size);
}

static void inode_sync(struct inode *inode)
{
	g_array_set_size(inode->undos, 0);
}

static void put_back(struct inode *inode, const struct undo *undo)
{
	gsize length;
	const void *bytes = g_bytes_get_data(undo->bytes, &length);

	resize(inode, undo->size);
	if (length > 0)
		memcpy(inode->bytes->data + undo->offset, bytes, length);
}

/* Puts back the last write but for its first bytes. */
static void tear(struct inode *inode, const struct undo *undo, size_t kept)
{
	g_autofree void *bytes = g_memdup2(inode->bytes->data + undo->offset, kept);

	put_back(inode, undo);
	if (kept == 0)
		return;
	if (undo->offset + kept > inode->bytes->len)
		resize(inode, undo->offset + kept);
	memcpy(inode->bytes->data + undo->offset, bytes, kept);
}

/* Puts back what was there when it was last synced; with `random`, at some time since then. */
static void inode_lose(struct inode *inode, struct random_stream *random)
{
	const guint count = inode->undos->len;
	const guint kept = random ? (guint)random_stream_below(random, count + 1) : 0;

	for (guint i = count; i > kept; i--) {
		const struct undo *undo = &g_array_index(inode->undos, struct undo, i - 1);

		if (random && i == kept + 1 && undo->length > 0)
			tear(inode, undo, random_stream_below(random, undo->length));
		else
			put_back(inode, undo);
	}
	inode_sync(inode);
}

/* Names. */

static GHashTable *names_new(void)
{
	return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, inode_unref);
}

static bool is_in(const char *path, const char *directory)
{
	g_autofree char *own = g_path_get_dirname(path);

	return g_str_equal(own, directory);
}

/* Copies the names of a directory, NULL: all, from one table to another. */
static void copy_names(GHashTable *to, GHashTable *from, const char *directory)
{
	GHashTableIter iter;
	gpointer path, inode;

	g_hash_table_iter_init(&iter, to);
	while (g_hash_table_iter_next(&iter, &path, NULL))
		if (!directory || is_in(path, directory))
			g_hash_table_iter_remove(&iter);
	g_hash_table_iter_init(&iter, from);
	while (g_hash_table_iter_next(&iter, &path, &inode))
		if (!directory || is_in(path, directory))
			g_hash_table_insert(to, g_strdup(path), inode_ref(inode));
}

/* Brings the names in the directory of `path` onto the disk. */
static void sync_names(struct virtual_disk *disk, const char *path)
{
	g_autofree char *directory = g_path_get_dirname(path);

	copy_names(disk->synced, disk->names, directory);
}

static struct inode *find(const struct virtual_disk *disk, const char *path)
{
	return g_hash_table_lookup(disk->names, path);
}

/* A change is about to be made. */
static void count_change(struct virtual_disk *disk)
{
	if (disk->watch_after > 0 && --disk->watch_after == 0)
		disk->watch(disk->watch_data);
}

/* Whether a change fails, with errno. */
static bool fails(struct virtual_disk *disk)
{
	if (disk->fail_code == 0)
		return false;
	errno = disk->fail_code;
	if (disk->fail_after == 0)
		return true;
	disk->fail_after--;
	return false;
}

/* Locks of a database file; all connections are on one thread. */

static struct handle *handle_of(sqlite3_file *file)
{
	return (struct handle *)file;
}

static bool is_dead(const struct handle *handle)
{
	errno = EIO;
	return handle->life != handle->disk->life;
}

static int take_exclusive(struct handle *handle)
{
	struct inode *inode = handle->inode;

	if ((inode->reserved && inode->reserved != handle) ||
	    (inode->pending && inode->pending != handle))
		return SQLITE_BUSY;
	inode->pending = handle;
	handle->level = SQLITE_LOCK_PENDING;
	if (inode->shared > 1)
		return SQLITE_BUSY;
	handle->level = SQLITE_LOCK_EXCLUSIVE;
	return SQLITE_OK;
}

static int disk_lock(sqlite3_file *file, int level)
{
	struct handle *handle = handle_of(file);
	struct inode *inode = handle->inode;

	if (is_dead(handle))
		return SQLITE_IOERR_LOCK;
	if (level <= handle->level)
		return SQLITE_OK;
	if (level == SQLITE_LOCK_EXCLUSIVE)
		return take_exclusive(handle);
	if (level == SQLITE_LOCK_SHARED ? inode->pending != NULL : inode->reserved != NULL)
		return SQLITE_BUSY;
	if (level == SQLITE_LOCK_SHARED)
		inode->shared++;
	else
		inode->reserved = handle;
	handle->level = level;
	return SQLITE_OK;
}

static int disk_unlock(sqlite3_file *file, int level)
{
	struct handle *handle = handle_of(file);
	struct inode *inode = handle->inode;

	if (is_dead(handle) || level >= handle->level)
		return SQLITE_OK;
	if (inode->reserved == handle)
		inode->reserved = NULL;
	if (inode->pending == handle)
		inode->pending = NULL;
	if (level == SQLITE_LOCK_NONE)
		inode->shared--;
	handle->level = level;
	return SQLITE_OK;
}

static int check_reserved(sqlite3_file *file, int *ret_reserved)
{
	const struct inode *inode = handle_of(file)->inode;

	*ret_reserved = inode->reserved != NULL || inode->pending != NULL;
	return SQLITE_OK;
}

/* Shared memory. */

static int shm_map(sqlite3_file *file, int region, int size, int extend, void volatile **ret_memory)
{
	struct handle *handle = handle_of(file);
	struct inode *inode = handle->inode;

	*ret_memory = NULL;
	if (is_dead(handle))
		return SQLITE_IOERR_SHMMAP;
	if (!inode->shm) {
		inode->shm = g_new0(struct shm, 1);
		inode->shm->refs = 1;
		inode->shm->regions = g_ptr_array_new_with_free_func(g_free);
	}
	if (!handle->shm) {
		handle->shm = inode->shm;
		handle->shm->refs++;
	}
	while (extend && handle->shm->regions->len <= (guint)region)
		g_ptr_array_add(handle->shm->regions, g_malloc0((gsize)size));
	if (handle->shm->regions->len > (guint)region)
		*ret_memory = handle->shm->regions->pdata[region];
	return SQLITE_OK;
}

static void shm_release(struct handle *handle, int slot)
{
	const unsigned int bit = 1u << slot;

	if (handle->shm_shared & bit)
		handle->shm->shared[slot]--;
	if (handle->shm_exclusive & bit)
		handle->shm->exclusive[slot] = NULL;
	handle->shm_shared &= ~bit;
	handle->shm_exclusive &= ~bit;
}

static bool shm_is_free(const struct handle *handle, int slot, bool shared)
{
	const struct shm *shm = handle->shm;
	const guint own = (handle->shm_shared >> slot) & 1;

	return (!shm->exclusive[slot] || shm->exclusive[slot] == handle) &&
	       (shared || shm->shared[slot] == own);
}

static int shm_lock(sqlite3_file *file, int first, int count, int flags)
{
	struct handle *handle = handle_of(file);
	const bool shared = flags & SQLITE_SHM_SHARED;

	if (!(flags & SQLITE_SHM_UNLOCK) && is_dead(handle))
		return SQLITE_IOERR_SHMLOCK;
	for (int i = first; !(flags & SQLITE_SHM_UNLOCK) && i < first + count; i++)
		if (!shm_is_free(handle, i, shared))
			return SQLITE_BUSY;
	for (int i = first; i < first + count; i++) {
		shm_release(handle, i);
		if (flags & SQLITE_SHM_UNLOCK)
			continue;
		if (shared) {
			handle->shm->shared[i]++;
			handle->shm_shared |= 1u << i;
		} else {
			handle->shm->exclusive[i] = handle;
			handle->shm_exclusive |= 1u << i;
		}
	}
	return SQLITE_OK;
}

static void shm_barrier(sqlite3_file *file)
{
}

static int shm_unmap(sqlite3_file *file, int remove)
{
	struct handle *handle = handle_of(file);

	if (!handle->shm)
		return SQLITE_OK;
	for (int i = 0; i < SQLITE_SHM_NLOCK; i++)
		shm_release(handle, i);
	/* The last connection has it removed. */
	if (handle->inode->shm == handle->shm && handle->shm->refs == 2) {
		handle->inode->shm = NULL;
		handle->shm->refs--;
	}
	shm_unref(handle->shm);
	handle->shm = NULL;
	return SQLITE_OK;
}

/* Databases. */

static int disk_close(sqlite3_file *file)
{
	struct handle *handle = handle_of(file);

	shm_unmap(file, 0);
	disk_unlock(file, SQLITE_LOCK_NONE);
	inode_unref(handle->inode);
	g_free(handle->path);
	return SQLITE_OK;
}

static int disk_read(sqlite3_file *file, void *bytes, int length, sqlite3_int64 offset)
{
	const struct handle *handle = handle_of(file);
	const GByteArray *from = handle->inode->bytes;
	const size_t there =
		(size_t)offset < from->len ? MIN((size_t)length, from->len - (size_t)offset) : 0;

	if (is_dead(handle))
		return SQLITE_IOERR_READ;
	if (there > 0)
		memcpy(bytes, from->data + offset, there);
	memset((char *)bytes + there, 0, (size_t)length - there);
	return there == (size_t)length ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

static int disk_write(sqlite3_file *file, const void *bytes, int length, sqlite3_int64 offset)
{
	count_change(handle_of(file)->disk);
	if (is_dead(handle_of(file)))
		return SQLITE_IOERR_WRITE;
	if (fails(handle_of(file)->disk))
		return errno == ENOSPC ? SQLITE_FULL : SQLITE_IOERR_WRITE;
	inode_write(handle_of(file)->inode, (size_t)offset, bytes, (size_t)length);
	return SQLITE_OK;
}

static int disk_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	if (is_dead(handle_of(file)))
		return SQLITE_IOERR_TRUNCATE;
	inode_truncate(handle_of(file)->inode, (size_t)size);
	return SQLITE_OK;
}

static int disk_sync(sqlite3_file *file, int flags)
{
	struct handle *handle = handle_of(file);

	count_change(handle->disk);
	if (is_dead(handle) || fails(handle->disk))
		return SQLITE_IOERR_FSYNC;
	inode_sync(handle->inode);
	if (handle->syncs_name)
		sync_names(handle->disk, handle->path);
	handle->syncs_name = false;
	return SQLITE_OK;
}

static int disk_size(sqlite3_file *file, sqlite3_int64 *ret_size)
{
	*ret_size = handle_of(file)->inode->bytes->len;
	return is_dead(handle_of(file)) ? SQLITE_IOERR_FSTAT : SQLITE_OK;
}

static int disk_control(sqlite3_file *file, int operation, void *argument)
{
	return SQLITE_NOTFOUND;
}

static int sector_size(sqlite3_file *file)
{
	return 4096;
}

static int characteristics(sqlite3_file *file)
{
	return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static const sqlite3_io_methods methods = {
	.iVersion = 2,
	.xClose = disk_close,
	.xRead = disk_read,
	.xWrite = disk_write,
	.xTruncate = disk_truncate,
	.xSync = disk_sync,
	.xFileSize = disk_size,
	.xLock = disk_lock,
	.xUnlock = disk_unlock,
	.xCheckReservedLock = check_reserved,
	.xFileControl = disk_control,
	.xSectorSize = sector_size,
	.xDeviceCharacteristics = characteristics,
	.xShmMap = shm_map,
	.xShmLock = shm_lock,
	.xShmBarrier = shm_barrier,
	.xShmUnmap = shm_unmap,
};

static int disk_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags,
		     int *ret_flags)
{
	const int journals = SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL;
	struct virtual_disk *disk = vfs->pAppData;
	struct inode *inode = path ? find(disk, path) : NULL;
	const bool is_new = !inode;

	file->pMethods = NULL; /* SQLite closes no file without methods */
	if (!disk->in_use)
		return SQLITE_CANTOPEN;
	if (is_new && path && !(flags & SQLITE_OPEN_CREATE))
		return SQLITE_CANTOPEN;
	inode = is_new ? inode_new() : inode_ref(inode);
	if (is_new && path)
		g_hash_table_insert(disk->names, g_strdup(path), inode_ref(inode));
	*handle_of(file) = (struct handle){
		.base = {&methods},
		.disk = disk,
		.inode = inode,
		.path = g_strdup(path),
		.life = disk->life,
		.syncs_name = is_new && path && (flags & journals),
	};
	if (ret_flags)
		*ret_flags = flags;
	return SQLITE_OK;
}

static int disk_delete(sqlite3_vfs *vfs, const char *path, int sync)
{
	struct virtual_disk *disk = vfs->pAppData;

	if (!disk->in_use)
		return SQLITE_IOERR_DELETE;
	if (!g_hash_table_remove(disk->names, path))
		return SQLITE_IOERR_DELETE_NOENT;
	if (sync)
		sync_names(disk, path);
	return SQLITE_OK;
}

/* An empty file is none to SQLite where it asks whether one exists, as on other disks. */
static int disk_access(sqlite3_vfs *vfs, const char *path, int flags, int *ret_there)
{
	const struct inode *inode = find(vfs->pAppData, path);

	*ret_there = inode && (flags != SQLITE_ACCESS_EXISTS || inode->bytes->len > 0);
	return SQLITE_OK;
}

static int full_path(sqlite3_vfs *vfs, const char *path, int size, char *ret_path)
{
	return g_strlcpy(ret_path, path, (gsize)size) < (gsize)size ? SQLITE_OK : SQLITE_CANTOPEN;
}

/* Nothing that is stored depends on it. */
static int randomness(sqlite3_vfs *vfs, int length, char *bytes)
{
	memset(bytes, 1, (size_t)length);
	return length;
}

/* All is on one thread: nothing gives a lock back meanwhile. */
static int disk_sleep(sqlite3_vfs *vfs, int us)
{
	return us;
}

static int current_time(sqlite3_vfs *vfs, double *ret_days)
{
	*ret_days = 2461041.5; /* 2026-01-01, in Julian days */
	return SQLITE_OK;
}

static int last_error(sqlite3_vfs *vfs, int size, char *text)
{
	return errno;
}

/* The files of the platform. */

/* NULL, with errno: the platform is of a life that has ended. */
static struct virtual_disk *disk_of(const struct platform *platform)
{
	const struct virtual_platform *virtual = virtual_of(platform);

	errno = EIO;
	return virtual->disk_life == virtual->disk->life ? virtual->disk : NULL;
}

/* The same, for a change. */
static struct virtual_disk *changing_disk_of(const struct platform *platform)
{
	struct virtual_disk *disk = disk_of(platform);

	if (disk)
		count_change(disk);
	return disk_of(platform);
}

static char *read_text(const struct platform *platform, const char *path, size_t max,
		       size_t *ret_length, GError **error)
{
	const struct virtual_disk *disk = disk_of(platform);
	const struct inode *inode = disk ? find(disk, path) : NULL;
	const int code = disk ? ENOENT : EIO;
	char *text;

	if (!inode || inode->bytes->len > max) {
		error_fail(error, G_FILE_ERROR,
			   inode ? G_FILE_ERROR_FAILED : (gint)g_file_error_from_errno(code),
			   "'%s' cannot be read: %s", path,
			   inode ? "it is too large" : g_strerror(code));
		return NULL;
	}
	text = g_malloc0(inode->bytes->len + 1);
	if (inode->bytes->len > 0)
		memcpy(text, inode->bytes->data, inode->bytes->len);
	if (ret_length)
		*ret_length = inode->bytes->len;
	return text;
}

static bool write_text(const struct platform *platform, const char *path, const char *text,
		       size_t length, bool durable, GError **error)
{
	struct virtual_disk *disk = changing_disk_of(platform);
	struct inode *inode;

	if (!disk || fails(disk))
		return error_fail(error, G_FILE_ERROR, (gint)g_file_error_from_errno(errno),
				  "'%s' cannot be written: %s", path, g_strerror(errno));
	inode = inode_new();
	inode_write(inode, 0, text, length);
	inode_sync(
		inode); /* under another name, so that after a crash it is the old or the new one */
	g_hash_table_insert(disk->names, g_strdup(path), inode);
	if (durable)
		sync_names(disk, path);
	return true;
}

static bool append_text(const struct platform *platform, const char *path, const char *text,
			size_t length)
{
	struct virtual_disk *disk = changing_disk_of(platform);
	struct inode *inode = disk ? find(disk, path) : NULL;

	if (!inode) {
		errno = disk ? ENOENT : EIO;
		return false;
	}
	if (fails(disk))
		return false;
	inode_write(inode, inode->bytes->len, text, length);
	return true;
}

static bool rename_file(const struct platform *platform, const char *from, const char *to)
{
	struct virtual_disk *disk = changing_disk_of(platform);
	struct inode *inode = disk ? find(disk, from) : NULL;

	if (!inode) {
		errno = disk ? ENOENT : EIO;
		return false;
	}
	if (fails(disk))
		return false;
	inode_ref(inode);
	g_hash_table_remove(disk->names, from);
	g_hash_table_insert(disk->names, g_strdup(to), inode);
	return true;
}

static bool remove_file(const struct platform *platform, const char *path)
{
	struct virtual_disk *disk = changing_disk_of(platform);

	if (disk && g_hash_table_remove(disk->names, path))
		return true;
	errno = disk ? ENOENT : EIO;
	return false;
}

static bool sync_name(const struct platform *platform, const char *path)
{
	struct virtual_disk *disk = changing_disk_of(platform);

	if (!disk || !find(disk, path)) {
		errno = disk ? ENOENT : EIO;
		return false;
	}
	if (fails(disk))
		return false;
	sync_names(disk, path);
	return true;
}

void virtual_platform_use_disk(struct virtual_platform *virtual, struct virtual_disk *disk)
{
	disk->in_use = true;
	virtual->disk = disk;
	virtual->disk_life = disk->life;
	virtual->disk_table = (struct platform_disk){
		.vfs = disk->name,
		.read = read_text,
		.write = write_text,
		.append = append_text,
		.rename = rename_file,
		.remove = remove_file,
		.sync_name = sync_name,
	};
	virtual->base.disk = &virtual->disk_table;
}

/* Life cycle. */

struct virtual_disk *virtual_disk_new(void)
{
	struct virtual_disk *disk = g_new0(struct virtual_disk, 1);

	disk->name = g_strdup_printf("virtual-disk-%p", (void *)disk);
	disk->names = names_new();
	disk->synced = names_new();
	disk->vfs = (sqlite3_vfs){
		.iVersion = 1,
		.szOsFile = sizeof(struct handle),
		.mxPathname = 4096,
		.zName = disk->name,
		.pAppData = disk,
		.xOpen = disk_open,
		.xDelete = disk_delete,
		.xAccess = disk_access,
		.xFullPathname = full_path,
		.xRandomness = randomness,
		.xSleep = disk_sleep,
		.xCurrentTime = current_time,
		.xGetLastError = last_error,
	};
	g_assert_cmpint(sqlite3_vfs_register(&disk->vfs, 0), ==, SQLITE_OK);
	return disk;
}

void virtual_disk_free(struct virtual_disk *disk)
{
	if (!disk)
		return;
	sqlite3_vfs_unregister(&disk->vfs);
	g_hash_table_unref(disk->names);
	g_hash_table_unref(disk->synced);
	g_free(disk->name);
	g_free(disk);
}

const char *virtual_disk_vfs(const struct virtual_disk *disk)
{
	return disk->name;
}

/* No connection of the life that ends holds a lock any more. */
static void drop_locks(GHashTable *names)
{
	GHashTableIter iter;
	gpointer value;

	g_hash_table_iter_init(&iter, names);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		struct inode *inode = value;

		inode->shared = 0;
		inode->reserved = inode->pending = NULL;
		g_clear_pointer(&inode->shm, shm_unref);
	}
}

void virtual_disk_kill(struct virtual_disk *disk)
{
	disk->life++;
	disk->in_use = false;
	disk->watch_after = 0;
	drop_locks(disk->names);
	drop_locks(disk->synced);
}

void virtual_disk_tear(struct virtual_disk *disk, struct random_stream *random)
{
	g_autoptr(GList) paths = NULL;

	virtual_disk_kill(disk);
	copy_names(disk->names, disk->synced, NULL);
	/* In an order that depends on nothing else. */
	paths = g_list_sort(g_hash_table_get_keys(disk->names), (GCompareFunc)strcmp);
	for (const GList *at = paths; at; at = at->next)
		inode_lose(find(disk, at->data), random);
}

void virtual_disk_crash(struct virtual_disk *disk)
{
	virtual_disk_tear(disk, NULL);
}

void virtual_disk_fail(struct virtual_disk *disk, int code, guint after)
{
	disk->fail_code = code;
	disk->fail_after = after;
}

void virtual_disk_watch(struct virtual_disk *disk, guint after, void (*watch)(void *data),
			void *data)
{
	disk->watch_after = after;
	disk->watch = watch;
	disk->watch_data = data;
}
