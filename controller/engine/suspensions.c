/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "controller/engine/counters.h"
#include "controller/engine/engine_private.h"
#include "controller/engine/resumption_fsm.h"
#include "controller/engine/state_json.h"
#include "controller/engine/suspension_fsm.h"
#include "controller/engine/suspensions.h"
#include "controller/engine/task_lists.h"

struct suspensions {
	/* Per task its last suspension, whose arrays are owned; NULL: never suspended. */
	struct engine_suspension **of;
	uint32_t *retries; /* per task: steps in a row that failed */
	double *leads_s;   /* per task: engine_suspension_lead_s() */
	/* A task with a claim is in none of the lists but `leaving`. */
	struct task_list leaving;   /* being suspended */
	struct task_list suspended; /* suspended, and policies see it */
	struct task_list held;      /* suspended, and policies do not see it */
	/*
	 * `suspended`, in the order of snapshots. Only engine_list_suspended() settles the list:
	 * otherwise the entries would belong to other tasks.
	 */
	struct sched_allocation *entries;
	uint32_t wanted_count;
};

void engine_suspensions_init(struct engine *engine, uint32_t tasks_max)
{
	struct suspensions *all = engine->suspensions = g_new0(struct suspensions, 1);

	all->of = g_new0(struct engine_suspension *, tasks_max);
	all->retries = g_new0(uint32_t, tasks_max);
	all->leads_s = g_new0(double, tasks_max);
	task_list_init(&all->leaving, tasks_max);
	task_list_init(&all->suspended, tasks_max);
	task_list_init(&all->held, tasks_max);
	all->entries = g_new(struct sched_allocation, tasks_max);
}

void engine_suspensions_finish(struct engine *engine)
{
	struct suspensions *all = engine->suspensions;

	for (uint32_t i = 0; i < engine->setup.workload->tasks_count; i++) {
		if (!all->of[i])
			continue;
		g_free((uint32_t *)all->of[i]->nodes);
		g_free((uint32_t *)all->of[i]->to_nodes);
		g_free(all->of[i]);
	}
	g_free(all->of);
	g_free(all->retries);
	g_free(all->leads_s);
	task_list_finish(&all->leaving);
	task_list_finish(&all->suspended);
	task_list_finish(&all->held);
	g_free(all->entries);
	g_free(all);
}

/*
 * The suspension of a task, with room for its nodes, of which another attempt may have more than
 * the one before; allocated if there is none.
 */
static struct engine_suspension *allocate(struct engine *engine, uint32_t index)
{
	const uint32_t nodes = engine->tasks[index].nodes_count;
	struct engine_suspension *suspension = engine->suspensions->of[index];

	if (!suspension)
		suspension = engine->suspensions->of[index] = g_new0(struct engine_suspension, 1);
	suspension->nodes = g_renew(uint32_t, (uint32_t *)suspension->nodes, nodes);
	suspension->to_nodes = g_renew(uint32_t, (uint32_t *)suspension->to_nodes, nodes);
	return suspension;
}

/* Suspensions of a task. */

const struct engine_suspension *engine_suspension_at(const struct engine *engine, uint32_t index)
{
	return engine->suspensions->of[index];
}

enum suspension_state engine_suspension_state(const struct engine *engine, uint32_t index)
{
	const struct engine_suspension *suspension = engine->suspensions->of[index];

	return suspension ? suspension->state : SUSPENSION_NONE;
}

enum resumption_state engine_resumption_state(const struct engine *engine, uint32_t index)
{
	const struct engine_suspension *suspension = engine->suspensions->of[index];

	return suspension ? suspension->resumption : RESUMPTION_POLICY;
}

bool engine_is_held(const struct engine *engine, uint32_t index)
{
	return engine->tasks[index].request == REQUEST_HELD ||
	       resumption_state_is_held(engine_resumption_state(engine, index));
}

bool engine_suspension_retries_exhausted(const struct engine *engine, uint32_t index)
{
	return engine->suspensions->retries[index] >= ENGINE_RETRIES_MAX;
}

double engine_suspension_lead_s(const struct engine *engine, uint32_t index)
{
	return engine->suspensions->leads_s[index];
}

/* Lists. */

static int compare_suspended(const void *left, const void *right)
{
	const struct sched_allocation *a = left;
	const struct sched_allocation *b = right;

	return sched_task_before(b->task, a->task) - sched_task_before(a->task, b->task);
}

/* Whether entries in the order of arrival are in the order of priorities as well. */
static bool are_in_order(const struct sched_allocation *entries, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++)
		if (entries[i - 1].task->priority < entries[i].task->priority)
			return false;
	return true;
}

const struct sched_allocation *engine_list_suspended(struct engine *engine, uint32_t *ret_count)
{
	struct suspensions *all = engine->suspensions;
	const uint32_t count = all->suspended.count;

	*ret_count = count;
	if (!task_list_settle(&all->suspended))
		return all->entries;
	for (uint32_t i = 0; i < count; i++) {
		const struct engine_task *task = &engine->tasks[all->suspended.ids[i]];

		all->entries[i] = engine_task_allocation(task);
		all->entries[i].nodes = NULL; /* it left them */
		all->entries[i].executed_s = task->executed_s;
		all->entries[i].virtual_s = task->virtual_s;
	}
	if (!are_in_order(all->entries, count))
		qsort(all->entries, count, sizeof(*all->entries), compare_suspended);
	return all->entries;
}

const uint32_t *engine_suspended_tasks(struct engine *engine, uint32_t *ret_count)
{
	engine_list_suspended(engine, ret_count);
	return engine->suspensions->suspended.ids;
}

uint32_t engine_suspended_count(const struct engine *engine)
{
	return engine->suspensions->suspended.count;
}

const uint32_t *engine_leaving_tasks(struct engine *engine, uint32_t *ret_count)
{
	struct task_list *leaving = &engine->suspensions->leaving;

	task_list_settle(leaving);
	*ret_count = leaving->count;
	return leaving->ids;
}

bool engine_is_leaving_since(const struct engine *engine, double time_s)
{
	const struct suspensions *all = engine->suspensions;

	/* The list is not settled: it has former members. */
	for (uint32_t i = 0; i < all->leaving.listed; i++) {
		const struct engine_suspension *suspension = all->of[all->leaving.ids[i]];

		if (suspension_state_is_suspending(suspension->state) &&
		    suspension->requested_s < time_s)
			return true;
	}
	return false;
}

bool engine_has_suspensions(const struct engine *engine)
{
	const struct suspensions *all = engine->suspensions;

	return all->leaving.count + all->suspended.count + all->held.count > 0;
}

bool engine_wants_suspended(const struct engine *engine)
{
	return engine->suspensions->wanted_count > 0;
}

void engine_kill_suspended(struct engine *engine)
{
	struct suspensions *all = engine->suspensions;
	struct task_list *const lists[] = {&all->leaving, &all->suspended, &all->held};

	for (size_t k = 0; k < G_N_ELEMENTS(lists); k++) {
		task_list_settle(lists[k]);
		for (uint32_t i = 0; i < lists[k]->count; i++)
			backend_kill(engine->backend, lists[k]->ids[i],
				     engine->tasks[lists[k]->ids[i]].attempts);
	}
}

/* Changes. */

/* The list that has the task; NULL: none has it. */
static struct task_list *list_of(struct suspensions *all,
				 const struct engine_suspension *suspension)
{
	switch (suspension->state) {
	case SUSPENSION_SUSPENDING:
	case SUSPENSION_SUSPENDING_CLAIMED:
		return &all->leaving;
	case SUSPENSION_SUSPENDED:
		return resumption_state_is_held(suspension->resumption) ? &all->held
									: &all->suspended;
	default:
		return NULL;
	}
}

/* To be called after a change of the states: moves the task from its former list to another. */
static void relist(struct engine *engine, uint32_t index, struct task_list *former)
{
	struct suspensions *all = engine->suspensions;
	struct task_list *list = list_of(all, all->of[index]);

	if (list == former)
		return;
	if (former)
		task_list_remove(former, index);
	if (list)
		task_list_add(list, index);
}

void engine_move_suspension(struct engine *engine, uint32_t index, enum suspension_event event)
{
	struct engine_suspension *suspension = engine->suspensions->of[index];
	struct task_list *former = list_of(engine->suspensions, suspension);

	if (engine_move_state(engine, &suspension_fsm, &suspension->state, event, index))
		relist(engine, index, former);
	switch (event) {
	case SUSPENSION_FAIL:
		engine->suspensions->retries[index]++;
		break;
	case SUSPENSION_SUSPEND_DONE:
	case SUSPENSION_RESUME_DONE:
		engine->suspensions->retries[index] = 0;
		break;
	case SUSPENSION_END:
		engine->suspensions->retries[index] = 0;
		engine->suspensions->leads_s[index] = 0;
		break;
	default:
		break;
	}
}

void engine_begin_suspension(struct engine *engine, uint32_t index)
{
	const struct engine_task *task = &engine->tasks[index];
	struct engine_suspension *suspension = allocate(engine, index);

	engine_move_suspension(engine, index, SUSPENSION_SUSPEND);
	memcpy((uint32_t *)suspension->nodes, task->nodes,
	       task->nodes_count * sizeof(*task->nodes));
	*suspension = (struct engine_suspension){
		.state = suspension->state,
		.resumption = suspension->resumption,
		.task = index,
		.attempt = task->attempts,
		.n = task->suspensions,
		.cluster = task->cluster,
		.nodes_count = task->nodes_count,
		.nodes = suspension->nodes,
		.to_nodes = suspension->to_nodes,
		.requested_s = engine_now_s(engine),
		.suspended_s = NAN,
		.exec_s = NAN,
		.resume_requested_s = NAN,
		.resumed_s = NAN,
		.since_s = NAN,
		.overhead = {NAN, NAN, NAN, NAN, NAN},
	};
}

/* To be called after a change of what resumes the task, which was `former`. */
static void note_resumption(struct engine *engine, uint32_t index, enum resumption_state former)
{
	const enum resumption_state state = engine->suspensions->of[index]->resumption;

	engine->suspensions->wanted_count +=
		resumption_state_is_wanted(state) - resumption_state_is_wanted(former);
}

void engine_move_resumption(struct engine *engine, uint32_t index, enum resumption_event event)
{
	struct engine_suspension *suspension = engine->suspensions->of[index];
	const enum resumption_state former = suspension->resumption;
	struct task_list *list = list_of(engine->suspensions, suspension);

	if (!engine_move_state(engine, &resumption_fsm, &suspension->resumption, event, index))
		return;
	relist(engine, index, list);
	note_resumption(engine, index, former);
	/* After the end of the task its record says how it was. */
	if (event != RESUMPTION_END)
		suspension->held = resumption_state_is_held(suspension->resumption) ||
				   suspension->resumption == RESUMPTION_WINDOW_WANTS;
	if (event == RESUMPTION_HOLD || event == RESUMPTION_WANT)
		suspension->by_person = true;
}

/* Moves the tasks of a list on that a window holds. */
static void turn_list(struct engine *engine, struct task_list *list)
{
	g_autofree uint32_t *ids = NULL;
	const uint32_t count = list->count;

	task_list_settle(list);
	ids = g_memdup2(list->ids, count * sizeof(*list->ids));
	for (uint32_t i = 0; i < count; i++)
		if (engine_resumption_state(engine, ids[i]) == RESUMPTION_WINDOW_HOLDS)
			engine_move_resumption(engine, ids[i], RESUMPTION_TURN);
}

void engine_turn_suspensions(struct engine *engine)
{
	turn_list(engine, &engine->suspensions->held);
	turn_list(engine, &engine->suspensions->leaving);
}

struct engine_suspension *engine_suspension_record(struct engine *engine, uint32_t index)
{
	return engine->suspensions->of[index];
}

void engine_set_resume_nodes(struct engine *engine, uint32_t index, const uint32_t *nodes)
{
	memcpy((uint32_t *)engine->suspensions->of[index]->to_nodes, nodes,
	       engine->tasks[index].nodes_count * sizeof(*nodes));
}

void engine_add_suspension_lead(struct engine *engine, uint32_t index, double lead_s)
{
	engine->suspensions->leads_s[index] += lead_s;
}

/* After a restart. */

static enum suspension_state restored_state(const struct engine_task *task,
					    const struct engine_suspension *record)
{
	switch (task->state) {
	case ENGINE_TASK_SUSPENDING:
		return SUSPENSION_SUSPENDING;
	case ENGINE_TASK_SUSPENDED:
		return SUSPENSION_SUSPENDED;
	case ENGINE_TASK_RESUMING:
		return SUSPENSION_RESUMING;
	default:
		return isfinite(record->suspended_s) ? SUSPENSION_RESUMED : SUSPENSION_ROLLED_BACK;
	}
}

/*
 * A user suspended or resumed it and does not hold it any more; or it is resuming for a window. A
 * task that is still suspended for the limit of a window is resumed by the window.
 */
static enum resumption_state restored_resumption(const struct engine_task *task,
						 const struct engine_suspension *record)
{
	switch (task->state) {
	case ENGINE_TASK_SUSPENDING:
	case ENGINE_TASK_SUSPENDED:
		if (record->held)
			return record->by_person ? RESUMPTION_USER_HOLDS : RESUMPTION_WINDOW_HOLDS;
		break;
	case ENGINE_TASK_RESUMING:
		if (record->held)
			return RESUMPTION_WINDOW_WANTS;
		break;
	default:
		return RESUMPTION_POLICY;
	}
	return record->by_person ? RESUMPTION_USER_WANTS : RESUMPTION_POLICY;
}

void engine_reattach_suspension(struct engine *engine, const struct engine_suspension *record)
{
	const struct engine_task *task = &engine->tasks[record->task];
	struct engine_suspension *suspension = allocate(engine, record->task);
	const enum resumption_state former = suspension->resumption;
	struct task_list *list = list_of(engine->suspensions, suspension);
	const size_t size = record->nodes_count * sizeof(*record->nodes);
	uint32_t *nodes = (uint32_t *)suspension->nodes;
	uint32_t *to_nodes = (uint32_t *)suspension->to_nodes;

	memcpy(nodes, record->nodes, size);
	if (record->to_nodes)
		memcpy(to_nodes, record->to_nodes, size);
	*suspension = *record;
	suspension->nodes = nodes;
	suspension->to_nodes = to_nodes;
	suspension->vms = NULL;
	suspension->vms_count = 0;
	suspension_restore(&suspension->state, restored_state(task, record));
	resumption_restore(&suspension->resumption, restored_resumption(task, record));
	relist(engine, record->task, list);
	note_resumption(engine, record->task, former);
}

/* Full states. */

static const struct state_field suspension_fields[] = {
	STATE_FIELD(engine_suspension, attempt, U32),
	STATE_FIELD(engine_suspension, n, U32),
	STATE_FIELD(engine_suspension, state, U32),
	STATE_FIELD(engine_suspension, resumption, U32),
	STATE_FIELD(engine_suspension, cluster, U32),
	STATE_FIELD(engine_suspension, by_person, BOOL),
	STATE_FIELD(engine_suspension, held, BOOL),
	STATE_FIELD(engine_suspension, requested_s, TIME),
	STATE_FIELD(engine_suspension, suspended_s, TIME),
	STATE_FIELD(engine_suspension, exec_s, TIME),
	STATE_FIELD(engine_suspension, resume_requested_s, TIME),
	STATE_FIELD(engine_suspension, resumed_s, TIME),
	STATE_FIELD(engine_suspension, since_s, TIME),
	STATE_FIELD(engine_suspension, overhead.freeze_s, TIME),
	STATE_FIELD(engine_suspension, overhead.save_s, TIME),
	STATE_FIELD(engine_suspension, overhead.restore_s, TIME),
	STATE_FIELD(engine_suspension, overhead.resume_s, TIME),
	STATE_FIELD(engine_suspension, overhead.skew_s, TIME),
	{NULL},
};

/* Whether a suspension has nodes to resume on. */
static bool has_to_nodes(const struct engine *engine, const struct engine_suspension *suspension)
{
	return isfinite(suspension->resume_requested_s) ||
	       engine_has_claim(engine, suspension->task);
}

json_t *engine_save_suspension(const struct engine *engine, uint32_t index)
{
	const struct suspensions *all = engine->suspensions;
	const struct engine_suspension *suspension = all->of[index];
	json_t *state;

	if (!suspension)
		return NULL;
	state = state_write(suspension_fields, suspension);
	state_put(state, "nodes", json_numbers(suspension->nodes, suspension->nodes_count));
	if (has_to_nodes(engine, suspension))
		state_put(state, "to_nodes",
			  json_numbers(suspension->to_nodes, suspension->nodes_count));
	state_put(state, "retries", all->retries[index] ? json_integer(all->retries[index]) : NULL);
	return state;
}

bool engine_load_suspension(struct engine *engine, uint32_t index, const json_t *state)
{
	struct suspensions *all = engine->suspensions;
	const struct sched_system *system = engine->setup.system;
	const json_t *retries = json_object_get(state, "retries");
	const json_t *to = json_object_get(state, "to_nodes");
	struct engine_suspension *suspension = allocate(engine, index);
	const struct engine_task *task = &engine->tasks[index];
	uint32_t *nodes, *to_nodes;
	uint32_t end, count;

	if (!state_read(suspension_fields, state, suspension) ||
	    suspension->cluster >= system->clusters_count ||
	    suspension->state >= SUSPENSION_STATES || suspension->resumption >= RESUMPTION_STATES ||
	    (retries && !state_read_u32(retries, UINT32_MAX, &all->retries[index])))
		return false;
	suspension->task = index;
	end = system->clusters[suspension->cluster].nodes;
	suspension->nodes = nodes = g_renew(uint32_t, (uint32_t *)suspension->nodes, end);
	suspension->to_nodes = to_nodes = g_renew(uint32_t, (uint32_t *)suspension->to_nodes, end);
	if (!state_read_list(json_object_get(state, "nodes"), end, end, nodes,
			     &suspension->nodes_count) ||
	    !state_read_list(to, end, end, to_nodes, &count) ||
	    (to && count != suspension->nodes_count))
		return false;
	/* Of a task that is under way it is about its nodes. */
	if (engine_task_state_in(task->state, ENGINE_TASK_ANY_SUSPENDING |
						      ENGINE_TASK_ANY_SUSPENDED |
						      ENGINE_TASK_SET(ENGINE_TASK_RESUMING)) &&
	    (suspension->nodes_count != task->nodes_count || suspension->cluster != task->cluster ||
	     (!to && has_to_nodes(engine, suspension))))
		return false;
	relist(engine, index, NULL);
	note_resumption(engine, index, RESUMPTION_POLICY);
	return true;
}
