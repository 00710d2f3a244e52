/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/store/store_service.h"

#include <float.h>

#include "common/read_number.h"
#include "controller/store/store_private.h"

/* Submissions. */

static const struct record_field submission_fields[] = {
	STORE_RUN_COLUMN(store_submission),
	STORE_KEY(U32, store_submission, task),
	{RECORD_FIELD_TEXT(store_submission, type)},
	STORE_TEXT_OR_NULL(store_submission, name),
	STORE_TEXT_OR_NULL(store_submission, user),
	STORE_INTEGER_OR_NULL(store_submission, uid),
	{RECORD_FIELD_TEXT(store_submission, submitted_utc)},
	STORE_REAL_NOT_NULL(store_submission, arrival_s),
	STORE_TEXT_OR_NULL(store_submission, key),
	{RECORD_FIELD_U32(store_submission, first)},
	{RECORD_FIELD_U32(store_submission, count)},
	STORE_REAL_NOT_NULL(store_submission, utility_max),
	{RECORD_FIELD_REAL(store_submission, constant_s)},
	{RECORD_FIELD_REAL(store_submission, zero_s)},
	{RECORD_FIELD_REAL(store_submission, deadline_s)},
	{RECORD_FIELD_BOOL(store_submission, held)},
	{RECORD_FIELD_BOOL(store_submission, cancelled)},
	{RECORD_FIELD_I64(store_submission, priority), .since = 7, .sql_default = "0"},
	{RECORD_AT(store_submission, asked_held), .type = RECORD_I64, .null = RECORD_NULL_MINUS_ONE,
	 .since = 10},
	{RECORD_FIELD_TEXT(store_submission, script_sha256), .null = RECORD_NULL_POINTER,
	 .since = 10},
	{NULL},
};
const struct record store_submission_record = {.name = "submission",
					       .size = sizeof(struct store_submission),
					       .fields = submission_fields,
					       .free = (GDestroyNotify)store_submission_free,
					       .table = "submission",
					       .since = 5};
RECORD_DEFINE_FREE(store_submission, store_submission_record)

STORE_DEFINE_PUT(store_put_submission, store_submission, "store a submission")

STORE_DEFINE_LIST(store_submissions, store_submission, "WHERE run = ? ORDER BY task",
		  "read the submissions")

/* The numbers of all tasks in either table, and the same restricted to valid numbers. */
#define TASK_NUMBERS                                                                               \
	"(SELECT task FROM task WHERE run = ?1 UNION SELECT task FROM submission WHERE run = ?1)"
#define IS_TASK_NUMBER "typeof(task) = 'integer' AND task >= 0 AND task < ?2"

bool store_count_tasks(struct store *store, int64_t run, uint32_t most, uint32_t *ret_numbers,
		       uint32_t *ret_count, GError **error)
{
	static const char sql[] =
		"SELECT count(*), 1 + coalesce(max(task) FILTER (WHERE " IS_TASK_NUMBER "), -1)"
		" FROM " TASK_NUMBERS;
	sqlite3_stmt *statement =
		database_query(store->database, sql, DATABASE_ARGS(run, most), error);
	struct database_cursor cursor = database_reading(statement);
	int code;

	if (!statement)
		return false;
	code = sqlite3_step(statement);
	if (code == SQLITE_ROW) {
		*ret_numbers = database_get_count(&cursor);
		*ret_count = database_get_count(&cursor);
	} else {
		database_fail(store->database, code, "count the tasks", error);
	}
	sqlite3_reset(statement);
	return code == SQLITE_ROW;
}

char *store_stray_tasks(struct store *store, int64_t run, uint32_t most)
{
	static const char sql[] =
		"SELECT group_concat(iif(typeof(task) = 'integer', task, 'no number'), ', ')"
		" FROM (SELECT task FROM " TASK_NUMBERS " WHERE NOT (" IS_TASK_NUMBER ") LIMIT 20)";

	return database_find_text(store->database, sql, DATABASE_ARGS(run, most), "count the tasks",
				  NULL);
}

/* Drained nodes. */

static const struct record_field drain_fields[] = {
	STORE_RUN_COLUMN(store_drain),
	STORE_KEY(TEXT, store_drain, cluster),
	STORE_KEY(U32, store_drain, node),
	STORE_TEXT_OR_NULL(store_drain, reason),
	STORE_TEXT_OR_NULL(store_drain, user),
	{RECORD_FIELD_TEXT(store_drain, since_utc)},
	{NULL},
};
const struct record store_drain_record = {.name = "drained node",
					  .size = sizeof(struct store_drain),
					  .fields = drain_fields,
					  .free = (GDestroyNotify)store_drain_free,
					  .table = "drain",
					  .since = 5};
RECORD_DEFINE_FREE(store_drain, store_drain_record)

STORE_DEFINE_PUT(store_put_drain, store_drain, "store a drained node")

bool store_drop_drain(struct store *store, int64_t run, const char *cluster, uint32_t node,
		      GError **error)
{
	return database_do(store->database,
			   "DELETE FROM drain WHERE run = ? AND cluster = ? AND node = ?",
			   DATABASE_ARGS(run, cluster, node), "store a node that is not drained",
			   error);
}

STORE_DEFINE_LIST(store_drains, store_drain, "WHERE run = ? ORDER BY cluster, node",
		  "read the drained nodes")

/* Decisions about a task. */

/* The columns of the actions: no table has them. */
static const struct record_field action_fields[] = {
	{RECORD_FIELD_REAL(store_action, time_s)},
	{RECORD_FIELD_TEXT(store_action, action)},
	{NULL},
};
static void free_action(void *data)
{
	struct store_action *action = data;

	g_free(action->action);
	g_free(action);
}
static const struct record action_record = {.name = "action",
					    .size = sizeof(struct store_action),
					    .fields = action_fields,
					    .free = free_action,
					    .since = 1};

GPtrArray *store_task_actions(struct store *store, int64_t run, uint32_t task, double from_s,
			      double until_s, uint32_t most, GError **error)
{
	static const char sql[] =
		"SELECT d.time_s, action.value FROM decision AS d, json_each(d.actions) AS action"
		" WHERE d.run = ?1 AND d.time_s BETWEEN ?2 AND ?5"
		" AND json_extract(action.value, '$.task') = ?3 ORDER BY d.id DESC LIMIT ?4";

	return database_list_by(store->database, sql, &action_record,
				DATABASE_ARGS(run, from_s, task, most, until_s),
				"read the decisions", error);
}

/*
 * Pruning, ?3 rows of a table at a time. The conditions follow the keys, so that only rows to be
 * removed are visited: samples and intervals by host and time, decisions and events in the order of
 * writing, which is that of their times.
 */
#define KEYED_BY_HOST(table, time, key, hosts)                                                     \
	" DELETE FROM " table " WHERE run = ?1 AND (" key ") IN (SELECT " key " FROM " table       \
	" WHERE run = ?1 AND " time " < ?2 AND host IN (" hosts ") LIMIT ?3)"
#define METERS "SELECT host FROM energy_meter WHERE run = ?1"
#define IN_ORDER(table, before)                                                                    \
	"WITH head AS (SELECT id, time_s FROM " table " WHERE run = ?1 ORDER BY id LIMIT ?3)"      \
	" DELETE FROM " table " WHERE id IN (SELECT id FROM head) AND id <"                        \
	" coalesce((SELECT min(id) FROM head WHERE time_s >= " before "), 9223372036854775807)"    \
	" AND id < (SELECT max(id) FROM " table ")"
/* The time of the earliest full state that is left, less 5 s; ?2 without one. */
#define STATE_LEFT                                                                                 \
	"coalesce((SELECT time_s - 5 FROM full_state WHERE run = ?1 ORDER BY n LIMIT 1), ?2)"

static const char *const prunings[] = {
	"WITH RECURSIVE of (host) AS (SELECT min(host) FROM sample WHERE run = ?1 UNION ALL"
	" SELECT (SELECT min(host) FROM sample WHERE run = ?1 AND host > of.host)"
	" FROM of WHERE of.host IS NOT NULL)" KEYED_BY_HOST(
		"sample", "time_s", "host, time_s, seq",
		"SELECT host FROM of WHERE host IS NOT NULL"),
	KEYED_BY_HOST("energy_part", "to_s", "host, to_s, n, task, attempt", METERS),
	KEYED_BY_HOST("energy_interval", "to_s", "host, to_s, n", METERS),
	/* Only shared hosts have these rows, and a service has none: few. */
	"DELETE FROM delivery WHERE run = ?1 AND time_s < ?2 AND ?3",
	"DELETE FROM share WHERE run = ?1 AND time_s < ?2 AND ?3",
	/*
	 * Full states before decisions and inputs, which their reruns compare: of both, what follows
	 * on a state that is left is left. A decision may be for a time some seconds before its state.
	 * The newest state is left in any case: of a busy service no younger one may have been stored.
	 */
	"DELETE FROM full_state WHERE run = ?1 AND (time_s < ?2 + 5 OR n <= (SELECT n FROM full_state"
	" WHERE run = ?1 ORDER BY n DESC LIMIT 1 OFFSET 2000)) AND ?3"
	" AND n < (SELECT max(n) FROM full_state WHERE run = ?1)",
	/* The last one stays, so that ids are not given twice: full states name them. */
	IN_ORDER("decision", "min(?2, " STATE_LEFT ")"),
	IN_ORDER("event", "?2"),
	/* The last one stays, so that numbers are not given twice. */
	"WITH head AS (SELECT n, time_s FROM input WHERE run = ?1 ORDER BY n LIMIT ?3)"
	" DELETE FROM input WHERE run = ?1 AND n IN (SELECT n FROM head) AND n <"
	" coalesce((SELECT min(n) FROM full_state WHERE run = ?1),"
	" (SELECT min(n) FROM head WHERE time_s >= ?2), 9223372036854775807)"
	" AND n < (SELECT max(n) FROM input WHERE run = ?1)",
	"DELETE FROM input_pack WHERE run = ?1 AND ?2 = ?2 AND n IN (SELECT n FROM input_pack"
	" WHERE run = ?1 ORDER BY n LIMIT ?3)"
	" AND last < (SELECT min(n) FROM full_state WHERE run = ?1)"
	" AND last < (SELECT max(last) FROM input_pack WHERE run = ?1)",
};

bool store_prune(struct store *store, int64_t run, double before_s, uint32_t most, bool *ret_more,
		 GError **error)
{
	*ret_more = false;
	for (gsize i = 0; i < G_N_ELEMENTS(prunings); i++) {
		if (!database_do(store->database, prunings[i], DATABASE_ARGS(run, before_s, most),
				 "remove what is old", error))
			return false;
		*ret_more |= sqlite3_changes(database_handle(store->database)) >= (int)most;
	}
	return true;
}

bool store_service_last_ns(struct store *store, int64_t run, int64_t *ret_ns, GError **error)
{
	static const char sql[] =
		"SELECT CAST(1e9 * max(0,"
		" coalesce((SELECT time_s FROM event WHERE run = ?1 ORDER BY id DESC LIMIT 1), 0),"
		" coalesce((SELECT max(at_s) FROM energy_meter WHERE run = ?1), 0)) AS INTEGER)";

	return database_find_integer(store->database, sql, DATABASE_ARGS(run), ret_ns,
				     "find the last time of the service", error);
}

/* Policies. */

static void free_policy(gpointer data)
{
	struct store_service_policy *policy = data;

	g_free(policy->from_utc);
	g_free(policy->policy);
	g_free(policy);
}

GPtrArray *store_service_policies(struct store *store)
{
	GPtrArray *policies = g_ptr_array_new_with_free_func(free_policy);
	g_autofree char *text = store_get_meta(store, STORE_SERVICE_POLICIES);
	g_auto(GStrv) lines = g_strsplit(text ? text : "", "\n", -1);

	for (char **line = lines; *line; line++) {
		g_auto(GStrv) fields = g_strsplit(*line, " ", 3);
		struct store_service_policy *policy;
		double from_s;

		if (g_strv_length(fields) != 3 ||
		    !read_number(fields[0], -DBL_MAX, DBL_MAX, &from_s))
			continue;
		policy = g_new0(struct store_service_policy, 1);
		policy->from_s = from_s;
		policy->from_utc = g_strdup(fields[1]);
		policy->policy = g_strdup(fields[2]);
		g_ptr_array_add(policies, policy);
	}
	return policies;
}

bool store_note_policy(struct store *store, const char *policy, double from_s, const char *utc,
		       GError **error)
{
	g_autoptr(GPtrArray) policies = store_service_policies(store);
	const struct store_service_policy *last =
		policies->len > 0 ? policies->pdata[policies->len - 1] : NULL;
	g_autofree char *before = store_get_meta(store, STORE_SERVICE_POLICIES);
	g_autofree char *text = NULL;
	char number[G_ASCII_DTOSTR_BUF_SIZE];

	if (last && g_str_equal(last->policy, policy))
		return true;
	text = g_strdup_printf("%s%s %s %s\n", before ? before : "",
			       g_ascii_formatd(number, sizeof(number), "%.3f", from_s), utc,
			       policy);
	return store_set_meta(store, STORE_SERVICE_POLICIES, text, error);
}
