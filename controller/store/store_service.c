/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/store/store_service.h"

#include <float.h>

#include "common/read_number.h"
#include "controller/store/store_cursor.h"

/* The first version with these tables. */
#define VERSION_SERVICE 5
#define VERSION_PRIORITY 7
#define VERSION_ASKED 10

/* Submissions. */

static void put_uid(struct cursor *cursor, int64_t uid)
{
	if (uid < 0)
		cursor->next++;
	else
		put_integer(cursor, uid);
}

bool store_put_submission(struct store *store, const struct store_submission *submission,
			  GError **error)
{
	sqlite3_stmt *statement = store_statement(store, STORE_PUT_SUBMISSION, error);
	struct cursor cursor = writing(statement);

	if (!statement)
		return false;
	put_integer(&cursor, submission->run);
	put_integer(&cursor, submission->task);
	put_text(&cursor, submission->type);
	put_text(&cursor, submission->name);
	put_text(&cursor, submission->user);
	put_uid(&cursor, submission->uid);
	put_text(&cursor, submission->submitted_utc);
	put_real(&cursor, submission->arrival_s);
	put_text(&cursor, submission->key);
	put_integer(&cursor, submission->first);
	put_integer(&cursor, submission->count);
	put_real(&cursor, submission->utility_max);
	put_real(&cursor, submission->constant_s);
	put_real(&cursor, submission->zero_s);
	put_real(&cursor, submission->deadline_s);
	put_integer(&cursor, submission->held);
	put_integer(&cursor, submission->cancelled);
	put_integer(&cursor, submission->priority);
	if (submission->asked_held < 0)
		cursor.next++;
	else
		put_integer(&cursor, submission->asked_held);
	put_text(&cursor, submission->script_sha256);
	return store_run_statement(store, statement, "store a submission", error);
}

static int64_t get_uid(struct cursor *cursor)
{
	bool known = sqlite3_column_type(cursor->statement, cursor->next) != SQLITE_NULL;
	int64_t uid = get_integer(cursor);

	return known ? uid : -1;
}

static int get_asked_held(struct cursor *cursor)
{
	bool known = sqlite3_column_type(cursor->statement, cursor->next) != SQLITE_NULL;
	bool held = get_integer(cursor) != 0;

	return known ? held : -1;
}

static gpointer read_submission(struct cursor *cursor)
{
	struct store_submission *submission = g_new0(struct store_submission, 1);

	submission->run = get_integer(cursor);
	submission->task = get_count(cursor);
	submission->type = get_text(cursor);
	submission->name = get_text(cursor);
	submission->user = get_text(cursor);
	submission->uid = get_uid(cursor);
	submission->submitted_utc = get_text(cursor);
	submission->arrival_s = get_real(cursor);
	submission->key = get_text(cursor);
	submission->first = get_count(cursor);
	submission->count = get_count(cursor);
	submission->utility_max = get_real(cursor);
	submission->constant_s = get_real(cursor);
	submission->zero_s = get_real(cursor);
	submission->deadline_s = get_real(cursor);
	submission->held = get_integer(cursor) != 0;
	submission->cancelled = get_integer(cursor) != 0;
	submission->priority = (int32_t)get_integer(cursor);
	submission->asked_held = get_asked_held(cursor);
	submission->script_sha256 = get_text(cursor);
	return submission;
}

GPtrArray *store_submissions(struct store *store, int64_t run, GError **error)
{
	return list_of_run_since(store, VERSION_SERVICE,
				 store->version < VERSION_PRIORITY ? STORE_LIST_SUBMISSIONS_6
				 : store->version < VERSION_ASKED  ? STORE_LIST_SUBMISSIONS_9
								   : STORE_LIST_SUBMISSIONS,
				 run,
				 read_submission, (GDestroyNotify)store_submission_free,
				 "read the submissions", error);
}

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
	sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL);

	if (code == SQLITE_OK) {
		sqlite3_bind_int64(statement, 1, run);
		sqlite3_bind_int64(statement, 2, most);
		code = sqlite3_step(statement);
	}
	if (code == SQLITE_ROW) {
		struct cursor cursor = reading(statement);

		*ret_numbers = get_count(&cursor);
		*ret_count = get_count(&cursor);
	} else {
		store_fail(store, code, "count the tasks", error);
	}
	sqlite3_finalize(statement);
	return code == SQLITE_ROW;
}

char *store_stray_tasks(struct store *store, int64_t run, uint32_t most)
{
	static const char sql[] =
		"SELECT group_concat(iif(typeof(task) = 'integer', task, 'no number'), ', ')"
		" FROM (SELECT task FROM " TASK_NUMBERS " WHERE NOT (" IS_TASK_NUMBER ") LIMIT 20)";
	sqlite3_stmt *statement = NULL;
	char *text = NULL;

	if (sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL) == SQLITE_OK) {
		sqlite3_bind_int64(statement, 1, run);
		sqlite3_bind_int64(statement, 2, most);
		if (sqlite3_step(statement) == SQLITE_ROW)
			text = copy_text((const char *)sqlite3_column_text(statement, 0));
	}
	sqlite3_finalize(statement);
	return text;
}

void store_submission_free(struct store_submission *submission)
{
	if (!submission)
		return;
	g_free(submission->type);
	g_free(submission->name);
	g_free(submission->user);
	g_free(submission->submitted_utc);
	g_free(submission->key);
	g_free(submission->script_sha256);
	g_free(submission);
}

/* Drained nodes. */

bool store_put_drain(struct store *store, const struct store_drain *drain, GError **error)
{
	sqlite3_stmt *statement = store_statement(store, STORE_PUT_DRAIN, error);
	struct cursor cursor = writing(statement);

	if (!statement)
		return false;
	put_integer(&cursor, drain->run);
	put_text(&cursor, drain->cluster);
	put_integer(&cursor, drain->node);
	put_text(&cursor, drain->reason);
	put_text(&cursor, drain->user);
	put_text(&cursor, drain->since_utc);
	return store_run_statement(store, statement, "store a drained node", error);
}

bool store_drop_drain(struct store *store, int64_t run, const char *cluster, uint32_t node,
		      GError **error)
{
	sqlite3_stmt *statement = store_statement(store, STORE_DROP_DRAIN, error);
	struct cursor cursor = writing(statement);

	if (!statement)
		return false;
	put_integer(&cursor, run);
	put_text(&cursor, cluster);
	put_integer(&cursor, node);
	return store_run_statement(store, statement, "store a node that is not drained", error);
}

static gpointer read_drain(struct cursor *cursor)
{
	struct store_drain *drain = g_new0(struct store_drain, 1);

	drain->run = get_integer(cursor);
	drain->cluster = get_text(cursor);
	drain->node = get_count(cursor);
	drain->reason = get_text(cursor);
	drain->user = get_text(cursor);
	drain->since_utc = get_text(cursor);
	return drain;
}

GPtrArray *store_drains(struct store *store, int64_t run, GError **error)
{
	return list_of_run_since(store, VERSION_SERVICE, STORE_LIST_DRAINS, run, read_drain,
				 (GDestroyNotify)store_drain_free, "read the drained nodes", error);
}

void store_drain_free(struct store_drain *drain)
{
	if (!drain)
		return;
	g_free(drain->cluster);
	g_free(drain->reason);
	g_free(drain->user);
	g_free(drain->since_utc);
	g_free(drain);
}

/* Decisions about a task. */

static gpointer read_action(struct cursor *cursor)
{
	struct store_action *action = g_new0(struct store_action, 1);

	action->time_s = get_real(cursor);
	action->action = get_text(cursor);
	return action;
}

static void action_free(void *data)
{
	struct store_action *action = data;

	g_free(action->action);
	g_free(action);
}

GPtrArray *store_task_actions(struct store *store, int64_t run, uint32_t task, double from_s,
			      double until_s, uint32_t most, GError **error)
{
	sqlite3_stmt *statement = store_statement(store, STORE_LIST_TASK_DECISIONS, error);
	struct cursor cursor = writing(statement);

	if (!statement)
		return NULL;
	put_integer(&cursor, run);
	put_real(&cursor, from_s);
	put_integer(&cursor, task);
	put_integer(&cursor, most);
	put_real(&cursor, until_s);
	return list_rows(store, statement, read_action, action_free, "read the decisions", error);
}

/*
 * Pruning, ?3 rows of a table at a time. The conditions follow the keys, so that only rows to be
 * removed are visited: samples and intervals by host and time, decisions and events in the order of
 * writing, which is that of their times.
 */
#define KEYED_BY_HOST(table, time, key, hosts)                                                    \
	" DELETE FROM " table " WHERE run = ?1 AND (" key ") IN (SELECT " key " FROM " table                  \
	" WHERE run = ?1 AND " time " < ?2 AND host IN (" hosts ") LIMIT ?3)"
#define METERS "SELECT host FROM energy_meter WHERE run = ?1"
#define IN_ORDER(table, more)                                                                     \
	"WITH head AS (SELECT id, time_s FROM " table " WHERE run = ?1 ORDER BY id LIMIT ?3)"     \
	" DELETE FROM " table " WHERE id IN (SELECT id FROM head) AND"                            \
	" id < coalesce((SELECT min(id) FROM head WHERE time_s >= ?2), 9223372036854775807)" more

static const char *const prunings[] = {
	"WITH RECURSIVE of (host) AS (SELECT min(host) FROM sample WHERE run = ?1 UNION ALL"
	" SELECT (SELECT min(host) FROM sample WHERE run = ?1 AND host > of.host)"
	" FROM of WHERE of.host IS NOT NULL)"
	KEYED_BY_HOST("sample", "time_s", "host, time_s, seq",
		      "SELECT host FROM of WHERE host IS NOT NULL"),
	KEYED_BY_HOST("energy_part", "to_s", "host, to_s, n, task, attempt", METERS),
	KEYED_BY_HOST("energy_interval", "to_s", "host, to_s, n", METERS),
	/* Only shared hosts have these rows, and a service has none: few. */
	"DELETE FROM delivery WHERE run = ?1 AND time_s < ?2 AND ?3",
	"DELETE FROM share WHERE run = ?1 AND time_s < ?2 AND ?3",
	IN_ORDER("decision", ""),
	IN_ORDER("event", " AND id < (SELECT max(id) FROM event)"),
};

static bool prune_one(struct store *store, const char *sql, int64_t run, double before_s,
		      uint32_t most, bool *ret_more, GError **error)
{
	sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL);

	if (code == SQLITE_OK) {
		struct cursor cursor = writing(statement);

		put_integer(&cursor, run);
		put_real(&cursor, before_s);
		put_integer(&cursor, most);
		code = sqlite3_step(statement);
	}
	if (code == SQLITE_DONE)
		*ret_more |= sqlite3_changes(store->db) >= (int)most;
	else
		store_fail(store, code, "remove what is old", error);
	sqlite3_finalize(statement);
	return code == SQLITE_DONE;
}

bool store_prune(struct store *store, int64_t run, double before_s, uint32_t most, bool *ret_more,
		 GError **error)
{
	*ret_more = false;
	for (gsize i = 0; i < G_N_ELEMENTS(prunings); i++)
		if (!prune_one(store, prunings[i], run, before_s, most, ret_more, error))
			return false;
	return true;
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

		if (g_strv_length(fields) != 3 || !read_number(fields[0], -DBL_MAX, DBL_MAX, &from_s))
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
			       g_ascii_formatd(number, sizeof(number), "%.3f", from_s), utc, policy);
	return store_set_meta(store, STORE_SERVICE_POLICIES, text, error);
}
