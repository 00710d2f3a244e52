/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/store/store_private.h"

#include <string.h>

/* "vbrd": the magic number of a store (PRAGMA application_id), also for `file`. */
#define APPLICATION_ID 0x76627264

#define CREATE_SAMPLE                                                                              \
	"CREATE TABLE sample ("                                                                    \
	" run INTEGER NOT NULL REFERENCES run,"                                                    \
	" host TEXT NOT NULL,"                                                                     \
	" seq INTEGER NOT NULL,"                                                                   \
	" time_s REAL NOT NULL,"                                                                   \
	" mw INTEGER NOT NULL,"                                                                    \
	" energy_uj INTEGER NOT NULL,"                                                             \
	" gap INTEGER NOT NULL,"                                                                   \
	" PRIMARY KEY (run, host, time_s, seq)) WITHOUT ROWID;"

/*
 * The schema; docs/reference/store.md explains every column. `task` and `sample` have natural keys,
 * so that a row may be written twice.
 */
static const char schema[] =
	"CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE run ("
	" run INTEGER PRIMARY KEY,"
	" policy TEXT NOT NULL,"
	" limit_fraction REAL NOT NULL,"
	" limit_j REAL NOT NULL,"
	" repeat INTEGER NOT NULL,"
	" seed INTEGER NOT NULL,"
	" measured INTEGER NOT NULL,"
	" started_utc TEXT,"
	" t0_ns INTEGER NOT NULL,"
	" boot_id TEXT,"
	" ended_by TEXT,"
	" ended_s REAL,"
	" utility REAL,"
	" energy_j REAL,"
	" idle_w REAL,"
	" gap_s REAL,"
	" host_load REAL,"
	" tasks_arrived INTEGER NOT NULL,"
	" tasks_completed INTEGER NOT NULL,"
	" tasks_failed INTEGER NOT NULL,"
	" tasks_dropped INTEGER NOT NULL);"
	"CREATE TABLE task ("
	" run INTEGER NOT NULL REFERENCES run,"
	" task INTEGER NOT NULL,"
	" type TEXT,"
	" arrival_s REAL,"
	" utility_max REAL,"
	" state TEXT NOT NULL,"
	" cluster TEXT,"
	" nodes TEXT,"
	" pstate INTEGER NOT NULL,"
	" reservation INTEGER NOT NULL,"
	" attempts INTEGER NOT NULL,"
	" planned_start_s REAL,"
	" started_s REAL,"
	" ended_s REAL,"
	" exec_s REAL,"
	" etc_s REAL,"
	" energy_j REAL,"
	" eec_j REAL,"
	" utility REAL,"
	" reason TEXT,"
	" PRIMARY KEY (run, task)) WITHOUT ROWID;"
	"CREATE TABLE event ("
	" id INTEGER PRIMARY KEY,"
	" run INTEGER NOT NULL REFERENCES run,"
	" time_s REAL,"
	" kind TEXT NOT NULL,"
	" detail TEXT);"
	"CREATE INDEX event_of_run ON event (run, id);"
	"CREATE TABLE decision ("
	" id INTEGER PRIMARY KEY,"
	" run INTEGER NOT NULL REFERENCES run,"
	" time_s REAL,"
	" snapshot TEXT NOT NULL,"
	" actions TEXT NOT NULL);"
	"CREATE INDEX decision_of_run ON decision (run, id);"
	CREATE_SAMPLE
	"CREATE TABLE estimate ("
	" type TEXT NOT NULL,"
	" cluster TEXT NOT NULL,"
	" etc_s REAL NOT NULL,"
	" etc_sd_s REAL,"
	" eec_j REAL NOT NULL,"
	" eec_sd_j REAL,"
	" count INTEGER NOT NULL,"
	" PRIMARY KEY (type, cluster)) WITHOUT ROWID;";

/* Version 2: suspensions. */
static const char schema_suspensions[] =
	"CREATE TABLE suspension ("
	" run INTEGER NOT NULL REFERENCES run,"
	" task INTEGER NOT NULL,"
	" attempt INTEGER NOT NULL,"
	" n INTEGER NOT NULL,"
	" cluster TEXT NOT NULL,"
	" nodes TEXT NOT NULL,"
	" to_nodes TEXT,"
	" by_person INTEGER NOT NULL,"
	" held INTEGER NOT NULL,"
	" requested_s REAL,"
	" suspended_s REAL,"
	" exec_s REAL,"
	" resume_requested_s REAL,"
	" resumed_s REAL,"
	" since_s REAL,"
	" freeze_s REAL,"
	" save_s REAL,"
	" restore_s REAL,"
	" resume_s REAL,"
	" skew_s REAL,"
	" PRIMARY KEY (run, task, attempt, n)) WITHOUT ROWID;"
	"CREATE TABLE suspension_vm ("
	" run INTEGER NOT NULL REFERENCES run,"
	" task INTEGER NOT NULL,"
	" attempt INTEGER NOT NULL,"
	" n INTEGER NOT NULL,"
	" vm INTEGER NOT NULL,"
	" freeze_s REAL,"
	" save_s REAL,"
	" restore_s REAL,"
	" resume_s REAL,"
	" PRIMARY KEY (run, task, attempt, n, vm)) WITHOUT ROWID;";

/*
 * Version 3. Snapshots of queueing clusters refer to their large matrix of execution times by its
 * key in meta; the view inserts it.
 */
static const char schema_queues[] =
	"ALTER TABLE task ADD COLUMN deadline_s REAL;"
	"ALTER TABLE task ADD COLUMN chance REAL;"
	"ALTER TABLE task ADD COLUMN threshold REAL;"
	"ALTER TABLE task ADD COLUMN queued_n INTEGER NOT NULL DEFAULT 0;"
	"CREATE VIEW whole_decision AS SELECT id, run, time_s,"
	" CASE WHEN json_type(snapshot, '$.system.queueing.pet') = 'text'"
	" THEN json_set(snapshot, '$.system.queueing.pet', json((SELECT value FROM meta"
	" WHERE key = json_extract(snapshot, '$.system.queueing.pet'))))"
	" ELSE snapshot END AS snapshot, actions FROM decision;";

/* Version 4: migrations of running tasks, and shares of hosts. */
static const char schema_migrations[] =
	"CREATE TABLE migration ("
	" run INTEGER NOT NULL REFERENCES run,"
	" task INTEGER NOT NULL,"
	" attempt INTEGER NOT NULL,"
	" n INTEGER NOT NULL,"
	" cluster TEXT NOT NULL,"
	" nodes TEXT NOT NULL,"
	" to_nodes TEXT NOT NULL,"
	" by_person INTEGER NOT NULL,"
	" requested_s REAL,"
	" ended_s REAL,"
	" reason TEXT,"
	" PRIMARY KEY (run, task, attempt, n)) WITHOUT ROWID;"
	"CREATE TABLE migration_vm ("
	" run INTEGER NOT NULL REFERENCES run,"
	" task INTEGER NOT NULL,"
	" attempt INTEGER NOT NULL,"
	" n INTEGER NOT NULL,"
	" vm INTEGER NOT NULL,"
	" from_node INTEGER NOT NULL,"
	" to_node INTEGER NOT NULL,"
	" total_s REAL,"
	" downtime_s REAL,"
	" PRIMARY KEY (run, task, attempt, n, vm)) WITHOUT ROWID;"
	"CREATE TABLE share ("
	" run INTEGER NOT NULL REFERENCES run,"
	" task INTEGER NOT NULL,"
	" attempt INTEGER NOT NULL,"
	" time_s REAL NOT NULL,"
	" yield REAL NOT NULL,"
	" virtual_s REAL,"
	" PRIMARY KEY (run, task, attempt, time_s)) WITHOUT ROWID;"
	"CREATE TABLE delivery ("
	" run INTEGER NOT NULL REFERENCES run,"
	" task INTEGER NOT NULL,"
	" attempt INTEGER NOT NULL,"
	" time_s REAL NOT NULL,"
	" share REAL NOT NULL,"
	" asked_cores REAL,"
	" given_cores REAL,"
	" PRIMARY KEY (run, task, attempt, time_s)) WITHOUT ROWID;";

/* Version 5: submissions to a service, and drained nodes. */
static const char schema_service[] =
	"CREATE TABLE submission ("
	" run INTEGER NOT NULL REFERENCES run,"
	" task INTEGER NOT NULL,"
	" type TEXT NOT NULL,"
	" name TEXT,"
	" user TEXT,"
	" uid INTEGER,"
	" submitted_utc TEXT NOT NULL,"
	" arrival_s REAL NOT NULL,"
	" key TEXT,"
	" first INTEGER NOT NULL,"
	" count INTEGER NOT NULL,"
	" utility_max REAL NOT NULL,"
	" constant_s REAL,"
	" zero_s REAL,"
	" deadline_s REAL,"
	" held INTEGER NOT NULL,"
	" cancelled INTEGER NOT NULL,"
	" PRIMARY KEY (run, task)) WITHOUT ROWID;"
	"CREATE TABLE drain ("
	" run INTEGER NOT NULL REFERENCES run,"
	" cluster TEXT NOT NULL,"
	" node INTEGER NOT NULL,"
	" reason TEXT,"
	" user TEXT,"
	" since_utc TEXT NOT NULL,"
	" PRIMARY KEY (run, cluster, node)) WITHOUT ROWID;";

/* Version 6: the energy account of a service. */
static const char schema_account[] =
	"CREATE TABLE energy_meter ("
	" run INTEGER NOT NULL REFERENCES run,"
	" host TEXT NOT NULL,"
	" cluster TEXT NOT NULL,"
	" before_uj INTEGER NOT NULL,"
	" begin_uj INTEGER NOT NULL,"
	" at_uj INTEGER NOT NULL,"
	" at_s REAL NOT NULL,"
	" n INTEGER NOT NULL,"
	" stream TEXT,"
	" seq INTEGER NOT NULL,"
	" PRIMARY KEY (run, host)) WITHOUT ROWID;"
	"CREATE TABLE energy_interval ("
	" run INTEGER NOT NULL REFERENCES run,"
	" host TEXT NOT NULL,"
	" to_s REAL NOT NULL,"
	" n INTEGER NOT NULL,"
	" from_s REAL NOT NULL,"
	" from_uj INTEGER NOT NULL,"
	" to_uj INTEGER NOT NULL,"
	" idle_uj INTEGER NOT NULL,"
	" tasks_uj INTEGER NOT NULL,"
	" management_uj INTEGER NOT NULL,"
	" unattributed_uj INTEGER NOT NULL,"
	" mark TEXT,"
	" PRIMARY KEY (run, host, to_s, n)) WITHOUT ROWID;"
	"CREATE TABLE energy_part ("
	" run INTEGER NOT NULL REFERENCES run,"
	" host TEXT NOT NULL,"
	" to_s REAL NOT NULL,"
	" n INTEGER NOT NULL,"
	" task INTEGER NOT NULL,"
	" attempt INTEGER NOT NULL,"
	" cpu_ns INTEGER NOT NULL,"
	" uj INTEGER NOT NULL,"
	" PRIMARY KEY (run, host, to_s, n, task, attempt)) WITHOUT ROWID;"
	"CREATE TABLE energy_day ("
	" run INTEGER NOT NULL REFERENCES run,"
	" day TEXT NOT NULL,"
	" host TEXT NOT NULL,"
	" policy TEXT NOT NULL,"
	" cluster TEXT NOT NULL,"
	" meter_uj INTEGER NOT NULL,"
	" idle_uj INTEGER NOT NULL,"
	" management_uj INTEGER NOT NULL,"
	" unattributed_uj INTEGER NOT NULL,"
	" unserved_uj INTEGER NOT NULL,"
	" PRIMARY KEY (run, day, host, policy)) WITHOUT ROWID;"
	"CREATE TABLE energy_task ("
	" run INTEGER NOT NULL REFERENCES run,"
	" task INTEGER NOT NULL,"
	" day TEXT NOT NULL,"
	" host TEXT NOT NULL,"
	" policy TEXT NOT NULL,"
	" cluster TEXT NOT NULL,"
	" uj INTEGER NOT NULL,"
	" PRIMARY KEY (run, task, day, host, policy)) WITHOUT ROWID;";

/* Version 7: the priority of a submission. */
static const char schema_priority[] =
	"ALTER TABLE submission ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;";

/* Version 8: the counter that a host's account refers to. */
static const char schema_counter[] = "ALTER TABLE energy_meter ADD COLUMN counter TEXT;";

/*
 * Version 9: the first files of version 1 had only the sample's number as its key, so that samples
 * were lost when a local scheduler counted from 1 again. All later files have the right key.
 */
static const char schema_sample_key[] =
	"ALTER TABLE sample RENAME TO sample_by_seq;" CREATE_SAMPLE
	"INSERT INTO sample SELECT run, host, seq, time_s, mw, energy_uj, gap FROM sample_by_seq;"
	"DROP TABLE sample_by_seq;";

/*
 * Renames policies in sums by policy; `key` has the columns before the policy. Two names of a
 * policy of Pair may become the same name, whose rows are added up. Rows of other policies stay.
 */
#define RENAME_PAIRS_OF_SUMS(table, key, sums)                                                       \
	"CREATE TEMP TABLE renamed AS SELECT * FROM " table " WHERE instr(policy, '-preempt-pair') > 0;" \
	"DELETE FROM " table " WHERE instr(policy, '-preempt-pair') > 0;"                             \
	"INSERT INTO " table " SELECT " key ", " STORE_POLICY_SINCE_10 " AS policy_now, max(cluster), " sums \
	" FROM temp.renamed GROUP BY " key ", policy_now;"                                            \
	"DROP TABLE temp.renamed;"

/*
 * Version 10: the measurements of a profile and the pairs that it gave up; those parts of a request
 * that must be equal when its key is used again; the nodes of a task's earlier attempts. It renames
 * the policies of Pair, but snapshots keep the names that they were recorded with.
 */
static const char schema_10[] =
	"ALTER TABLE submission ADD COLUMN asked_held INTEGER;"
	"ALTER TABLE submission ADD COLUMN script_sha256 TEXT;"
	"CREATE TABLE measurement ("
	" n INTEGER PRIMARY KEY,"
	" type TEXT NOT NULL,"
	" cluster TEXT NOT NULL,"
	" round INTEGER,"
	" work TEXT NOT NULL,"
	" exec_s REAL NOT NULL,"
	" energy_j REAL,"
	" UNIQUE (type, cluster, round));"
	"CREATE TABLE unmeasured ("
	" type TEXT NOT NULL,"
	" cluster TEXT NOT NULL,"
	" reason TEXT NOT NULL,"
	" task_deadline_s REAL NOT NULL,"
	" PRIMARY KEY (type, cluster)) WITHOUT ROWID;"
	"CREATE TABLE overhead ("
	" n INTEGER PRIMARY KEY,"
	" cluster TEXT NOT NULL,"
	" keep TEXT NOT NULL,"
	" detail TEXT NOT NULL);"
	"CREATE TABLE lost_attempt ("
	" run INTEGER NOT NULL REFERENCES run,"
	" task INTEGER NOT NULL,"
	" attempt INTEGER NOT NULL,"
	" cluster TEXT NOT NULL,"
	" nodes TEXT NOT NULL,"
	" started_s REAL NOT NULL,"
	" ended_s REAL NOT NULL,"
	" reason TEXT,"
	" PRIMARY KEY (run, task, attempt)) WITHOUT ROWID;"
	"UPDATE run SET policy = " STORE_POLICY_SINCE_10 ";"
	RENAME_PAIRS_OF_SUMS("energy_day", "run, day, host",
			     "sum(meter_uj), sum(idle_uj), sum(management_uj), sum(unattributed_uj),"
			     " sum(unserved_uj)")
	RENAME_PAIRS_OF_SUMS("energy_task", "run, task, day, host", "sum(uj)");

/* The steps from each version to the next. */
static const struct {
	const char *sql;
	/* a query whose result, 0 or 1, says whether the step is needed; NULL: always */
	const char *wanted;
} steps[] = {
	[1] = {schema, NULL},
	[2] = {schema_suspensions, NULL},
	[3] = {schema_queues, NULL},
	[4] = {schema_migrations, NULL},
	[5] = {schema_service, NULL},
	[6] = {schema_account, NULL},
	[7] = {schema_priority, NULL},
	[8] = {schema_counter, NULL},
	[9] = {schema_sample_key,
	       "SELECT count(*) FROM pragma_table_info('sample') WHERE name = 'time_s' AND pk = 0"},
	[10] = {schema_10, NULL},
};
G_STATIC_ASSERT(G_N_ELEMENTS(steps) == STORE_SCHEMA_VERSION + 1);

/* Reads an integer with a PRAGMA or query. Returns a result code of SQLite. */
static int pragma_integer(struct store *store, const char *sql, int64_t *ret_value)
{
	sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL);

	if (code == SQLITE_OK) {
		code = sqlite3_step(statement);
		if (code == SQLITE_ROW) {
			*ret_value = sqlite3_column_int64(statement, 0);
			code = SQLITE_OK;
		}
	}
	sqlite3_finalize(statement);
	return code;
}

/* Whether a file needs the step to `version`. */
static bool is_wanted(struct store *store, int version)
{
	int64_t wanted = 1;

	if (steps[version].wanted &&
	    pragma_integer(store, steps[version].wanted, &wanted) != SQLITE_OK)
		return true; /* the step will fail too, with the reason */
	return wanted > 0;
}

/* Upgrades a file of version `store->version` (0: new) to the present one. */
static bool complete_tables(struct store *store, GError **error)
{
	g_autoptr(GString) sql = g_string_new("BEGIN IMMEDIATE;");

	for (int version = store->version + 1; version <= STORE_SCHEMA_VERSION; version++)
		if (is_wanted(store, version))
			g_string_append(sql, steps[version].sql);
	g_string_append_printf(sql, "PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT",
			       APPLICATION_ID, STORE_SCHEMA_VERSION);
	if (store_exec(store, sql->str, "create the tables", error)) {
		store->version = STORE_SCHEMA_VERSION;
		return true;
	}
	store_rollback(store);
	return false;
}

/*
 * SQLite's check of all tables except those that store_prune() shortens, which may be a thousand
 * times as large.
 */
static const char check_most[] =
	"SELECT c.quick_check FROM sqlite_master m, pragma_quick_check(m.name) c WHERE m.type = 'table'"
	" AND c.quick_check <> 'ok' AND m.name NOT IN ('sample', 'event', 'decision', 'delivery', 'share',"
	" 'energy_interval', 'energy_part') LIMIT 1";

/* A file is damaged if SQLite's check reports anything but "ok" or no row. */
static bool check_pages(struct store *store, const char *sql, GError **error)
{
	sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL);
	bool sound = false;

	if (code == SQLITE_OK)
		code = sqlite3_step(statement);
	if (code == SQLITE_ROW) {
		g_autofree char *text = g_strdup((const char *)sqlite3_column_text(statement, 0));

		sound = text && strcmp(text, "ok") == 0;
		if (text)
			g_strdelimit(text, "\n", ' ');
		if (!sound)
			g_set_error(error, STORE_ERROR, STORE_ERROR_CORRUPT,
				    "%s: damaged or truncated: %s" STORE_CURE, store->path,
				    text ? text : "?");
	} else if (code == SQLITE_DONE) {
		sound = true;
	} else {
		store_fail(store, code, "check the file", error);
	}
	sqlite3_finalize(statement);
	return sound;
}

bool store_check_pages(struct store *store, bool whole, GError **error)
{
	return check_pages(store, whole ? "PRAGMA quick_check(1)" : check_most, error);
}

bool store_schema_apply(struct store *store, bool create, bool whole, GError **error)
{
	int64_t application = 0;
	int64_t version = 0;
	int64_t tables = 0;
	int code = pragma_integer(store, "PRAGMA application_id", &application);

	if (code == SQLITE_OK)
		code = pragma_integer(store, "PRAGMA user_version", &version);
	if (code == SQLITE_OK)
		code = pragma_integer(store, "SELECT count(*) FROM sqlite_master", &tables);
	if (code != SQLITE_OK) {
		store_fail(store, code, "read the file", error);
		return false;
	}
	if (create && application == 0 && version == 0 && tables == 0)
		return complete_tables(store, error);
	if (application != APPLICATION_ID) {
		g_set_error(error, STORE_ERROR, STORE_ERROR_OPEN, "%s: not a store of virtbed",
			    store->path);
		return false;
	}
	if (version < 1 || version > STORE_SCHEMA_VERSION) {
		g_set_error(
			error, STORE_ERROR, STORE_ERROR_SCHEMA,
			"%s: written with schema %d, this virtbed knows %d; use the newer virtbed",
			store->path, (int)version, STORE_SCHEMA_VERSION);
		return false;
	}
	store->version = (int)version;
	if (!store_check_pages(store, whole, error))
		return false;
	return !create || version == STORE_SCHEMA_VERSION || complete_tables(store, error);
}
