/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/store/store_private.h"

/* "vbrd": the magic number of a store (PRAGMA application_id), also for `file`. */
#define APPLICATION_ID 0x76627264

static const char meta_table[] =
	"CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;";

static const char history_indices[] = "CREATE INDEX event_of_run ON event (run, id);"
				      "CREATE INDEX decision_of_run ON decision (run, id);";

/*
 * Snapshots of queueing clusters refer to their large matrix of execution times by its key in meta;
 * the view inserts it.
 */
static const char whole_decisions[] =
	"CREATE VIEW whole_decision AS SELECT id, run, time_s,"
	" CASE WHEN json_type(snapshot, '$.system.queueing.pet') = 'text'"
	" THEN json_set(snapshot, '$.system.queueing.pet', json((SELECT value FROM meta"
	" WHERE key = json_extract(snapshot, '$.system.queueing.pet'))))"
	" ELSE snapshot END AS snapshot, actions FROM decision;";

/*
 * The first files of version 1 had only the sample's number as its key, so that samples were lost
 * when a local scheduler counted from 1 again. All later files have the right key.
 */
static const char sample_key[] =
	"ALTER TABLE sample RENAME TO sample_by_seq;"
	"CREATE TABLE sample ("
	" run INTEGER NOT NULL REFERENCES run, host TEXT NOT NULL, seq INTEGER NOT NULL,"
	" time_s REAL NOT NULL, mw INTEGER NOT NULL, energy_uj INTEGER NOT NULL,"
	" gap INTEGER NOT NULL, PRIMARY KEY (run, host, time_s, seq)) WITHOUT ROWID;"
	"INSERT INTO sample SELECT run, host, seq, time_s, mw, energy_uj, gap FROM sample_by_seq;"
	"DROP TABLE sample_by_seq;";

/*
 * Renames policies in sums by policy; `key` has the columns before the policy. Two names of a
 * policy of Pair may become the same name, whose rows are added up. Rows of other policies stay.
 */
#define RENAME_PAIRS_OF_SUMS(table, key, sums)                                                     \
	"CREATE TEMP TABLE renamed AS SELECT * FROM " table                                        \
	" WHERE instr(policy, '-preempt-pair') > 0;"                                               \
	"DELETE FROM " table " WHERE instr(policy, '-preempt-pair') > 0;"                          \
	"INSERT INTO " table " SELECT " key ", " STORE_POLICY_SINCE_10                             \
	" AS policy_now, max(cluster), " sums " FROM temp.renamed GROUP BY " key ", policy_now;"   \
	"DROP TABLE temp.renamed;"

/* Version 10 renames the policies of Pair. Snapshots keep the names of their time. */
static const char pair_names[] =
	"UPDATE run SET policy = " STORE_POLICY_SINCE_10 ";" RENAME_PAIRS_OF_SUMS(
		"energy_day", "run, day, host",
		"sum(meter_uj), sum(idle_uj), sum(management_uj), sum(unattributed_uj),"
		" sum(unserved_uj)")
		RENAME_PAIRS_OF_SUMS("energy_task", "run, task, day, host", "sum(uj)");

/* Version 12 had full states as texts, which can be read as bytes. */
static const char state_bytes[] =
	"ALTER TABLE full_state RENAME TO state_text;"
	"CREATE TABLE full_state ("
	" run INTEGER NOT NULL REFERENCES run, n INTEGER NOT NULL, time_s REAL,"
	" start INTEGER NOT NULL, state BLOB NOT NULL, PRIMARY KEY (run, n)) WITHOUT ROWID;"
	"INSERT INTO full_state SELECT run, n, time_s, start, CAST(state AS BLOB) FROM state_text;"
	"DROP TABLE state_text;";

/*
 * The steps from each version to the next; a version without one has new tables and columns alone.
 * These are those whose `since` is the version: 2 suspensions, 3 queues, 4 migrations and shares,
 * 5 submissions and drained nodes, 6 the energy account, 7 priorities, 8 the counter that a host's
 * account refers to, 10 profiles, what a request asked for, and lost attempts, 11 inputs,
 * 12 sums of requests, and full states, 13 packs of inputs.
 */
static const struct database_step steps[STORE_SCHEMA_VERSION + 1] = {
	[1] = {.before = meta_table, .sql = history_indices},
	[3] = {.sql = whole_decisions},
	[9] = {.sql = sample_key,
	       .wanted = "SELECT count(*) FROM pragma_table_info('sample')"
			 " WHERE name = 'time_s' AND pk = 0"},
	[10] = {.sql = pair_names},
	[13] = {.sql = state_bytes,
		.wanted = "SELECT count(*) FROM pragma_table_info('full_state')"
			  " WHERE name = 'state' AND type = 'TEXT'"},
};

/* In the order in which the tables are made. */
static const struct record *const records[] = {
	&store_run_record,
	&store_task_record,
	&store_event_record,
	&store_decision_record,
	&store_sample_record,
	&store_estimate_record,
	&store_suspension_record,
	&store_vm_overhead_record,
	&store_migration_record,
	&store_migration_vm_record,
	&store_share_record,
	&store_delivery_record,
	&store_submission_record,
	&store_drain_record,
	&store_account_meter_record,
	&store_energy_interval_record,
	&store_energy_part_record,
	&store_energy_day_record,
	&store_energy_task_record,
	&store_measurement_record,
	&store_unmeasured_record,
	&store_overhead_record,
	&store_lost_record,
	&store_input_record,
	&store_state_record,
	&store_input_pack_record,
	NULL,
};

const struct database_kind store_kind = {
	.what = "a store of virtbed",
	.reader = "this virtbed",
	.newer = "; use the newer virtbed",
	.cure = "; put a copy of it back, or save what can be read of it as"
		" docs/explanation/reliability.md says",
	.application_id = APPLICATION_ID,
	.version = STORE_SCHEMA_VERSION,
	.steps = steps,
	.records = records,
};

/*
 * SQLite's check of all tables except those that store_prune() shortens, which may be a thousand
 * times as large.
 */
static const char check_most[] =
	"SELECT c.quick_check FROM sqlite_master m, pragma_quick_check(m.name) c WHERE m.type = 'table'"
	" AND c.quick_check <> 'ok' AND m.name NOT IN ('sample', 'event', 'decision', 'input', 'input_pack', 'delivery', 'share',"
	" 'energy_interval', 'energy_part') LIMIT 1";

bool store_check_pages(struct store *store, bool whole, GError **error)
{
	return database_check(store->database, whole ? NULL : check_most, error);
}
