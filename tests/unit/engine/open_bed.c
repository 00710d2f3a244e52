/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/engine/open_bed.h"

#include <glib.h>
#include <math.h>
#include <stddef.h>

#define INTERVAL_S 60
#define DURATION_S 6000

static struct backend *sim_of(struct backend *backend)
{
	return ((struct open_caller *)backend)->sim;
}

static double caller_now_s(struct backend *backend)
{
	return backend_now_s(sim_of(backend));
}

static void caller_start(struct backend *backend, const struct sched_allocation *placed,
			 uint32_t attempt)
{
	backend_start(sim_of(backend), placed, attempt);
}

static void caller_kill(struct backend *backend, uint32_t task, uint32_t attempt)
{
	backend_kill(sim_of(backend), task, attempt);
}

static void caller_suspend(struct backend *backend, uint32_t task, uint32_t attempt, uint32_t n)
{
	backend_suspend(sim_of(backend), task, attempt, n);
}

static void caller_resume(struct backend *backend, uint32_t task, uint32_t attempt, uint32_t n,
			  const uint32_t *nodes, uint32_t nodes_count)
{
	backend_resume(sim_of(backend), task, attempt, n, nodes, nodes_count);
}

static void caller_share(struct backend *backend, uint32_t task, uint32_t attempt, double yield)
{
	backend_share(sim_of(backend), task, attempt, yield);
}

/* The simulation does not look at the tasks of a node. */
static void caller_migrate(struct backend *backend, uint32_t task, uint32_t attempt, uint32_t n,
			   const uint32_t *nodes, uint32_t nodes_count)
{
	struct open_caller *caller = (struct open_caller *)backend;
	const bool fails = caller->moving++ % 3 == 0 || caller->stubborn;
	const struct backend_event event = {
		.kind = fails ? BACKEND_EVENT_MIGRATION_FAILED : BACKEND_EVENT_MIGRATED,
		.time_s = backend_now_s(caller->sim) + 4,
		.task = task,
		.attempt = attempt,
		.n = n,
	};

	if (caller->attempts[task] != attempt)
		caller->tries[task] = 0;
	caller->attempts[task] = attempt;
	caller->tries[task]++;
	g_queue_push_tail(&caller->moves, g_memdup2(&event, sizeof(event)));
}

static double caller_energy_j(struct backend *backend)
{
	return backend_energy_j(sim_of(backend));
}

static void caller_set_limit(struct backend *backend, double limit_j)
{
	backend_set_limit(sim_of(backend), limit_j);
}

/* Whether the engine wants its turn at once. */
static bool is_due(const struct open_caller *caller)
{
	const struct open_bed *bed = caller->data;

	return engine_next_s(bed->engine) < 0;
}

void open_caller_wait(struct backend *backend, double until_s, struct backend_event *ret_event)
{
	struct open_caller *caller = (struct open_caller *)backend;
	const struct backend_event *move = g_queue_peek_head(&caller->moves);
	const double move_s = move ? move->time_s : (double)INFINITY;

	while (!is_due(caller) && caller->called < caller->calls_count &&
	       caller->calls_s[caller->called] <= fmin(until_s, move_s)) {
		backend_sim_wait(caller->sim, caller->calls_s[caller->called], ret_event);
		if (ret_event->kind != BACKEND_EVENT_NONE)
			return;
		caller->called++;
		caller->call(caller->data);
		move = g_queue_peek_head(&caller->moves);
		if (!is_due(caller) && move && move->time_s != move_s)
			return open_caller_wait(backend, until_s, ret_event);
	}
	if (is_due(caller)) {
		*ret_event = (struct backend_event){.time_s = backend_now_s(caller->sim)};
		return;
	}
	if (move_s <= until_s) {
		backend_sim_wait(caller->sim, move_s, ret_event);
		if (ret_event->kind != BACKEND_EVENT_NONE)
			return;
		g_autofree struct backend_event *moved = g_queue_pop_head(&caller->moves);

		*ret_event = *moved;
		return;
	}
	backend_sim_wait(caller->sim, until_s, ret_event);
}

static const struct backend_ops caller_ops = {
	.name = "caller",
	.now_s = caller_now_s,
	.start = caller_start,
	.kill = caller_kill,
	.suspend = caller_suspend,
	.resume = caller_resume,
	.share = caller_share,
	.migrate = caller_migrate,
	.energy_j = caller_energy_j,
	.set_limit = caller_set_limit,
};

/*
 * Two clusters, a type that runs in both, one in each. Shared: OPEN_HOSTS hosts, and how long tasks
 * take there.
 */
static struct sched_system *make_system(bool shared, bool real)
{
	static const struct sched_cluster clusters[] = {
		{.name = "c", .nodes = OPEN_HOSTS, .cores = 4, .pstates = 1},
		{.name = "d", .nodes = 2, .cores = 4, .pstates = 1},
	};
	static const double etc_s[3][2] = {{100, 170}, {350, NAN}, {NAN, 40}};
	const uint32_t rows = shared && !real ? 0 : 3;
	const uint32_t count = shared ? 1 : 2;
	struct sched_system *system = sched_system_new(clusters, count, rows);

	system->shared = shared && !real;
	for (uint32_t row = 0; row < rows; row++) {
		system->row_names[row] = "type";
		for (uint32_t c = 0; c < count; c++) {
			system->etc_s[row * count + c] = shared ? 50 + 200 * row : etc_s[row][c];
			system->eec_j[row * count + c] = 100 + 30 * row;
			system->nodes[row * count + c] = shared ? 1 : row == 1 ? 3 : 1 + c;
		}
	}
	g_assert_cmpint(sched_system_finish(system, NULL), ==, SCHED_SYSTEM_OK);
	return system;
}

struct sched_task open_bed_draw_task(struct random_stream *random)
{
	const double most_s = 300 + 3000 * random_stream_uniform(random);

	return (struct sched_task){
		.row = (uint32_t)random_stream_below(random, 3),
		.utility = utility_testbed(1 + random_stream_uniform(random), most_s, 2 * most_s),
		.may_preempt = random_stream_below(random, 2),
		.preemptible = random_stream_below(random, 3),
		.demand = {.vms = 1 + (uint32_t)random_stream_below(random, 4),
			   .cpu = random_stream_below(random, 2) ? 1 : 0.25,
			   .memory = (1 + (double)random_stream_below(random, 6)) / 10},
	};
}

static struct open_bed *bed_of(struct engine_recorder *recorder)
{
	return (struct open_bed *)((char *)recorder - offsetof(struct open_bed, recorder));
}

static void put_on_nodes(struct open_bed *bed, const struct engine_task *task)
{
	const uint32_t index = task->task->id;

	for (uint32_t c = 0; c < 2; c++)
		for (uint32_t n = 0; n < OPEN_HOSTS; n++)
			if (bed->taken[c][n] == index + 1)
				bed->taken[c][n] = 0;
	if (!engine_task_state_in(task->state, ENGINE_TASK_ON_NODES | ENGINE_TASK_ANY_SUSPENDING))
		return;
	for (uint32_t i = 0; i < task->nodes_count; i++) {
		uint32_t *taken = &bed->taken[task->cluster][task->nodes[i]];

		g_assert_cmpuint(*taken, ==, 0);
		*taken = index + 1;
	}
}

static bool look_at_task(struct engine_recorder *recorder, const struct engine_task *task)
{
	struct open_bed *bed = bed_of(recorder);

	enum engine_task_state *state = &bed->states[task->task->id];
	const bool comes = *state != task->state && (task->state == ENGINE_TASK_STARTING ||
						     task->state == ENGINE_TASK_RESUMING);

	g_assert_false(engine_task_state_in(*state, ENGINE_TASK_OVER));
	*state = task->state;
	if (comes) {
		g_assert_false(bed->engine && engine_is_held(bed->engine, task->task->id));
		for (uint32_t i = 0; bed->engine && i < task->nodes_count; i++)
			g_assert_false(engine_drained(bed->engine, task->cluster, task->nodes[i]));
	}
	if (!bed->system->shared)
		put_on_nodes(bed, task);
	return true;
}

static bool look_at_event(struct engine_recorder *recorder, double time_s, const char *kind,
			  const char *detail)
{
	g_assert_true(isfinite(time_s));
	return true;
}

static bool is_listed(const struct sched_snapshot *snapshot, uint32_t cluster, uint32_t node)
{
	for (uint32_t i = 0; i < snapshot->down_count; i++)
		if (snapshot->down[i].cluster == cluster && snapshot->down[i].node == node)
			return true;
	return false;
}

/* What nothing can start on now is down for the policy. */
static bool look_at_decision(struct engine_recorder *recorder, const struct policy *policy,
			     const struct sched_snapshot *snapshot, const struct sched_plan *plan)
{
	struct open_bed *bed = bed_of(recorder);

	for (uint32_t c = 0; c < bed->system->clusters_count; c++)
		for (uint32_t n = 0; n < bed->system->clusters[c].nodes; n++) {
			const struct engine_node node = engine_node_at(bed->engine, c, n);
			const bool left = node.leaver != UINT32_MAX && node.task == UINT32_MAX;

			g_assert_true(is_listed(snapshot, c, n) ==
				      (node_state_is_drained(node.state) || left));
			bed->left += left;
		}
	return true;
}

static void submit_next(struct open_bed *bed)
{
	const uint32_t count = engine_tasks_count(bed->engine);

	g_assert_cmpuint(engine_submit(bed->engine, &bed->closed->tasks[count], false), ==, count);
}

static void do_something(struct open_bed *bed)
{
	struct engine *engine = bed->engine;
	const uint32_t count = engine_tasks_count(engine);
	const uint32_t task = (uint32_t)random_stream_below(&bed->random, count + 1);
	const uint32_t cluster =
		(uint32_t)random_stream_below(&bed->random, bed->system->clusters_count);
	const uint32_t node = (uint32_t)random_stream_below(&bed->random, OPEN_HOSTS + 1);
	const uint32_t node_hosts[] = {0, 1, 2, 3, 4};
	const uint64_t deed = random_stream_below(&bed->random, 16);
	uint32_t full;
	const bool held = random_stream_below(&bed->random, 4) == 0;
	const struct sched_task made = open_bed_draw_task(&bed->random);
	const char *answer = NULL;

	if (deed == 0)
		answer = engine_refusal_text(engine_request_cancel(engine, task));
	else if (deed == 1)
		answer = engine_refusal_text(engine_request_hold(engine, task));
	else if (deed == 2)
		answer = engine_refusal_text(engine_request_release(engine, task));
	else if (deed == 3)
		answer = engine_refusal_text(engine_request_suspend(engine, task));
	else if (deed == 4)
		answer = engine_refusal_text(engine_request_resume(engine, task));
	else if (deed == 5)
		answer = engine_refusal_text(engine_request_drain(engine, cluster, node, NULL));
	else if (deed == 6)
		answer = engine_refusal_text(engine_request_undrain(engine, cluster, node));
	else if (deed == 7 && bed->caller.stubborn)
		return; /* policies alone are to migrate */
	else if (deed == 7)
		answer = engine_refusal_text(
			engine_request_migrate(engine, task, &node, 1, node_hosts, &full));
	else if (count < OPEN_TASKS_MAX)
		g_assert_cmpuint(engine_submit(engine, &made, held), ==, count);
	if (deed < G_N_ELEMENTS(bed->deeds))
		bed->deeds[deed] += !answer;
	if (deed == 7 && !answer && bed->system->shared)
		/* yields are others now */
		g_assert_cmpfloat(engine_next_s(engine), ==, -INFINITY);
	for (uint32_t i = 0; i < engine_tasks_count(engine); i++) {
		const enum engine_task_state state = engine_task_at(engine, i)->state;

		if (state == ENGINE_TASK_COMING || engine_task_state_in(state, ENGINE_TASK_PENDING))
			g_assert_nonnull(engine_waits_because(engine, i));
		else if (!engine_task_state_in(state, ENGINE_TASK_ANY_SUSPENDED))
			g_assert_null(engine_waits_because(engine, i));
	}
}

static void call(void *data)
{
	struct open_bed *bed = data;

	if (bed->closed)
		submit_next(bed);
	else
		do_something(bed);
	engine_flush(bed->engine);
}

void open_bed_init(struct open_bed *bed, const char *policy, bool shared, uint64_t seed)
{
	char message[256];

	*bed = (struct open_bed){.recorder = {.task = look_at_task,
					      .event = look_at_event,
					      .decision = look_at_decision}};
	random_stream_init(&bed->random, seed, 5);
	bed->system = make_system(shared, false);
	bed->real = shared ? make_system(true, true) : bed->system;
	bed->workload = workload_open_new(OPEN_TASKS_MAX);
	bed->workload->seed = seed;
	bed->setup = (struct engine_setup){
		.system = bed->system,
		.workload = bed->workload,
		.open = bed->workload,
		.mapping_interval_s = INTERVAL_S,
		.duration_s = DURATION_S,
		.seed = seed,
		.recorder = &bed->recorder,
	};
	g_assert_cmpint(policy_parse(policy, &bed->setup.policy, message, sizeof(message)), ==, 0);
	bed->setup.moments =
		shared ? bed->setup.policy.ops->sharing->moments : (enum policy_moments)(seed % 3);
	bed->caller = (struct open_caller){
		.base.ops = &caller_ops,
		.sim = backend_sim_new(bed->real, OPEN_TASKS_MAX),
		.call = call,
		.data = bed,
	};
	bed->wait = open_caller_wait;
}

void open_bed_run(struct open_bed *bed)
{
	bed->engine = engine_new(&bed->setup, &bed->caller.base);
	drive(bed->engine, &bed->caller.base, bed->wait, &bed->result);
	g_assert_cmpstr(engine_reason(bed->engine), ==, NULL);
}

void open_bed_finish(struct open_bed *bed)
{
	engine_free(bed->engine);
	g_queue_clear_full(&bed->caller.moves, g_free);
	backend_destroy(bed->caller.sim);
	workload_free(bed->workload);
	if (bed->real != bed->system)
		sched_system_free(bed->real);
	sched_system_free(bed->system);
}
