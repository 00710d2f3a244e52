/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/store/store_sync.h"

#include <errno.h>

#include "common/error_fail.h"
#include "controller/store/store_private.h"

/* The journal is moved into the file after so many more pages, as SQLite does itself. */
#define JOURNAL_PAGES 1000

/*
 * From so many pages on the journal is also reset, for which the owner has to wait; it is done at
 * most every RESET_EVERY_NS, or RESET_EVERY_LONG_NS for a journal of JOURNAL_LONG_PAGES.
 */
#define JOURNAL_MOST_PAGES 4000
#define JOURNAL_LONG_PAGES 65536
#define RESET_EVERY_NS INT64_C(10000000000)
#define RESET_EVERY_LONG_NS INT64_C(1000000000)

/* How long the thread waits for locks of others: only while it opens the store. */
#define BUSY_MS 20

struct store_sync {
	struct store *store;
	struct store *journal; /* a connection for the work on a thread */
	gint pages;            /* atomic: length of the journal at the last commit */
	gint moved;            /* its length when it was last moved into the file */
	int64_t reset_ns;      /* when the last reset was requested; 0: never */
	/* atomic: the owner has to reset the journal after its next commit */
	gint reset_due;
	char *path; /* of the journal's file */
	bool named; /* its name is on the disk */
	/* the first failure: what was not written then will not be written later */
	GError *failure;
	struct platform_job *job; /* syncs or shortens the journal; NULL: nothing is under way */
	/* struct store_sync_request */
	GArray *asked;   /* what the sync under way answers */
	GArray *waiting; /* since it began */
};

/* On the thread. */

static bool fail_write(const struct store_sync *sync, const char *doing, GError **error)
{
	const int code = errno;

	return error_fail(error, DATABASE_ERROR,
			  code == ENOSPC || code == EDQUOT ? DATABASE_ERROR_FULL
							   : DATABASE_ERROR_SQL,
			  "%s: cannot %s: %s", sync->path, doing, g_strerror(code));
}

/* Syncs the database file (SQLITE_FCNTL_FILE_POINTER) or the journal (..._JOURNAL_POINTER). */
static bool bring_file_to_disk(struct store_sync *sync, int which, const char *doing,
			       GError **error)
{
	sqlite3_file *file = NULL;
	const int code = sqlite3_file_control(database_handle(sync->journal->database), "main",
					      which, &file);

	if (code != SQLITE_OK)
		return database_fail(sync->journal->database, code, doing, error);
	return file->pMethods->xSync(file, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY) ==
		       SQLITE_OK ||
	       fail_write(sync, doing, error);
}

/* Whether the journal's name still exists. An empty file is there too. */
static bool is_there(const struct store_sync *sync)
{
	sqlite3_vfs *vfs = NULL;
	int there = 0;

	errno = ENOENT;
	return sqlite3_file_control(database_handle(sync->journal->database), "main",
				    SQLITE_FCNTL_VFS_POINTER, &vfs) == SQLITE_OK &&
	       vfs->xAccess(vfs, sync->path, SQLITE_ACCESS_READWRITE, &there) == SQLITE_OK && there;
}

/*
 * Syncs the journal, and at first its directory, so that its name is on disk too. What is synced
 * of a file that was removed is lost.
 */
static bool bring_to_disk(struct store_sync *sync, GError **error)
{
	if (sync->named && !is_there(sync))
		return fail_write(sync, "open the journal", error);
	if (!sync->named && !platform_sync_name(sync->store->platform, sync->path))
		return fail_write(sync,
				  errno == ENOENT ? "open the journal"
						  : "bring its directory onto the disk",
				  error);
	sync->named = true;
	return bring_file_to_disk(sync, SQLITE_FCNTL_JOURNAL_POINTER,
				  "bring the journal onto the disk", error);
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
		/* SQLite itself does so only once the journal is empty. */
		return bring_file_to_disk(sync, SQLITE_FCNTL_FILE_POINTER,
					  "bring the file that it was moved to onto the disk",
					  error);
	return database_fail(sync->journal->database, code, "move the journal into the file",
			     error);
}

static bool is_due(const struct store_sync *sync, gint pages)
{
	const int64_t every_ns = pages < JOURNAL_LONG_PAGES ? RESET_EVERY_NS : RESET_EVERY_LONG_NS;

	return pages >= JOURNAL_MOST_PAGES &&
	       (sync->reset_ns == 0 ||
		platform_now_ns(sync->store->platform) >= sync->reset_ns + every_ns);
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

	sync->moved = pages;
	if (!move_journal(sync, &all, error))
		return false;
	if (!all || !is_due(sync, pages))
		return true;
	if (!move_journal(sync, &all, error))
		return false;
	sync->reset_ns = platform_now_ns(sync->store->platform);
	g_atomic_int_set(&sync->reset_due, 1);
	return true;
}

static void sync_all(void *data)
{
	struct store_sync *sync = data;

	if (!sync->failure)
		bring_to_disk(sync, &sync->failure);
}

static void shorten(void *data)
{
	struct store_sync *sync = data;

	shorten_journal(sync, &sync->failure);
}

/* On the owner's thread. */

static void begin_sync(struct store_sync *sync);

static void is_shortened(void *data)
{
	struct store_sync *sync = data;

	sync->job = NULL;
	begin_sync(sync);
}

/* Whether the journal has so many more pages that it is to be shortened. */
static bool is_long(struct store_sync *sync)
{
	const gint pages = g_atomic_int_get(&sync->pages);

	if (pages < sync->moved)
		sync->moved = 0;
	return !sync->failure && pages - sync->moved >= JOURNAL_PAGES;
}

static void answer_all(GArray *requests, const GError *error)
{
	for (guint i = 0; i < requests->len; i++) {
		const struct store_sync_request *request =
			&g_array_index(requests, struct store_sync_request, i);

		request->done(error, request->data);
	}
	g_array_unref(requests);
}

static GArray *requests_new(void)
{
	return g_array_new(FALSE, FALSE, sizeof(struct store_sync_request));
}

/* The next work begins before the callbacks, which may take their time. */
static void is_synced(void *data)
{
	struct store_sync *sync = data;
	g_autoptr(GError) error = sync->failure ? g_error_copy(sync->failure) : NULL;
	GArray *asked = sync->asked;

	sync->job = NULL;
	sync->asked = requests_new();
	if (is_long(sync))
		sync->job =
			platform_run(sync->store->platform, "store", shorten, is_shortened, sync);
	else
		begin_sync(sync);
	answer_all(asked, error);
}

static void begin_sync(struct store_sync *sync)
{
	GArray *empty = sync->asked;

	if (sync->job || sync->waiting->len == 0)
		return;
	sync->asked = sync->waiting;
	sync->waiting = empty;
	sync->job = platform_run(sync->store->platform, "store", sync_all, is_synced, sync);
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
		store_open_beside(store->platform, database_path(store->database),
				  database_version(store->database), BUSY_MS, error);

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
	sync->store = store;
	sync->journal = journal;
	/* The journal is not always beside `path`, which may be a link. */
	sync->path = g_strdup(sqlite3_filename_wal(
		sqlite3_db_filename(database_handle(journal->database), "main")));
	sync->asked = requests_new();
	sync->waiting = requests_new();
	sqlite3_wal_hook(database_handle(store->database), committed, sync);
	return sync;
}

void store_sync_ask_all(struct store_sync *sync, const GArray *requests)
{
	g_array_append_vals(sync->waiting, requests->data, requests->len);
	begin_sync(sync);
}

void store_sync_ask(struct store_sync *sync, store_sync_done_f done, void *data)
{
	const struct store_sync_request request = {done, data};

	g_array_append_val(sync->waiting, request);
	begin_sync(sync);
}

bool store_sync_free(struct store_sync *sync, GError **error)
{
	bool good;

	if (!sync)
		return true;
	if (sync->job)
		platform_wait(sync->store->platform, sync->job);
	sync_all(sync);
	sqlite3_wal_hook(database_handle(sync->store->database), NULL, NULL);
	answer_all(sync->asked, sync->failure);
	answer_all(sync->waiting, sync->failure);
	store_close(sync->journal);
	good = !sync->failure;
	if (!good)
		g_propagate_error(error, g_steal_pointer(&sync->failure));
	g_free(sync->path);
	g_free(sync);
	return good;
}
