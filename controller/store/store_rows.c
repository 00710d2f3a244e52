/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/store/store_cursor.h"

/* Those that there were from the beginning. */
#define TASK_COLUMNS                                                                               \
	"run, task, type, arrival_s, utility_max, state, cluster, nodes, pstate, reservation,"     \
	" attempts, planned_start_s, started_s, ended_s, exec_s, etc_s, energy_j, eec_j, utility," \
	" reason"

/* The first version whose tasks have deadlines. */
#define VERSION_DEADLINES 3

/* The columns of rows that are read in two ways. */
#define SUSPENSION                                                                                 \
	"run, task, attempt, n, cluster, nodes, to_nodes, by_person, held, requested_s,"           \
	" suspended_s, exec_s, resume_requested_s, resumed_s, since_s, freeze_s, save_s,"          \
	" restore_s, resume_s, skew_s"
#define MIGRATION                                                                                  \
	"run, task, attempt, n, cluster, nodes, to_nodes, by_person, requested_s, ended_s, reason"
#define METER_COLUMNS "run, host, cluster, before_uj, begin_uj, at_uj, at_s, n, stream, seq"
#define SUBMISSION_COLUMNS                                                                         \
	"run, task, type, name, user, uid, submitted_utc, arrival_s, key, first, count,"           \
	" utility_max, constant_s, zero_s, deadline_s, held, cancelled"

static const char *const statement_sql[STORE_STATEMENTS] = {
	[STORE_SET_META] = "INSERT INTO meta VALUES (?, ?)"
			   " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
	[STORE_DROP_META] = "DELETE FROM meta WHERE key = ?",
	[STORE_GET_META] = "SELECT value FROM meta WHERE key = ?",
	[STORE_ADD_RUN] =
		"INSERT INTO run (policy, limit_fraction, limit_j, repeat, seed, measured,"
		" started_utc, t0_ns, boot_id, ended_by, ended_s, utility, energy_j, idle_w,"
		" gap_s, host_load, tasks_arrived, tasks_completed, tasks_failed,"
		" tasks_dropped)"
		" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[STORE_UPDATE_RUN] =
		"UPDATE run SET policy = ?, limit_fraction = ?, limit_j = ?, repeat = ?,"
		" seed = ?, measured = ?, started_utc = ?, t0_ns = ?, boot_id = ?,"
		" ended_by = ?, ended_s = ?, utility = ?, energy_j = ?, idle_w = ?,"
		" gap_s = ?, host_load = ?, tasks_arrived = ?, tasks_completed = ?,"
		" tasks_failed = ?, tasks_dropped = ? WHERE run = ?",
	[STORE_LIST_RUNS] =
		"SELECT policy, limit_fraction, limit_j, repeat, seed, measured,"
		" started_utc, t0_ns, boot_id, ended_by, ended_s, utility, energy_j,"
		" idle_w, gap_s, host_load, tasks_arrived, tasks_completed, tasks_failed,"
		" tasks_dropped, run FROM run ORDER BY run",
	[STORE_PUT_TASK] = "INSERT OR REPLACE INTO task VALUES"
			   " (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,"
			   " ?)",
	[STORE_LIST_TASKS] = "SELECT " TASK_COLUMNS ", deadline_s, chance, threshold, queued_n"
			     " FROM task WHERE run = ? ORDER BY task",
	[STORE_LIST_TASKS_2] = "SELECT " TASK_COLUMNS ", NULL, NULL, NULL, 0"
			       " FROM task WHERE run = ? ORDER BY task",
	[STORE_ADD_EVENT] = "INSERT INTO event (run, time_s, kind, detail) VALUES (?, ?, ?, ?)",
	[STORE_LIST_EVENTS] =
		"SELECT id, run, time_s, kind, detail FROM event WHERE run = ? ORDER BY id",
	[STORE_LIST_EVENTS_AFTER] = "SELECT id, run, time_s, kind, detail FROM event"
				    " WHERE (?1 = 0 OR run = ?1) AND id > ?2 ORDER BY id LIMIT ?3",
	[STORE_LAST_EVENT] = "SELECT max(id) FROM event",
	[STORE_ADD_DECISION] = "INSERT INTO decision (run, time_s, snapshot, actions)"
			       " VALUES (?, ?, ?, ?)",
	[STORE_LIST_DECISIONS] = "SELECT time_s, snapshot, actions FROM decision WHERE run = ?"
				 " ORDER BY id",
	[STORE_ADD_SAMPLE] = "INSERT INTO sample SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7 WHERE NOT EXISTS"
			     " (SELECT 1 FROM sample WHERE run = ?1 AND host = ?2 AND seq = ?3"
			     " AND time_s BETWEEN ?4 - 0.05 AND ?4 + 0.05)",
	[STORE_LIST_SAMPLES] = "SELECT host, seq, time_s, mw, energy_uj, gap FROM sample"
			       " WHERE run = ? ORDER BY host, time_s, seq",
	[STORE_CLEAR_ESTIMATES] = "DELETE FROM estimate",
	[STORE_ADD_ESTIMATE] = "INSERT INTO estimate VALUES (?, ?, ?, ?, ?, ?, ?)",
	[STORE_PUT_SUSPENSION] = "INSERT OR REPLACE INTO suspension VALUES"
				 " (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[STORE_LIST_SUSPENSIONS] =
		"SELECT " SUSPENSION " FROM suspension WHERE run = ? ORDER BY task, attempt, n",
	[STORE_LIST_TASK_SUSPENSIONS] =
		"SELECT " SUSPENSION " FROM suspension"
		" WHERE run = ? AND task = ? AND attempt = ? ORDER BY n",
	[STORE_PUT_SUSPENSION_VM] =
		"INSERT INTO suspension_vm VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
		" ON CONFLICT (run, task, attempt, n, vm) DO UPDATE SET"
		" freeze_s = coalesce(excluded.freeze_s, freeze_s),"
		" save_s = coalesce(excluded.save_s, save_s),"
		" restore_s = coalesce(excluded.restore_s, restore_s),"
		" resume_s = coalesce(excluded.resume_s, resume_s)",
	[STORE_LIST_SUSPENSION_VMS] =
		"SELECT run, task, attempt, n, vm, freeze_s, save_s, restore_s, resume_s"
		" FROM suspension_vm WHERE run = ? ORDER BY task, attempt, n, vm",
	[STORE_PUT_MIGRATION] = "INSERT OR REPLACE INTO migration VALUES"
				" (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[STORE_LIST_MIGRATIONS] =
		"SELECT " MIGRATION " FROM migration WHERE run = ? ORDER BY task, attempt, n",
	[STORE_LIST_TASK_MIGRATIONS] =
		"SELECT " MIGRATION " FROM migration"
		" WHERE run = ? AND task = ? AND attempt = ? ORDER BY n",
	[STORE_PUT_MIGRATION_VM] =
		"INSERT OR REPLACE INTO migration_vm VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[STORE_LIST_MIGRATION_VMS] =
		"SELECT run, task, attempt, n, vm, from_node, to_node, total_s, downtime_s"
		" FROM migration_vm WHERE run = ? ORDER BY task, attempt, n, vm",
	[STORE_PUT_SHARE] = "INSERT OR REPLACE INTO share VALUES (?, ?, ?, ?, ?, ?)",
	[STORE_LIST_SHARES] = "SELECT run, task, attempt, time_s, yield, virtual_s"
			      " FROM share WHERE run = ? ORDER BY task, attempt, time_s",
	[STORE_PUT_DELIVERY] = "INSERT OR REPLACE INTO delivery VALUES (?, ?, ?, ?, ?, ?, ?)",
	[STORE_LIST_DELIVERIES] =
		"SELECT run, task, attempt, time_s, share, asked_cores, given_cores"
		" FROM delivery WHERE run = ? ORDER BY task, attempt, time_s",
	[STORE_LAST_DELIVERY] =
		"SELECT run, task, attempt, time_s, share, asked_cores, given_cores FROM delivery"
		" WHERE run = ? AND task = ? AND attempt = ? ORDER BY time_s DESC LIMIT 1",
	[STORE_LIST_TASK_DECISIONS] =
		"SELECT d.time_s, action.value FROM decision AS d, json_each(d.actions) AS action"
		" WHERE d.run = ?1 AND d.time_s BETWEEN ?2 AND ?5"
		" AND json_extract(action.value, '$.task') = ?3 ORDER BY d.id DESC LIMIT ?4",
	[STORE_PUT_SUBMISSION] = "INSERT OR REPLACE INTO submission VALUES"
				 " (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[STORE_LIST_SUBMISSIONS] = "SELECT " SUBMISSION_COLUMNS ", priority"
				   " FROM submission WHERE run = ? ORDER BY task",
	[STORE_LIST_SUBMISSIONS_6] = "SELECT " SUBMISSION_COLUMNS ", 0"
				     " FROM submission WHERE run = ? ORDER BY task",
	[STORE_PUT_DRAIN] = "INSERT OR REPLACE INTO drain VALUES (?, ?, ?, ?, ?, ?)",
	[STORE_DROP_DRAIN] = "DELETE FROM drain WHERE run = ? AND cluster = ? AND node = ?",
	[STORE_PUT_ENERGY_METER] =
		"INSERT OR REPLACE INTO energy_meter VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[STORE_LIST_ENERGY_METERS] =
		"SELECT " METER_COLUMNS ", counter FROM energy_meter WHERE run = ? ORDER BY host",
	[STORE_LIST_ENERGY_METERS_7] =
		"SELECT " METER_COLUMNS ", NULL FROM energy_meter WHERE run = ? ORDER BY host",
	[STORE_ADD_ENERGY_INTERVAL] =
		"INSERT INTO energy_interval VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[STORE_ADD_ENERGY_PART] =
		"INSERT INTO energy_part VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
		" ON CONFLICT (run, host, to_s, n, task, attempt) DO UPDATE SET"
		" cpu_ns = excluded.cpu_ns + min(cpu_ns, 9223372036854775807 - excluded.cpu_ns),"
		" uj = uj + excluded.uj",
	[STORE_ADD_ENERGY_DAY] =
		"INSERT INTO energy_day VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
		" ON CONFLICT (run, day, host, policy) DO UPDATE SET"
		" meter_uj = meter_uj + excluded.meter_uj, idle_uj = idle_uj + excluded.idle_uj,"
		" management_uj = management_uj + excluded.management_uj,"
		" unattributed_uj = unattributed_uj + excluded.unattributed_uj,"
		" unserved_uj = unserved_uj + excluded.unserved_uj",
	[STORE_ADD_ENERGY_TASK] =
		"INSERT INTO energy_task VALUES (?, ?, ?, ?, ?, ?, ?)"
		" ON CONFLICT (run, task, day, host, policy) DO UPDATE SET uj = uj + excluded.uj",
	[STORE_SUM_ENERGY_SINCE] =
		"SELECT coalesce(sum(tasks_uj + management_uj + unattributed_uj), 0)"
		" FROM energy_interval WHERE run = ?1 AND to_s >= ?2"
		" AND host IN (SELECT host FROM energy_meter WHERE run = ?1)"
		" AND mark IS NOT 'unserved'",
	[STORE_LIST_DRAINS] = "SELECT run, cluster, node, reason, user, since_utc FROM drain"
			      " WHERE run = ? ORDER BY cluster, node",
	[STORE_LIST_ESTIMATES] = "SELECT type, cluster, etc_s, etc_sd_s, eec_j, eec_sd_j, count"
				 " FROM estimate ORDER BY type, cluster",
};

sqlite3_stmt *store_statement(struct store *store, enum store_statement which, GError **error)
{
	sqlite3_stmt **statement = &store->statements[which];

	if (!*statement) {
		int code = sqlite3_prepare_v3(store->db, statement_sql[which], -1,
					      SQLITE_PREPARE_PERSISTENT, statement, NULL);

		if (code != SQLITE_OK) {
			store_fail(store, code, "use the tables", error);
			return NULL;
		}
	}
	sqlite3_reset(*statement);
	sqlite3_clear_bindings(*statement);
	return *statement;
}

bool store_run_statement(struct store *store, sqlite3_stmt *statement, const char *doing,
			 GError **error)
{
	int code = sqlite3_step(statement);

	if (code != SQLITE_DONE)
		store_fail(store, code, doing, error);
	sqlite3_reset(statement);
	return code == SQLITE_DONE;
}

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

/* The columns of a run but for its id, in the order of the statements. */
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
	sqlite3_stmt *statement = store_statement(store, STORE_LIST_RUNS, error);

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

bool store_add_event(struct store *store, int64_t run, double time_s, const char *kind,
		     const char *detail, GError **error)
{
	sqlite3_stmt *statement = store_statement(store, STORE_ADD_EVENT, error);
	struct cursor cursor = writing(statement);

	if (!statement)
		return false;
	put_integer(&cursor, run);
	put_real(&cursor, time_s);
	put_text(&cursor, kind);
	put_text(&cursor, detail);
	if (!store_run_statement(store, statement, "store an event", error))
		return false;
	if (store->event_added)
		store->event_added(store->event_data);
	return true;
}

static gpointer read_event(struct cursor *cursor)
{
	struct store_event *event = g_new0(struct store_event, 1);

	event->id = get_integer(cursor);
	event->run = get_integer(cursor);
	event->time_s = get_real(cursor);
	event->kind = get_text(cursor);
	event->detail = get_text(cursor);
	return event;
}

GPtrArray *store_events(struct store *store, int64_t run, GError **error)
{
	return list_of_run(store, STORE_LIST_EVENTS, run, read_event,
			   (GDestroyNotify)store_event_free, "read the events", error);
}

GPtrArray *store_events_after(struct store *store, int64_t run, int64_t after, uint32_t most,
			      GError **error)
{
	sqlite3_stmt *statement = store_statement(store, STORE_LIST_EVENTS_AFTER, error);
	struct cursor cursor = writing(statement);

	if (!statement)
		return NULL;
	put_integer(&cursor, run);
	put_integer(&cursor, after);
	put_integer(&cursor, most);
	return list_rows(store, statement, read_event, (GDestroyNotify)store_event_free,
			 "read the events", error);
}

int64_t store_last_event(struct store *store)
{
	sqlite3_stmt *statement = store_statement(store, STORE_LAST_EVENT, NULL);
	int64_t last = 0;

	if (statement && sqlite3_step(statement) == SQLITE_ROW)
		last = sqlite3_column_int64(statement, 0);
	if (statement)
		sqlite3_reset(statement);
	return last;
}

void store_watch_events(struct store *store, void (*added)(void *data), void *data)
{
	store->event_added = added;
	store->event_data = data;
}

void store_event_free(struct store_event *event)
{
	if (!event)
		return;
	g_free(event->kind);
	g_free(event->detail);
	g_free(event);
}

bool store_add_decision(struct store *store, int64_t run, double time_s, const char *snapshot,
			const char *actions, GError **error)
{
	sqlite3_stmt *statement = store_statement(store, STORE_ADD_DECISION, error);
	struct cursor cursor = writing(statement);

	if (!statement)
		return false;
	put_integer(&cursor, run);
	put_real(&cursor, time_s);
	put_text(&cursor, snapshot);
	put_text(&cursor, actions);
	return store_run_statement(store, statement, "store a decision", error);
}

bool store_each_decision(struct store *store, int64_t run,
			 bool (*row)(double time_s, const char *snapshot, const char *actions,
				     void *data),
			 void *data, GError **error)
{
	sqlite3_stmt *statement = store_statement(store, STORE_LIST_DECISIONS, error);
	bool more = true;
	int code = SQLITE_DONE;

	if (!statement)
		return false;
	sqlite3_bind_int64(statement, 1, run);
	while (more && (code = sqlite3_step(statement)) == SQLITE_ROW) {
		struct cursor cursor = reading(statement);
		double time_s = get_real(&cursor);
		const char *snapshot = peek_text(&cursor);

		more = row(time_s, snapshot, peek_text(&cursor), data);
	}
	if (more && code != SQLITE_DONE)
		store_fail(store, code, "read the decisions", error);
	sqlite3_reset(statement);
	return !more || code == SQLITE_DONE;
}

bool store_add_sample(struct store *store, int64_t run, const char *host, int64_t seq,
		      double time_s, int64_t mw, int64_t energy_uj, bool gap, GError **error)
{
	sqlite3_stmt *statement = store_statement(store, STORE_ADD_SAMPLE, error);
	struct cursor cursor = writing(statement);

	if (!statement)
		return false;
	put_integer(&cursor, run);
	put_text(&cursor, host);
	put_integer(&cursor, seq);
	put_real(&cursor, time_s);
	put_integer(&cursor, mw);
	put_integer(&cursor, energy_uj);
	put_integer(&cursor, gap);
	return store_run_statement(store, statement, "store a power sample", error);
}

static gpointer read_sample(struct cursor *cursor)
{
	struct store_sample *sample = g_new0(struct store_sample, 1);

	sample->host = get_text(cursor);
	sample->seq = get_integer(cursor);
	sample->time_s = get_real(cursor);
	sample->mw = get_integer(cursor);
	sample->energy_uj = get_integer(cursor);
	sample->gap = get_integer(cursor) != 0;
	return sample;
}

GPtrArray *store_samples(struct store *store, int64_t run, GError **error)
{
	return list_of_run(store, STORE_LIST_SAMPLES, run, read_sample,
			   (GDestroyNotify)store_sample_free, "read the power samples", error);
}

void store_sample_free(struct store_sample *sample)
{
	if (!sample)
		return;
	g_free(sample->host);
	g_free(sample);
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
