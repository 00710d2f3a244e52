/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/engine/recorder_store.h"

#include <math.h>
#include <string.h>

#include "common/json.h"
#include "controller/engine/snapshot_json.h"

struct recorder_store {
	struct engine_recorder recorder; /* first: callbacks cast back */
	struct store *store;
	int64_t run;
	const struct sched_system *system;
	bool durable;
	uint32_t most; /* tasks of a snapshot on record */
	bool open;     /* a transaction is */
	char *pet;     /* the key of the matrix of execution times in meta; NULL: not stored */
	GError *error; /* the first failure */
};

/* Begins a transaction unless one is open. */
static bool begin(struct recorder_store *recorder)
{
	if (recorder->error)
		return false;
	if (!recorder->open)
		recorder->open = store_begin(recorder->store, &recorder->error);
	return recorder->open;
}

static bool commit(struct recorder_store *recorder)
{
	if (recorder->error)
		return false;
	if (!recorder->open)
		return true;
	recorder->open = false;
	return store_commit(recorder->store, &recorder->error);
}

/*
 * The matrix of a system with queues is large and does not change: it is stored once, under its
 * checksum, and snapshots name it.
 */
static bool keep_pet(struct recorder_store *recorder, const struct sched_system *system)
{
	g_autoptr(json_t) object = NULL;
	g_autofree char *text = NULL;
	g_autofree char *sum = NULL;

	if (!system->queueing || recorder->pet)
		return true;
	object = snapshot_json_pet(system);
	text = json_text(object);
	sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
	recorder->pet = g_strdup_printf("pet:%.16s", sum);
	return store_set_meta(recorder->store, recorder->pet, text, &recorder->error);
}

static uint32_t snapshot_tasks(const struct sched_snapshot *snapshot)
{
	return snapshot->waiting_count + snapshot->suspended_count + snapshot->running_count +
	       snapshot->reservations_count;
}

/* The actions of a plan that are more than promises until the next event (the caller frees). */
static json_t *lasting_actions(const struct sched_system *system, const struct sched_plan *plan)
{
	g_autofree struct sched_action *kept = g_new(struct sched_action, plan->actions_count);
	struct sched_plan lasting = *plan;

	lasting.actions = kept;
	lasting.actions_count = 0;
	for (uint32_t i = 0; i < plan->actions_count; i++)
		if (plan->actions[i].kind != SCHED_ACTION_PLACEHOLDER &&
		    plan->actions[i].kind != SCHED_ACTION_DEFER)
			kept[lasting.actions_count++] = plan->actions[i];
	return snapshot_json_actions(system, &lasting, false);
}

/*
 * With tens of thousands of tasks each snapshot takes megabytes, and a service decides once a second: of
 * these what was done is recorded, and that the rest was left out.
 */
static bool record_briefly(struct recorder_store *recorder, const struct policy *policy,
			   const struct sched_snapshot *snapshot, const struct sched_plan *plan)
{
	g_autoptr(json_t) list = lasting_actions(snapshot->system, plan);
	g_autofree char *actions = json_text(list);
	g_autoptr(json_t) object = json_pack(
		"{s:I, s:f, s:s, s:{s:i, s:i, s:i, s:i}}", "event", (json_int_t)snapshot->event,
		"now_s", snapshot->now_s, "policy", policy->name, "left_out", "waiting",
		(int)snapshot->waiting_count, "suspended", (int)snapshot->suspended_count, "running",
		(int)snapshot->running_count, "reservations", (int)snapshot->reservations_count);
	g_autofree char *text = json_text(object);

	return begin(recorder) && store_add_decision(recorder->store, recorder->run, snapshot->now_s,
						     text, actions, &recorder->error);
}

static bool record_decision(struct engine_recorder *base, const struct policy *policy,
			    const struct sched_snapshot *snapshot, const struct sched_plan *plan)
{
	struct recorder_store *recorder = (struct recorder_store *)base;
	g_autoptr(json_t) list = NULL;
	g_autoptr(json_t) object = NULL;
	g_autofree char *actions = NULL;
	g_autofree char *text = NULL;

	if (snapshot_tasks(snapshot) > recorder->most)
		return record_briefly(recorder, policy, snapshot, plan);
	if (!begin(recorder) || !keep_pet(recorder, snapshot->system))
		return false;
	list = snapshot_json_actions(snapshot->system, plan, false);
	actions = json_text(list);
	object = snapshot_json_write_brief(snapshot, policy, recorder->pet);
	text = json_text(object);
	return store_add_decision(recorder->store, recorder->run, snapshot->now_s, text, actions,
				  &recorder->error);
}

/* "0,1,5" */
static char *nodes_text(const uint32_t *nodes, uint32_t count)
{
	GString *text = g_string_new(NULL);

	for (uint32_t i = 0; i < count; i++)
		g_string_append_printf(text, "%s%u", i ? "," : "", nodes[i]);
	return g_string_free(text, FALSE);
}

static bool record_task(struct engine_recorder *base, const struct engine_task *task)
{
	struct recorder_store *recorder = (struct recorder_store *)base;
	const struct sched_system *system = recorder->system;
	const bool placed = task->nodes_count > 0;
	g_autofree char *nodes = placed ? nodes_text(task->nodes, task->nodes_count) : NULL;
	const struct store_task row = {
		.run = recorder->run,
		.task = task->task->id,
		.type = task->task->row < system->rows_count
				? (char *)system->row_names[task->task->row]
				: NULL,
		.arrival_s = task->task->arrival_s,
		.utility_max = task->task->utility.max,
		.state = (char *)engine_task_state_name(task->state),
		.cluster = placed ? (char *)system->clusters[task->cluster].name : NULL,
		.nodes = nodes,
		.pstate = task->pstate,
		.reservation = task->reservation,
		.attempts = task->attempts,
		.planned_start_s = task->planned_start_s,
		.started_s = task->started_s,
		.ended_s = task->ended_s,
		.exec_s = task->exec_s,
		.etc_s = isfinite(task->etc_s) ? task->etc_s : (double)NAN, /* nobody knows */
		.energy_j = task->energy_j,
		.eec_j = task->eec_j,
		.utility = task->utility,
		.reason = (char *)task->reason,
		.deadline_s = system->queueing ? task->task->deadline_s : (double)NAN,
		.chance = task->chance,
		.threshold = task->threshold,
		.queued_n = task->queued_n,
	};

	return begin(recorder) && store_put_task(recorder->store, &row, &recorder->error);
}

/* What the step that came to its end took of each VM. */
static bool record_vms(struct recorder_store *recorder, const struct engine_suspension *suspension)
{
	const bool resumed = !isnan(suspension->since_s);

	for (uint32_t i = 0; i < suspension->vms_count; i++) {
		const struct backend_overhead *overhead = &suspension->vms[i].overhead;
		const struct store_suspension_vm row = {
			.run = recorder->run,
			.task = suspension->task,
			.attempt = suspension->attempt,
			.n = suspension->n,
			.vm = i,
			.freeze_s = resumed ? (double)NAN : overhead->freeze_s,
			.save_s = resumed ? (double)NAN : overhead->save_s,
			.restore_s = resumed ? overhead->restore_s : (double)NAN,
			.resume_s = resumed ? overhead->resume_s : (double)NAN,
		};

		if (!store_put_suspension_vm(recorder->store, &row, &recorder->error))
			return false;
	}
	return true;
}

static bool record_suspension(struct engine_recorder *base,
			      const struct engine_suspension *suspension)
{
	struct recorder_store *recorder = (struct recorder_store *)base;
	const struct sched_cluster *cluster = &recorder->system->clusters[suspension->cluster];
	const bool goes = !isnan(suspension->resume_requested_s);
	const uint32_t count = suspension->nodes_count;
	g_autofree char *nodes = nodes_text(suspension->nodes, count);
	g_autofree char *to_nodes = goes ? nodes_text(suspension->to_nodes, count) : NULL;
	const struct store_suspension row = {
		.run = recorder->run,
		.task = suspension->task,
		.attempt = suspension->attempt,
		.n = suspension->n,
		.cluster = (char *)cluster->name,
		.nodes = nodes,
		.to_nodes = to_nodes,
		.by_person = suspension->by_person,
		.held = suspension->held,
		.requested_s = suspension->requested_s,
		.suspended_s = suspension->suspended_s,
		.exec_s = suspension->exec_s,
		.resume_requested_s = suspension->resume_requested_s,
		.resumed_s = suspension->resumed_s,
		.since_s = suspension->since_s,
		.freeze_s = suspension->overhead.freeze_s,
		.save_s = suspension->overhead.save_s,
		.restore_s = suspension->overhead.restore_s,
		.resume_s = suspension->overhead.resume_s,
		.skew_s = suspension->overhead.skew_s,
	};

	return begin(recorder) &&
	       store_put_suspension(recorder->store, &row, &recorder->error) &&
	       record_vms(recorder, suspension);
}

/* What became of each VM of a migration that is over. */
static bool record_moves(struct recorder_store *recorder, const struct engine_migration *migration)
{
	for (uint32_t i = 0; i < migration->moves_count; i++) {
		const struct backend_vm_move *move = &migration->moves[i];
		const struct store_migration_vm row = {
			.run = recorder->run,
			.task = migration->task,
			.attempt = migration->attempt,
			.n = migration->n,
			.vm = i,
			.from_node = move->from,
			.to_node = move->to,
			.total_s = move->total_s,
			.downtime_s = move->downtime_s,
		};

		if (!store_put_migration_vm(recorder->store, &row, &recorder->error))
			return false;
	}
	return true;
}

static bool record_migration(struct engine_recorder *base,
			     const struct engine_migration *migration)
{
	struct recorder_store *recorder = (struct recorder_store *)base;
	g_autofree char *nodes = nodes_text(migration->nodes, migration->nodes_count);
	g_autofree char *to_nodes = nodes_text(migration->to_nodes, migration->nodes_count);
	const struct store_migration row = {
		.run = recorder->run,
		.task = migration->task,
		.attempt = migration->attempt,
		.n = migration->n,
		.cluster = (char *)recorder->system->clusters[migration->cluster].name,
		.nodes = nodes,
		.to_nodes = to_nodes,
		.by_person = migration->by_person,
		.requested_s = migration->requested_s,
		.ended_s = migration->ended_s,
		.reason = (char *)migration->reason,
	};

	return begin(recorder) &&
	       store_put_migration(recorder->store, &row, &recorder->error) &&
	       record_moves(recorder, migration);
}

static bool record_share(struct engine_recorder *base, double time_s,
			 const struct engine_task *task)
{
	struct recorder_store *recorder = (struct recorder_store *)base;
	const struct store_share row = {
		.run = recorder->run,
		.task = task->task->id,
		.attempt = task->attempts + (task->state == ENGINE_TASK_WAITING),
		.time_s = time_s,
		.yield = task->yield,
		.virtual_s = task->virtual_s,
	};

	return begin(recorder) && store_put_share(recorder->store, &row, &recorder->error);
}

static bool record_event(struct engine_recorder *base, double time_s, const char *kind,
			 const char *detail)
{
	struct recorder_store *recorder = (struct recorder_store *)base;

	return begin(recorder) && store_add_event(recorder->store, recorder->run, time_s, kind,
						  detail, &recorder->error);
}

static bool record_flush(struct engine_recorder *base)
{
	struct recorder_store *recorder = (struct recorder_store *)base;

	return recorder->durable ? commit(recorder) : !recorder->error;
}

struct recorder_store *recorder_store_new(struct store *store, int64_t run,
					  const struct sched_system *system, bool durable)
{
	struct recorder_store *recorder = g_new0(struct recorder_store, 1);

	recorder->recorder = (struct engine_recorder){
		.decision = record_decision,
		.task = record_task,
		.suspension = record_suspension,
		.migration = record_migration,
		.share = record_share,
		.event = record_event,
		.flush = record_flush,
	};
	recorder->store = store;
	recorder->run = run;
	recorder->system = system;
	recorder->durable = durable;
	recorder->most = UINT32_MAX;
	return recorder;
}

void recorder_store_limit(struct recorder_store *recorder, uint32_t most)
{
	recorder->most = most;
}

struct engine_recorder *recorder_store_engine(struct recorder_store *recorder)
{
	return &recorder->recorder;
}

bool recorder_store_finish(struct recorder_store *recorder, GError **error)
{
	if (commit(recorder))
		return true;
	g_propagate_error(error, g_error_copy(recorder->error));
	return false;
}

void recorder_store_fail(struct recorder_store *recorder, const GError *reason)
{
	store_rollback(recorder->store);
	recorder->open = false;
	if (!recorder->error)
		recorder->error = g_error_copy(reason);
}

void recorder_store_free(struct recorder_store *recorder)
{
	if (!recorder)
		return;
	if (recorder->open)
		store_rollback(recorder->store);
	g_clear_error(&recorder->error);
	g_free(recorder->pet);
	g_free(recorder);
}

/* Parses "0,1,5" into at most `max` numbers; returns how many, or 0 for rubbish. */
static uint32_t parse_nodes(const char *text, uint32_t max, uint32_t *ret_nodes)
{
	g_auto(GStrv) words = g_strsplit(text, ",", -1);
	uint32_t count = 0;

	for (; words[count]; count++) {
		guint64 node;

		if (count == max ||
		    !g_ascii_string_to_unsigned(words[count], 10, 0, UINT32_MAX, &node, NULL))
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

	return restore_tasks(&restoring, error) &&
	       restore_pruner(store, run, setup->system, engine, error) &&
	       restore_suspensions(&restoring, error) && restore_migrations(&restoring, error) &&
	       check_steps(&restoring, error);
}
