/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The SQL of the store, in one table. */
#include "controller/store/store_private.h"

/* The columns of version 1. */
#define TASK_COLUMNS                                                                               \
	"run, task, type, arrival_s, utility_max, state, cluster, nodes, pstate, reservation,"     \
	" attempts, planned_start_s, started_s, ended_s, exec_s, etc_s, energy_j, eec_j, utility," \
	" reason"

/* Column lists that several statements share. */
#define SUSPENSION                                                                                 \
	"run, task, attempt, n, cluster, nodes, to_nodes, by_person, held, requested_s,"           \
	" suspended_s, exec_s, resume_requested_s, resumed_s, since_s, freeze_s, save_s,"          \
	" restore_s, resume_s, skew_s"
#define LOST "run, task, attempt, cluster, nodes, started_s, ended_s, reason"
#define MIGRATION                                                                                  \
	"run, task, attempt, n, cluster, nodes, to_nodes, by_person, requested_s, ended_s, reason"
#define METER_COLUMNS "run, host, cluster, before_uj, begin_uj, at_uj, at_s, n, stream, seq"
#define SUBMISSION_COLUMNS                                                                         \
	"run, task, type, name, user, uid, submitted_utc, arrival_s, key, first, count,"           \
	" utility_max, constant_s, zero_s, deadline_s, held, cancelled"

#define LIST_RUNS(policy)                                                                          \
	"SELECT " policy ", limit_fraction, limit_j, repeat, seed, measured,"                      \
	" started_utc, t0_ns, boot_id, ended_by, ended_s, utility, energy_j,"                      \
	" idle_w, gap_s, host_load, tasks_arrived, tasks_completed, tasks_failed,"                 \
	" tasks_dropped, run FROM run ORDER BY run"

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
	[STORE_LIST_RUNS] = LIST_RUNS("policy"),
	[STORE_LIST_RUNS_9] = LIST_RUNS(STORE_POLICY_SINCE_10),
	[STORE_POLICY_NOW] = "SELECT " STORE_POLICY_SINCE_10 " FROM (SELECT ? AS policy)",
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
	[STORE_LIST_EVENTS_OF_KIND] =
		"SELECT detail FROM event WHERE run = ? AND kind = ? ORDER BY id",
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
	[STORE_PUT_LOST] = "INSERT OR REPLACE INTO lost_attempt VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
	[STORE_LIST_LOST] = "SELECT " LOST " FROM lost_attempt WHERE run = ? ORDER BY task, attempt",
	[STORE_LIST_TASK_LOST] =
		"SELECT " LOST " FROM lost_attempt WHERE run = ? AND task = ? ORDER BY attempt",
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
				 " (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[STORE_LIST_SUBMISSIONS] = "SELECT " SUBMISSION_COLUMNS ", priority, asked_held, script_sha256"
				   " FROM submission WHERE run = ? ORDER BY task",
	[STORE_LIST_SUBMISSIONS_9] = "SELECT " SUBMISSION_COLUMNS ", priority, NULL, NULL"
				     " FROM submission WHERE run = ? ORDER BY task",
	[STORE_LIST_SUBMISSIONS_6] = "SELECT " SUBMISSION_COLUMNS ", 0, NULL, NULL"
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
	[STORE_ADD_MEASUREMENT] =
		"INSERT INTO measurement (type, cluster, round, work, exec_s, energy_j)"
		" VALUES (?, ?, ?, ?, ?, ?)",
	[STORE_LIST_MEASUREMENTS] = "SELECT n, type, cluster, round, work, exec_s, energy_j"
				    " FROM measurement ORDER BY n",
	[STORE_DROP_MEASUREMENT] = "DELETE FROM measurement WHERE n = ?",
	[STORE_PUT_UNMEASURED] = "INSERT OR REPLACE INTO unmeasured VALUES (?, ?, ?, ?)",
	[STORE_LIST_UNMEASURED] = "SELECT type, cluster, reason, task_deadline_s FROM unmeasured"
				  " ORDER BY type, cluster",
	[STORE_DROP_UNMEASURED] = "DELETE FROM unmeasured WHERE type = ? AND cluster = ?",
	[STORE_ADD_OVERHEAD] = "INSERT INTO overhead (cluster, keep, detail) VALUES (?, ?, ?)",
	[STORE_LIST_OVERHEADS] = "SELECT cluster, keep, detail FROM overhead ORDER BY n",
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
