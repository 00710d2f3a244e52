/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/store/store_account.h"

#include <string.h>

#include "controller/store/store_cursor.h"

/* The first version with these tables. */
#define VERSION_ACCOUNT 6

/* The first version that identifies a host's counter. */
#define VERSION_COUNTER 8

const char *const store_account_keys[] = {"user", "task", "type", "cluster",
					  "host", "policy", "day", NULL};

/* Writing. */

bool store_put_account_meter(struct store *store, const struct store_account_meter *meter,
			     GError **error)
{
	sqlite3_stmt *statement = store_statement(store, STORE_PUT_ENERGY_METER, error);
	struct cursor cursor = writing(statement);

	if (!statement)
		return false;
	put_integer(&cursor, meter->run);
	put_text(&cursor, meter->host);
	put_text(&cursor, meter->cluster);
	put_integer(&cursor, meter->before_uj);
	put_integer(&cursor, meter->begin_uj);
	put_integer(&cursor, meter->at_uj);
	put_real(&cursor, meter->at_s);
	put_integer(&cursor, meter->n);
	put_text(&cursor, meter->stream);
	put_integer(&cursor, meter->seq);
	put_text(&cursor, meter->counter);
	return store_run_statement(store, statement, "store where an account stands", error);
}

static bool add_interval(struct store *store, const struct store_account_meter *meter,
			 const struct store_account_interval *interval, GError **error)
{
	sqlite3_stmt *statement = store_statement(store, STORE_ADD_ENERGY_INTERVAL, error);
	struct cursor cursor = writing(statement);

	if (!statement)
		return false;
	put_integer(&cursor, meter->run);
	put_text(&cursor, meter->host);
	put_real(&cursor, interval->to_s);
	put_integer(&cursor, meter->n);
	put_real(&cursor, interval->from_s);
	put_integer(&cursor, interval->from_uj);
	put_integer(&cursor, interval->to_uj);
	put_integer(&cursor, interval->idle_uj);
	put_integer(&cursor, interval->tasks_uj);
	put_integer(&cursor, interval->management_uj);
	put_integer(&cursor, interval->unattributed_uj);
	put_text(&cursor, interval->mark);
	return store_run_statement(store, statement, "store an interval of energy", error);
}

/* Adds the interval to the sums of its day. */
static bool add_to_day(struct store *store, const struct store_account_meter *meter,
		       const struct store_account_interval *interval, GError **error)
{
	sqlite3_stmt *statement = store_statement(store, STORE_ADD_ENERGY_DAY, error);
	struct cursor cursor = writing(statement);
	const bool served = g_strcmp0(interval->mark, STORE_ACCOUNT_UNSERVED) != 0;

	if (!statement)
		return false;
	put_integer(&cursor, meter->run);
	put_text(&cursor, interval->day);
	put_text(&cursor, meter->host);
	put_text(&cursor, interval->policy);
	put_text(&cursor, meter->cluster);
	put_integer(&cursor, interval->to_uj - interval->from_uj);
	put_integer(&cursor, interval->idle_uj);
	put_integer(&cursor, interval->management_uj);
	put_integer(&cursor, interval->unattributed_uj);
	put_integer(&cursor, served ? 0 : interval->unattributed_uj);
	return store_run_statement(store, statement, "store a day's energy", error);
}

static bool add_part(struct store *store, const struct store_account_meter *meter,
		     const struct store_account_parts *parts, const struct store_account_part *part,
		     GError **error)
{
	sqlite3_stmt *statement = store_statement(store, STORE_ADD_ENERGY_PART, error);
	struct cursor cursor = writing(statement);

	if (!statement)
		return false;
	put_integer(&cursor, meter->run);
	put_text(&cursor, meter->host);
	put_real(&cursor, parts->to_s);
	put_integer(&cursor, parts->n);
	put_integer(&cursor, part->task);
	put_integer(&cursor, part->attempt);
	put_integer(&cursor, part->cpu_ns);
	put_integer(&cursor, part->uj);
	return store_run_statement(store, statement, "store a task's part of energy", error);
}

static bool add_to_task(struct store *store, const struct store_account_meter *meter,
			const struct store_account_parts *parts, const struct store_account_part *part,
			GError **error)
{
	sqlite3_stmt *statement = store_statement(store, STORE_ADD_ENERGY_TASK, error);
	struct cursor cursor = writing(statement);

	if (!statement)
		return false;
	put_integer(&cursor, meter->run);
	put_integer(&cursor, part->task);
	put_text(&cursor, parts->day);
	put_text(&cursor, meter->host);
	put_text(&cursor, parts->policy);
	put_text(&cursor, meter->cluster);
	put_integer(&cursor, part->uj);
	return store_run_statement(store, statement, "store a task's energy", error);
}

bool store_add_account(struct store *store, const struct store_account_meter *meter,
		       const struct store_account_interval *interval, GError **error)
{
	return add_interval(store, meter, interval, error) &&
	       add_to_day(store, meter, interval, error);
}

bool store_add_account_parts(struct store *store, const struct store_account_meter *meter,
			     const struct store_account_parts *parts, GError **error)
{
	for (uint32_t i = 0; i < parts->count; i++)
		if (!add_part(store, meter, parts, &parts->parts[i], error) ||
		    !add_to_task(store, meter, parts, &parts->parts[i], error))
			return false;
	return true;
}

bool store_begin_account(struct store *store, GError **error)
{
	return store_exec(store, "SAVEPOINT account", "begin to account", error);
}

bool store_end_account(struct store *store, bool good, GError **error)
{
	if (good)
		return store_exec(store, "RELEASE account", "account", error);
	/* A failure that rolled the whole transaction back also removed the savepoint. */
	if (!sqlite3_get_autocommit(store->db))
		store_exec(store, "ROLLBACK TO account; RELEASE account", "undo an account", NULL);
	return false;
}

/* Reading. */

static gpointer read_meter(struct cursor *cursor)
{
	struct store_account_meter *meter = g_new0(struct store_account_meter, 1);

	meter->run = get_integer(cursor);
	meter->host = get_text(cursor);
	meter->cluster = get_text(cursor);
	meter->before_uj = get_integer(cursor);
	meter->begin_uj = get_integer(cursor);
	meter->at_uj = get_integer(cursor);
	meter->at_s = get_real(cursor);
	meter->n = get_integer(cursor);
	meter->stream = get_text(cursor);
	meter->seq = get_integer(cursor);
	meter->counter = get_text(cursor);
	return meter;
}

GPtrArray *store_account_meters(struct store *store, int64_t run, GError **error)
{
	return list_of_run_since(store, VERSION_ACCOUNT,
				 store->version < VERSION_COUNTER ? STORE_LIST_ENERGY_METERS_7
								  : STORE_LIST_ENERGY_METERS,
				 run, read_meter,
				 (GDestroyNotify)store_account_meter_free,
				 "read where accounts stand", error);
}

void store_account_meter_free(struct store_account_meter *meter)
{
	if (!meter)
		return;
	g_free(meter->host);
	g_free(meter->cluster);
	g_free(meter->stream);
	g_free(meter->counter);
	g_free(meter);
}

/* Sums of columns of energy_day that exist in energy_task too. */
#define SUM_OF_DAYS(key)                                                                          \
	"SELECT d." key ", coalesce(t.tasks, 0), coalesce(t.uj, 0), sum(d.idle_uj),"              \
	" sum(d.management_uj), sum(d.unattributed_uj), sum(d.unserved_uj), sum(d.meter_uj)"      \
	" FROM energy_day AS d LEFT JOIN (SELECT " key ", count(DISTINCT task) AS tasks,"         \
	" sum(uj) AS uj FROM energy_task WHERE run = ?1 GROUP BY 1) AS t ON t." key " = d." key   \
	" WHERE d.run = ?1 GROUP BY d." key " ORDER BY d." key

/* Sums of tasks, by a column of the task or its submission. */
#define SUM_OF_TASKS(key, join)                                                                   \
	"SELECT " key ", count(DISTINCT e.task), sum(e.uj), 0, 0, 0, 0, 0 FROM energy_task AS e"  \
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
	" AS (" SUM_OF_DAYS("policy") ") SELECT " STORE_POLICY_SINCE_10 ", tasks, uj, idle_uj,"
	" management_uj, unattributed_uj, unserved_uj, meter_uj FROM s ORDER BY 1";

static const char *sql_of_sum(const struct store *store, const char *by)
{
	if (store->version < STORE_VERSION_PAIR && g_str_equal(by, "policy"))
		return sum_of_policies_9;
	for (gsize i = 0; i < G_N_ELEMENTS(sums); i++)
		if (g_str_equal(sums[i].by, by))
			return sums[i].sql;
	return NULL;
}

static gpointer read_sum(struct cursor *cursor)
{
	struct store_account_sum *sum = g_new0(struct store_account_sum, 1);

	sum->key = get_text(cursor);
	sum->tasks = get_integer(cursor);
	sum->tasks_uj = get_integer(cursor);
	sum->idle_uj = get_integer(cursor);
	sum->management_uj = get_integer(cursor);
	sum->unattributed_uj = get_integer(cursor);
	sum->unserved_uj = get_integer(cursor);
	sum->meter_uj = get_integer(cursor);
	return sum;
}

void store_account_sum_free(struct store_account_sum *sum)
{
	if (!sum)
		return;
	g_free(sum->key);
	g_free(sum);
}

GPtrArray *store_account_sums(struct store *store, int64_t run, const char *by, GError **error)
{
	const char *sql = sql_of_sum(store, by);
	sqlite3_stmt *statement = NULL;
	GPtrArray *rows = NULL;
	int code;

	if (store->version < VERSION_ACCOUNT || !sql)
		return g_ptr_array_new_with_free_func((GDestroyNotify)store_account_sum_free);
	code = sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL);
	if (code == SQLITE_OK) {
		sqlite3_bind_int64(statement, 1, run);
		rows = list_rows(store, statement, read_sum, (GDestroyNotify)store_account_sum_free,
				 "sum up energy", error);
	} else {
		store_fail(store, code, "sum up energy", error);
	}
	sqlite3_finalize(statement);
	return rows;
}

bool store_account_dynamic_since(struct store *store, int64_t run, double from_s, int64_t *ret_uj,
				 GError **error)
{
	sqlite3_stmt *statement = store_statement(store, STORE_SUM_ENERGY_SINCE, error);
	struct cursor cursor = writing(statement);
	int code;

	if (!statement)
		return false;
	put_integer(&cursor, run);
	put_real(&cursor, from_s);
	code = sqlite3_step(statement);
	if (code == SQLITE_ROW)
		*ret_uj = sqlite3_column_int64(statement, 0);
	else
		store_fail(store, code, "sum up energy", error);
	sqlite3_reset(statement);
	return code == SQLITE_ROW;
}
