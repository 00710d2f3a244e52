/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "controller/engine/state.h"

static bool promise_before(const struct sched_planned *a, const struct sched_planned *b)
{
	return a->start_s != b->start_s ? a->start_s < b->start_s : a->task->id < b->task->id;
}

void engine_promise(struct sched_planned *list, uint32_t *count,
		    const struct sched_planned *planned)
{
	uint32_t i = (*count)++;

	for (; i > 0 && promise_before(planned, &list[i - 1]); i--)
		list[i] = list[i - 1];
	list[i] = *planned;
}

bool engine_unpromise(struct sched_planned *list, uint32_t *count, uint32_t task)
{
	for (uint32_t i = 0; i < *count; i++) {
		if (list[i].task->id != task)
			continue;
		--*count;
		memmove(list + i, list + i + 1, (*count - i) * sizeof(*list));
		return true;
	}
	return false;
}

/* The first start after `after_s` in a list ordered by start. */
static double first_after(const struct sched_planned *list, uint32_t count, double after_s)
{
	for (uint32_t i = 0; i < count; i++)
		if (list[i].start_s > after_s)
			return list[i].start_s;
	return INFINITY;
}

double engine_next_promise_s(const struct engine *engine)
{
	const double reserved_s =
		first_after(engine->reservations, engine->reservations_count, engine->due_s);
	const double held_s =
		first_after(engine->placeholders, engine->placeholders_count, engine->due_s);

	return fmin(reserved_s, held_s);
}

static bool share_nodes(const struct sched_planned *a, const struct sched_planned *b)
{
	if (a->cluster != b->cluster)
		return false;
	for (uint32_t i = 0; i < a->nodes_count; i++)
		for (uint32_t j = 0; j < b->nodes_count; j++)
			if (a->nodes[i] == b->nodes[j])
				return true;
	return false;
}

/* Whether a promise earlier in the list, which is late, needs one of the nodes of promise `i`. */
static bool overtakes(const struct sched_planned *list, uint32_t i)
{
	for (uint32_t j = 0; j < i; j++)
		if (share_nodes(&list[j], &list[i]))
			return true;
	return false;
}

/* Why promises slide; each is a bit of engine_task.slid. */
enum slide { SLIDE_BUSY, SLIDE_LATE };

static const char *const slides[] = {
	[SLIDE_BUSY] = "its nodes are still busy",
	[SLIDE_LATE] = "what runs on its nodes is late",
};

/* A service, which does not end, says it once of a promise: it may slide at every event. */
static void record_slide(struct engine *engine, double time_s, uint32_t index, enum slide why)
{
	struct engine_task *task = &engine->tasks[index];

	if (!engine->setup.open || !(task->slid & 1U << why))
		engine_record_event(engine, time_s, "slid", index, slides[why]);
	task->slid |= 1U << why;
}

/* Starts what is due by `due_s` of a list, in its order. */
static void start_due(struct engine *engine, struct sched_planned *list, uint32_t *count,
		      double due_s, double now_s)
{
	for (uint32_t i = 0; i < *count && list[i].start_s <= due_s && !engine->ended;) {
		const uint32_t task = list[i].task->id;

		if (overtakes(list, i) || !engine_place_free(engine, task)) {
			if (list[i].start_s > engine->due_s)
				record_slide(engine, now_s, task, SLIDE_BUSY);
			engine->disturbed = true;
			i++;
			continue;
		}
		engine_unpromise(list, count, task);
		if (engine_window_refuses(engine, task)) {
			engine_cancel(engine, task);
			engine_record_task(engine, task);
			continue;
		}
		engine_begin(engine, task);
		engine_record_task(engine, task);
		engine_flush(engine);
		engine_launch(engine, task);
	}
}

static void start_due_lists(struct engine *engine, double due_s, double now_s)
{
	start_due(engine, engine->reservations, &engine->reservations_count, due_s, now_s);
	if (now_s < engine_event_s(engine, engine->event_next))
		start_due(engine, engine->placeholders, &engine->placeholders_count, due_s, now_s);
}

void engine_start_due(struct engine *engine, double time_s)
{
	start_due_lists(engine, time_s, time_s);
	engine->due_s = fmax(engine->due_s, time_s);
}

void engine_retry_late(struct engine *engine, double now_s)
{
	start_due_lists(engine, engine->due_s, now_s);
}

/* Tasks that outlived their estimate are taken to be busy until the next event. */
static void extend_late(struct engine *engine, double now_s, double next_s)
{
	running_list_settle(&engine->running);
	for (uint32_t i = 0; i < engine->running.count; i++) {
		struct sched_running *running = &engine->running.entries[i];
		struct engine_task *task = &engine->tasks[running->task->id];

		if (running->end_s > now_s)
			continue;
		if (task->state < ENGINE_TASK_SUSPENDING && engine->blocked[running->task->id] == 0 &&
		    running->end_s > running->start_s &&
		    running->end_s == engine_expected_end_s(task, running->start_s))
			engine_record_event(engine, now_s, "late", running->task->id,
					    "runs longer than estimated");
		running->end_s = task->expected_end_s = next_s;
		engine->disturbed = true;
	}
}

/* When the nodes of `planned` are free of what runs and of the `count` promises before it. */
static double free_s(const struct engine *engine, const struct sched_planned *planned,
		     const struct sched_planned *before, uint32_t count)
{
	double time_s = 0;

	for (uint32_t i = 0; i < planned->nodes_count; i++) {
		const uint32_t occupant = engine->occupants[planned->cluster][planned->nodes[i]];

		if (occupant != ENGINE_NO_TASK)
			time_s = fmax(time_s, engine->tasks[occupant].expected_end_s);
	}
	for (uint32_t i = 0; i < count; i++)
		if (share_nodes(&before[i], planned))
			time_s = fmax(time_s, before[i].end_s);
	return time_s;
}

/* Moves reservations behind what is late, each behind those that were before it. */
static void slide_reservations(struct engine *engine, double now_s)
{
	const uint32_t count = engine->reservations_count;
	g_autofree struct sched_planned *old =
		g_memdup2(engine->reservations, count * sizeof(*engine->reservations));
	struct sched_planned *list = engine->reservations;
	bool moved = false;

	engine->reservations_count = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct sched_planned planned = old[i];
		struct engine_task *task = &engine->tasks[planned.task->id];
		const double start_s =
			fmax(fmax(planned.start_s, now_s),
			     free_s(engine, &planned, list, engine->reservations_count));

		if (start_s > planned.start_s) {
			moved = true;
			planned.start_s = task->planned_start_s = start_s;
			planned.end_s = start_s + task->etc_s;
			record_slide(engine, now_s, planned.task->id, SLIDE_LATE);
			engine_record_task(engine, planned.task->id);
		}
		engine_promise(list, &engine->reservations_count, &planned);
	}
	engine->disturbed = moved;
}

void engine_begin_day(struct engine *engine)
{
	engine->day_begun = true;
	engine->day_j = backend_energy_j(engine->backend);
	engine->completed_j = engine->completed_resources = 0;
	engine->result = (struct engine_result){
		.decisions = engine->result.decisions,
		.decide_s = engine->result.decide_s,
	};
}

static int compare_waiting(const void *left, const void *right)
{
	const struct sched_task *a = *(const struct sched_task *const *)left;
	const struct sched_task *b = *(const struct sched_task *const *)right;

	return sched_task_before(b, a) - sched_task_before(a, b);
}

static int compare_suspended(const void *left, const void *right)
{
	const struct sched_suspended *a = left;
	const struct sched_suspended *b = right;

	return sched_task_before(b->task, a->task) - sched_task_before(a->task, b->task);
}

/* Whether a list, which is in the order of arrival, is in that of priorities as well. */
static bool is_in_order(const struct engine *engine, const struct task_list *list)
{
	for (uint32_t i = 1; i < list->count; i++)
		if (engine->known[list->ids[i - 1]].priority < engine->known[list->ids[i]].priority)
			return false;
	return true;
}

/* The mappable tasks as the snapshot has them. */
static void list_waiting(struct engine *engine)
{
	if (!task_list_settle(&engine->waiting))
		return;
	for (uint32_t i = 0; i < engine->waiting.count; i++)
		engine->waiting_tasks[i] = engine->tasks[engine->waiting.ids[i]].task;
	if (!is_in_order(engine, &engine->waiting))
		qsort(engine->waiting_tasks, engine->waiting.count, sizeof(*engine->waiting_tasks),
		      compare_waiting);
}

void engine_list_suspended(struct engine *engine)
{
	if (!task_list_settle(&engine->suspended))
		return;
	for (uint32_t i = 0; i < engine->suspended.count; i++) {
		const struct engine_task *task = &engine->tasks[engine->suspended.ids[i]];

		engine->suspended_tasks[i] = (struct sched_suspended){
			.task = task->task,
			.cluster = task->cluster,
			.pstate = task->pstate,
			.nodes_count = task->nodes_count,
			.executed_s = task->executed_s,
			.virtual_s = task->virtual_s,
		};
	}
	if (!is_in_order(engine, &engine->suspended))
		qsort(engine->suspended_tasks, engine->suspended.count,
		      sizeof(*engine->suspended_tasks), compare_suspended);
}

/* Adds those of a task's nodes to a list that it leaves, up otherwise, for nobody. Returns their number. */
static uint32_t list_left(struct engine *engine, const struct engine_task *task,
			  const uint32_t *nodes, uint32_t nodes_count, uint32_t count)
{
	uint32_t added = 0;

	for (uint32_t i = 0; i < nodes_count; i++)
		if (engine->occupants[task->cluster][nodes[i]] == ENGINE_NO_TASK &&
		    !engine->down[task->cluster][nodes[i]])
			engine->down_nodes[count + added++] =
				(struct sched_node){ task->cluster, nodes[i] };
	return added;
}

/*
 * Nodes that cannot take tasks: those that are down, and those that are being left and that nobody
 * has a claim to. Returns how many; they stand in engine->down_nodes.
 */
static uint32_t list_down(struct engine *engine)
{
	uint32_t count = engine->down_count;

	if (engine->hosts)
		return count; /* there they have room for others all the same */
	task_list_settle(&engine->leaving);
	for (uint32_t i = 0; i < engine->leaving.count; i++) {
		const struct engine_task *task = &engine->tasks[engine->leaving.ids[i]];

		count += list_left(engine, task, task->nodes, task->nodes_count, count);
	}
	for (uint32_t i = 0; i < engine->running.count; i++) {
		const uint32_t index = engine->running.entries[i].task->id;
		const struct migration *migration = engine->migrations[index];

		if (engine->tasks[index].state == ENGINE_TASK_MIGRATING)
			count += list_left(engine, &engine->tasks[index], migration->left,
					   migration->left_count, count);
	}
	return count;
}

/* Yields and virtual times of what runs. */
static void list_shares(struct engine *engine, double now_s)
{
	for (uint32_t i = 0; engine->hosts && i < engine->running.count; i++) {
		struct sched_running *running = &engine->running.entries[i];
		const struct engine_task *task = &engine->tasks[running->task->id];

		running->yield = task->yield;
		running->virtual_s = engine_virtual_s(task, now_s);
		running->busy = task->state != ENGINE_TASK_RUNNING;
	}
}

/* The next periodic event, which is later: also for a change at the very time of one. */
static double next_event_s(const struct engine *engine, double now_s, bool between)
{
	const uint64_t event = engine->event_next + !between;
	const double event_s = engine_event_s(engine, event);

	return event_s > now_s ? event_s : engine_event_s(engine, event + 1);
}

static struct sched_snapshot take_snapshot(struct engine *engine, double now_s, bool between)
{
	struct sched_snapshot snapshot;

	const struct engine_setup *setup = &engine->setup;
	const bool lead = setup->lead_s > 0 && !engine->day_begun;
	const double limit_j = lead ? setup->lead_limit_j : setup->limit_j;

	list_waiting(engine);
	engine_list_suspended(engine);
	running_list_settle(&engine->running);
	list_shares(engine, now_s);
	snapshot = (struct sched_snapshot){
		.system = setup->system,
		.seed = setup->seed,
		.event = engine->event_next,
		.now_s = now_s,
		.next_event_s = next_event_s(engine, now_s, between),
		.between = between,
		.day_start_s = lead ? 0 : setup->lead_s,
		.end_s = lead ? setup->lead_s : setup->duration_s,
		.consumed_j = backend_energy_j(engine->backend) - engine->day_j,
		.budget_j = limit_j > 0 ? limit_j : INFINITY,
		.gate = setup->gate,
		.completed_count = engine->result.tasks_completed,
		.completed_j = engine->completed_j,
		.completed_resources = engine->completed_resources,
		.waiting_count = engine->waiting.count,
		.waiting = engine->waiting_tasks,
		.suspended_count = engine->suspended.count,
		.suspended = engine->suspended_tasks,
		.running_count = engine->running.count,
		.running = engine->running.entries,
		.reservations_count = engine->reservations_count,
		.reservations = engine->reservations,
		.placeholders_count = engine->placeholders_count,
		.placeholders = engine->placeholders,
		.down_count = list_down(engine),
		.down = engine->down_nodes,
		.deferred_count = engine_list_deferred(engine),
		.deferred = engine->deferred,
	};
	engine_list_queues(engine, &snapshot);
	if (engine_window_is_set(engine)) {
		snapshot.waiting_count = engine_window_affordable(engine, engine->affordable_tasks);
		snapshot.waiting = engine->affordable_tasks;
		snapshot.suspended_count = engine_window_resumable(engine, engine->resumable_tasks);
		snapshot.suspended = engine->resumable_tasks;
	}
	return snapshot;
}

/* Processor time of this thread: other trials may share the processor. */
static double thread_s(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double wall_s(void)
{
	return (double)g_get_monotonic_time() * 1e-6;
}

/* A decision is there: it is recorded and carried out. */
static void conclude(struct engine *engine, const struct apart_answer *answer)
{
	const struct sched_plan *plan = answer->plan;
	double took_s;

	engine->result.decisions++;
	engine->result.decide_s += answer->decide_s;
	engine->missed = 0;
	if (engine->pruner.level != plan->pruner.level ||
	    engine->pruner.dropping != plan->pruner.dropping) {
		engine->pruner = plan->pruner;
		engine_record_pruner(engine, answer->snapshot->now_s);
	}
	engine_record_decision(engine, answer->policy, answer->snapshot, plan);
	if (!engine->ended)
		engine_carry_out(engine, plan);
	took_s = wall_s() - answer->asked_s;
	engine->result.mapping_s += took_s;
	engine->result.mapping_longest_s = fmax(engine->result.mapping_longest_s, took_s);
}

static void decide(struct engine *engine, double now_s, bool between)
{
	const struct sched_snapshot snapshot = take_snapshot(engine, now_s, between);
	struct policy_context context = {
		.scratch = engine->scratch,
		.flags = engine->setup.trim ? POLICY_TRIM : POLICY_PLAIN,
		.memory = engine->queueing_memory,
	};
	struct sched_plan plan;
	const double asked_s = wall_s();
	const double begun_s = thread_s();

	if (engine_window_is_set(engine) && snapshot.waiting_count + snapshot.suspended_count == 0)
		return;
	if (between)
		engine->asked_s = now_s;
	if (engine->apart) {
		engine->asked_changes = engine->changes;
		apart_ask(engine->apart, &engine->setup.policy, context.flags, &snapshot);
		return;
	}
	if (policy_decide(&engine->setup.policy, &snapshot, &context, &plan) < 0)
		g_error("out of memory");
	conclude(engine, &(struct apart_answer){ &engine->setup.policy, &snapshot, &plan,
						    thread_s() - begun_s, asked_s });
}

void engine_take_answer(struct engine *engine)
{
	struct apart_answer answer;

	if (!engine->apart || !apart_take(engine->apart, &answer))
		return;
	if (g_str_equal(answer.policy->name, engine->setup.policy.name))
		conclude(engine, &answer);
	else
		engine->changed_places = true; /* who took over meanwhile decides */
	/* Promises whose time came while it was decided were not tried. */
	if (!engine->ended)
		engine_retry_late(engine, backend_now_s(engine->backend));
}

/*
 * Whether there is anything to decide: on shared hosts also how much those that run get. Where machines
 * have queues, every event counts for the oversubscription level.
 */
static bool has_tasks(const struct engine *engine)
{
	return engine->waiting.count + engine->suspended.count > 0 || engine->queues ||
	       (engine->hosts && engine->running.count > 0);
}

static void map(struct engine *engine, double now_s, bool between)
{
	engine_arrive(engine, now_s);
	engine_window_settle(engine);
	extend_late(engine, now_s, engine_event_s(engine, engine->event_next + !between));
	if (engine->disturbed)
		slide_reservations(engine, now_s);
	engine_start_due(engine, now_s);
	engine_resume_wanted(engine);
	engine->changed_places = engine->apart && apart_busy(engine->apart); /* then it is asked again */
	engine->considered_s = now_s;
	if (has_tasks(engine) && !engine->ended && !engine->changed_places)
		decide(engine, now_s, between);
}

void engine_map(struct engine *engine, double now_s)
{
	const bool periodic = engine->setup.moments != POLICY_AT_CHANGES;

	if (!engine->day_begun && engine->setup.lead_s > 0 && now_s >= engine->setup.lead_s)
		engine_begin_day(engine);
	if (periodic)
		map(engine, now_s, false);
	else if (engine_next_change_s(engine, now_s) <= now_s)
		engine_map_change(engine, now_s);
	engine->event_next++;
}

void engine_map_change(struct engine *engine, double now_s)
{
	map(engine, now_s, true);
}

double engine_next_change_s(const struct engine *engine, double now_s)
{
	const struct workload *workload = engine->setup.workload;
	double next_s;

	if (engine->setup.moments == POLICY_AT_PERIODS ||
	    (engine->apart && apart_busy(engine->apart)))
		return INFINITY;
	if (engine->changed_places && engine->setup.changes_apart_s <= 0)
		return now_s;
	next_s = fmin(engine_next_deferred_s(engine, engine->considered_s),
		      engine_next_deadline_s(engine, engine->considered_s));
	if (engine->arrivals_next < workload->tasks_count)
		next_s = fmin(next_s, workload->tasks[engine->arrivals_next].arrival_s);
	if (engine->changed_places)
		next_s = fmin(next_s, engine->asked_s + engine->setup.changes_apart_s);
	return fmax(next_s, now_s);
}
