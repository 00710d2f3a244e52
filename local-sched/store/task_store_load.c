/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stored tasks. An invalid record is moved aside, and never prevents a start. */
#include "common/clock.h"
#include "local-sched/store/task_store_private.h"

#define LOG_SUBSYSTEM "store"
#include "common/log.h"

/* Replaces a request that cannot be read. */
#define NO_REQUEST                                                                                 \
	"{\"type\": \"unknown\", \"benchmark\": \"is\", \"class\": \"S\", \"ranks\": 1, "              \
	"\"repetitions\": 1, \"nodes\": [0], \"deadline_s\": 1}"

static void free_task(gpointer task)
{
	task_free(task);
}

/* One row of the table, as it is stored. */
struct row {
	int64_t number;
	char *id, *request, *record;
};

static void row_free(gpointer data)
{
	struct row *row = data;

	g_free(row->id);
	g_free(row->request);
	g_free(row->record);
	g_free(row);
}

static GPtrArray *read_rows(struct task_store *store, GError **error)
{
	g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func(row_free);
	sqlite3_stmt *statement =
		prepare(store, "SELECT id, request, record, number FROM tasks ORDER BY number");
	int code = SQLITE_ERROR;

	while (statement && (code = sqlite3_step(statement)) == SQLITE_ROW) {
		struct row *row = g_new0(struct row, 1);

		row->id = g_strdup(column_text(statement, 0));
		row->request = g_strdup(column_text(statement, 1));
		row->record = g_strdup(column_text(statement, 2));
		row->number = sqlite3_column_int64(statement, 3);
		g_ptr_array_add(rows, row);
	}
	if (code != SQLITE_DONE)
		task_store_fail(store, TASK_STORE_ERROR_OPEN, error);
	sqlite3_finalize(statement);
	return code == SQLITE_DONE ? g_steal_pointer(&rows) : NULL;
}

/* Replaces the request by its readable parts. */
static void replace_request(struct task_store *store, const struct task *task)
{
	sqlite3_stmt *update = prepare(store, "UPDATE tasks SET request = ? WHERE id = ?");
	g_autofree char *request = task_request_text(task);

	bind_text(update, 1, request);
	bind_text(update, 2, task->id);
	run(update);
}

static bool copy_damaged(struct task_store *store, const struct row *row)
{
	sqlite3_stmt *insert = prepare(store, "INSERT INTO damaged VALUES (?, ?, ?)");

	bind_text(insert, 1, row->id ?: "");
	bind_text(insert, 2, row->request);
	bind_text(insert, 3, row->record);
	return run(insert);
}

static bool remove_row(struct task_store *store, const struct row *row)
{
	sqlite3_stmt *statement = prepare(store, "DELETE FROM tasks WHERE number = ?");

	sqlite3_bind_int64(statement, 1, row->number);
	return run(statement);
}

/*
 * Moves a damaged row to the table `damaged`; with `whole` also deletes the row itself, which would
 * be found again at each start.
 */
static void put_aside(struct task_store *store, const struct row *row, bool whole)
{
	if (execute(store, "BEGIN") && copy_damaged(store, row) &&
	    (!whole || remove_row(store, row)) && execute(store, "COMMIT"))
		return;
	log_warning("a damaged record could not be put aside: %s", sqlite3_errmsg(store->database));
	execute(store, "ROLLBACK");
}

/*
 * Moves a damaged row aside and returns its task as lost, so that its name stays known and it is
 * not executed again. NULL: not even the name is readable.
 */
static struct task *quarantine(struct task_store *store, const struct row *row, const GError *why)
{
	struct task *task = NULL;

	if (row->id && task_id_ok(row->id))
		task = task_restore(row->id, row->request ?: "", "{}", NULL)
			       ?: task_restore(row->id, NO_REQUEST, "{}", NULL);
	put_aside(store, row, !task);
	log_error("task '%s': its record is damaged (%s) and was put aside (table damaged of "
		  "local.sqlite): the task is lost",
		  task ? task->id : "?", why->message);
	if (!task)
		return NULL;
	task->state = TASK_ENDED;
	task->outcome = TASK_OUTCOME_LOST;
	task->reason = g_strdup("what the local scheduler had on record of it is damaged");
	task->ended_ns = clock_now_ns();
	replace_request(store, task);
	task_store_update(store, task, "task-ended");
	return task;
}

static struct task *load_task(struct task_store *store, const struct row *row)
{
	g_autoptr(GError) why = NULL;
	struct task *task = NULL;

	if (row->id && !task_id_ok(row->id))
		g_set_error(&why, TASK_STORE_ERROR, TASK_STORE_ERROR_OPEN,
			    "its name is none that a task can have");
	else if (row->id && row->request && row->record)
		task = task_restore(row->id, row->request, row->record, &why);
	else
		g_set_error(&why, TASK_STORE_ERROR, TASK_STORE_ERROR_OPEN,
			    "parts of it are missing");
	return task ?: quarantine(store, row, why);
}

GPtrArray *task_store_load(struct task_store *store, GError **error)
{
	g_autoptr(GPtrArray) rows = read_rows(store, error);
	GPtrArray *tasks;

	if (!rows)
		return NULL;
	tasks = g_ptr_array_new_with_free_func(free_task);
	for (guint i = 0; i < rows->len; i++) {
		struct task *task = load_task(store, rows->pdata[i]);

		if (task)
			g_ptr_array_add(tasks, task);
	}
	return tasks;
}
