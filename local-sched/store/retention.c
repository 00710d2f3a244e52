/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/store/retention.h"

#include <errno.h>
#include <float.h>
#include <glib/gstdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/platform.h"
#include "local-sched/store/task_store_private.h"

/* What fails, in errors that are not shown. */
#define DOING "keep what is over"

#define LOG_SUBSYSTEM "store"
#include "common/log.h"
#include "common/read_number.h"

/* The limits of a step, whichever comes first. */
#define STEP_EVENTS 64
#define STEP_S 0.003

/*
 * A controller that is there sends a request at least every 45 s: a long poll of 30 s, and the time
 * of its response.
 */
#define ATTENDED_MAX_S 60.0

/* The controller's position is recorded as many times per `keep_s`. */
#define MARKS 64

/*
 * The most tasks whose files cannot be removed that are named in warnings; more of them have the
 * same cause.
 */
#define NAMED_MAX 20

/* The most time with a controller's requests that is lost when the process dies. */
#define ATTENDED_WRITE_S 600.0

/* The most digits of an attempt's number; longer numbers are part of a name. */
#define ATTEMPT_DIGITS_MAX 9

struct retention {
	struct task_store *store;
	double keep_s;
	struct retention_tasks tasks;
	double attended_s; /* time with a controller's requests, in the life of the store */
	double written_s;  /* the part of it that is on disk */
	int64_t asked_ns;  /* time of the last request; 0: none yet */
	uint64_t marked;   /* the event number recorded last; 0: none */
	double marked_s;   /* attended_s at that time */
	uint64_t due;      /* events up to this number may be removed */
	uint64_t tried;    /* events up to this number that still exist cannot be removed now */
	/* ids of tasks whose files cannot be removed, and that were named in a warning */
	GHashTable *named;
	bool complained; /* a warning that the store cannot be written was logged */
};

/*
 * Restores the marks. Numbers that do not exist, after a loss of power for example, were seen by no
 * controller.
 */
static void recall(struct retention *retention)
{
	struct task_store *store = retention->store;
	struct database *database = store->database;
	g_autofree char *attended = database_find_text(
		database,
		"SELECT max(coalesce((SELECT CAST(value AS REAL) FROM meta "
		"WHERE key = 'attended_s'), 0), coalesce((SELECT max(attended_s) FROM taken), 0))",
		DATABASE_NO_ARGS, DOING, NULL);
	g_autofree char *marked = NULL;
	g_autofree char *marked_s = NULL;

	database_do(database,
		    "DELETE FROM taken WHERE seq > (SELECT coalesce(max(seq), 0) FROM events)",
		    DATABASE_NO_ARGS, DOING, NULL);
	marked = database_find_text(database, "SELECT max(seq) FROM taken", DATABASE_NO_ARGS, DOING,
				    NULL);
	marked_s = database_find_text(database, "SELECT max(attended_s) FROM taken",
				      DATABASE_NO_ARGS, DOING, NULL);
	read_number(attended, 0, DBL_MAX, &retention->attended_s);
	retention->written_s = retention->attended_s;
	read_number_unsigned(marked, 0, INT64_MAX, &retention->marked);
	read_number(marked_s, 0, DBL_MAX, &retention->marked_s);
}

struct retention *retention_new(struct task_store *store, double keep_s,
				const struct retention_tasks *tasks)
{
	struct retention *retention = g_new0(struct retention, 1);

	retention->store = store;
	retention->keep_s = keep_s;
	retention->tasks = *tasks;
	retention->named = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	recall(retention);
	return retention;
}

void retention_free(struct retention *retention)
{
	if (!retention)
		return;
	g_hash_table_unref(retention->named);
	g_free(retention);
}

/* The controller's position. */

static void write_attended(struct retention *retention)
{
	if (database_do(retention->store->database,
			"INSERT OR REPLACE INTO meta VALUES ('attended_s', ?)",
			DATABASE_ARGS(retention->attended_s), DOING, NULL))
		retention->written_s = retention->attended_s;
}

static void mark(struct retention *retention, uint64_t seq)
{
	if (!database_do(retention->store->database, "INSERT OR REPLACE INTO taken VALUES (?, ?)",
			 DATABASE_ARGS((int64_t)seq, retention->attended_s), DOING, NULL))
		return;
	retention->marked = seq;
	retention->marked_s = retention->attended_s;
}

/* The number up to which the controller has had all events for `keep_s`. */
static uint64_t find_due(const struct retention *retention)
{
	const double attended_s = retention->attended_s - retention->keep_s;
	int64_t due = 0;

	database_find_integer(retention->store->database,
			      "SELECT max(seq) FROM taken WHERE attended_s <= ?",
			      DATABASE_ARGS(attended_s), &due, DOING, NULL);
	return (uint64_t)due;
}

/* Removes old marks. The mark from which `due` comes stays, so that a restart finds it. */
static void drop_marks(struct retention *retention)
{
	database_do(retention->store->database, "DELETE FROM taken WHERE seq < ?",
		    DATABASE_ARGS((int64_t)retention->due), DOING, NULL);
}

void retention_taken(struct retention *retention, uint64_t seq, int64_t now_ns)
{
	uint64_t due;

	if (seq > task_store_last_event(retention->store))
		return;
	if (retention->asked_ns)
		retention->attended_s +=
			MIN(clock_elapsed_s(retention->asked_ns, now_ns), ATTENDED_MAX_S);
	retention->asked_ns = now_ns;
	if (seq > retention->marked &&
	    (retention->marked == 0 ||
	     retention->attended_s - retention->marked_s >= retention->keep_s / MARKS))
		mark(retention, seq);
	if (retention->attended_s - retention->written_s >= ATTENDED_WRITE_S)
		write_attended(retention);
	due = find_due(retention);
	if (due <= retention->due)
		return;
	retention->due = due;
	retention->tried = 0;
	drop_marks(retention);
}

/* Names that stay. */

/*
 * Splits a task's name into the part that its attempts share, ended by a slash, which no name
 * contains, and the number of this attempt. A name without a number at its end is returned as it
 * is, with 0. The caller frees the result.
 */
static char *split(const char *id, int64_t *ret_attempt)
{
	const char *dash = strrchr(id, '-');
	const size_t digits = dash ? strspn(dash + 1, "0123456789") : 0;

	*ret_attempt = 0;
	if (digits == 0 || digits > ATTEMPT_DIGITS_MAX || dash[1 + digits] != '\0')
		return g_strdup(id);
	if (!read_number_integer(dash + 1, 0, INT64_MAX, ret_attempt))
		return g_strdup(id);
	return g_strdup_printf("%.*s/", (int)(dash - id), id);
}

static bool keep_name(struct retention *retention, const char *id)
{
	int64_t attempt;
	g_autofree char *stem = split(id, &attempt);

	return database_do(retention->store->database,
			   "INSERT INTO past VALUES (?, ?) ON CONFLICT (stem) DO "
			   "UPDATE SET attempt = max(attempt, excluded.attempt)",
			   DATABASE_ARGS(stem, attempt), DOING, NULL);
}

bool retention_is_past(const struct retention *retention, const char *id)
{
	int64_t attempt;
	g_autofree char *stem = split(id, &attempt);
	int64_t is_past = 0;

	return database_find_integer(
		       retention->store->database,
		       "SELECT EXISTS (SELECT 1 FROM past WHERE stem = ? AND attempt >= ?)",
		       DATABASE_ARGS(stem, attempt), &is_past, DOING, NULL) &&
	       is_past;
}

/* Removing. */

/* An event that may be removed, and the task whose end it is, or NULL. */
struct item {
	int64_t seq;
	char *ended;
	bool stays; /* a file of the task cannot be removed */
};

static void item_clear(void *data)
{
	g_free(((struct item *)data)->ended);
}

/*
 * The oldest events that may be removed. The last event of all stays, because numbers continue from
 * it.
 */
static GArray *find_items(const struct retention *retention)
{
	GArray *items = g_array_new(FALSE, FALSE, sizeof(struct item));
	sqlite3_stmt *rows =
		database_query(retention->store->database,
			       "SELECT seq, CASE kind WHEN 'task-ended' THEN task END FROM events "
			       "WHERE seq > ? AND seq <= ? AND seq < (SELECT max(seq) FROM events) "
			       "ORDER BY seq LIMIT ?",
			       DATABASE_ARGS((int64_t)retention->tried, (int64_t)retention->due,
					     STEP_EVENTS),
			       NULL);

	g_array_set_clear_func(items, item_clear);
	while (rows && sqlite3_step(rows) == SQLITE_ROW) {
		struct database_cursor cursor = database_reading(rows);
		struct item item = {.seq = database_get_integer(&cursor)};

		item.ended = database_get_text(&cursor);
		g_array_append_val(items, item);
	}
	if (rows)
		sqlite3_reset(rows);
	return items;
}

static void name_file(struct retention *retention, const char *id, const char *path, int cause)
{
	if (g_hash_table_size(retention->named) >= NAMED_MAX ||
	    !g_hash_table_add(retention->named, g_strdup(id)))
		return;
	log_warning(
		"'%s' of task '%s', which is over, cannot be removed: %s; the task is kept, and it is "
		"tried again now and then%s",
		path, id, g_strerror(cause),
		g_hash_table_size(retention->named) == NAMED_MAX ? "; no more such are named" : "");
}

static bool remove_file(struct retention *retention, const char *id, const char *ending)
{
	g_autofree char *path = task_store_file_path(retention->store, id, ending);

	if (platform_remove(retention->store->platform, path) || errno == ENOENT)
		return true;
	name_file(retention, id, path, errno);
	return false;
}

/* Removes the files first: without its row they would never be found again. */
static bool remove_task(struct retention *retention, const char *id)
{
	if (!keep_name(retention, id))
		return false;
	g_hash_table_remove(retention->named, id);
	return database_do(retention->store->database, "DELETE FROM tasks WHERE id = ?",
			   DATABASE_ARGS(id), DOING, NULL);
}

/* Keeps the event together with what it is about, so that a restart finds both. */
static bool remove_item(struct retention *retention, struct item *item)
{
	if (item->ended && !retention->tasks.may_go(item->ended, retention->tasks.data))
		g_clear_pointer(&item->ended, g_free);
	item->stays = item->ended && !(remove_file(retention, item->ended, ".out") &&
				       remove_file(retention, item->ended, ".files"));
	if (item->stays)
		return true;
	return database_do(retention->store->database, "DELETE FROM events WHERE seq = ?",
			   DATABASE_ARGS(item->seq), DOING, NULL) &&
	       (!item->ended || remove_task(retention, item->ended));
}

/*
 * Removes some of the items, all of these or none. Returns how many; 0: the store cannot be
 * written.
 */
static guint remove_some(struct retention *retention, GArray *items)
{
	const int64_t began_ns = platform_now_ns(retention->store->platform);
	bool good = database_begin(retention->store->database, NULL);
	guint done = 0;

	/* The first item is removed however long the transaction took to begin. */
	while (good && done < items->len &&
	       (done == 0 ||
		clock_elapsed_s(began_ns, platform_now_ns(retention->store->platform)) < STEP_S))
		good = remove_item(retention, &g_array_index(items, struct item, done++));
	if (good && database_commit(retention->store->database, NULL)) {
		retention->complained = false;
		return done;
	}
	if (!retention->complained)
		log_warning("what is over could not be removed from state '%s': %s; tried again",
			    retention->store->directory,
			    database_last_error(retention->store->database));
	retention->complained = true;
	database_rollback(retention->store->database);
	return 0;
}

bool retention_step(struct retention *retention)
{
	g_autoptr(GArray) items = NULL;
	guint done;

	/* Pending writes may be about tasks that would be removed. */
	if (retention->due == 0 || !g_queue_is_empty(&retention->store->pending))
		return false;
	items = find_items(retention);
	done = remove_some(retention, items);
	for (guint i = 0; i < done; i++) {
		const struct item *item = &g_array_index(items, struct item, i);

		retention->tried = (uint64_t)item->seq;
		if (item->ended && !item->stays)
			retention->tasks.gone(item->ended, retention->tasks.data);
	}
	return done > 0;
}
