/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/simulator/sim_checks.h"

#include <math.h>
#include <sqlite3.h>
#include <string.h>

#include "common/json.h"
#include "controller/engine/engine.h"
#include "controller/service/run_service.h"
#include "controller/session/run_session_private.h"
#include "controller/session/view.h"
#include "tests/simulator/sim_promises.h"
#include "tests/simulator/sim_users.h"

/* Half a minute of a host's idle power. */
#define IDLE_UJ (30 * 60 * INT64_C(1000000))

/* What a loss of power may take of a service's record, seconds. */
#define LOST_S 5.0

/*
 * The same where its UTC clock was set: then the time of a service is known by what is on record
 * alone, which is the account of each minute where nothing happens.
 */
#define LOST_SET_S (60 + LOST_S)

/* In memory. */

/* No node of a local scheduler has two tasks. */
static void check_local(struct sim_world *world, const struct sim_part *part)
{
	const uint32_t count = world->plan->nodes[part->index - SIM_LOCALS];
	const GPtrArray *tasks = scheduler_tasks(part->scheduler);
	const char *of[8] = {NULL};

	g_assert_cmpuint(count, <=, G_N_ELEMENTS(of));
	for (guint i = 0; i < tasks->len; i++) {
		const struct task *task = tasks->pdata[i];
		const uint32_t *nodes = task_placed(task);

		if (task->state == TASK_ENDED || task->state == TASK_QUEUED ||
		    task->state == TASK_SUSPENDED)
			continue;
		for (uint32_t k = 0; k < task->nodes_count; k++) {
			if (nodes[k] >= count)
				sim_violate(world, "capacity", "%s: node %u of %s: there are %u",
					    part->name, nodes[k], task->id, count);
			else if (of[nodes[k]])
				sim_violate(world, "capacity", "%s: node %u has %s and %s",
					    part->name, nodes[k], of[nodes[k]], task->id);
			else
				of[nodes[k]] = task->id;
		}
	}
}

/* Whether a task has its nodes to itself, as the service has it. */
static bool has_nodes(const struct engine_task *task)
{
	return task->state == ENGINE_TASK_STARTING || task->state == ENGINE_TASK_RUNNING ||
	       task->state == ENGINE_TASK_MIGRATING || task->state == ENGINE_TASK_RESUMING;
}

/* No node of the service has two tasks. */
static void check_nodes(struct sim_world *world)
{
	uint32_t of[SIM_CLUSTERS_MAX][8];

	memset(of, 0xff, sizeof(of));
	for (uint32_t i = 0; i < view_tasks_count(world->session); i++) {
		const struct engine_task *task = view_task(world->session, i);

		if (!task || !has_nodes(task))
			continue;
		for (uint32_t k = 0; k < task->nodes_count; k++) {
			uint32_t *has = &of[task->cluster][task->nodes[k]];

			if (*has != UINT32_MAX)
				sim_violate(world, "capacity",
					    "service: node %u of c%u has tasks %u and %u",
					    task->nodes[k], task->cluster + 1, *has, i);
			*has = i;
		}
	}
}

/* All that was acknowledged is on record. */
static void check_acknowledged(struct sim_world *world)
{
	const GArray *tasks = sim_users_tasks(world->users);

	for (guint i = 0; i < tasks->len; i++) {
		const struct sim_task *task = &g_array_index(tasks, struct sim_task, i);
		const struct store_submission *submission =
			run_service_submission(world->session, task->number);
		const struct engine_task *known = view_task(world->session, task->number);
		g_autofree char *name = g_strdup_printf("a%u", task->submission);

		if (!submission || !known)
			sim_violate(world, "what was acknowledged is on record",
				    "task %u of submission %s is not there", task->number, name);
		else if (g_strcmp0(submission->name, name) != 0)
			sim_violate(world, "what was acknowledged is on record",
				    "task %u is of submission %s, not %s", task->number,
				    submission->name, name);
		else if (known->state == ENGINE_TASK_QUARANTINED)
			sim_violate(world, "records can be used", "task %u is quarantined: %s",
				    task->number, known->reason ?: "");
		else if (task->cancel && !submission->cancelled && !engine_task_over(known))
			sim_violate(world, "what was acknowledged is on record",
				    "task %u was cancelled, and is not", task->number);
		else if (task->hold && !task->moved && !task->cancel_sent &&
			 !view_is_held(world->session, known) && !engine_task_over(known))
			sim_violate(world, "what was acknowledged is on record",
				    "task %u was held, and is not", task->number);
	}
}

/*
 * The limit of a window is exceeded by at most what the service says, but where a controller does
 * not continue with the samples of the one before it.
 */
static void check_window(struct sim_world *world)
{
	struct run_service_limit limit;
	g_autofree char *end = NULL;

	if (world->plan->energy_limit_j <= 0 ||
	    (world->parts[SIM_CONTROLLER].lives > 1 && !world->session->go_on) ||
	    !run_service_limit(world->session, &limit))
		return;
	end = limit.end_utc;
	if (limit.window.overshoot_j > limit.bound_j + 1e-6)
		sim_violate(world, "a window's limit is exceeded by its bound at most",
			    "by %.6f J, the bound is %.6f J", limit.window.overshoot_j,
			    limit.bound_j);
}

/* The time of a service continues over its lives; a loss of power may take its last seconds. */
static void check_time(struct sim_world *world)
{
	const double now_s = run_session_now_s(world->session);
	const double lost_s = world->clock_set ? LOST_SET_S : LOST_S;

	if (now_s < world->service_s - lost_s)
		sim_violate(world, "the time of a service does not go back",
			    "it is %.3f s, and has been %.3f s", now_s, world->service_s);
	world->service_s = fmax(world->service_s, now_s);
}

void sim_checks_now(struct sim_world *world)
{
	for (guint i = SIM_LOCALS; i < world->parts_count; i++)
		if (world->parts[i].scheduler && !world->parts[i].dying)
			check_local(world, &world->parts[i]);
	sim_promises_check(world->promises, world);
	if (!sim_serves(world))
		return;
	check_nodes(world);
	check_acknowledged(world);
	check_window(world);
	check_time(world);
	if (view_counts(world->session) && view_counts(world->session)->impossible_events > 0)
		sim_violate(world, "no impossible event", "%" G_GUINT64_FORMAT " in the service",
			    view_counts(world->session)->impossible_events);
}

bool sim_checks_quiet(struct sim_world *world, GString *ret_why)
{
	for (guint i = SIM_CONTROLLER; i < world->parts_count; i++)
		if (!world->parts[i].up) {
			g_string_printf(ret_why, "%s is not up", world->parts[i].name);
			return false;
		}
	if (!sim_serves(world)) {
		g_string_assign(ret_why, "the service does not serve");
		return false;
	}
	if (sim_users_open(world->users) > 0) {
		g_string_printf(ret_why, "%u submissions were not answered",
				sim_users_open(world->users));
		return false;
	}
	for (uint32_t i = 0; i < view_tasks_count(world->session); i++) {
		const struct engine_task *task = view_task(world->session, i);

		if (!task || engine_task_over(task))
			continue;
		g_string_printf(ret_why, "task %u is %s: %s", i,
				engine_task_state_name(task->state),
				view_waits_because(world->session, task) ?: task->reason ?: "");
		return false;
	}
	for (guint i = SIM_LOCALS; i < world->parts_count; i++) {
		const GPtrArray *tasks = scheduler_tasks(world->parts[i].scheduler);

		for (guint k = 0; k < tasks->len; k++) {
			const struct task *task = tasks->pdata[k];

			if (task->state == TASK_ENDED)
				continue;
			g_string_printf(ret_why, "%s still has task %s, which is %s",
					world->parts[i].name, task->id,
					task_state_names[task->state]);
			return false;
		}
	}
	return true;
}

void sim_checks_note_counters(struct sim_world *world)
{
	for (guint i = SIM_LOCALS; i < world->parts_count; i++) {
		g_autoptr(json_t) document =
			scheduler_document(world->parts[i].scheduler, SCHEDULER_ENERGY, 0);
		const json_t *hosts = json_object_get(document, "hosts");

		for (size_t k = 0; k < json_array_size(hosts); k++) {
			const json_t *host = json_array_get(hosts, k);
			gint64 *uj = g_new(gint64, 1);

			*uj = json_integer_value(json_object_get(host, "energy_uj"));
			g_hash_table_insert(world->counters,
					    g_strdup(json_string_value(
						    json_object_get(host, "host"))),
					    uj);
		}
	}
}

/* In the stores. */

struct records {
	struct sim_world *world;
	sqlite3 *db;
	const char *name;
};

static bool open_records(struct sim_world *world, struct sim_part *part, const char *file,
			 struct records *ret_records)
{
	g_autofree char *path = g_build_filename(part->dir, file, NULL);

	virtual_platform_use_disk(world->ground, part->disk);
	*ret_records = (struct records){.world = world, .name = part->name};
	if (sqlite3_open_v2(path, &ret_records->db, SQLITE_OPEN_READWRITE,
			    virtual_disk_vfs(part->disk)) == SQLITE_OK)
		return true;
	sim_violate(world, "records can be used", "%s: %s", path, sqlite3_errmsg(ret_records->db));
	sqlite3_close(ret_records->db);
	return false;
}

/* Calls `row` for each row of a query. */
static void each(const struct records *records, const char *query,
		 void (*row)(sqlite3_stmt *row, void *data), void *data)
{
	sqlite3_stmt *rows = NULL;
	int code;

	if (sqlite3_prepare_v2(records->db, query, -1, &rows, NULL) != SQLITE_OK)
		g_error("%s: %s", query, sqlite3_errmsg(records->db));
	while ((code = sqlite3_step(rows)) == SQLITE_ROW)
		row(rows, data);
	if (code != SQLITE_DONE)
		sim_violate(records->world, "records can be used", "%s: %s", records->name,
			    sqlite3_errmsg(records->db));
	sqlite3_finalize(rows);
}

static void add_text(sqlite3_stmt *row, void *data)
{
	for (int i = 0; i < sqlite3_column_count(row); i++)
		g_string_append_printf(data, " %s=%s", sqlite3_column_name(row, i),
				       (const char *)sqlite3_column_text(row, i) ?: "NULL");
}

/* There are no rows of this kind. */
static void check_none(const struct records *records, const char *invariant, const char *query)
{
	g_autoptr(GString) text = g_string_new(NULL);

	each(records, query, add_text, text);
	if (text->len > 0)
		sim_violate(records->world, invariant, "%s:%.400s", records->name, text->str);
}

/* The account of a host is as far as its meter, to half a minute of its idle power. */
static void check_counter(sqlite3_stmt *row, void *data)
{
	struct sim_world *world = data;
	const char *host = (const char *)sqlite3_column_text(row, 0);
	const gint64 at_uj = sqlite3_column_int64(row, 1);
	const gint64 *uj = g_hash_table_lookup(world->counters, host);

	if (uj && ABS(at_uj - *uj) > IDLE_UJ)
		sim_violate(world, "the account of energy is as far as the meters",
			    "host %s: at %" G_GINT64_FORMAT " uJ, its meter at %" G_GINT64_FORMAT
			    " uJ",
			    host, at_uj, *uj);
}

#define UJ_OF_DAYS                                                                                 \
	"(SELECT sum(idle_uj + management_uj + unattributed_uj) + "                                \
	"(SELECT coalesce(sum(uj), 0) FROM energy_task) AS sum_uj, "                               \
	"(SELECT sum(before_uj + at_uj - begin_uj) FROM energy_meter) AS meters_uj FROM energy_day)"

/* tests/faults/bed.py has the same account. */
static void check_energy(const struct records *records)
{
	const bool pruned = records->world->plan->retention_days > 0;

	check_none(records, "an interval of energy is what its parts are",
		   "SELECT host, n FROM energy_interval WHERE to_uj - from_uj != "
		   "idle_uj + tasks_uj + management_uj + unattributed_uj LIMIT 3");
	if (!pruned) {
		check_none(
			records, "every interval of energy is there once",
			"SELECT host, n, step, hole FROM (SELECT host, n, "
			"n - lag(n, 1, 0) OVER w AS step, from_uj - lag(to_uj, 1, from_uj) OVER w AS hole, "
			"mark FROM energy_interval WINDOW w AS (PARTITION BY run, host ORDER BY n)) "
			"WHERE step != 1 OR (hole != 0 AND mark IS NOT 'new-counter') LIMIT 3");
		check_none(
			records, "shares of energy are what intervals say",
			"WITH start AS (SELECT DISTINCT run, host, n FROM energy_part UNION "
			"SELECT DISTINCT run, host, 0 FROM energy_interval), "
			"span AS (SELECT run, host, n, lead(n, 1, 1e18) OVER (PARTITION BY run, host "
			"ORDER BY n) AS next FROM start), "
			"sums AS (SELECT host, n, (SELECT coalesce(sum(tasks_uj), 0) FROM energy_interval "
			"AS i WHERE i.run = s.run AND i.host = s.host AND i.n >= s.n AND i.n < s.next) "
			"AS tasks_uj, (SELECT coalesce(sum(uj), 0) FROM energy_part AS p WHERE "
			"p.run = s.run AND p.host = s.host AND p.n = s.n) AS parts_uj FROM span AS s) "
			"SELECT * FROM sums WHERE tasks_uj != parts_uj LIMIT 3");
	}
	check_none(records, "tasks and the rest are what the meters counted",
		   "SELECT sum_uj, meters_uj FROM " UJ_OF_DAYS " WHERE sum_uj != meters_uj");
	check_none(records, "energy of tasks is not negative",
		   "SELECT task, sum(uj) FROM energy_task GROUP BY 1 HAVING sum(uj) < 0 LIMIT 3");
	check_none(
		records, "a task is paid for by what it used",
		"SELECT task, energy_j, used_j FROM (SELECT task, energy_j, (SELECT sum(uj) / 1e6 "
		"FROM energy_task AS e WHERE e.run = t.run AND e.task = t.task) AS used_j "
		"FROM task AS t WHERE energy_j NOT NULL) "
		"WHERE abs(energy_j - coalesce(used_j, 0)) > 0.001 LIMIT 3");
}

static void check_service(const struct records *records)
{
	check_none(records, "the store is whole",
		   "SELECT * FROM pragma_integrity_check WHERE integrity_check != 'ok' LIMIT 3");
	check_none(records, "every submission has its task",
		   "SELECT task, name FROM submission WHERE NOT EXISTS (SELECT 1 FROM task AS t "
		   "WHERE t.run = submission.run AND t.task = submission.task) LIMIT 3");
	check_none(
		records, "a request under a key is one submission",
		"SELECT key, count(*), max(count) FROM submission WHERE key NOT NULL GROUP BY key "
		"HAVING count(*) != max(count) LIMIT 3");
	check_none(
		records, "what completed has run",
		"SELECT task, attempts FROM task WHERE state = 'completed' AND attempts = 0 LIMIT 3");
	check_none(
		records, "tasks fail only where three attempts were lost",
		"SELECT task, state, reason FROM task AS t WHERE state = 'failed' AND "
		"(SELECT count(*) FROM lost_attempt AS l WHERE l.run = t.run AND l.task = t.task "
		"AND reason IS NOT 'the service was stopped') < 2 "
		"LIMIT 3");
	if (records->world->plan->jitter_ms == 0 && records->world->plan->gentle)
		check_none(
			records, "a sample is there once",
			"SELECT host, seq, time_s, step_s FROM (SELECT host, seq, time_s, time_s - "
			"lag(time_s) OVER (PARTITION BY run, host, seq ORDER BY time_s) AS step_s "
			"FROM sample) WHERE step_s < 0.3 LIMIT 3");
	check_energy(records);
	each(records, "SELECT host, at_uj FROM energy_meter ORDER BY host", check_counter,
	     records->world);
}

/* What was executed: task -> how many of its attempts completed, by the local schedulers. */
struct executed {
	GHashTable *completed;
	struct sim_world *world;
};

static void count_completed(sqlite3_stmt *row, void *data)
{
	const struct executed *executed = data;
	const char *id = (const char *)sqlite3_column_text(row, 0);
	g_auto(GStrv) words = g_strsplit(id, "-", -1);
	const guint count = g_strv_length(words);
	const guint number = count >= 2 ? (guint)g_ascii_strtoull(words[count - 2], NULL, 10) : 0;

	g_hash_table_insert(
		executed->completed, GUINT_TO_POINTER(number),
		GUINT_TO_POINTER(GPOINTER_TO_UINT(g_hash_table_lookup(executed->completed,
								      GUINT_TO_POINTER(number))) +
				 1));
}

/* The state in which a task has ended has a cause. */
static void check_state(struct sim_world *world, guint number, const char *state)
{
	const struct sim_task *task = sim_users_find(world->users, number);

	if (g_str_equal(state, "completed") || g_str_equal(state, "failed") ||
	    (g_str_equal(state, "dropped") && world->plan->drops) ||
	    (g_str_equal(state, "killed") && task && task->cancel_sent))
		return;
	sim_violate(world, "tasks end as users wish", "task %u is %s", number, state);
}

/*
 * A task that completes is executed once: where no local scheduler was silent for long, no machine
 * lost what was not synced, and no disk failed, for which reliability.md says otherwise.
 */
static void check_task(sqlite3_stmt *row, void *data)
{
	const struct executed *executed = data;
	struct sim_world *world = executed->world;
	const guint number = (guint)sqlite3_column_int64(row, 0);
	const bool well = sqlite3_column_int(row, 1);
	const guint times = GPOINTER_TO_UINT(
		g_hash_table_lookup(executed->completed, GUINT_TO_POINTER(number)));
	const bool pruned = world->plan->retention_days > 0;
	const bool excused = world->lost_machine || world->long_silence || world->disk_fault;

	world->counts.completed += well;
	if (well && times == 0 && !excused && !pruned)
		sim_violate(world, "what completed was executed",
			    "task %u has completed, and no attempt of it has", number);
	check_state(world, number, (const char *)sqlite3_column_text(row, 2));
	if (times > 1 && !excused)
		sim_violate(world, "no task is executed twice", "task %u completed %u times",
			    number, times);
	if (!well && times > 0 && !excused)
		sim_violate(world, "no task is lost",
			    "task %u was completed, and is on record as %s", number,
			    (const char *)sqlite3_column_text(row, 2));
}

void sim_checks_end(struct sim_world *world)
{
	struct executed executed = {g_hash_table_new(NULL, NULL), world};
	struct records records;

	for (guint i = SIM_LOCALS; i < world->parts_count; i++) {
		if (!open_records(world, &world->parts[i], "local.sqlite", &records))
			continue;
		check_none(&records, "the store is whole",
			   "SELECT * FROM pragma_integrity_check WHERE integrity_check != 'ok'");
		check_none(&records, "an attempt ends once",
			   "SELECT task, count(*) FROM events WHERE kind = 'task-ended' "
			   "GROUP BY task HAVING count(*) > 1 LIMIT 3");
		each(&records,
		     "SELECT task FROM events WHERE kind = 'task-ended' "
		     "AND json_extract(detail, '$.outcome') = 'completed'",
		     count_completed, &executed);
		sqlite3_close(records.db);
	}
	if (open_records(world, &world->parts[SIM_CONTROLLER], "run.sqlite", &records)) {
		check_service(&records);
		each(&records, "SELECT task, state = 'completed', state FROM task ORDER BY task",
		     check_task, &executed);
		sqlite3_close(records.db);
	}
	world->counts.tasks = sim_users_tasks(world->users)->len;
	g_hash_table_unref(executed.completed);
}
