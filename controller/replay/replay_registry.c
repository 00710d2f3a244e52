/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/replay/replay_registry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "controller/replay/replay_sim.h"
#include "controller/sched/policy.h"

/* Longer than any replay takes: a trace has less than 2^32 jobs, of SWF_EXACT_MAX s each. */
#define FOREVER_S (SWF_EXACT_MAX * 4294967296.0)

/* What is said to be the time to the next mapping event, unless that is too little to be added. */
#define INTERVAL_S 1

/* A policy and what it is made of. */
struct registered {
	struct replay_policy policy; /* first: a pointer to it is one to this */
	struct policy decider;
};

/* A reserved start. */
struct reserved {
	uint32_t job;
	double start_s;
	uint32_t *nodes;
};

/* A replay under such a policy. */
struct replay_own {
	const struct policy *decider;
	struct sched_system *system;
	struct arena *arena;
	struct sched_task *tasks; /* per job */
	uint32_t **nodes;         /* per job: those of a running one; NULL: it does not run */
	GArray *running;          /* uint32_t: jobs, by their starts */
	GArray *reserved;         /* struct reserved */
	GArray *allocations;      /* struct sched_allocation: of the snapshot */
	const struct sched_task **waiting;
	uint32_t waiting_capacity;
	uint8_t *taken; /* per node, scratch */
};

/* A job's width, estimate and power. */
struct shape {
	double estimate_s;
	double power_w;
	uint32_t procs;
	uint32_t job;
};

static int compare_shapes(const void *left, const void *right)
{
	const struct shape *a = left;
	const struct shape *b = right;

	if (a->procs != b->procs)
		return a->procs < b->procs ? -1 : 1;
	if (a->estimate_s != b->estimate_s)
		return a->estimate_s < b->estimate_s ? -1 : 1;
	if (a->power_w != b->power_w)
		return a->power_w < b->power_w ? -1 : 1;
	return (a->job > b->job) - (a->job < b->job);
}

static bool is_new_row(const struct shape *shapes, uint32_t i)
{
	return i == 0 || shapes[i].procs != shapes[i - 1].procs ||
	       shapes[i].estimate_s != shapes[i - 1].estimate_s ||
	       shapes[i].power_w != shapes[i - 1].power_w;
}

/*
 * The power of a processor of a job whose power is not known: the mean over the processors of the
 * others, 1 W in a trace without any.
 */
static double processor_power_w(const struct swf_trace *trace)
{
	double power_w = 0;
	double procs = 0;

	for (uint32_t i = 0; i < trace->jobs_count; i++)
		if (trace->jobs[i].power_w > 0) {
			power_w += trace->jobs[i].power_w;
			procs += trace->jobs[i].procs;
		}
	return procs > 0 ? power_w / procs : 1;
}

/* The jobs by width, estimate and power. The caller frees. */
static struct shape *sort_shapes(const struct replay_setup *setup)
{
	const struct swf_trace *trace = setup->trace;
	struct shape *shapes = g_new(struct shape, trace->jobs_count + 1);
	const double processor_w = processor_power_w(trace);

	for (uint32_t i = 0; i < trace->jobs_count; i++)
		shapes[i] = (struct shape){
			.estimate_s = setup->estimates == REPLAY_ESTIMATES_PERFECT
					      ? trace->jobs[i].run_s
					      : trace->jobs[i].estimate_s,
			.power_w = trace->jobs[i].power_w > 0 ? trace->jobs[i].power_w
							      : processor_w * trace->jobs[i].procs,
			.procs = trace->jobs[i].procs,
			.job = i,
		};
	qsort(shapes, trace->jobs_count, sizeof(*shapes), compare_shapes);
	return shapes;
}

/* Makes the system, with a row for each shape, and the tasks. */
static void make_system(struct replay_own *own, const struct replay_setup *setup)
{
	const struct sched_cluster cluster = {.name = "machine",
					      .nodes = setup->procs,
					      .cores = 1,
					      .pstates = 1};
	const uint32_t jobs = setup->trace->jobs_count;
	g_autofree struct shape *shapes = sort_shapes(setup);
	uint32_t rows = 0;
	uint32_t row = 0;

	for (uint32_t i = 0; i < jobs; i++)
		rows += is_new_row(shapes, i);
	own->system = sched_system_new(&cluster, 1, rows);
	own->tasks = g_new0(struct sched_task, jobs + 1);
	for (uint32_t i = 0; i < jobs; i++) {
		struct sched_task *task = &own->tasks[shapes[i].job];

		row += i > 0 && is_new_row(shapes, i);
		own->system->row_names[row] = "job";
		own->system->etc_s[row] = shapes[i].estimate_s;
		own->system->eec_j[row] = shapes[i].estimate_s * shapes[i].power_w;
		own->system->nodes[row] = shapes[i].procs;
		task->id = shapes[i].job;
		task->row = row;
		task->utility = (struct utility){
			.max = 1,
			.segments_count = 1,
			.segments = {{UTILITY_CONSTANT, FOREVER_S, 1, 1, 0}},
		};
	}
	if (sched_system_finish(own->system, NULL) != SCHED_SYSTEM_OK)
		g_error("replay: the jobs of a trace are no system");
}

static void begin(struct replay *replay)
{
	const struct replay_setup *setup = replay->setup;
	struct replay_own *own = g_new0(struct replay_own, 1);

	own->decider = &((const struct registered *)setup->policy)->decider;
	own->arena = arena_new();
	own->nodes = g_new0(uint32_t *, setup->trace->jobs_count + 1);
	own->running = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	own->reserved = g_array_new(FALSE, FALSE, sizeof(struct reserved));
	own->allocations = g_array_new(FALSE, FALSE, sizeof(struct sched_allocation));
	own->taken = g_new0(uint8_t, setup->procs);
	make_system(own, setup);
	replay->own = own;
}

static void finish(struct replay *replay)
{
	struct replay_own *own = replay->own;

	for (guint i = 0; i < own->reserved->len; i++)
		g_free(g_array_index(own->reserved, struct reserved, i).nodes);
	for (uint32_t i = 0; i < replay->setup->trace->jobs_count; i++)
		g_free(own->nodes[i]);
	sched_system_free(own->system);
	arena_free(own->arena);
	g_array_unref(own->running);
	g_array_unref(own->reserved);
	g_array_unref(own->allocations);
	g_free(own->tasks);
	g_free(own->nodes);
	g_free(own->waiting);
	g_free(own->taken);
	g_free(own);
}

static void ended(struct replay *replay, const struct replay_running *expected)
{
	struct replay_own *own = replay->own;

	g_clear_pointer(&own->nodes[expected->job], g_free);
	for (guint i = 0; i < own->running->len; i++)
		if (g_array_index(own->running, uint32_t, i) == expected->job) {
			g_array_remove_index(own->running, i);
			break;
		}
}

/* The place of a job in the queue. */
static uint32_t place_of(const struct replay *replay, uint32_t job)
{
	uint32_t place = 0;

	while (replay_waiting(replay, place)->job != job)
		place++;
	return place;
}

/* Starts a waiting job on these nodes, which it takes over. */
static void start(struct replay *replay, uint32_t job, uint32_t *nodes)
{
	struct replay_own *own = replay->own;
	const uint32_t place = place_of(replay, job);

	replay_start(replay, replay_waiting(replay, place));
	replay_unqueue(replay, place);
	own->nodes[job] = nodes;
	g_array_append_val(own->running, job);
}

/* Whether no running job has one of the nodes. */
static bool are_free(struct replay *replay, uint32_t job, const uint32_t *nodes)
{
	struct replay_own *own = replay->own;
	const struct swf_job *jobs = replay->setup->trace->jobs;
	bool free = true;

	memset(own->taken, 0, replay->setup->procs);
	for (guint i = 0; i < own->running->len; i++) {
		const uint32_t other = g_array_index(own->running, uint32_t, i);

		for (uint32_t n = 0; n < jobs[other].procs; n++)
			own->taken[own->nodes[other][n]] = 1;
	}
	for (uint32_t n = 0; n < jobs[job].procs; n++)
		free = free && !own->taken[nodes[n]];
	return free;
}

/* Starts the jobs whose reserved time has come, or gives their reservations up. */
static void start_reserved(struct replay *replay)
{
	struct replay_own *own = replay->own;

	for (guint i = 0; i < own->reserved->len;) {
		struct reserved due = g_array_index(own->reserved, struct reserved, i);

		if (due.start_s > replay->now_s) {
			i++;
			continue;
		}
		g_array_remove_index(own->reserved, i);
		if (are_free(replay, due.job, due.nodes))
			start(replay, due.job, due.nodes);
		else
			g_free(due.nodes);
	}
}

static bool is_reserved(const struct replay_own *own, uint32_t job)
{
	for (guint i = 0; i < own->reserved->len; i++)
		if (g_array_index(own->reserved, struct reserved, i).job == job)
			return true;
	return false;
}

static void add_allocation(struct replay *replay, uint32_t job, double start_s, double end_s,
			   const uint32_t *nodes)
{
	struct replay_own *own = replay->own;
	const struct sched_allocation allocation = {
		.task = &own->tasks[job],
		.nodes_count = replay->setup->trace->jobs[job].procs,
		.nodes = nodes,
		.start_s = start_s,
		.end_s = end_s,
	};

	g_array_append_val(own->allocations, allocation);
}

/* Fills in the tasks and allocations of a snapshot. */
static void take_snapshot(struct replay *replay, struct sched_snapshot *snapshot)
{
	struct replay_own *own = replay->own;

	g_array_set_size(own->allocations, 0);
	for (guint i = 0; i < own->running->len; i++) {
		const uint32_t job = g_array_index(own->running, uint32_t, i);
		const double start_s = replay->result->start_s[job];
		const double end_s = start_s + own->system->etc_s[own->tasks[job].row];

		add_allocation(replay, job, start_s,
			       end_s > replay->now_s ? end_s : snapshot->next_event_s,
			       own->nodes[job]);
	}
	for (guint i = 0; i < own->reserved->len; i++) {
		const struct reserved *one = &g_array_index(own->reserved, struct reserved, i);

		add_allocation(replay, one->job, one->start_s,
			       one->start_s + own->system->etc_s[own->tasks[one->job].row],
			       one->nodes);
	}
	snapshot->running = (const struct sched_allocation *)(void *)own->allocations->data;
	snapshot->running_count = own->running->len;
	snapshot->reservations = snapshot->running + own->running->len;
	snapshot->reservations_count = own->reserved->len;
	if (own->waiting_capacity < replay->queue_count) {
		own->waiting_capacity = 2 * replay->queue_count;
		own->waiting =
			g_renew(const struct sched_task *, own->waiting, own->waiting_capacity);
	}
	for (uint32_t i = 0; i < replay->queue_count; i++) {
		const uint32_t job = replay_waiting(replay, i)->job;

		own->tasks[job].arrival_s = replay->result->submit_s[job];
		if (!is_reserved(own, job))
			own->waiting[snapshot->waiting_count++] = &own->tasks[job];
	}
	snapshot->waiting = own->waiting;
}

static void carry_out(struct replay *replay, const struct sched_action *action)
{
	struct replay_own *own = replay->own;
	uint32_t *nodes;

	if (action->kind != SCHED_ACTION_START && action->kind != SCHED_ACTION_RESERVE)
		return;
	nodes = g_memdup2(action->nodes, action->nodes_count * sizeof(*nodes));
	if (action->kind == SCHED_ACTION_START) {
		start(replay, action->task, nodes);
	} else {
		const struct reserved new = {.job = action->task,
					     .start_s = action->start_s,
					     .nodes = nodes};

		g_array_append_val(own->reserved, new);
	}
}

/* When the next mapping event is said to be: later than now, however late that is. */
static double next_event_s(double now_s)
{
	return fmax(now_s + INTERVAL_S, nextafter(now_s, (double)INFINITY));
}

static void pass(struct replay *replay)
{
	struct replay_own *own = replay->own;
	struct sched_snapshot snapshot = {
		.system = own->system,
		.seed = 1,
		.event = replay->result->passes,
		.now_s = replay->now_s,
		.next_event_s = next_event_s(replay->now_s),
		.end_s = FOREVER_S,
		.budget_j = (double)INFINITY,
	};
	struct policy_context context = {.arena = own->arena};
	struct sched_plan plan;

	start_reserved(replay);
	take_snapshot(replay, &snapshot);
	if (policy_decide(own->decider, &snapshot, &context, &plan) < 0)
		g_error("replay: out of memory");
	for (uint32_t i = 0; i < plan.actions_count; i++)
		carry_out(replay, &plan.actions[i]);
}

static double next_s(const struct replay *replay)
{
	double next = (double)INFINITY;

	for (guint i = 0; i < replay->own->reserved->len; i++)
		next = fmin(next, g_array_index(replay->own->reserved, struct reserved, i).start_s);
	return next > replay->now_s ? next : (double)INFINITY;
}

struct replay_policy *replay_registry_new(const char *name, char **ret_wrong)
{
	struct policy decider;
	struct registered *made;
	char message[512];

	if (policy_parse(name, &decider, message, sizeof(message)) < 0) {
		*ret_wrong = g_strdup(message);
		return NULL;
	}
	if (policy_is_outside(&decider)) {
		*ret_wrong =
			g_strdup_printf("\"%s\": a replay asks no policy from outside; simulate "
					"the trace, as environment.trace of a configuration",
					name);
		return NULL;
	}
	if (!decider.ops->planning && !decider.ops->immediate) {
		*ret_wrong = g_strdup_printf("\"%s\" gives tasks no nodes of their own, and a "
					     "replay has nothing else",
					     name);
		return NULL;
	}
	if (decider.drop_given) {
		*ret_wrong = g_strdup_printf("\"%s\": a replay drops no jobs (+drop)", name);
		return NULL;
	}
	made = g_new0(struct registered, 1);
	made->decider = decider;
	made->policy = (struct replay_policy){
		.name = made->decider.name,
		.begin = begin,
		.finish = finish,
		.pass = pass,
		.ended = ended,
		.next_s = next_s,
	};
	return &made->policy;
}

void replay_registry_free(struct replay_policy *policy)
{
	g_free(policy);
}
