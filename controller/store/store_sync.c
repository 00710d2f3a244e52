/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/store/store_sync.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/error_fail.h"
#include "common/handoff.h"
#include "controller/store/store_private.h"

/* The journal is moved into the file after so many more pages, as SQLite does itself. */
#define JOURNAL_PAGES 1000

/*
 * From so many pages on the journal is also reset, for which the owner has to wait; it is done at
 * most every RESET_EVERY_US, or RESET_EVERY_LONG_US for a journal of JOURNAL_LONG_PAGES.
 */
#define JOURNAL_MOST_PAGES 4000
#define JOURNAL_LONG_PAGES 65536
#define RESET_EVERY_US (10 * G_USEC_PER_SEC)
#define RESET_EVERY_LONG_US G_USEC_PER_SEC

/* How long the thread waits for locks of others: only while it opens the store. */
#define BUSY_MS 20

/* A request for a callback once everything is on disk; `done` NULL: end of the thread. */
struct request {
	store_sync_done_f done;
	void *data;
	GError *error; /* the outcome */
};

struct store_sync {
	/* one of the owner, and one per pending call of report_answered() */
	gatomicrefcount count;
	struct store *store;
	struct store *journal; /* the thread's own connection */
	gint pages;            /* atomic: length of the journal at the last commit */
	gint moved;            /* its length when it was last moved into the file */
	gint64 reset_us;       /* when the last reset was requested */
	/* atomic: the owner has to reset the journal after its next commit */
	gint reset_due;
	char *path; /* of the journal's file */
	int fd;     /* of the journal's file; -1: not opened yet */
	/* the first failure: what was not written then will not be written later */
	GError *failure;
	GAsyncQueue *requests; /* struct request */
	GAsyncQueue *answered; /* struct request */
	GThread *thread;
};

static void unref(gpointer data)
{
	struct store_sync *sync = data;

	if (!g_atomic_ref_count_dec(&sync->count))
		return;
	g_async_queue_unref(sync->requests);
	g_async_queue_unref(sync->answered);
	g_free(sync->path);
	g_free(sync);
}

/* On the thread. */

static bool fail_write(const struct store_sync *sync, const char *doing, GError **error)
{
	const int code = errno;

	return error_fail(error, DATABASE_ERROR,
			  code == ENOSPC || code == EDQUOT ? DATABASE_ERROR_FULL
							   : DATABASE_ERROR_SQL,
			  "%s: cannot %s: %s", sync->path, doing, g_strerror(code));
}

/* Opens the journal's file and syncs its directory, so that its name is on disk too. */
static bool open_journal(struct store_sync *sync, GError **error)
{
	g_autofree char *dir = g_path_get_dirname(sync->path);
	int fd;

	sync->fd = open(sync->path, O_RDONLY | O_CLOEXEC);
	if (sync->fd < 0)
		return fail_write(sync, "open the journal", error);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && fsync(fd) == 0) {
		close(fd);
		return true;
	}
	fail_write(sync, "bring its directory onto the disk", error);
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
	return fdatasync(sync->fd) == 0 ||
	       fail_write(sync, "bring the journal onto the disk", error);
}

/* Syncs the database file. SQLite itself does so only once the journal is empty. */
static bool bring_file_to_disk(struct store_sync *sync, GError **error)
{
	sqlite3_file *file = NULL;
	int code = sqlite3_file_control(database_handle(sync->journal->database), "main",
					SQLITE_FCNTL_FILE_POINTER, &file);

	if (code == SQLITE_OK)
		code = file->pMethods->xSync(file, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY);
	return code == SQLITE_OK ||
	       fail_write(sync, "bring the file that it was moved to onto the disk", error);
}

/*
 * Moves all commits so far into the file. A reader of older pages is no failure: its pages stay in
 * the journal until the next time. *ret_all: everything was moved.
 */
static bool move_journal(struct store_sync *sync, bool *ret_all, GError **error)
{
	int pages = 0;
	int moved = 0;
	const int code = sqlite3_wal_checkpoint_v2(database_handle(sync->journal->database), "main",
						   SQLITE_CHECKPOINT_PASSIVE, &pages, &moved);

	*ret_all = code == SQLITE_OK && moved == pages;
	if (code == SQLITE_OK || (code & 0xff) == SQLITE_BUSY)
		return bring_file_to_disk(sync, error);
	return database_fail(sync->journal->database, code, "move the journal into the file",
			     error);
}

static bool is_due(const struct store_sync *sync, gint pages)
{
	const gint64 every_us = pages < JOURNAL_LONG_PAGES ? RESET_EVERY_US : RESET_EVERY_LONG_US;

	return pages >= JOURNAL_MOST_PAGES && g_get_monotonic_time() >= sync->reset_us + every_us;
}

/*
 * A commit after everything was moved writes to the beginning of the journal, whose file then does
 * not grow and reaches the disk sooner. While a writer is active, everything is moved only for a
 * moment between two transactions. So when a reset is due, the pages that came during the first
 * move are moved too, and the owner is asked to reset the journal after its next commit: only the
 * owner knows that moment, and no thread waits for a lock.
 */
static bool shorten_journal(struct store_sync *sync, GError **error)
{
	const gint pages = g_atomic_int_get(&sync->pages);
	bool all;

	if (pages < sync->moved)
		sync->moved = 0;
	if (pages - sync->moved < JOURNAL_PAGES)
		return true;
	sync->moved = pages;
	if (!move_journal(sync, &all, error))
		return false;
	if (!all || !is_due(sync, pages))
		return true;
	if (!move_journal(sync, &all, error))
		return false;
	sync->reset_us = g_get_monotonic_time();
	g_atomic_int_set(&sync->reset_due, 1);
	return true;
}

/* On the owner's thread. */

static void call_done_of_all(struct store_sync *sync)
{
	struct request *request;

	while ((request = g_async_queue_try_pop(sync->answered))) {
		HANDOFF_TAKE(request);
		request->done(request->error, request->data);
		g_clear_error(&request->error);
		g_free(request);
	}
}

static gboolean report_answered(gpointer data)
{
	call_done_of_all(data);
	return G_SOURCE_REMOVE;
}

/* On the thread again. */

/* Answers a request and all that came in the meantime; true: the thread has to end. */
static bool answer_all(struct store_sync *sync, struct request *first)
{
	g_autoptr(GPtrArray) requests = g_ptr_array_new();
	bool end = false;

	for (struct request *request = first; request;
	     request = g_async_queue_try_pop(sync->requests))
		g_ptr_array_add(requests, request);
	if (!sync->failure)
		bring_to_disk(sync, &sync->failure);
	for (guint i = 0; i < requests->len; i++) {
		struct request *request = g_ptr_array_index(requests, i);

		HANDOFF_TAKE(request);
		if (!request->done) {
			end = true;
			g_free(request);
			continue;
		}
		request->error = sync->failure ? g_error_copy(sync->failure) : NULL;
		HANDOFF_GIVE(request);
		g_async_queue_push(sync->answered, request);
	}
	if (!end) {
		g_atomic_ref_count_inc(&sync->count);
		g_idle_add_full(G_PRIORITY_DEFAULT, report_answered, sync, unref);
		if (!sync->failure)
			shorten_journal(sync, &sync->failure);
	}
	return end;
}

static gpointer run_thread(gpointer data)
{
	struct store_sync *sync = data;

	while (!answer_all(sync, g_async_queue_pop(sync->requests)))
		;
	return NULL;
}

/* On the owner's thread, after each commit, when no lock of the store is held. */

/*
 * Does not wait for present readers: the next reset will do. Any other failure is ignored too: the
 * pages stay in the journal, and the thread will report it.
 */
static void reset_journal(struct store_sync *sync)
{
	database_set_busy(sync->store->database, 0);
	sqlite3_wal_checkpoint_v2(database_handle(sync->store->database), "main",
				  SQLITE_CHECKPOINT_RESTART, NULL, NULL);
	database_set_busy(sync->store->database, STORE_BUSY_MS);
}

static int committed(void *data, sqlite3 *db, const char *name, int pages)
{
	struct store_sync *sync = data;

	g_atomic_int_set(&sync->pages, pages);
	if (g_atomic_int_compare_and_exchange(&sync->reset_due, 1, 0))
		reset_journal(sync);
	return SQLITE_OK;
}

/* Life. */

/* The query makes SQLite open the journal. */
static struct store *open_again(const struct store *store, GError **error)
{
	g_autoptr(store_t) journal =
		store_open_beside(database_path(store->database), database_version(store->database),
				  BUSY_MS, error);

	if (!journal ||
	    !database_exec(journal->database,
			   "PRAGMA synchronous = NORMAL; SELECT count(*) FROM sqlite_master",
			   "open", error))
		return NULL;
	return g_steal_pointer(&journal);
}

struct store_sync *store_sync_new(struct store *store, GError **error)
{
	struct store *journal;
	struct store_sync *sync;

	if (!database_exec(store->database,
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
	/* The journal is not always beside `path`, which may be a link. */
	sync->path = g_strdup(sqlite3_filename_wal(
		sqlite3_db_filename(database_handle(journal->database), "main")));
	sync->reset_us = -RESET_EVERY_US;
	sync->fd = -1;
	sync->requests = g_async_queue_new();
	sync->answered = g_async_queue_new();
	sqlite3_wal_hook(database_handle(store->database), committed, sync);
	sync->thread = g_thread_new("store", run_thread, sync);
	return sync;
}

static void push_request(struct store_sync *sync, store_sync_done_f done, void *data)
{
	struct request *request = g_new0(struct request, 1);

	request->done = done;
	request->data = data;
	HANDOFF_GIVE(request);
	g_async_queue_push(sync->requests, request);
}

void store_sync_ask(struct store_sync *sync, store_sync_done_f done, void *data)
{
	push_request(sync, done, data);
}

bool store_sync_free(struct store_sync *sync, GError **error)
{
	bool good;

	if (!sync)
		return true;
	push_request(sync, NULL, NULL);
	g_thread_join(sync->thread);
	sqlite3_wal_hook(database_handle(sync->store->database), NULL, NULL);
	call_done_of_all(sync);
	if (sync->fd >= 0)
		close(sync->fd);
	store_close(sync->journal);
	good = !sync->failure;
	if (!good)
		g_propagate_error(error, g_steal_pointer(&sync->failure));
	unref(sync);
	return good;
}
