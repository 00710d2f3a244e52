/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/store/store_account.h"

#include "controller/store/store_private.h"

const char *const store_account_keys[] = {"user", "task",   "type", "cluster",
					  "host", "policy", "day",  NULL};

/* The rows of the tables. */

static const struct record_field meter_fields[] = {
	STORE_RUN_COLUMN(store_account_meter),
	STORE_KEY(TEXT, store_account_meter, host),
	{RECORD_FIELD_TEXT(store_account_meter, cluster)},
	{RECORD_FIELD_I64(store_account_meter, before_uj)},
	{RECORD_FIELD_I64(store_account_meter, begin_uj)},
	{RECORD_FIELD_I64(store_account_meter, at_uj)},
	STORE_REAL_NOT_NULL(store_account_meter, at_s),
	{RECORD_FIELD_I64(store_account_meter, n)},
	STORE_TEXT_OR_NULL(store_account_meter, stream),
	{RECORD_FIELD_I64(store_account_meter, seq)},
	{RECORD_FIELD_TEXT(store_account_meter, counter), .null = RECORD_NULL_POINTER, .since = 8},
	{NULL},
};
const struct record store_account_meter_record = {.name = "account",
						  .size = sizeof(struct store_account_meter),
						  .fields = meter_fields,
						  .free = (GDestroyNotify)store_account_meter_free,
						  .table = "energy_meter",
						  .since = 6};
RECORD_DEFINE_FREE(store_account_meter, store_account_meter_record)

struct energy_interval {
	int64_t run;
	const char *host;
	double to_s;
	int64_t n;
	double from_s;
	int64_t from_uj, to_uj, idle_uj, tasks_uj, management_uj, unattributed_uj;
	const char *mark;
};
static const struct record_field interval_fields[] = {
	STORE_RUN_COLUMN(energy_interval),
	STORE_KEY(TEXT, energy_interval, host),
	{RECORD_AT(energy_interval, to_s), .type = RECORD_REAL, .flags = RECORD_KEY},
	STORE_KEY(I64, energy_interval, n),
	STORE_REAL_NOT_NULL(energy_interval, from_s),
	{RECORD_FIELD_I64(energy_interval, from_uj)},
	{RECORD_FIELD_I64(energy_interval, to_uj)},
	{RECORD_FIELD_I64(energy_interval, idle_uj)},
	{RECORD_FIELD_I64(energy_interval, tasks_uj)},
	{RECORD_FIELD_I64(energy_interval, management_uj)},
	{RECORD_FIELD_I64(energy_interval, unattributed_uj)},
	STORE_TEXT_OR_NULL(energy_interval, mark),
	{NULL},
};
const struct record store_energy_interval_record = {.name = "interval of energy",
						    .size = sizeof(struct energy_interval),
						    .fields = interval_fields,
						    .table = "energy_interval",
						    .since = 6};

struct energy_part {
	int64_t run;
	const char *host;
	double to_s;
	int64_t n;
	uint32_t task, attempt;
	int64_t cpu_ns, uj;
};
static const struct record_field part_fields[] = {
	STORE_RUN_COLUMN(energy_part),
	STORE_KEY(TEXT, energy_part, host),
	{RECORD_AT(energy_part, to_s), .type = RECORD_REAL, .flags = RECORD_KEY},
	STORE_KEY(I64, energy_part, n),
	STORE_KEY(U32, energy_part, task),
	STORE_KEY(U32, energy_part, attempt),
	{RECORD_FIELD_I64(energy_part, cpu_ns)},
	{RECORD_FIELD_I64(energy_part, uj)},
	{NULL},
};
const struct record store_energy_part_record = {.name = "part of energy",
						.size = sizeof(struct energy_part),
						.fields = part_fields,
						.table = "energy_part",
						.since = 6};

struct energy_day {
	int64_t run;
	const char *day, *host, *policy, *cluster;
	int64_t meter_uj, idle_uj, management_uj, unattributed_uj, unserved_uj;
};
static const struct record_field day_fields[] = {
	STORE_RUN_COLUMN(energy_day),
	STORE_KEY(TEXT, energy_day, day),
	STORE_KEY(TEXT, energy_day, host),
	STORE_KEY(TEXT, energy_day, policy),
	{RECORD_FIELD_TEXT(energy_day, cluster)},
	{RECORD_FIELD_I64(energy_day, meter_uj)},
	{RECORD_FIELD_I64(energy_day, idle_uj)},
	{RECORD_FIELD_I64(energy_day, management_uj)},
	{RECORD_FIELD_I64(energy_day, unattributed_uj)},
	{RECORD_FIELD_I64(energy_day, unserved_uj)},
	{NULL},
};
const struct record store_energy_day_record = {.name = "day's energy",
					       .size = sizeof(struct energy_day),
					       .fields = day_fields,
					       .table = "energy_day",
					       .since = 6};

struct energy_task {
	int64_t run;
	uint32_t task;
	const char *day, *host, *policy, *cluster;
	int64_t uj;
};
static const struct record_field task_fields[] = {
	STORE_RUN_COLUMN(energy_task),        STORE_KEY(U32, energy_task, task),
	STORE_KEY(TEXT, energy_task, day),    STORE_KEY(TEXT, energy_task, host),
	STORE_KEY(TEXT, energy_task, policy), {RECORD_FIELD_TEXT(energy_task, cluster)},
	{RECORD_FIELD_I64(energy_task, uj)},  {NULL},
};
const struct record store_energy_task_record = {.name = "task's energy",
						.size = sizeof(struct energy_task),
						.fields = task_fields,
						.table = "energy_task",
						.since = 6};

/* Writing. */

STORE_DEFINE_PUT(store_put_account_meter, store_account_meter, "store where an account stands")

bool store_add_account(struct store *store, const struct store_account_meter *meter,
		       const struct store_account_interval *interval, GError **error)
{
	static const char to_day[] =
		"INSERT INTO energy_day VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
		" ON CONFLICT (run, day, host, policy) DO UPDATE SET"
		" meter_uj = meter_uj + excluded.meter_uj, idle_uj = idle_uj + excluded.idle_uj,"
		" management_uj = management_uj + excluded.management_uj,"
		" unattributed_uj = unattributed_uj + excluded.unattributed_uj,"
		" unserved_uj = unserved_uj + excluded.unserved_uj";
	const bool served = g_strcmp0(interval->mark, STORE_ACCOUNT_UNSERVED) != 0;
	const struct energy_interval row = {
		.run = meter->run,
		.host = meter->host,
		.to_s = interval->to_s,
		.n = meter->n,
		.from_s = interval->from_s,
		.from_uj = interval->from_uj,
		.to_uj = interval->to_uj,
		.idle_uj = interval->idle_uj,
		.tasks_uj = interval->tasks_uj,
		.management_uj = interval->management_uj,
		.unattributed_uj = interval->unattributed_uj,
		.mark = interval->mark,
	};
	const struct energy_day day = {
		.run = meter->run,
		.day = interval->day,
		.host = meter->host,
		.policy = interval->policy,
		.cluster = meter->cluster,
		.meter_uj = interval->to_uj - interval->from_uj,
		.idle_uj = interval->idle_uj,
		.management_uj = interval->management_uj,
		.unattributed_uj = interval->unattributed_uj,
		.unserved_uj = served ? 0 : interval->unattributed_uj,
	};

	return database_add(store->database, &store_energy_interval_record, &row, NULL,
			    "store an interval of energy", error) &&
	       database_put_by(store->database, to_day, &store_energy_day_record, &day,
			       "store a day's energy", error);
}

bool store_add_account_parts(struct store *store, const struct store_account_meter *meter,
			     const struct store_account_parts *parts, GError **error)
{
	static const char to_part[] =
		"INSERT INTO energy_part VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
		" ON CONFLICT (run, host, to_s, n, task, attempt) DO UPDATE SET"
		" cpu_ns = excluded.cpu_ns + min(cpu_ns, 9223372036854775807 - excluded.cpu_ns),"
		" uj = uj + excluded.uj";
	static const char to_task[] =
		"INSERT INTO energy_task VALUES (?, ?, ?, ?, ?, ?, ?)"
		" ON CONFLICT (run, task, day, host, policy) DO UPDATE SET uj = uj + excluded.uj";

	for (uint32_t i = 0; i < parts->count; i++) {
		const struct store_account_part *part = &parts->parts[i];
		const struct energy_part row = {
			.run = meter->run,
			.host = meter->host,
			.to_s = parts->to_s,
			.n = parts->n,
			.task = part->task,
			.attempt = part->attempt,
			.cpu_ns = part->cpu_ns,
			.uj = part->uj,
		};
		const struct energy_task task = {
			.run = meter->run,
			.task = part->task,
			.day = parts->day,
			.host = meter->host,
			.policy = parts->policy,
			.cluster = meter->cluster,
			.uj = part->uj,
		};

		if (!database_put_by(store->database, to_part, &store_energy_part_record, &row,
				     "store a task's part of energy", error) ||
		    !database_put_by(store->database, to_task, &store_energy_task_record, &task,
				     "store a task's energy", error))
			return false;
	}
	return true;
}

bool store_begin_account(struct store *store, GError **error)
{
	return database_exec(store->database, "SAVEPOINT account", "begin to account", error);
}

bool store_end_account(struct store *store, bool good, GError **error)
{
	if (good)
		return database_exec(store->database, "RELEASE account", "account", error);
	/* A failure that rolled the whole transaction back also removed the savepoint. */
	if (database_is_begun(store->database))
		database_exec(store->database, "ROLLBACK TO account; RELEASE account",
			      "undo an account", NULL);
	return false;
}

/* Reading. */

STORE_DEFINE_LIST(store_account_meters, store_account_meter, "WHERE run = ? ORDER BY host",
		  "read where accounts stand")

/* The columns of a rise: no table has them. */
static const struct record_field rise_fields[] = {
	STORE_REAL_NOT_NULL(store_account_rise, from_s),
	STORE_REAL_NOT_NULL(store_account_rise, to_s),
	{RECORD_FIELD_I64(store_account_rise, uj)},
	{NULL},
};
static const struct record rise_record = {.name = "rise of a counter",
					  .size = sizeof(struct store_account_rise),
					  .fields = rise_fields,
					  .free = g_free,
					  .since = 6};

GPtrArray *store_account_rises(struct store *store, const struct store_account_meter *meter,
			       int64_t n, double at_s, GError **error)
{
	return database_list_by(store->database,
				"SELECT from_s, to_s, iif(mark IS '" STORE_ACCOUNT_NEW_COUNTER
				"', -1, to_uj - from_uj) FROM energy_interval"
				" WHERE run = ? AND host = ? AND n > ? AND to_s >= ? ORDER BY n",
				&rise_record, DATABASE_ARGS(meter->run, meter->host, n, at_s),
				"read the intervals of a host", error);
}

/* Sums of columns of energy_day that exist in energy_task too. */
#define SUM_OF_DAYS(key)                                                                           \
	"SELECT d." key ", coalesce(t.tasks, 0), coalesce(t.uj, 0), sum(d.idle_uj),"               \
	" sum(d.management_uj), sum(d.unattributed_uj), sum(d.unserved_uj), sum(d.meter_uj)"       \
	" FROM energy_day AS d LEFT JOIN (SELECT " key ", count(DISTINCT task) AS tasks,"          \
	" sum(uj) AS uj FROM energy_task WHERE run = ?1 GROUP BY 1) AS t ON t." key " = d." key    \
	" WHERE d.run = ?1 GROUP BY d." key " ORDER BY d." key

/* Sums of tasks, by a column of the task or its submission. */
#define SUM_OF_TASKS(key, join)                                                                    \
	"SELECT " key ", count(DISTINCT e.task), sum(e.uj), 0, 0, 0, 0, 0 FROM energy_task AS e"   \
	" " join " WHERE e.run = ?1 GROUP BY 1 ORDER BY 3 DESC, 1"

static const struct {
	const char *by;
	const char *sql;
} sums[] = {
	{"user", SUM_OF_TASKS("coalesce(s.user, '-')",
			      "LEFT JOIN submission AS s ON s.run = e.run AND s.task = e.task")},
	{"task", SUM_OF_TASKS("e.task", "")},
	{"type", SUM_OF_TASKS("coalesce(k.type, '-')",
			      "LEFT JOIN task AS k ON k.run = e.run AND k.task = e.task")},
	{"cluster", SUM_OF_DAYS("cluster")},
	{"host", SUM_OF_DAYS("host")},
	{"policy", SUM_OF_DAYS("policy")},
	{"day", SUM_OF_DAYS("day")},
};

/* Sums by policy, for a file before STORE_VERSION_PAIR. */
static const char sum_of_policies_9[] =
	"WITH s (policy, tasks, uj, idle_uj, management_uj, unattributed_uj, unserved_uj, meter_uj)"
	" AS (" SUM_OF_DAYS(
		"policy") ") SELECT " STORE_POLICY_SINCE_10 ", tasks, uj, idle_uj,"
			  " management_uj, unattributed_uj, unserved_uj, meter_uj FROM s ORDER BY 1";

static const char *sql_of_sum(const struct store *store, const char *by)
{
	if (database_version(store->database) < STORE_VERSION_PAIR && g_str_equal(by, "policy"))
		return sum_of_policies_9;
	for (gsize i = 0; i < G_N_ELEMENTS(sums); i++)
		if (g_str_equal(sums[i].by, by))
			return sums[i].sql;
	return NULL;
}

/* The columns of a sum: no table has them. */
static const struct record_field sum_fields[] = {
	{RECORD_FIELD_TEXT(store_account_sum, key)},
	{RECORD_FIELD_I64(store_account_sum, tasks)},
	{RECORD_FIELD_I64(store_account_sum, tasks_uj)},
	{RECORD_FIELD_I64(store_account_sum, idle_uj)},
	{RECORD_FIELD_I64(store_account_sum, management_uj)},
	{RECORD_FIELD_I64(store_account_sum, unattributed_uj)},
	{RECORD_FIELD_I64(store_account_sum, unserved_uj)},
	{RECORD_FIELD_I64(store_account_sum, meter_uj)},
	{NULL},
};
static const struct record sum_record = {.name = "sum of energy",
					 .size = sizeof(struct store_account_sum),
					 .fields = sum_fields,
					 .free = (GDestroyNotify)store_account_sum_free,
					 .since = 6};
RECORD_DEFINE_FREE(store_account_sum, sum_record)

GPtrArray *store_account_sums(struct store *store, int64_t run, const char *by, GError **error)
{
	const char *sql = sql_of_sum(store, by);

	if (!sql)
		return record_list_new(&sum_record);
	return database_list_by(store->database, sql, &sum_record, DATABASE_ARGS(run),
				"sum up energy", error);
}

bool store_account_dynamic_since(struct store *store, int64_t run, double from_s, int64_t *ret_uj,
				 GError **error)
{
	static const char sql[] =
		"SELECT coalesce(CAST(sum((tasks_uj + management_uj + unattributed_uj) * CASE"
		" WHEN from_s >= ?2 THEN 1 ELSE (to_s - ?2) / (to_s - from_s) END) AS INTEGER), 0)"
		" FROM energy_interval WHERE run = ?1 AND to_s > ?2"
		" AND host IN (SELECT host FROM energy_meter WHERE run = ?1)"
		" AND mark IS NOT 'unserved'";

	return database_find_integer(store->database, sql, DATABASE_ARGS(run, from_s), ret_uj,
				     "sum up energy", error);
}
