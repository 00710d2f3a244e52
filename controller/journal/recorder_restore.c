/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Restores the records of an interrupted run. Each row is checked, because the configuration may
 * have changed since it was stored; rows that do not fit any more are reported or set aside.
 */
#include <math.h>
#include <string.h>

#include "common/json.h"
#include "common/read_number.h"
#include "controller/journal/recorder_store.h"

/* Parses "0,1,5" into at most `max` numbers. Returns how many, or 0 if the text is not valid. */
static uint32_t parse_nodes(const char *text, uint32_t max, uint32_t *ret_nodes)
{
	g_auto(GStrv) words = g_strsplit(text, ",", -1);
	uint32_t count = 0;

	for (; words[count]; count++) {
		guint64 node;

		if (count == max || !read_number_unsigned(words[count], 0, UINT32_MAX, &node))
			return 0;
		ret_nodes[count] = (uint32_t)node;
	}
	return count;
}

/* The context of a restoration. */
struct restoring {
	struct store *store;
	int64_t run;
	const struct sched_system *system;
	struct engine *engine;
	/* From a task to why its record is bad; NULL: the first bad record is an error. */
	GHashTable *bad;
};

/*
 * Notes a task whose record cannot be used. Takes over `why`. Returns false with `error` set if
 * that ends the restoration.
 */
static bool note_bad_task(struct restoring *restoring, uint32_t task, char *why, GError **error)
{
	if (restoring->bad) {
		if (g_hash_table_contains(restoring->bad, GUINT_TO_POINTER(task)))
			g_free(why);
		else
			g_hash_table_insert(restoring->bad, GUINT_TO_POINTER(task), why);
		return true;
	}
	g_set_error(error, DATABASE_ERROR, DATABASE_ERROR_CORRUPT,
		    "run %" G_GINT64_FORMAT ": the record of task %u does not fit the "
		    "configuration (%s); was it changed since?",
		    restoring->run, task, why);
	g_free(why);
	return false;
}

/* Whether a task in that state was queued or on nodes, or suspended from them. */
static bool is_under_way(int state)
{
	return state >= 0 &&
	       engine_task_state_in((enum engine_task_state)state, ENGINE_TASK_ATTEMPTED);
}

/* Whether a state of that name is an end: a bad record of an ended task does not matter. */
static bool is_over(const char *name)
{
	const int state = name ? engine_task_state_parse(name) : -1;

	return state >= 0 &&
	       engine_task_state_in((enum engine_task_state)state, ENGINE_TASK_SETTLED);
}

/*
 * Reads the nodes of a record; the caller frees *ret_nodes. Returns why they are not valid (the
 * caller frees), or NULL.
 */
static char *read_place(const struct sched_system *system, const struct store_task *row,
			struct engine_task *record, uint32_t **ret_nodes)
{
	uint32_t *nodes;

	if (!row->cluster || !row->nodes)
		return NULL;
	record->cluster = sched_system_cluster(system, row->cluster);
	if (record->cluster == UINT32_MAX)
		return g_strdup_printf("the configuration has no cluster '%s'", row->cluster);
	*ret_nodes = nodes = g_new(uint32_t, system->clusters[record->cluster].nodes);
	record->nodes_count =
		parse_nodes(row->nodes, system->clusters[record->cluster].nodes, nodes);
	record->nodes = nodes;
	return record->nodes_count ? NULL
				   : g_strdup_printf("'%.64s' are not nodes of cluster '%s'",
						     row->nodes, row->cluster);
}

/*
 * Drops the nodes of a record, which are not needed any more; a reservation of them is dropped as
 * well.
 */
static void forget_place(struct engine_task *record)
{
	record->nodes_count = 0;
	engine_task_move(&record->state, ENGINE_TASK_UNPLAN);
}

static char *describe_misfit(const struct sched_system *system, const struct store_task *row)
{
	bool known = false;

	for (uint32_t i = 0; i < system->rows_count && row->type; i++)
		known = known || g_str_equal(system->row_names[i], row->type);
	if (!known)
		return g_strdup_printf("the configuration has no type '%s'", row->type ?: "");
	return g_strdup_printf("it is %s on nodes %s of cluster '%s', which does not fit together",
			       row->state, row->nodes ?: "?", row->cluster ?: "?");
}

/* Restores a task. Returns NULL, or why it cannot be restored (the caller frees). */
static char *restore_task(struct restoring *restoring, const struct store_task *row)
{
	const int state = row->state ? engine_task_state_parse(row->state) : -1;
	struct engine_task record = {
		.state = (enum engine_task_state)state,
		.pstate = row->pstate,
		.reservation = row->reservation,
		.attempts = row->attempts,
		.planned_start_s = row->planned_start_s,
		.started_s = row->started_s,
		.ended_s = row->ended_s,
		.exec_s = row->exec_s,
		.energy_j = row->energy_j,
		.utility = row->utility,
		.chance = row->chance,
		.threshold = row->threshold,
		.queued_n = row->queued_n,
		.reason = row->reason,
	};
	g_autofree uint32_t *nodes = NULL;
	g_autofree char *why = NULL;
	const bool needs_place = !restoring->bad || is_under_way(state);

	if (state < 0)
		return g_strdup_printf("'%.64s' is not a state of a task", row->state ?: "");
	why = read_place(restoring->system, row, &record, &nodes);
	if (why && needs_place)
		return g_steal_pointer(&why);
	if (why)
		forget_place(&record);
	if (engine_restore_task(restoring->engine, row->task, &record))
		return NULL;
	if (!needs_place && record.nodes_count > 0) {
		forget_place(&record);
		if (engine_restore_task(restoring->engine, row->task, &record))
			return NULL;
	}
	return describe_misfit(restoring->system, row);
}

static bool restore_tasks(struct restoring *restoring, GError **error)
{
	g_autoptr(GPtrArray) rows = store_tasks(restoring->store, restoring->run, error);

	for (guint i = 0; rows && i < rows->len; i++) {
		const struct store_task *row = g_ptr_array_index(rows, i);
		const char *known =
			restoring->bad
				? g_hash_table_lookup(restoring->bad, GUINT_TO_POINTER(row->task))
				: NULL;
		char *why;

		if (restoring->bad && row->task >= engine_tasks_count(restoring->engine))
			continue;
		if (known && !is_over(row->state)) {
			engine_restore_quarantined(restoring->engine, row->task, row->attempts,
						   known);
			continue;
		}
		why = restore_task(restoring, row);
		if (why && !note_bad_task(restoring, row->task, why, error))
			return false;
	}
	return rows != NULL;
}

/* Whether the records of an attempt matter, now that the task was restored. */
static bool attempt_matters(const struct restoring *restoring, uint32_t task, uint32_t attempt)
{
	const struct engine_task *is = task < engine_tasks_count(restoring->engine)
					       ? engine_task_at(restoring->engine, task)
					       : NULL;

	return !restoring->bad || (is && is_under_way((int)is->state) && attempt >= is->attempts);
}

static bool restore_suspension(struct engine *engine, const struct sched_system *system,
			       const struct store_suspension *row)
{
	struct engine_suspension record = {
		.task = row->task,
		.attempt = row->attempt,
		.n = row->n,
		.by_person = row->by_person,
		.held = row->held,
		.requested_s = row->requested_s,
		.suspended_s = row->suspended_s,
		.exec_s = row->exec_s,
		.resume_requested_s = row->resume_requested_s,
		.resumed_s = row->resumed_s,
		.since_s = row->since_s,
		.overhead = {row->freeze_s, row->save_s, row->restore_s, row->resume_s,
			     row->skew_s},
	};
	g_autofree uint32_t *nodes = NULL;
	g_autofree uint32_t *to_nodes = NULL;
	uint32_t most;

	record.cluster = row->cluster ? sched_system_cluster(system, row->cluster) : UINT32_MAX;
	if (record.cluster == UINT32_MAX || !row->nodes)
		return false;
	most = system->clusters[record.cluster].nodes;
	nodes = g_new(uint32_t, most);
	to_nodes = g_new(uint32_t, most);
	record.nodes_count = parse_nodes(row->nodes, most, nodes);
	record.nodes = nodes;
	if (record.nodes_count == 0)
		return false;
	if (row->to_nodes) {
		record.to_nodes = to_nodes;
		if (parse_nodes(row->to_nodes, most, to_nodes) != record.nodes_count)
			return false;
	}
	return engine_restore_suspension(engine, &record);
}

static bool restore_migration(struct engine *engine, const struct sched_system *system,
			      const struct store_migration *row)
{
	struct engine_migration record = {
		.task = row->task,
		.attempt = row->attempt,
		.n = row->n,
		.by_person = row->by_person,
		.requested_s = row->requested_s,
		.ended_s = row->ended_s,
	};
	g_autofree uint32_t *nodes = NULL;
	g_autofree uint32_t *to_nodes = NULL;
	uint32_t most;

	record.cluster = row->cluster ? sched_system_cluster(system, row->cluster) : UINT32_MAX;
	if (record.cluster == UINT32_MAX || !row->nodes || !row->to_nodes)
		return false;
	most = system->clusters[record.cluster].nodes;
	record.nodes = nodes = g_new(uint32_t, most);
	record.to_nodes = to_nodes = g_new(uint32_t, most);
	record.nodes_count = parse_nodes(row->nodes, most, nodes);
	return record.nodes_count > 0 &&
	       parse_nodes(row->to_nodes, most, to_nodes) == record.nodes_count &&
	       engine_restore_migration(engine, &record);
}

static bool restore_suspensions(struct restoring *restoring, GError **error)
{
	g_autoptr(GPtrArray) rows = store_suspensions(restoring->store, restoring->run, error);

	for (guint i = 0; rows && i < rows->len; i++) {
		const struct store_suspension *row = g_ptr_array_index(rows, i);

		if (attempt_matters(restoring, row->task, row->attempt) &&
		    !restore_suspension(restoring->engine, restoring->system, row) &&
		    !note_bad_task(restoring, row->task,
				   g_strdup_printf("its suspension %u does not fit it", row->n),
				   error))
			return false;
	}
	return rows != NULL;
}

static bool restore_migrations(struct restoring *restoring, GError **error)
{
	g_autoptr(GPtrArray) rows = store_migrations(restoring->store, restoring->run, error);

	for (guint i = 0; rows && i < rows->len; i++) {
		const struct store_migration *row = g_ptr_array_index(rows, i);

		if (attempt_matters(restoring, row->task, row->attempt) &&
		    !restore_migration(restoring->engine, restoring->system, row) &&
		    !note_bad_task(restoring, row->task,
				   g_strdup_printf("its migration %u does not fit it", row->n),
				   error))
			return false;
	}
	return rows != NULL;
}

static bool restore_lost(struct restoring *restoring, GError **error)
{
	g_autoptr(GPtrArray) rows = store_lost(restoring->store, restoring->run, error);

	for (guint i = 0; rows && i < rows->len; i++) {
		const struct store_task *row = g_ptr_array_index(rows, i);

		engine_restore_lost(restoring->engine, row->task, row->attempts, row->started_s,
				    row->ended_s);
	}
	return rows != NULL;
}

/*
 * Checks that each task under way has the record of its step; this is known only after all records.
 */
static bool check_steps(struct restoring *restoring, GError **error)
{
	for (uint32_t i = 0; i < engine_tasks_count(restoring->engine); i++)
		if (!engine_restore_is_complete(restoring->engine, i) &&
		    !note_bad_task(
			    restoring, i,
			    g_strdup_printf(
				    "it is %s, and the record of how it came to be is missing",
				    engine_task_state_name(
					    engine_task_at(restoring->engine, i)->state)),
			    error))
			return false;
	return true;
}

/* Restores the state of pruning from the last event that has it. */
static bool restore_pruner(struct store *store, int64_t run, const struct sched_system *system,
			   struct engine *engine, GError **error)
{
	g_autoptr(GPtrArray) events = NULL;
	struct sched_pruner pruner = {0};

	if (!system->queueing)
		return true; /* a service has too many events to read for nothing */
	events = store_events(store, run, error);
	if (!events)
		return false;
	for (guint i = events->len; i > 0; i--) {
		const struct store_event *event = g_ptr_array_index(events, i - 1);
		g_autoptr(json_t) detail = NULL;

		if (g_strcmp0(event->kind, "pruner") != 0 || !event->detail)
			continue;
		detail = json_parse(event->detail, strlen(event->detail), "event", NULL);
		pruner.level = json_number_value(json_object_get(detail, "level"));
		pruner.dropping = json_is_true(json_object_get(detail, "dropping"));
		break;
	}
	engine_restore_pruner(engine, &pruner);
	return true;
}

/* Restores which tasks the users who react have submitted. */
static bool restore_submissions(struct restoring *restoring, const struct workload *workload,
				GError **error)
{
	g_autoptr(GPtrArray) events = NULL;

	if (!workload->users)
		return true;
	events = store_events(restoring->store, restoring->run, error);
	for (guint i = 0; events && i < events->len; i++) {
		const struct store_event *event = g_ptr_array_index(events, i);
		g_autoptr(json_t) detail = NULL;
		const json_t *user;
		uint32_t task;

		if (g_strcmp0(event->kind, engine_event_names[ENGINE_EVENT_USER_SUBMITTED]) != 0 ||
		    !event->detail)
			continue;
		detail = json_parse(event->detail, strlen(event->detail), "event", NULL);
		task = (uint32_t)json_integer_value(json_object_get(detail, "task"));
		user = json_object_get(detail, "user");
		if (!engine_restore_submission(restoring->engine, task,
					       user ? (uint32_t)json_integer_value(user)
						    : UINT32_MAX,
					       event->time_s) &&
		    !note_bad_task(restoring, task,
				   g_strdup("no user of the workload can have submitted it"),
				   error))
			return false;
	}
	return events != NULL;
}

bool recorder_store_restore(struct store *store, int64_t run, const struct engine_setup *setup,
			    struct engine *engine, GHashTable *bad, GError **error)
{
	struct restoring restoring = {
		.store = store,
		.run = run,
		.system = setup->system,
		.engine = engine,
		.bad = bad,
	};

	struct engine_recorder *recorder = setup->recorder;
	const bool noted = recorder && recorder->input;
	bool good;

	if (noted)
		recorder->input(recorder, &(struct engine_input){.kind = ENGINE_INPUT_RESTORE,
								 .time_s = (double)NAN});
	good = restore_submissions(&restoring, setup->workload, error) &&
	       restore_tasks(&restoring, error) && restore_lost(&restoring, error) &&
	       restore_pruner(store, run, setup->system, engine, error) &&
	       restore_suspensions(&restoring, error) && restore_migrations(&restoring, error) &&
	       check_steps(&restoring, error);
	if (noted)
		recorder->input_done(recorder);
	return good;
}
