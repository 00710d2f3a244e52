/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/store/store_sync.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/handoff.h"
#include "controller/store/store_private.h"

/* After so many pages more the journal is moved into the file: SQLite's own measure ... */
#define JOURNAL_PAGES 1000

/*
 * ... and from so many on it is begun anew, which the owner waits for: seldom, but for one that has become very long.
 */
#define JOURNAL_MOST_PAGES 4000
#define JOURNAL_LONG_PAGES 65536
#define ANEW_APART_US (10 * G_USEC_PER_SEC)
#define ANEW_APART_LONG_US G_USEC_PER_SEC

/* The thread waits for others when it begins, and not after that. */
#define BUSY_MS 20

/* Somebody who wants to know; `done` NULL: the end. */
struct wish {
	store_sync_done_f done;
	void *data;
	GError *error; /* what came of it */
};

struct store_sync {
	gatomicrefcount count;  /* the owner's, and one for each call of tell() under way */
	struct store *store;
	struct store *journal;  /* the thread's own connection */
	gint pages;             /* atomic: of the journal, with the last commit */
	gint moved;             /* how many there were when it was last moved into the file */
	gint64 anew_us;         /* when it was last to be begun anew */
	gint anew;              /* atomic: the owner is to do that after its next commit */
	char *path;             /* of its file */
	int fd;                 /* of that; -1: not opened yet */
	GError *failure;        /* the first one: what was not written then is on no disk later either */
	GAsyncQueue *wishes;    /* struct wish */
	GAsyncQueue *granted;   /* likewise */
	GThread *thread;
};

static void unref(gpointer data)
{
	struct store_sync *sync = data;

	if (!g_atomic_ref_count_dec(&sync->count))
		return;
	g_async_queue_unref(sync->wishes);
	g_async_queue_unref(sync->granted);
	g_free(sync->path);
	g_free(sync);
}

/* On the thread. */

static bool fail(const struct store_sync *sync, const char *doing, GError **error)
{
	const int code = errno;

	g_set_error(error, STORE_ERROR,
		    code == ENOSPC || code == EDQUOT ? STORE_ERROR_FULL : STORE_ERROR_SQL,
		    "%s: cannot %s: %s", sync->path, doing, g_strerror(code));
	return false;
}

/* The journal's name has to be on disk, too. */
static bool open_journal(struct store_sync *sync, GError **error)
{
	g_autofree char *dir = g_path_get_dirname(sync->path);
	int fd;

	sync->fd = open(sync->path, O_RDONLY | O_CLOEXEC);
	if (sync->fd < 0)
		return fail(sync, "open the journal", error);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && fsync(fd) == 0) {
		close(fd);
		return true;
	}
	fail(sync, "bring its directory onto the disk", error);
	if (fd >= 0)
		close(fd);
	close(sync->fd);
	sync->fd = -1;
	return false;
}

static bool bring_to_disk(struct store_sync *sync, GError **error)
{
	if (sync->fd < 0 && !open_journal(sync, error))
		return false;
	return fdatasync(sync->fd) == 0 || fail(sync, "bring the journal onto the disk", error);
}

/*
 * What the file has got is on disk only now: SQLite waits for that when nothing is left in the journal, and not before.
 */
static bool bring_file_to_disk(struct store_sync *sync, GError **error)
{
	sqlite3_file *file = NULL;
	int code = sqlite3_file_control(sync->journal->db, "main", SQLITE_FCNTL_FILE_POINTER, &file);

	if (code == SQLITE_OK)
		code = file->pMethods->xSync(file, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY);
	return code == SQLITE_OK || fail(sync, "bring the file that it was moved to onto the disk", error);
}

/*
 * Moves what was committed by now into the file. Somebody reading older pages is no failure: what is in use stays in
 * the journal until the next time (`ret_all`: nothing was).
 */
static bool move(struct store_sync *sync, bool *ret_all, GError **error)
{
	int pages = 0;
	int moved = 0;
	const int code = sqlite3_wal_checkpoint_v2(sync->journal->db, "main",
						   SQLITE_CHECKPOINT_PASSIVE, &pages, &moved);

	*ret_all = code == SQLITE_OK && moved == pages;
	if (code == SQLITE_OK || (code & 0xff) == SQLITE_BUSY)
		return bring_file_to_disk(sync, error);
	store_fail(sync->journal, code, "move the journal into the file", error);
	return false;
}

static bool is_due(const struct store_sync *sync, gint pages)
{
	const gint64 apart_us =
		pages < JOURNAL_LONG_PAGES ? ANEW_APART_US : ANEW_APART_LONG_US;

	return pages >= JOURNAL_MOST_PAGES && g_get_monotonic_time() >= sync->anew_us + apart_us;
}

/*
 * The first commit after all was moved begins the journal anew, in the place that it has: a file that does not grow
 * is on disk sooner. Of a writer that goes on all was never moved, but for a moment between two transactions: when it
 * is due, what came while the most was moved is moved, and the owner is asked to move the rest when it has committed
 * next: only it knows when that is, and nobody waits for a lock.
 */
static bool shorten(struct store_sync *sync, GError **error)
{
	const gint pages = g_atomic_int_get(&sync->pages);
	bool all;

	if (pages < sync->moved)
		sync->moved = 0;
	if (pages - sync->moved < JOURNAL_PAGES)
		return true;
	sync->moved = pages;
	if (!move(sync, &all, error))
		return false;
	if (!all || !is_due(sync, pages))
		return true;
	if (!move(sync, &all, error))
		return false;
	sync->anew_us = g_get_monotonic_time();
	g_atomic_int_set(&sync->anew, 1);
	return true;
}

/* On the owner's. */

static void tell_all(struct store_sync *sync)
{
	struct wish *wish;

	while ((wish = g_async_queue_try_pop(sync->granted))) {
		HANDOFF_TAKE(wish);
		wish->done(wish->error, wish->data);
		g_clear_error(&wish->error);
		g_free(wish);
	}
}

static gboolean tell(gpointer data)
{
	tell_all(data);
	return G_SOURCE_REMOVE;
}

/* On the thread again. */

/* Grants a wish and all that came meanwhile; true: that was the end. */
static bool grant(struct store_sync *sync, struct wish *first)
{
	g_autoptr(GPtrArray) wishes = g_ptr_array_new();
	bool end = false;

	for (struct wish *wish = first; wish; wish = g_async_queue_try_pop(sync->wishes))
		g_ptr_array_add(wishes, wish);
	if (!sync->failure)
		bring_to_disk(sync, &sync->failure);
	for (guint i = 0; i < wishes->len; i++) {
		struct wish *wish = g_ptr_array_index(wishes, i);

		HANDOFF_TAKE(wish);
		if (!wish->done) {
			end = true;
			g_free(wish);
			continue;
		}
		wish->error = sync->failure ? g_error_copy(sync->failure) : NULL;
		HANDOFF_GIVE(wish);
		g_async_queue_push(sync->granted, wish);
	}
	if (!end) {
		g_atomic_ref_count_inc(&sync->count);
		g_idle_add_full(G_PRIORITY_DEFAULT, tell, sync, unref);
		if (!sync->failure)
			shorten(sync, &sync->failure);
	}
	return end;
}

static gpointer work(gpointer data)
{
	struct store_sync *sync = data;

	while (!grant(sync, g_async_queue_pop(sync->wishes)))
		;
	return NULL;
}

/* On the owner's, after each commit, when nobody holds a lock of the store. */

/*
 * Nobody waits for those who read just now: then it is the next time. Nor is another failure one: what was not moved
 * stays in the journal, and the thread will say so.
 */
static void begin_anew(struct store_sync *sync)
{
	store_wait_for_others(sync->store, false);
	sqlite3_wal_checkpoint_v2(sync->store->db, "main", SQLITE_CHECKPOINT_RESTART, NULL, NULL);
	store_wait_for_others(sync->store, true);
}

static int committed(void *data, sqlite3 *db, const char *name, int pages)
{
	struct store_sync *sync = data;

	g_atomic_int_set(&sync->pages, pages);
	if (g_atomic_int_compare_and_exchange(&sync->anew, 1, 0))
		begin_anew(sync);
	return SQLITE_OK;
}

/* Life. */

/* What is read here makes SQLite open the journal. */
static struct store *open_again(const struct store *store, GError **error)
{
	g_autoptr(store_t) journal = store_open_beside(store->path, store->version, BUSY_MS, error);

	if (!journal ||
	    !store_exec(journal, "PRAGMA synchronous = NORMAL; SELECT count(*) FROM sqlite_master",
			"open", error))
		return NULL;
	return g_steal_pointer(&journal);
}

struct store_sync *store_sync_new(struct store *store, GError **error)
{
	struct store *journal;
	struct store_sync *sync;

	if (!store_exec(store,
			"PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0;"
			"PRAGMA journal_size_limit = 16777216",
			"set up the journal", error))
		return NULL;
	journal = open_again(store, error);
	if (!journal)
		return NULL;
	sync = g_new0(struct store_sync, 1);
	g_atomic_ref_count_init(&sync->count);
	sync->store = store;
	sync->journal = journal;
	/* Not always beside `path`, which may be a link. */
	sync->path = g_strdup(sqlite3_filename_wal(sqlite3_db_filename(journal->db, "main")));
	sync->anew_us = -ANEW_APART_US;
	sync->fd = -1;
	sync->wishes = g_async_queue_new();
	sync->granted = g_async_queue_new();
	sqlite3_wal_hook(store->db, committed, sync);
	sync->thread = g_thread_new("store", work, sync);
	return sync;
}

static void ask(struct store_sync *sync, store_sync_done_f done, void *data)
{
	struct wish *wish = g_new0(struct wish, 1);

	wish->done = done;
	wish->data = data;
	HANDOFF_GIVE(wish);
	g_async_queue_push(sync->wishes, wish);
}

void store_sync_ask(struct store_sync *sync, store_sync_done_f done, void *data)
{
	ask(sync, done, data);
}

bool store_sync_free(struct store_sync *sync, GError **error)
{
	bool good;

	if (!sync)
		return true;
	ask(sync, NULL, NULL);
	g_thread_join(sync->thread);
	sqlite3_wal_hook(sync->store->db, NULL, NULL);
	tell_all(sync);
	if (sync->fd >= 0)
		close(sync->fd);
	store_close(sync->journal);
	good = !sync->failure;
	if (!good)
		g_propagate_error(error, g_steal_pointer(&sync->failure));
	unref(sync);
	return good;
}
