/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Migrations of running tasks (Stillwell 2010, III.A: GREEDY-PMTN-MIGR and the packing policies).
 * From the request on, a task has its new nodes; the nodes that it leaves stay departing, as with
 * suspensions (suspension.c), until the backend reports where the VMs are. Tasks that were put on
 * these nodes have a claim meanwhile.
 */
#include <math.h>
#include <string.h>

#include "common/json.h"
#include "controller/engine/counters.h"
#include "controller/engine/engine_private.h"
#include "controller/engine/engine_record.h"
#include "controller/engine/lifecycle.h"
#include "controller/engine/migration.h"
#include "controller/engine/migration_fsm.h"
#include "controller/engine/nodes.h"
#include "controller/engine/placement.h"
#include "controller/engine/places.h"
#include "controller/engine/reservations.h"
#include "controller/engine/state_json.h"
#include "controller/engine/suspension.h"
#include "controller/engine/suspensions.h"

/* The last migration of a task. */
struct migration {
	enum migration_state state;
	struct engine_migration record; /* its arrays are those below */
	uint32_t room;                  /* allocated length of the arrays below */
	uint32_t *from, *to;
	/* The left_count nodes that VMs leave; on shared hosts one entry per VM. */
	uint32_t *left;
	uint32_t left_count;
	uint32_t failures; /* failed migrations of this attempt since the last that succeeded */
};

struct migrations {
	struct migration **of; /* per task; NULL: never migrated */
};

void engine_migrations_init(struct engine *engine, uint32_t tasks_max)
{
	engine->migrations = g_new(struct migrations, 1);
	engine->migrations->of = g_new0(struct migration *, tasks_max);
}

void engine_migrations_finish(struct engine *engine)
{
	for (uint32_t i = 0; i < engine->setup.workload->tasks_count; i++) {
		struct migration *migration = engine->migrations->of[i];

		if (!migration)
			continue;
		g_free(migration->from);
		g_free(migration->to);
		g_free(migration->left);
		g_free(migration);
	}
	g_free(engine->migrations->of);
	g_free(engine->migrations);
}

/* The migration of a task, with room for its nodes; allocated if there is none. */
static struct migration *migration_of(struct engine *engine, uint32_t index)
{
	const uint32_t nodes = engine->tasks[index].nodes_count;
	struct migration *migration = engine->migrations->of[index];

	if (!migration)
		migration = engine->migrations->of[index] = g_new0(struct migration, 1);
	if (migration->room < nodes) {
		migration->room = nodes;
		migration->from = g_renew(uint32_t, migration->from, nodes);
		migration->to = g_renew(uint32_t, migration->to, nodes);
		migration->left = g_renew(uint32_t, migration->left, nodes);
	}
	return migration;
}

/* Moves the migration of a task on; the only writer of its state. Returns whether it is a move. */
static bool move(struct engine *engine, uint32_t index, enum migration_event event)
{
	return engine_move_state(engine, &migration_fsm, &engine->migrations->of[index]->state,
				 event, index);
}

enum migration_state engine_migration_state(const struct engine *engine, uint32_t index)
{
	const struct migration *migration = engine->migrations->of[index];

	return migration ? migration->state : MIGRATION_NONE;
}

const uint32_t *engine_migration_left(const struct engine *engine, uint32_t index,
				      uint32_t *ret_count)
{
	const struct migration *migration = engine->migrations->of[index];

	*ret_count = migration->left_count;
	return migration->left;
}

static void set_departing(struct engine *engine, const struct migration *migration, bool leaves)
{
	engine->placement->set_departing(engine, migration->record.task, migration->record.cluster,
					 migration->left, migration->left_count, leaves);
}

/* Sets the nodes that the VMs are taken to be on. */
static void set_nodes(struct engine *engine, uint32_t index, const uint32_t *nodes)
{
	struct engine_task *task = &engine->tasks[index];

	engine->placement->free(engine, index, task->nodes);
	engine_set_nodes(engine, index, nodes, task->nodes_count);
	engine->placement->allocate(engine, index, task->nodes);
}

/* Records the present migration of a task, or its last one. */
static void record_migration(struct engine *engine, uint32_t task)
{
	struct engine_recorder *recorder = engine->setup.recorder;

	if (recorder && recorder->migration &&
	    !recorder->migration(recorder, &engine->migrations->of[task]->record))
		engine_abort(engine, "the migration of task %u could not be recorded", task);
}

void engine_begin_migrate(struct engine *engine, uint32_t index, const uint32_t *nodes,
			  bool by_person)
{
	struct engine_task *task = &engine->tasks[index];
	struct migration *migration = migration_of(engine, index);
	const size_t size = task->nodes_count * sizeof(*nodes);

	memcpy(migration->from, task->nodes, size);
	memcpy(migration->to, nodes, size);
	if (migration->record.attempt != task->attempts)
		migration->failures = 0;
	engine_move_task(engine, index, ENGINE_TASK_MIGRATE);
	move(engine, index, MIGRATION_MIGRATE);
	task->migrations++;
	migration->record = (struct engine_migration){
		.task = index,
		.attempt = task->attempts,
		.n = task->migrations,
		.cluster = task->cluster,
		.nodes_count = task->nodes_count,
		.nodes = migration->from,
		.to_nodes = migration->to,
		.by_person = by_person,
		.requested_s = engine_now_s(engine),
		.ended_s = NAN,
	};
	migration->left_count = engine->placement->find_left(&migration->record, migration->left);
	set_nodes(engine, index, nodes);
	set_departing(engine, migration, true);
	engine_set_preemptible(engine, index);
	engine_touch(engine, index);
	record_migration(engine, index);
}

void engine_reattach_migration(struct engine *engine, const struct engine_migration *record)
{
	struct migration *migration = migration_of(engine, record->task);
	const size_t size = record->nodes_count * sizeof(*record->nodes);

	move(engine, record->task, MIGRATION_MIGRATE);
	memcpy(migration->from, record->nodes, size);
	memcpy(migration->to, record->to_nodes, size);
	migration->record = *record;
	migration->record.nodes = migration->from;
	migration->record.to_nodes = migration->to;
	migration->left_count = engine->placement->find_left(&migration->record, migration->left);
	set_departing(engine, migration, true);
}

void engine_launch_migrate(struct engine *engine, uint32_t index)
{
	const struct engine_task *task = &engine->tasks[index];

	backend_migrate(engine->backend, index, task->attempts, task->migrations, task->nodes,
			task->nodes_count);
	engine->placement->send_share(engine, index);
}

bool engine_migration_retries_exhausted(const struct engine *engine, uint32_t index)
{
	const struct migration *migration = engine->migrations->of[index];

	return migration && migration->record.attempt == engine->tasks[index].attempts &&
	       migration->failures >= ENGINE_RETRIES_MAX;
}

/*
 * Writes where the VMs are now to `to`: as the event says, or, if it does not say and the migration
 * failed, where they were.
 */
static void take_moves(const struct engine *engine, struct migration *migration,
		       const struct backend_event *event)
{
	const struct engine_migration *record = &migration->record;
	const uint32_t nodes = engine->setup.system->clusters[record->cluster].nodes;
	bool good = event->moves && event->moves_count == record->nodes_count;

	for (uint32_t v = 0; good && v < record->nodes_count; v++)
		good = event->moves[v].to < nodes;
	if (!good && event->kind == BACKEND_EVENT_MIGRATED)
		return;
	for (uint32_t v = 0; v < record->nodes_count; v++)
		migration->to[v] = good ? event->moves[v].to : record->nodes[v];
}

/*
 * Sets the task's nodes after a migration. Claims to nodes that VMs did not leave after all are
 * cancelled.
 */
static void settle_nodes(struct engine *engine, uint32_t index, bool failed)
{
	struct migration *migration = engine->migrations->of[index];
	const struct engine_migration *record = &migration->record;

	engine->placement->order_nodes(migration->to, record->nodes_count);
	for (uint32_t v = 0; failed && v < record->nodes_count; v++)
		if (engine_nodes_meet(migration->left, migration->left_count, &migration->to[v], 1))
			engine_unclaim_node(engine, record->cluster, migration->to[v]);
	set_nodes(engine, index, migration->to);
}

static bool has_left_a_node(const struct migration *migration)
{
	for (uint32_t i = 0; i < migration->left_count; i++)
		if (!engine_nodes_meet(migration->to, migration->record.nodes_count,
				       &migration->left[i], 1))
			return true;
	return false;
}

bool engine_handle_migration(struct engine *engine, const struct backend_event *event)
{
	struct engine_task *task = &engine->tasks[event->task];
	struct migration *migration = engine->migrations->of[event->task];
	const bool failed = event->kind == BACKEND_EVENT_MIGRATION_FAILED;
	const enum engine_task_event moved =
		failed ? ENGINE_TASK_MIGRATE_FAILED : ENGINE_TASK_MIGRATE_DONE;

	if (event->n != task->migrations || !engine_expects(engine, event->task, moved))
		return false;
	if (failed)
		engine_record_event(engine, event->time_s, ENGINE_EVENT_UNMOVED, event->task,
				    event->reason);
	migration->failures = failed ? migration->failures + 1 : 0;
	take_moves(engine, migration, event);
	set_departing(engine, migration, false);
	settle_nodes(engine, event->task, failed);
	engine_move_task(engine, event->task, moved);
	move(engine, event->task, failed ? MIGRATION_MIGRATE_FAILED : MIGRATION_MIGRATE_DONE);
	migration->record.ended_s = event->time_s;
	migration->record.reason = event->reason;
	migration->record.moves = event->moves;
	migration->record.moves_count = event->moves_count;
	engine_set_preemptible(engine, event->task);
	record_migration(engine, event->task);
	migration->record.moves = NULL;
	migration->record.moves_count = 0;
	migration->record.reason = NULL;
	task->reason = event->reason;
	engine_record_task(engine, event->task);
	engine_flush(engine);
	task->reason = NULL;
	engine_release_claims(engine, migration->record.cluster, migration->left,
			      migration->left_count);
	engine->placement->note_migration(engine, moved);
	if (task->late && (failed || has_left_a_node(migration)))
		engine_replan_reservations(engine);
	return true;
}

void engine_end_migration(struct engine *engine, uint32_t index)
{
	const struct migration *migration = engine->migrations->of[index];

	if (!migration || !move(engine, index, MIGRATION_END))
		return;
	set_departing(engine, migration, false);
	engine_release_claims(engine, migration->record.cluster, migration->left,
			      migration->left_count);
}

/* Full states. */

static const struct state_field migration_fields[] = {
	STATE_FIELD(migration, state, U32),
	STATE_FIELD(migration, record.attempt, U32),
	STATE_FIELD(migration, record.n, U32),
	STATE_FIELD(migration, record.cluster, U32),
	STATE_FIELD(migration, record.by_person, BOOL),
	STATE_FIELD(migration, record.requested_s, TIME),
	STATE_FIELD(migration, record.ended_s, TIME),
	STATE_FIELD(migration, failures, U32),
	{NULL},
};

json_t *engine_save_migration(const struct engine *engine, uint32_t index)
{
	const struct migration *migration = engine->migrations->of[index];
	json_t *state;

	if (!migration)
		return NULL;
	state = state_write(migration_fields, migration);
	state_put(state, "from", json_numbers(migration->from, migration->record.nodes_count));
	state_put(state, "to", json_numbers(migration->to, migration->record.nodes_count));
	state_put(state, "left", json_numbers(migration->left, migration->left_count));
	return state;
}

bool engine_load_migration(struct engine *engine, uint32_t index, const json_t *state)
{
	const struct engine_task *task = &engine->tasks[index];
	const struct sched_system *system = engine->setup.system;
	struct migration *migration = migration_of(engine, index);
	struct engine_migration *record = &migration->record;
	uint32_t end, count;

	if (!state_read(migration_fields, state, migration) ||
	    migration->state >= MIGRATION_STATES || record->cluster >= system->clusters_count)
		return false;
	end = system->clusters[record->cluster].nodes;
	migration->room = end;
	migration->from = g_renew(uint32_t, migration->from, end);
	migration->to = g_renew(uint32_t, migration->to, end);
	migration->left = g_renew(uint32_t, migration->left, end);
	record->task = index;
	record->nodes = migration->from;
	record->to_nodes = migration->to;
	return state_read_list(json_object_get(state, "from"), end, end, migration->from,
			       &record->nodes_count) &&
	       state_read_list(json_object_get(state, "to"), end, end, migration->to, &count) &&
	       count == record->nodes_count &&
	       state_read_list(json_object_get(state, "left"), count, end, migration->left,
			       &migration->left_count) &&
	       (task->state != ENGINE_TASK_MIGRATING ||
		(migration->state == MIGRATION_MIGRATING && count == task->nodes_count &&
		 record->cluster == task->cluster));
}
