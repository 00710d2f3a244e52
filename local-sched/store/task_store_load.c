/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stored tasks. An invalid record is moved aside, and never prevents a start. */
#include "common/platform.h"
#include "local-sched/store/task_store_private.h"

#define LOG_SUBSYSTEM "store"
#include "common/log.h"

/* Replaces a request that cannot be read. */
#define NO_REQUEST                                                                                 \
	"{\"type\": \"unknown\", \"benchmark\": \"is\", \"class\": \"S\", \"ranks\": 1, "          \
	"\"repetitions\": 1, \"nodes\": [0], \"deadline_s\": 1}"

static void free_task(gpointer task)
{
	task_free(task);
}

/* One row of the table, as it is stored. Texts are NULL where they are damaged. */
struct row {
	char *id, *request, *record;
	int64_t number;
};

static void row_free(void *row);

static const struct record_field row_fields[] = {
	{RECORD_FIELD_TEXT(row, id), .null = RECORD_NULL_POINTER},
	{RECORD_FIELD_TEXT(row, request), .null = RECORD_NULL_POINTER},
	{RECORD_FIELD_TEXT(row, record), .null = RECORD_NULL_POINTER},
	{RECORD_FIELD_I64(row, number)},
	{NULL},
};
static const struct record row_record = {.name = "task",
					 .size = sizeof(struct row),
					 .fields = row_fields,
					 .free = row_free,
					 .table = "tasks"};

static void row_free(void *row)
{
	record_free(&row_record, row);
}

/* Replaces the request by its readable parts. */
static void replace_request(struct task_store *store, const struct task *task)
{
	g_autofree char *request = task_request_text(task);

	database_do(store->database, "UPDATE tasks SET request = ? WHERE id = ?",
		    DATABASE_ARGS(request, task->id), "store a task", NULL);
}

/*
 * Moves a damaged row to the table `damaged`; with `whole` also deletes the row itself, which would
 * be found again at each start.
 */
static void put_aside(struct task_store *store, const struct row *row, bool whole)
{
	const char *id = row->id ?: "";
	g_autoptr(GError) error = NULL;

	if (database_begin(store->database, &error) &&
	    database_do(store->database, "INSERT INTO damaged VALUES (?, ?, ?)",
			DATABASE_ARGS(id, row->request, row->record), "put a record aside",
			&error) &&
	    (!whole || database_do(store->database, "DELETE FROM tasks WHERE number = ?",
				   DATABASE_ARGS(row->number), "put a record aside", &error)) &&
	    database_commit(store->database, &error))
		return;
	log_warning("a damaged record could not be put aside: %s", error->message);
	database_rollback(store->database);
}

/*
 * Moves a damaged row aside and returns its task as lost, so that its name stays known and it is
 * not executed again. NULL: not even the name is readable.
 */
static struct task *quarantine(struct task_store *store, const struct row *row, const GError *why)
{
	const int64_t now_ns = platform_now_ns(store->platform);
	struct task *task = NULL;

	if (row->id && task_id_ok(row->id))
		task = task_restore(row->id, row->request ?: "", "{}", now_ns, NULL)
			       ?: task_restore(row->id, NO_REQUEST, "{}", now_ns, NULL);
	put_aside(store, row, !task);
	log_error("task '%s': its record is damaged (%s) and was put aside (table damaged of "
		  "local.sqlite): the task is lost",
		  task ? task->id : "?", why->message);
	if (!task)
		return NULL;
	task_end(task, TASK_OUTCOME_LOST, "what the local scheduler had on record of it is damaged",
		 now_ns);
	replace_request(store, task);
	task_store_update(store, task, "task-ended");
	return task;
}

static struct task *load_task(struct task_store *store, const struct row *row)
{
	g_autoptr(GError) why = NULL;
	struct task *task = NULL;

	if (row->id && !task_id_ok(row->id))
		g_set_error(&why, DATABASE_ERROR, DATABASE_ERROR_OPEN,
			    "its name is none that a task can have");
	else if (row->id && row->request && row->record)
		task = task_restore(row->id, row->request, row->record,
				    platform_now_ns(store->platform), &why);
	else
		g_set_error(&why, DATABASE_ERROR, DATABASE_ERROR_OPEN, "parts of it are missing");
	return task ?: quarantine(store, row, why);
}

GPtrArray *task_store_load(struct task_store *store, GError **error)
{
	g_autoptr(GPtrArray) rows = database_list(store->database, &row_record, "ORDER BY number",
						  DATABASE_NO_ARGS, "read the tasks", error);
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
