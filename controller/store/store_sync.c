/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/store/store_sync.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "controller/store/store_private.h"

/* After so many pages more the journal is moved into the file: SQLite's own measure ... */
#define JOURNAL_PAGES 1000

/*
 * ... and from so many on it is begun anew. Writers are kept out meanwhile, also while readers of old pages are
 * waited for: that is not for long, nor often.
 */
#define JOURNAL_MOST_PAGES 4000
#define BUSY_MS 20
#define RESTART_APART_US (5 * G_USEC_PER_SEC)

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
	gint64 restarted_us;    /* when it was last to be begun anew */
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

/* Somebody reading or writing is no failure: what is in use just now stays in the journal until the next time. */
static bool checkpoint(struct store_sync *sync, int mode, GError **error)
{
	const int code = sqlite3_wal_checkpoint_v2(sync->journal->db, "main", mode, NULL, NULL);

	if (code == SQLITE_OK || (code & 0xff) == SQLITE_BUSY)
		return true;
	store_fail(sync->journal, code, "move the journal into the file", error);
	return false;
}

/*
 * The first commit after all was moved begins the journal anew, in the place that it has: a file that does not grow
 * is on disk sooner.
 */
static bool shorten(struct store_sync *sync, GError **error)
{
	const gint64 now_us = g_get_monotonic_time();
	const gint pages = g_atomic_int_get(&sync->pages);

	if (pages < sync->moved)
		sync->moved = 0;
	if (pages - sync->moved < JOURNAL_PAGES)
		return true;
	sync->moved = pages;
	if (!checkpoint(sync, SQLITE_CHECKPOINT_PASSIVE, error))
		return false;
	if (pages < JOURNAL_MOST_PAGES || now_us < sync->restarted_us + RESTART_APART_US)
		return true;
	sync->restarted_us = now_us;
	return checkpoint(sync, SQLITE_CHECKPOINT_RESTART, error);
}

/* On the owner's. */

static void tell_all(struct store_sync *sync)
{
	struct wish *wish;

	while ((wish = g_async_queue_try_pop(sync->granted))) {
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

		if (!wish->done) {
			end = true;
			g_free(wish);
			continue;
		}
		wish->error = sync->failure ? g_error_copy(sync->failure) : NULL;
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

/* Life. */

static int note_pages(void *data, sqlite3 *db, const char *name, int pages)
{
	struct store_sync *sync = data;

	g_atomic_int_set(&sync->pages, pages);
	return SQLITE_OK;
}

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
	sync->restarted_us = -RESTART_APART_US;
	sync->fd = -1;
	sync->wishes = g_async_queue_new();
	sync->granted = g_async_queue_new();
	sqlite3_wal_hook(store->db, note_pages, sync);
	sync->thread = g_thread_new("store", work, sync);
	return sync;
}

static void ask(struct store_sync *sync, store_sync_done_f done, void *data)
{
	struct wish *wish = g_new0(struct wish, 1);

	wish->done = done;
	wish->data = data;
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
