/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Puts what was recorded of an interrupted run back: each row is checked, for a store may be older
 * than its configuration, and what fits no more is said, or set aside.
 */
#include <string.h>

#include "common/json.h"
#include "common/read_number.h"
#include "controller/engine/recorder_store.h"

/* Parses "0,1,5" into at most `max` numbers; returns how many, or 0 for rubbish. */
static uint32_t parse_nodes(const char *text, uint32_t max, uint32_t *ret_nodes)
{
	g_auto(GStrv) words = g_strsplit(text, ",", -1);
	uint32_t count = 0;

	for (; words[count]; count++) {
		guint64 node;

		if (count == max ||
		    !read_number_unsigned(words[count], 0, UINT32_MAX, &node))
			return 0;
		ret_nodes[count] = (uint32_t)node;
	}
	return count;
}

static uint32_t find_cluster(const struct sched_system *system, const char *name)
{
	for (uint32_t c = 0; c < system->clusters_count; c++)
		if (strcmp(system->clusters[c].name, name) == 0)
			return c;
	return UINT32_MAX;
}

/* What is put back, and what is said of records that cannot be. */
struct restoring {
	struct store *store;
	int64_t run;
	const struct sched_system *system;
	struct engine *engine;
	GHashTable *bad; /* task -> why; NULL: the first bad record is the end of it */
};

/* A task whose record cannot be used. False: that is the end of it. Takes over `why`. */
static bool set_aside(struct restoring *restoring, uint32_t task, char *why, GError **error)
{
	if (restoring->bad) {
		if (g_hash_table_contains(restoring->bad, GUINT_TO_POINTER(task)))
			g_free(why);
		else
			g_hash_table_insert(restoring->bad, GUINT_TO_POINTER(task), why);
		return true;
	}
	g_set_error(error, STORE_ERROR, STORE_ERROR_CORRUPT,
		    "run %" G_GINT64_FORMAT ": the record of task %u does not fit the "
		    "configuration (%s); was it changed since?",
		    restoring->run, task, why);
	g_free(why);
	return false;
}

/* Whether it was on nodes, or was to be, when it was recorded. */
static bool is_under_way(int state)
{
	return state >= ENGINE_TASK_QUEUED && state <= ENGINE_TASK_MIGRATING;
}

/* What has ended is history, whoever is missing a part of it. */
static bool is_over(const char *name)
{
	const int state = name ? engine_task_state_parse(name) : -1;

	return state >= ENGINE_TASK_COMPLETED && state < ENGINE_TASK_UNFINISHED;
}

/* The place of a record: the nodes are the caller's to free. Returns why there is none, or NULL. */
static char *read_place(const struct sched_system *system, const struct store_task *row,
			struct engine_task *record, uint32_t **ret_nodes)
{
	uint32_t *nodes;

	if (!row->cluster || !row->nodes)
		return NULL;
	record->cluster = find_cluster(system, row->cluster);
	if (record->cluster == UINT32_MAX)
		return g_strdup_printf("the configuration has no cluster '%s'", row->cluster);
	*ret_nodes = nodes = g_new(uint32_t, system->clusters[record->cluster].nodes);
	record->nodes_count =
		parse_nodes(row->nodes, system->clusters[record->cluster].nodes, nodes);
	record->nodes = nodes;
	return record->nodes_count ? NULL
				   : g_strdup_printf("'%.64s' are no nodes of cluster '%s'",
						     row->nodes, row->cluster);
}

/* Nobody needs to know any more where it was; what was promised there is not. */
static void forget_place(struct engine_task *record)
{
	record->nodes_count = 0;
	if (record->state == ENGINE_TASK_PLANNED)
		record->state = ENGINE_TASK_WAITING;
}

static char *say_misfit(const struct sched_system *system, const struct store_task *row)
{
	bool known = false;

	for (uint32_t i = 0; i < system->rows_count && row->type; i++)
		known = known || g_str_equal(system->row_names[i], row->type);
	if (!known)
		return g_strdup_printf("the configuration has no type '%s'", row->type ?: "");
	return g_strdup_printf("it is %s on nodes %s of cluster '%s', which does not fit together",
			       row->state, row->nodes ?: "?", row->cluster ?: "?");
}

/* Returns why it cannot be put back (the caller frees), or NULL: it was. */
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
		return g_strdup_printf("'%.64s' is no state of a task", row->state ?: "");
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
	return say_misfit(restoring->system, row);
}

static bool restore_tasks(struct restoring *restoring, GError **error)
{
	g_autoptr(GPtrArray) rows = store_tasks(restoring->store, restoring->run, error);

	for (guint i = 0; rows && i < rows->len; i++) {
		const struct store_task *row = g_ptr_array_index(rows, i);
		const char *known = restoring->bad ? g_hash_table_lookup(restoring->bad,
									 GUINT_TO_POINTER(row->task))
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
		if (why && !set_aside(restoring, row->task, why, error))
			return false;
	}
	return rows != NULL;
}

/* Whether what is on record of an attempt of a task matters, now that the task was put back. */
static bool matters(const struct restoring *restoring, uint32_t task, uint32_t attempt)
{
	const struct engine_task *is =
		task < engine_tasks_count(restoring->engine) ? engine_task(restoring->engine, task)
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
		.overhead = { row->freeze_s, row->save_s, row->restore_s, row->resume_s,
			      row->skew_s },
	};
	g_autofree uint32_t *nodes = NULL;
	g_autofree uint32_t *to_nodes = NULL;
	uint32_t most;

	record.cluster = row->cluster ? find_cluster(system, row->cluster) : UINT32_MAX;
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

	record.cluster = row->cluster ? find_cluster(system, row->cluster) : UINT32_MAX;
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

		if (matters(restoring, row->task, row->attempt) &&
		    !restore_suspension(restoring->engine, restoring->system, row) &&
		    !set_aside(restoring, row->task,
			       g_strdup_printf("its suspension %u does not fit it", row->n), error))
			return false;
	}
	return rows != NULL;
}

static bool restore_migrations(struct restoring *restoring, GError **error)
{
	g_autoptr(GPtrArray) rows = store_migrations(restoring->store, restoring->run, error);

	for (guint i = 0; rows && i < rows->len; i++) {
		const struct store_migration *row = g_ptr_array_index(rows, i);

		if (matters(restoring, row->task, row->attempt) &&
		    !restore_migration(restoring->engine, restoring->system, row) &&
		    !set_aside(restoring, row->task,
			       g_strdup_printf("its migration %u does not fit it", row->n), error))
			return false;
	}
	return rows != NULL;
}

static bool restore_lost(struct restoring *restoring, GError **error)
{
	g_autoptr(GPtrArray) rows = store_lost(restoring->store, restoring->run, error);

	for (guint i = 0; rows && i < rows->len; i++) {
		const struct store_lost *row = g_ptr_array_index(rows, i);

		engine_restore_lost(restoring->engine, row->task, row->attempt, row->started_s,
				    row->ended_s);
	}
	return rows != NULL;
}

/* That tasks were put on the way somewhere, and nothing says from where, shows at the end alone. */
static bool check_steps(struct restoring *restoring, GError **error)
{
	for (uint32_t i = 0; i < engine_tasks_count(restoring->engine); i++)
		if (!engine_restored_well(restoring->engine, i) &&
		    !set_aside(restoring, i,
			       g_strdup_printf("it is %s, but not how it came to that",
					       engine_task_state_name(
						       engine_task(restoring->engine, i)->state)),
			       error))
			return false;
	return true;
}

/* As the last event that speaks of it says. */
static bool restore_pruner(struct store *store, int64_t run, const struct sched_system *system,
			   struct engine *engine, GError **error)
{
	g_autoptr(GPtrArray) events = NULL;
	struct sched_pruner pruner = { 0 };

	if (!system->queueing)
		return true; /* and of a service the events are very many */
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

	return restore_tasks(&restoring, error) && restore_lost(&restoring, error) &&
	       restore_pruner(store, run, setup->system, engine, error) &&
	       restore_suspensions(&restoring, error) && restore_migrations(&restoring, error) &&
	       check_steps(&restoring, error);
}
