/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Meta facts, and the rows of a run. */
#include <string.h>

#include "common/json.h"
#include "controller/store/store_private.h"

/* Meta. */

bool store_set_meta(struct store *store, const char *key, const char *value, GError **error)
{
	if (!value)
		return database_do(store->database, "DELETE FROM meta WHERE key = ?",
				   DATABASE_ARGS(key), "store a fact", error);
	return database_do(store->database,
			   "INSERT INTO meta VALUES (?, ?)"
			   " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
			   DATABASE_ARGS(key, value), "store a fact", error);
}

char *store_get_meta(struct store *store, const char *key)
{
	return database_find_text(store->database, "SELECT value FROM meta WHERE key = ?",
				  DATABASE_ARGS(key), "read a fact", NULL);
}

json_t *store_get_document(struct store *store, const char *key)
{
	g_autofree char *text = store_get_meta(store, key);

	return text ? json_parse(text, strlen(text), key, NULL) : NULL;
}

char *store_policy_now(struct store *store, const char *name, GError **error)
{
	if (database_version(store->database) >= STORE_VERSION_PAIR)
		return g_strdup(name);
	return database_find_text(store->database,
				  "SELECT " STORE_POLICY_SINCE_10 " FROM (SELECT ? AS policy)",
				  DATABASE_ARGS(name), "rename a policy", error);
}

/* Runs and tasks. */

bool store_add_run(struct store *store, struct store_run *run, GError **error)
{
	return database_add(store->database, &store_run_record, run, &run->run, "store a run",
			    error);
}

bool store_update_run(struct store *store, const struct store_run *run, GError **error)
{
	return database_update(store->database, &store_run_record, run, "update a run", error);
}

GPtrArray *store_runs(struct store *store, GError **error)
{
	g_autoptr(GPtrArray) runs =
		database_list(store->database, &store_run_record, "ORDER BY run", DATABASE_NO_ARGS,
			      "read the runs", error);

	for (guint i = 0; runs && i < runs->len; i++) {
		struct store_run *run = runs->pdata[i];
		g_autofree char *former = run->policy;

		run->policy = store_policy_now(store, former, error);
		if (!run->policy)
			return NULL;
	}
	return g_steal_pointer(&runs);
}

STORE_DEFINE_PUT(store_put_task, store_task, "store a task")

STORE_DEFINE_LIST(store_tasks, store_task, "WHERE run = ? ORDER BY task", "read the tasks")

/* Lost attempts. */

bool store_put_lost(struct store *store, const struct store_task *lost, GError **error)
{
	return database_put(store->database, &store_lost_record, lost, "store a lost attempt",
			    error);
}

GPtrArray *store_lost(struct store *store, int64_t run, GError **error)
{
	return database_list(store->database, &store_lost_record,
			     "WHERE run = ? ORDER BY task, attempt", DATABASE_ARGS(run),
			     "read the lost attempts", error);
}

GPtrArray *store_task_lost(struct store *store, int64_t run, uint32_t task, GError **error)
{
	return database_list(store->database, &store_lost_record,
			     "WHERE run = ? AND task = ? ORDER BY attempt",
			     DATABASE_ARGS(run, task), "read the lost attempts", error);
}

/* Suspensions. */

STORE_DEFINE_PUT(store_put_suspension, store_suspension, "store a suspension")

#define OF_RUN_BY_N "WHERE run = ? ORDER BY task, attempt, n"
#define OF_RUN_BY_VM "WHERE run = ? ORDER BY task, attempt, n, vm"
#define OF_RUN_BY_TIME "WHERE run = ? ORDER BY task, attempt, time_s"
#define OF_ATTEMPT_BY_N "WHERE run = ? AND task = ? AND attempt = ? ORDER BY n"

STORE_DEFINE_LIST(store_suspensions, store_suspension, OF_RUN_BY_N, "read the suspensions")

GPtrArray *store_task_suspensions(struct store *store, int64_t run, uint32_t task, uint32_t attempt,
				  GError **error)
{
	return database_list(store->database, &store_suspension_record, OF_ATTEMPT_BY_N,
			     DATABASE_ARGS(run, task, attempt), "read the suspensions", error);
}

bool store_put_vm_overhead(struct store *store, const struct store_vm_overhead *vm, GError **error)
{
	static const char sql[] = "INSERT INTO suspension_vm VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
				  " ON CONFLICT (run, task, attempt, n, vm) DO UPDATE SET"
				  " freeze_s = coalesce(excluded.freeze_s, freeze_s),"
				  " save_s = coalesce(excluded.save_s, save_s),"
				  " restore_s = coalesce(excluded.restore_s, restore_s),"
				  " resume_s = coalesce(excluded.resume_s, resume_s)";

	return database_put_by(store->database, sql, &store_vm_overhead_record, vm,
			       "store a suspension", error);
}

GPtrArray *store_vm_overheads(struct store *store, int64_t run, GError **error)
{
	return database_list(store->database, &store_vm_overhead_record, OF_RUN_BY_VM,
			     DATABASE_ARGS(run), "read the suspensions", error);
}

/* Migrations, and the CPU shares of tasks on shared hosts. */

STORE_DEFINE_PUT(store_put_migration, store_migration, "store a migration")

STORE_DEFINE_LIST(store_migrations, store_migration, OF_RUN_BY_N, "read the migrations")

GPtrArray *store_task_migrations(struct store *store, int64_t run, uint32_t task, uint32_t attempt,
				 GError **error)
{
	return database_list(store->database, &store_migration_record, OF_ATTEMPT_BY_N,
			     DATABASE_ARGS(run, task, attempt), "read the migrations", error);
}

STORE_DEFINE_PUT(store_put_migration_vm, store_migration_vm, "store a migration")

STORE_DEFINE_LIST(store_migration_vms, store_migration_vm, OF_RUN_BY_VM, "read the migrations")

STORE_DEFINE_PUT(store_put_share, store_share, "store a share")

STORE_DEFINE_LIST(store_shares, store_share, OF_RUN_BY_TIME, "read the migrations")

STORE_DEFINE_PUT(store_put_delivery, store_delivery, "store what a share came to")

STORE_DEFINE_LIST(store_deliveries, store_delivery, OF_RUN_BY_TIME, "read the migrations")

struct store_delivery *store_last_delivery(struct store *store, int64_t run, uint32_t task,
					   uint32_t attempt, GError **error)
{
	return database_get(
		store->database, &store_delivery_record,
		"WHERE run = ? AND task = ? AND attempt = ? ORDER BY time_s DESC LIMIT 1",
		DATABASE_ARGS(run, task, attempt), "read the migrations", error);
}

/* Estimates. */

bool store_put_estimates(struct store *store, const struct config_estimate *estimates,
			 uint32_t count, GError **error)
{
	const bool ours = !database_is_begun(store->database);
	bool done;

	if (ours && !store_begin(store, error))
		return false;
	done = database_do(store->database, "DELETE FROM estimate", DATABASE_NO_ARGS,
			   "replace the estimates", error);
	for (uint32_t i = 0; done && i < count; i++)
		done = database_add(store->database, &store_estimate_record, &estimates[i], NULL,
				    "store an estimate", error);
	return ours ? store_end(store, done, error) : done;
}

GPtrArray *store_estimates(struct store *store, GError **error)
{
	return database_list(store->database, &store_estimate_record, "ORDER BY type, cluster",
			     DATABASE_NO_ARGS, "read the estimates", error);
}

/* The history of a run: events, decisions, power samples. */

bool store_add_event(struct store *store, int64_t run, double time_s, const char *kind,
		     const char *detail, GError **error)
{
	const struct store_event event = {.run = run,
					  .time_s = time_s,
					  .kind = (char *)kind,
					  .detail = (char *)detail};

	if (!database_add(store->database, &store_event_record, &event, NULL, "store an event",
			  error))
		return false;
	if (store->event_added)
		store->event_added(store->event_data);
	return true;
}

STORE_DEFINE_LIST(store_events, store_event, "WHERE run = ? ORDER BY id", "read the events")

GPtrArray *store_events_after(struct store *store, int64_t run, int64_t after, uint32_t most,
			      GError **error)
{
	return database_list(store->database, &store_event_record,
			     "WHERE (?1 = 0 OR run = ?1) AND id > ?2 ORDER BY id LIMIT ?3",
			     DATABASE_ARGS(run, after, most), "read the events", error);
}

int64_t store_last_event(struct store *store)
{
	int64_t last = 0;

	database_find_integer(store->database, "SELECT max(id) FROM event", DATABASE_NO_ARGS, &last,
			      "read the events", NULL);
	return last;
}

void store_watch_events(struct store *store, void (*added)(void *data), void *data)
{
	store->event_added = added;
	store->event_data = data;
}

bool store_each_event(struct store *store, int64_t run, const char *kind,
		      void (*event)(const char *detail, void *data), void *data, GError **error)
{
	sqlite3_stmt *statement =
		database_query(store->database,
			       "SELECT detail FROM event WHERE run = ? AND kind = ? ORDER BY id",
			       DATABASE_ARGS(run, kind), error);
	int code;

	if (!statement)
		return false;
	while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
		struct database_cursor cursor = database_reading(statement);
		g_autofree char *detail = database_get_text(&cursor);

		event(detail, data);
	}
	if (code != SQLITE_DONE)
		database_fail(store->database, code, "read the events", error);
	sqlite3_reset(statement);
	return code == SQLITE_DONE;
}

bool store_add_decision(struct store *store, int64_t run, double time_s, const char *snapshot,
			const char *actions, GError **error)
{
	const struct store_decision decision = {.run = run,
						.time_s = time_s,
						.snapshot = (char *)snapshot,
						.actions = (char *)actions};

	return database_add(store->database, &store_decision_record, &decision, NULL,
			    "store a decision", error);
}

struct store_decision *store_decision_after(struct store *store, int64_t run, int64_t after,
					    GError **error)
{
	g_autoptr(GPtrArray) rows =
		database_list(store->database, &store_decision_record,
			      "WHERE run = ? AND id > ? ORDER BY id LIMIT 1",
			      DATABASE_ARGS(run, after), "read a decision", error);

	return rows && rows->len > 0 ? g_ptr_array_steal_index(rows, 0) : NULL;
}

STORE_DEFINE_PUT(store_put_state, store_state, "store a full state")

struct store_state *store_next_state(struct store *store, int64_t run, uint32_t from,
				     GError **error)
{
	if (store_version(store) < 12)
		return NULL;
	return database_get(store->database, &store_state_record,
			    "WHERE run = ? AND n >= ? ORDER BY n LIMIT 1", DATABASE_ARGS(run, from),
			    "read a full state", error);
}

int64_t store_last_decision(struct store *store, int64_t run)
{
	int64_t last = 0;

	database_find_integer(store->database,
			      "SELECT coalesce(max(id), 0) FROM decision WHERE run = ?",
			      DATABASE_ARGS(run), &last, "read the decisions", NULL);
	return last;
}

bool store_count_decisions(struct store *store, int64_t run, int64_t *ret_count, GError **error)
{
	*ret_count = 0;
	return database_find_integer(store->database, "SELECT count(*) FROM decision WHERE run = ?",
				     DATABASE_ARGS(run), ret_count, "read the decisions", error);
}

bool store_add_sample(struct store *store, int64_t run, const char *host, int64_t seq,
		      double time_s, int64_t mw, int64_t energy_uj, bool gap, GError **error)
{
	static const char sql[] =
		"INSERT INTO sample SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7 WHERE NOT EXISTS"
		" (SELECT 1 FROM sample WHERE run = ?1 AND host = ?2 AND seq = ?3"
		" AND time_s BETWEEN ?4 - 0.05 AND ?4 + 0.05)";
	const struct store_sample sample = {.run = run,
					    .host = (char *)host,
					    .seq = seq,
					    .time_s = time_s,
					    .mw = mw,
					    .energy_uj = energy_uj,
					    .gap = gap};

	return database_put_by(store->database, sql, &store_sample_record, &sample,
			       "store a power sample", error);
}

STORE_DEFINE_LIST(store_samples, store_sample, "WHERE run = ? ORDER BY host, time_s, seq",
		  "read the power samples")
