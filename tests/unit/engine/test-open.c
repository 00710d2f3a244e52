/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Open workloads on the simulation: tasks that are submitted at their arrivals fare as those of a closed
 * workload, to the bit, and whatever people ask for, in whatever order, policies are never led to ask for
 * what cannot be, no task is lost or ends twice, and nothing starts on a drained node.
 */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "common/random.h"
#include "controller/backend/sim.h"
#include "controller/engine/state.h"

#define INTERVAL_S 60
#define DURATION_S 6000
#define TASKS_MAX 80
#define CALLS_MAX 160
#define HOSTS 5

/* A simulation in which a caller acts at certain times while the engine waits. */
struct caller {
	struct backend base;
	struct backend *sim;
	double calls_s[CALLS_MAX]; /* in order */
	uint32_t calls_count, called;
	void (*call)(void *data);
	void *data;
	bool woken;
	GQueue moves;    /* of struct backend_event: ends of migrations, in order of time */
	uint32_t moving; /* migrations so far: every third one fails */
	bool stubborn;   /* all fail */
	uint32_t tries[TASKS_MAX], attempts[TASKS_MAX]; /* migrations of the attempt */
};

static struct backend *sim_of(struct backend *backend)
{
	return ((struct caller *)backend)->sim;
}

static double caller_now_s(struct backend *backend)
{
	return backend_now_s(sim_of(backend));
}

static void caller_start(struct backend *backend, const struct backend_start *start)
{
	backend_start(sim_of(backend), start);
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
	struct caller *caller = (struct caller *)backend;
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

static void caller_wait(struct backend *backend, double until_s, struct backend_event *ret_event)
{
	struct caller *caller = (struct caller *)backend;
	const struct backend_event *move = g_queue_peek_head(&caller->moves);
	const double move_s = move ? move->time_s : (double)INFINITY;

	while (!caller->woken && caller->called < caller->calls_count &&
	       caller->calls_s[caller->called] <= fmin(until_s, move_s)) {
		backend_wait(caller->sim, caller->calls_s[caller->called], ret_event);
		if (ret_event->kind != BACKEND_EVENT_NONE)
			return;
		caller->called++;
		caller->call(caller->data);
		move = g_queue_peek_head(&caller->moves);
		if (caller->woken)
			break;
		if (move && move->time_s != move_s)
			return caller_wait(backend, until_s, ret_event);
	}
	if (!caller->woken && move_s <= until_s) {
		backend_wait(caller->sim, move_s, ret_event);
		if (ret_event->kind != BACKEND_EVENT_NONE)
			return;
		g_autofree struct backend_event *moved = g_queue_pop_head(&caller->moves);

		*ret_event = *moved;
		return;
	}
	if (caller->woken)
		*ret_event = (struct backend_event){ .time_s = backend_now_s(caller->sim) };
	else
		backend_wait(caller->sim, until_s, ret_event);
	caller->woken = false;
}

static void caller_wake(struct backend *backend)
{
	((struct caller *)backend)->woken = true;
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
	.wait = caller_wait,
	.wake = caller_wake,
};

/* Two clusters, a type that runs in both, one in each. Shared: HOSTS hosts, and how long tasks take there. */
static struct sched_system *make_system(bool shared, bool real)
{
	static const struct sched_cluster clusters[] = {
		{ .name = "c", .nodes = HOSTS, .cores = 4, .pstates = 1 },
		{ .name = "d", .nodes = 2, .cores = 4, .pstates = 1 },
	};
	static const double etc_s[3][2] = { { 100, 170 }, { 350, NAN }, { NAN, 40 } };
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

static struct sched_task draw_task(struct random_stream *random)
{
	const double most_s = 300 + 3000 * random_stream_uniform(random);

	return (struct sched_task){
		.row = (uint32_t)random_stream_below(random, 3),
		.utility = utility_testbed(1 + random_stream_uniform(random), most_s, 2 * most_s),
		.may_preempt = random_stream_below(random, 2),
		.preemptible = random_stream_below(random, 3),
		.demand = { .vms = 1 + (uint32_t)random_stream_below(random, 4),
			    .cpu = random_stream_below(random, 2) ? 1 : 0.25,
			    .memory = (1 + (double)random_stream_below(random, 6)) / 10 },
	};
}

/* What people do, and what may not come of it. */
struct bed {
	struct engine_recorder recorder;
	struct random_stream random;
	struct sched_system *system;
	struct sched_system *real; /* what the simulation knows */
	struct workload *workload; /* an open one */
	const struct workload *closed; /* submitted at its arrivals; NULL: what people do is drawn */
	struct engine_setup setup;
	struct caller caller;
	struct engine *engine;
	struct engine_result result;
	enum engine_task_state states[TASKS_MAX]; /* on record */
	uint32_t taken[2][HOSTS]; /* by which task, + 1 */
	uint32_t deeds[8];
	uint32_t left; /* nodes that were being left at mapping events */
	bool hasty;    /* the time may advance while a policy decides apart */
};

static struct bed *bed_of(struct engine_recorder *recorder)
{
	return (struct bed *)((char *)recorder - offsetof(struct bed, recorder));
}

static void put_on_nodes(struct bed *bed, const struct engine_task *task)
{
	const uint32_t index = task->task->id;

	for (uint32_t c = 0; c < 2; c++)
		for (uint32_t n = 0; n < HOSTS; n++)
			if (bed->taken[c][n] == index + 1)
				bed->taken[c][n] = 0;
	if (task->state < ENGINE_TASK_STARTING || task->state > ENGINE_TASK_MIGRATING ||
	    task->state == ENGINE_TASK_SUSPENDED)
		return;
	for (uint32_t i = 0; i < task->nodes_count; i++) {
		uint32_t *taken = &bed->taken[task->cluster][task->nodes[i]];

		g_assert_cmpuint(*taken, ==, 0);
		*taken = index + 1;
	}
}

static bool look_at_task(struct engine_recorder *recorder, const struct engine_task *task)
{
	struct bed *bed = bed_of(recorder);

	enum engine_task_state *state = &bed->states[task->task->id];
	const bool comes = *state != task->state && (task->state == ENGINE_TASK_STARTING ||
						     task->state == ENGINE_TASK_RESUMING);

	g_assert_cmpint(*state, <, ENGINE_TASK_COMPLETED);
	*state = task->state;
	if (comes) {
		g_assert_false(task->held);
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
	struct bed *bed = bed_of(recorder);

	for (uint32_t c = 0; c < bed->system->clusters_count; c++)
		for (uint32_t n = 0; n < bed->system->clusters[c].nodes; n++) {
			const struct engine_node node = engine_node(bed->engine, c, n);
			const bool left = node.leaver != UINT32_MAX && node.task == UINT32_MAX;

			g_assert_true(is_listed(snapshot, c, n) == (node.drained || left));
			bed->left += left;
		}
	return true;
}

static void submit_next(struct bed *bed)
{
	const uint32_t count = engine_tasks_count(bed->engine);

	g_assert_cmpuint(engine_submit(bed->engine, &bed->closed->tasks[count], false), ==, count);
}

static void do_something(struct bed *bed)
{
	struct engine *engine = bed->engine;
	const uint32_t count = engine_tasks_count(engine);
	const uint32_t task = (uint32_t)random_stream_below(&bed->random, count + 1);
	const uint32_t cluster = (uint32_t)random_stream_below(&bed->random,
							       bed->system->clusters_count);
	const uint32_t node = (uint32_t)random_stream_below(&bed->random, HOSTS + 1);
	const uint32_t node_hosts[] = { 0, 1, 2, 3, 4 };
	const uint64_t deed = random_stream_below(&bed->random, 16);
	uint32_t full;
	const bool held = random_stream_below(&bed->random, 4) == 0;
	const struct sched_task made = draw_task(&bed->random);
	const char *answer = NULL;

	if (deed == 0)
		answer = engine_request_cancel(engine, task);
	else if (deed == 1)
		answer = engine_request_hold(engine, task);
	else if (deed == 2)
		answer = engine_request_release(engine, task);
	else if (deed == 3)
		answer = engine_request_suspend(engine, task);
	else if (deed == 4)
		answer = engine_request_resume(engine, task);
	else if (deed == 5)
		answer = engine_request_drain(engine, cluster, node, NULL);
	else if (deed == 6)
		answer = engine_request_undrain(engine, cluster, node);
	else if (deed == 7 && bed->caller.stubborn)
		return; /* policies alone are to migrate */
	else if (deed == 7)
		answer = engine_request_migrate(engine, task, &node, 1, node_hosts, &full);
	else if (count < TASKS_MAX)
		g_assert_cmpuint(engine_submit(engine, &made, held), ==, count);
	if (deed < G_N_ELEMENTS(bed->deeds))
		bed->deeds[deed] += !answer;
	if (deed == 7 && !answer && bed->system->shared)
		g_assert_true(bed->caller.woken); /* yields are others now */
	for (uint32_t i = 0; i < engine_tasks_count(engine); i++) {
		const enum engine_task_state state = engine_task(engine, i)->state;

		if (state < ENGINE_TASK_STARTING)
			g_assert_nonnull(engine_waits_because(engine, i));
		else if (state != ENGINE_TASK_SUSPENDED)
			g_assert_null(engine_waits_because(engine, i));
	}
}

static void call(void *data)
{
	struct bed *bed = data;

	if (bed->closed)
		submit_next(bed);
	else
		do_something(bed);
	engine_flush(bed->engine);
}

static void draw_times(struct random_stream *random, double *ret_times_s, uint32_t count)
{
	double time_s = 0;

	for (uint32_t i = 0; i < count; i++)
		ret_times_s[i] = time_s += 60 * random_stream_uniform(random);
}

static void bed_init(struct bed *bed, const char *policy, bool shared, uint64_t seed)
{
	char message[256];

	*bed = (struct bed){ .recorder = { .task = look_at_task, .event = look_at_event,
					     .decision = look_at_decision } };
	random_stream_init(&bed->random, seed, 5);
	bed->system = make_system(shared, false);
	bed->real = shared ? make_system(true, true) : bed->system;
	bed->workload = workload_open_new(TASKS_MAX);
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
	bed->setup.moments = shared ? bed->setup.policy.ops->moments : (enum policy_moments)(seed % 3);
	bed->caller = (struct caller){
		.base.ops = &caller_ops,
		.sim = backend_sim_new(bed->real, TASKS_MAX),
		.call = call,
		.data = bed,
	};
}

static void bed_run(struct bed *bed)
{
	bed->engine = engine_new(&bed->setup, &bed->caller.base);
	engine_run(bed->engine, &bed->result);
	g_assert_cmpstr(engine_reason(bed->engine), ==, NULL);
}

static void bed_finish(struct bed *bed)
{
	engine_free(bed->engine);
	g_queue_clear_full(&bed->caller.moves, g_free);
	backend_destroy(bed->caller.sim);
	workload_free(bed->workload);
	if (bed->real != bed->system)
		sched_system_free(bed->real);
	sched_system_free(bed->system);
}

static const char *const policies[] = {
	"fcfs", "easy", "conservative", "random", "max-util", "max-upt", "max-upr", "max-upe",
	"max-util-preempt-greedy", "max-util-preempt-diff", "max-upt-preempt-pair",
};

static const char *const sharing[] = {
	"greedy", "greedy-pmtn", "greedy-pmtn-migr", "dynmcb8", "dynmcb8-per", "dynmcb8-asap-per",
	"dynmcb8-stretch-per",
};

static void assert_same(double one, double other)
{
	g_assert_cmpint(memcmp(&one, &other, sizeof(one)), ==, 0);
}

/* The tasks of a closed workload. */
static void draw_closed(struct workload *workload, uint64_t seed)
{
	struct random_stream random;
	double times_s[TASKS_MAX];

	random_stream_init(&random, seed, 6);
	draw_times(&random, times_s, TASKS_MAX);
	for (uint32_t i = 0; i < TASKS_MAX; i++) {
		workload->tasks[i] = draw_task(&random);
		workload->tasks[i].id = i;
		workload->tasks[i].arrival_s = times_s[i];
	}
	workload->tasks_count = TASKS_MAX;
}

/* While it is decided apart the time stands still, or at times advances. */
static void apart_wait(struct backend *backend, double until_s, struct backend_event *ret_event)
{
	struct caller *caller = (struct caller *)backend;
	struct bed *bed = caller->data;

	if (bed->engine->decider && async_decider_is_busy(bed->engine->decider) &&
	    (!bed->hasty || random_stream_below(&bed->random, 2) == 0))
		while (!caller->woken)
			g_main_context_iteration(NULL, TRUE);
	caller_wait(backend, until_s, ret_event);
}

static const struct backend_ops *apart_ops(struct backend_ops *room)
{
	*room = caller_ops;
	room->wait = apart_wait;
	return room;
}

static void check_same(const char *policy, bool shared, bool apart, uint64_t seed)
{
	struct backend_ops ops;
	struct bed closed, open;

	bed_init(&closed, policy, shared, seed);
	bed_init(&open, policy, shared, seed);
	draw_closed(closed.workload, seed);
	closed.workload->tasks_max = 0;
	closed.setup.open = NULL;
	open.closed = closed.workload;
	open.setup.apart = apart;
	open.caller.base.ops = apart_ops(&ops);
	open.caller.calls_count = TASKS_MAX;
	for (uint32_t i = 0; i < TASKS_MAX; i++)
		open.caller.calls_s[i] = closed.workload->tasks[i].arrival_s;
	bed_run(&closed);
	bed_run(&open);
	g_assert_cmpint(open.result.ended_by, ==, ENGINE_END_TIME);
	g_assert_cmpuint(open.result.tasks_completed, ==, closed.result.tasks_completed);
	g_assert_cmpuint(closed.result.tasks_completed, >, 0);
	assert_same(open.result.utility, closed.result.utility);
	/* The simulation adds its energy up piece by piece, and a call splits one piece in two. */
	g_assert_cmpfloat_with_epsilon(open.result.energy_j, closed.result.energy_j,
				       1e-9 * closed.result.energy_j);
	for (uint32_t i = 0; i < TASKS_MAX; i++) {
		const struct engine_task *a = engine_task(closed.engine, i);
		const struct engine_task *b = engine_task(open.engine, i);

		assert_same(a->task->arrival_s, b->task->arrival_s);
		g_assert_cmpint(a->state, ==, b->state);
		assert_same(a->started_s, b->started_s);
		assert_same(a->ended_s, b->ended_s);
		assert_same(a->exec_s, b->exec_s);
	}
	bed_finish(&closed);
	bed_finish(&open);
}

static void test_same(void)
{
	for (uint64_t seed = 0; seed < 3; seed++) {
		for (size_t i = 0; i < G_N_ELEMENTS(policies); i++)
			check_same(policies[i], false, false, seed);
		for (size_t i = 0; i < G_N_ELEMENTS(sharing); i++)
			check_same(sharing[i], true, false, seed);
	}
}

/* Where nothing happens meanwhile. */
static void test_same_apart(void)
{
	for (uint64_t seed = 0; seed < 3; seed++)
		for (size_t i = 0; i < G_N_ELEMENTS(policies); i++)
			check_same(policies[i], false, true, seed);
}

/* Every task is somewhere, and the nodes say the same as the tasks. */
static void check_end(const struct bed *bed)
{
	const struct engine_result *result = &bed->result;
	uint32_t unfinished = 0;

	for (uint32_t i = 0; i < engine_tasks_count(bed->engine); i++) {
		g_assert_cmpint(engine_task(bed->engine, i)->state, >=, ENGINE_TASK_COMPLETED);
		unfinished += engine_task(bed->engine, i)->state == ENGINE_TASK_UNFINISHED;
	}
	g_assert_cmpuint(result->tasks_arrived, ==, engine_tasks_count(bed->engine));
	g_assert_cmpuint(result->tasks_arrived, ==,
			 result->tasks_completed + result->tasks_failed + result->tasks_dropped +
				 unfinished);
	g_assert_cmpint(result->ended_by, ==, ENGINE_END_TIME);
}

static void wish_anything(const char *policy, bool shared, uint64_t seed, bool stubborn,
			  uint32_t *deeds)
{
	static const struct backend_overhead samples[] = { { 3, 20, 5, 2, 1 }, { 0, 0, 0, 0, 0 } };
	static const struct backend_overhead *const clusters[] = { samples, samples };
	static const uint32_t counts[] = { 2, 2 };
	struct bed bed;

	bed_init(&bed, policy, shared, seed);
	draw_times(&bed.random, bed.caller.calls_s, CALLS_MAX);
	bed.caller.calls_count = CALLS_MAX;
	bed.caller.stubborn = stubborn;
	bed.setup.changes_apart_s = shared ? 0 : (double)(seed % 4); /* served ones do not share */
	backend_sim_set_overheads(bed.caller.sim, &(struct backend_sim_overheads){
		.samples = clusters, .counts = counts, .seed = seed });
	bed_run(&bed);
	check_end(&bed);
	for (size_t i = 0; i < G_N_ELEMENTS(bed.deeds); i++)
		deeds[i] += bed.deeds[i];
	deeds[G_N_ELEMENTS(bed.deeds)] += bed.left;
	for (uint32_t i = 0; stubborn && i < TASKS_MAX; i++) {
		g_assert_cmpuint(bed.caller.tries[i], <=, 3);
		deeds[G_N_ELEMENTS(bed.deeds) + 1] += bed.caller.tries[i] == 3;
	}
	bed_finish(&bed);
}

static void test_anything(void)
{
	/* And nodes that were being left, and tasks that did not let themselves be migrated. */
	uint32_t deeds[G_N_ELEMENTS(((struct bed *)NULL)->deeds) + 2] = { 0 };

	for (uint64_t seed = 0; seed < 20; seed++) {
		for (size_t i = 0; i < G_N_ELEMENTS(policies); i++)
			wish_anything(policies[i], false, seed, false, deeds);
		for (size_t i = 0; i < G_N_ELEMENTS(sharing); i++)
			wish_anything(sharing[i], true, seed, seed % 2, deeds);
	}
	for (size_t i = 0; i < G_N_ELEMENTS(deeds); i++)
		g_assert_cmpuint(deeds[i], >, 10); /* all were done, many times */
}

/* Whatever happens meanwhile: what it leads to depends on which thread is the faster one. */
static void test_anything_apart(void)
{
	for (uint64_t seed = 0; seed < 44; seed++) {
		struct backend_ops ops;
		struct bed bed;

		bed_init(&bed, policies[seed % G_N_ELEMENTS(policies)], false, seed);
		draw_times(&bed.random, bed.caller.calls_s, CALLS_MAX);
		bed.caller.calls_count = CALLS_MAX;
		bed.caller.base.ops = apart_ops(&ops);
		bed.recorder.decision = NULL; /* nodes may have come and gone since */
		bed.setup.changes_apart_s = 1;
		bed.setup.apart = bed.hasty = true;
		bed_run(&bed);
		check_end(&bed);
		bed_finish(&bed);
	}
}

/* A queue in which nothing moves is not recorded again and again. */
struct still {
	struct engine_recorder recorder;
	uint32_t decisions;
	double last_s;
};

static bool count_decision(struct engine_recorder *recorder, const struct policy *policy,
			   const struct sched_snapshot *snapshot, const struct sched_plan *plan)
{
	struct still *still = (struct still *)recorder;

	still->decisions++;
	still->last_s = snapshot->now_s;
	return true;
}

static void drain_all(struct bed *bed)
{
	for (uint32_t c = 0; c < 2; c++)
		for (uint32_t n = 0; n < bed->system->clusters[c].nodes; n++)
			g_assert_null(engine_request_drain(bed->engine, c, n, NULL));
}

/* Nodes are closed, tasks come, which wait; then one node opens. */
static void call_still(void *data)
{
	const struct sched_task task = { .row = 0, .utility = utility_testbed(1, 1e5, 2e5) };
	struct bed *bed = data;

	if (bed->caller.called == 1)
		drain_all(bed);
	else if (bed->caller.called < bed->caller.calls_count)
		engine_submit(bed->engine, &task, false);
	else
		g_assert_null(engine_request_undrain(bed->engine, 0, 0));
}

static void check_still(const char *policy, uint32_t recorded)
{
	struct still still = { .recorder = { .decision = count_decision } };
	struct bed bed;

	bed_init(&bed, policy, false, 1);
	bed.setup.recorder = &still.recorder;
	bed.setup.record_changes = true;
	bed.setup.moments = POLICY_AT_BOTH;
	bed.caller.call = call_still;
	bed.caller.calls_count = 6;
	for (uint32_t i = 0; i < 6; i++)
		bed.caller.calls_s[i] = i < 5 ? 10 + i : 3010;
	bed_run(&bed);
	g_assert_cmpuint(bed.result.decisions, >, 60);
	g_assert_cmpuint(still.decisions, ==, recorded);
	g_assert_cmpfloat(still.last_s, >, 3010);
	bed_finish(&bed);
}

/* Tasks wait from 11 s on; one starts at 3010 s, when places are promised to the others, one by one. */
static void test_still(void)
{
	check_still("fcfs", 5);
	check_still("max-util", 5);
}

static void call_apart(void *data)
{
	const struct sched_task task = { .row = 0, .utility = utility_testbed(1, 1e5, 2e5) };
	struct bed *bed = data;

	engine_submit(bed->engine, &task, false);
}

/* A task that arrives alone is considered at once; tasks that arrive close behind it, together a second later. */
static void test_apart(void)
{
	static const double calls_s[] = { 10, 10.25, 10.5, 10.75, 13, 13.5 };
	static const double starts_s[] = { 10, 11, 11, 11, 13, 14 };
	struct bed bed;

	bed_init(&bed, "fcfs", false, 1);
	bed.setup.moments = POLICY_AT_BOTH;
	bed.setup.changes_apart_s = 1;
	bed.caller.call = call_apart;
	bed.caller.calls_count = G_N_ELEMENTS(calls_s);
	memcpy(bed.caller.calls_s, calls_s, sizeof(calls_s));
	bed_run(&bed);
	g_assert_cmpuint(bed.result.tasks_completed, ==, G_N_ELEMENTS(calls_s));
	for (uint32_t i = 0; i < G_N_ELEMENTS(calls_s); i++)
		g_assert_cmpfloat(engine_task(bed.engine, i)->started_s, ==, starts_s[i]);
	g_assert_cmpuint(bed.result.decisions, ==, 4);
	bed_finish(&bed);
}

/* The task that runs is lost now. */
static void call_loss(void *data)
{
	struct bed *bed = data;

	g_assert_cmpint(engine_task(bed->engine, 0)->state, >=, ENGINE_TASK_STARTING);
	backend_kill(bed->caller.sim, 0, engine_task(bed->engine, 0)->attempts);
}

static void losing_wait(struct backend *backend, double until_s, struct backend_event *ret_event)
{
	caller_wait(backend, until_s, ret_event);
	if (ret_event->kind == BACKEND_EVENT_ENDED)
		ret_event->outcome = BACKEND_OUTCOME_LOST;
}

/* It was started `before` times before the run was resumed, and is lost three times more. */
static void check_losses(uint32_t before)
{
	const struct engine_task waiting = {
		.state = ENGINE_TASK_WAITING,
		.attempts = before,
		.planned_start_s = (double)NAN,
		.started_s = (double)NAN,
		.ended_s = (double)NAN,
	};
	struct backend_ops losing_ops = caller_ops;
	struct bed bed;

	bed_init(&bed, "fcfs", false, 1);
	losing_ops.wait = losing_wait;
	bed.caller.base.ops = &losing_ops;
	bed.setup.moments = POLICY_AT_BOTH;
	bed.workload->tasks[0] = (struct sched_task){ .utility = utility_testbed(1, 1e5, 2e5) };
	bed.workload->tasks_count = 1;
	bed.caller.call = call_loss;
	bed.caller.calls_count = 3;
	for (uint32_t i = 0; i < 3; i++)
		bed.caller.calls_s[i] = 70 + 20 * i;
	bed.engine = engine_new(&bed.setup, &bed.caller.base);
	g_assert_true(engine_restore_task(bed.engine, 0, &waiting));
	engine_run(bed.engine, &bed.result);
	g_assert_cmpuint(engine_task(bed.engine, 0)->attempts, ==, before + 3);
	g_assert_cmpint(engine_task(bed.engine, 0)->state, ==, ENGINE_TASK_FAILED);
	bed_finish(&bed);
}

static void test_losses(void)
{
	check_losses(0);
	check_losses(2);
	check_losses(7);
}

/* The attempts that were lost, as they are recorded. */
struct losses {
	struct engine_recorder recorder; /* first: callbacks cast back */
	struct {
		uint32_t attempt;
		double started_s, ended_s;
	} rows[3];
	uint32_t count;
};

static bool note_lost(struct engine_recorder *base, const struct engine_task *task, double ended_s,
		      const char *reason)
{
	struct losses *losses = (struct losses *)base;

	g_assert_cmpuint(losses->count, <, G_N_ELEMENTS(losses->rows));
	g_assert_cmpuint(task->nodes_count, >, 0);
	losses->rows[losses->count].attempt = task->attempts;
	losses->rows[losses->count].started_s = task->started_s;
	losses->rows[losses->count].ended_s = ended_s;
	losses->count++;
	return true;
}

/* Put back from what is on record of it, it has waited as long. */
static void assert_restored(const struct bed *bed, const struct losses *losses)
{
	const struct engine_task *was = engine_task(bed->engine, 0);
	struct engine *engine = engine_new(&bed->setup, (struct backend *)&bed->caller.base);
	const struct engine_task *task;

	g_assert_true(engine_restore_task(engine, 0, was));
	for (uint32_t i = losses->count; i-- > 0;)
		engine_restore_lost(engine, 0, losses->rows[i].attempt, losses->rows[i].started_s,
				    losses->rows[i].ended_s);
	task = engine_task(engine, 0);
	g_assert_cmpfloat_with_epsilon(task->waited_s, was->waited_s, 1e-9);
	g_assert_true(isnan(task->waits_since_s));
	engine_free(engine);
}

/* What a task waits is that before all of its attempts, and none of the time that one of them took. */
static void test_waiting(void)
{
	struct losses losses = { .recorder.lost = note_lost };
	struct backend_ops losing_ops = caller_ops;
	double out_s = 0;
	const struct engine_task *task;
	struct bed bed;

	bed_init(&bed, "fcfs", false, 1);
	losing_ops.wait = losing_wait;
	bed.caller.base.ops = &losing_ops;
	bed.setup.recorder = &losses.recorder;
	bed.setup.moments = POLICY_AT_PERIODS;
	bed.workload->tasks[0] = (struct sched_task){ .arrival_s = 65, .utility = utility_testbed(1, 1e5, 2e5) };
	bed.workload->tasks_count = 1;
	bed.caller.call = call_loss;
	bed.caller.calls_count = 3;
	for (uint32_t i = 0; i < 3; i++)
		bed.caller.calls_s[i] = 130 + 60 * i;
	bed_run(&bed);
	task = engine_task(bed.engine, 0);
	g_assert_cmpint(task->state, ==, ENGINE_TASK_FAILED);
	g_assert_cmpuint(losses.count, ==, 2); /* the last one is the task's own */
	for (uint32_t i = 0; i < 2; i++) {
		g_assert_cmpuint(losses.rows[i].attempt, ==, i + 1);
		g_assert_cmpfloat(losses.rows[i].ended_s, ==, bed.caller.calls_s[i]);
		out_s += losses.rows[i].ended_s - losses.rows[i].started_s;
	}
	g_assert_cmpfloat_with_epsilon(task->waited_s, task->started_s - 65 - out_s, 1e-9);
	g_assert_cmpfloat_with_epsilon(task->waited_s, (120 - 65) + (180 - 130) + (240 - 190), 1e-9);
	g_assert_true(isnan(task->waits_since_s));
	assert_restored(&bed, &losses);
	bed_finish(&bed);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/engine/open/submitted tasks fare as those of a closed workload", test_same);
	g_test_add_func("/engine/open/people may ask for anything at any time", test_anything);
	g_test_add_func("/engine/open/a policy decides the same on a thread of its own", test_same_apart);
	g_test_add_func("/engine/open/people may ask for anything while it is decided",
			test_anything_apart);
	g_test_add_func("/engine/open/many submissions are one change", test_apart);
	g_test_add_func("/engine/open/starts before the run was resumed do not count", test_losses);
	g_test_add_func("/engine/open/what a task waits is that of all attempts", test_waiting);
	g_test_add_func("/engine/open/a queue that stands still is recorded once", test_still);
	return g_test_run();
}
