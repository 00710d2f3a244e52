/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Meta facts, runs, tasks and estimates. */
#include "controller/store/store_cursor.h"

/* The first version whose tasks have deadlines. */
#define VERSION_DEADLINES 3

bool store_set_meta(struct store *store, const char *key, const char *value, GError **error)
{
	sqlite3_stmt *statement =
		store_statement(store, value ? STORE_SET_META : STORE_DROP_META, error);
	struct cursor cursor = writing(statement);

	if (!statement)
		return false;
	put_text(&cursor, key);
	if (value)
		put_text(&cursor, value);
	return store_run_statement(store, statement, "store a fact", error);
}

char *store_get_meta(struct store *store, const char *key)
{
	sqlite3_stmt *statement = store_statement(store, STORE_GET_META, NULL);
	char *value = NULL;

	if (!statement)
		return NULL;
	sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
	if (sqlite3_step(statement) == SQLITE_ROW)
		value = copy_text((const char *)sqlite3_column_text(statement, 0));
	sqlite3_reset(statement);
	return value;
}

char *store_policy_now(struct store *store, const char *name, GError **error)
{
	sqlite3_stmt *statement;
	char *now = NULL;
	int code;

	if (store->version >= STORE_VERSION_PAIR)
		return g_strdup(name);
	statement = store_statement(store, STORE_POLICY_NOW, error);
	if (!statement)
		return NULL;
	sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
	code = sqlite3_step(statement);
	if (code == SQLITE_ROW)
		now = copy_text((const char *)sqlite3_column_text(statement, 0));
	else
		store_fail(store, code, "rename a policy", error);
	sqlite3_reset(statement);
	return now;
}

/* Binds the columns of a run except its id, in the order of the statements. */
static void put_run(struct cursor *cursor, const struct store_run *run)
{
	put_text(cursor, run->policy);
	put_real(cursor, run->limit);
	put_real(cursor, run->limit_j);
	put_integer(cursor, run->repeat);
	put_integer(cursor, (int64_t)run->seed);
	put_integer(cursor, run->measured);
	put_text(cursor, run->started_utc);
	put_integer(cursor, run->t0_ns);
	put_text(cursor, run->boot_id);
	put_text(cursor, run->ended_by);
	put_real(cursor, run->ended_s);
	put_real(cursor, run->utility);
	put_real(cursor, run->energy_j);
	put_real(cursor, run->idle_w);
	put_real(cursor, run->gap_s);
	put_real(cursor, run->host_load);
	put_integer(cursor, run->tasks_arrived);
	put_integer(cursor, run->tasks_completed);
	put_integer(cursor, run->tasks_failed);
	put_integer(cursor, run->tasks_dropped);
}

bool store_add_run(struct store *store, struct store_run *run, GError **error)
{
	sqlite3_stmt *statement = store_statement(store, STORE_ADD_RUN, error);
	struct cursor cursor = writing(statement);

	if (!statement)
		return false;
	put_run(&cursor, run);
	if (!store_run_statement(store, statement, "store a run", error))
		return false;
	run->run = sqlite3_last_insert_rowid(store->db);
	return true;
}

bool store_update_run(struct store *store, const struct store_run *run, GError **error)
{
	sqlite3_stmt *statement = store_statement(store, STORE_UPDATE_RUN, error);
	struct cursor cursor = writing(statement);

	if (!statement)
		return false;
	put_run(&cursor, run);
	put_integer(&cursor, run->run);
	return store_run_statement(store, statement, "update a run", error);
}

static gpointer read_run(struct cursor *cursor)
{
	struct store_run *run = g_new0(struct store_run, 1);

	run->policy = get_text(cursor);
	run->limit = get_real(cursor);
	run->limit_j = get_real(cursor);
	run->repeat = get_count(cursor);
	run->seed = (uint64_t)get_integer(cursor);
	run->measured = get_integer(cursor) != 0;
	run->started_utc = get_text(cursor);
	run->t0_ns = get_integer(cursor);
	run->boot_id = get_text(cursor);
	run->ended_by = get_text(cursor);
	run->ended_s = get_real(cursor);
	run->utility = get_real(cursor);
	run->energy_j = get_real(cursor);
	run->idle_w = get_real(cursor);
	run->gap_s = get_real(cursor);
	run->host_load = get_real(cursor);
	run->tasks_arrived = get_count(cursor);
	run->tasks_completed = get_count(cursor);
	run->tasks_failed = get_count(cursor);
	run->tasks_dropped = get_count(cursor);
	run->run = get_integer(cursor);
	return run;
}

GPtrArray *store_runs(struct store *store, GError **error)
{
	sqlite3_stmt *statement = store_statement(
		store, store->version < STORE_VERSION_PAIR ? STORE_LIST_RUNS_9 : STORE_LIST_RUNS, error);

	if (!statement)
		return NULL;
	return list_rows(store, statement, read_run, (GDestroyNotify)store_run_free,
			 "read the runs", error);
}

void store_run_free(struct store_run *run)
{
	if (!run)
		return;
	g_free(run->policy);
	g_free(run->started_utc);
	g_free(run->boot_id);
	g_free(run->ended_by);
	g_free(run);
}

bool store_put_task(struct store *store, const struct store_task *task, GError **error)
{
	sqlite3_stmt *statement = store_statement(store, STORE_PUT_TASK, error);
	struct cursor cursor = writing(statement);

	if (!statement)
		return false;
	put_integer(&cursor, task->run);
	put_integer(&cursor, task->task);
	put_text(&cursor, task->type);
	put_real(&cursor, task->arrival_s);
	put_real(&cursor, task->utility_max);
	put_text(&cursor, task->state);
	put_text(&cursor, task->cluster);
	put_text(&cursor, task->nodes);
	put_integer(&cursor, task->pstate);
	put_integer(&cursor, task->reservation);
	put_integer(&cursor, task->attempts);
	put_real(&cursor, task->planned_start_s);
	put_real(&cursor, task->started_s);
	put_real(&cursor, task->ended_s);
	put_real(&cursor, task->exec_s);
	put_real(&cursor, task->etc_s);
	put_real(&cursor, task->energy_j);
	put_real(&cursor, task->eec_j);
	put_real(&cursor, task->utility);
	put_text(&cursor, task->reason);
	put_real(&cursor, task->deadline_s);
	put_real(&cursor, task->chance);
	put_real(&cursor, task->threshold);
	put_integer(&cursor, task->queued_n);
	return store_run_statement(store, statement, "store a task", error);
}

static gpointer read_task(struct cursor *cursor)
{
	struct store_task *task = g_new0(struct store_task, 1);

	task->run = get_integer(cursor);
	task->task = get_count(cursor);
	task->type = get_text(cursor);
	task->arrival_s = get_real(cursor);
	task->utility_max = get_real(cursor);
	task->state = get_text(cursor);
	task->cluster = get_text(cursor);
	task->nodes = get_text(cursor);
	task->pstate = get_count(cursor);
	task->reservation = get_integer(cursor) != 0;
	task->attempts = get_count(cursor);
	task->planned_start_s = get_real(cursor);
	task->started_s = get_real(cursor);
	task->ended_s = get_real(cursor);
	task->exec_s = get_real(cursor);
	task->etc_s = get_real(cursor);
	task->energy_j = get_real(cursor);
	task->eec_j = get_real(cursor);
	task->utility = get_real(cursor);
	task->reason = get_text(cursor);
	task->deadline_s = get_real(cursor);
	task->chance = get_real(cursor);
	task->threshold = get_real(cursor);
	task->queued_n = get_count(cursor);
	return task;
}

GPtrArray *store_tasks(struct store *store, int64_t run, GError **error)
{
	return list_of_run(store,
			   store->version < VERSION_DEADLINES ? STORE_LIST_TASKS_2 : STORE_LIST_TASKS,
			   run, read_task,
			   (GDestroyNotify)store_task_free, "read the tasks", error);
}

void store_task_free(struct store_task *task)
{
	if (!task)
		return;
	g_free(task->type);
	g_free(task->state);
	g_free(task->cluster);
	g_free(task->nodes);
	g_free(task->reason);
	g_free(task);
}

static bool add_estimate(struct store *store, const struct config_estimate *estimate,
			 GError **error)
{
	sqlite3_stmt *statement = store_statement(store, STORE_ADD_ESTIMATE, error);
	struct cursor cursor = writing(statement);

	if (!statement)
		return false;
	put_text(&cursor, estimate->type);
	put_text(&cursor, estimate->cluster);
	put_real(&cursor, estimate->etc_s);
	put_real(&cursor, estimate->etc_sd_s);
	put_real(&cursor, estimate->eec_j);
	put_real(&cursor, estimate->eec_sd_j);
	put_integer(&cursor, estimate->count);
	return store_run_statement(store, statement, "store an estimate", error);
}

bool store_put_estimates(struct store *store, const struct config_estimate *estimates,
			 uint32_t count, GError **error)
{
	sqlite3_stmt *clear = store_statement(store, STORE_CLEAR_ESTIMATES, error);
	bool ours = sqlite3_get_autocommit(store->db) != 0;
	bool done;

	if (!clear || (ours && !store_begin(store, error)))
		return false;
	done = store_run_statement(store, clear, "replace the estimates", error);
	for (uint32_t i = 0; done && i < count; i++)
		done = add_estimate(store, &estimates[i], error);
	if (done && ours)
		return store_commit(store, error);
	if (!done && ours)
		store_rollback(store);
	return done;
}

static gpointer read_estimate(struct cursor *cursor)
{
	struct config_estimate *estimate = g_new0(struct config_estimate, 1);

	estimate->type = get_text(cursor);
	estimate->cluster = get_text(cursor);
	estimate->etc_s = get_real(cursor);
	estimate->etc_sd_s = get_real(cursor);
	estimate->eec_j = get_real(cursor);
	estimate->eec_sd_j = get_real(cursor);
	estimate->count = get_count(cursor);
	return estimate;
}

static void free_estimate(gpointer data)
{
	struct config_estimate *estimate = data;

	g_free(estimate->type);
	g_free(estimate->cluster);
	g_free(estimate);
}

GPtrArray *store_estimates(struct store *store, GError **error)
{
	sqlite3_stmt *statement = store_statement(store, STORE_LIST_ESTIMATES, error);

	if (!statement)
		return NULL;
	return list_rows(store, statement, read_estimate, free_estimate, "read the estimates",
			 error);
}
