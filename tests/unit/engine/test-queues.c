/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs on machines with queues (Gentry 2019), simulated: what the engine owes to tasks and
 * machines.
 */
#include <glib.h>
#include <math.h>

#include "controller/backend/sim.h"
#include "controller/engine/engine.h"
#include "controller/experiment/robustness.h"
#include "controller/experiment/simulation.h"
#include "controller/sched/queueing.h"
#include "controller/workload/pruning.h"
#include "tests/oracle/pruning_system.h"

#define TASKS 240
#define NEVER_S 1e9

static const struct sched_pruning usual = {
	.drop_threshold = 0.5,
	.defer_threshold = 0.9,
	.adjustment = 0.5,
	.recency = 0.9,
	.toggle = 1,
	.separation = 0.2,
	.fairness = 0.05,
	.cull_threshold = 0.3,
};

/* A platform whose threads have decided at once, and say so when the test wants them to. */
struct thinking {
	struct platform platform; /* first */
	platform_work_f done;     /* of the decision that was not told; NULL: none */
	void *data;
	struct policy_outside outside;
	struct policy own;  /* what the policy from outside decides */
	uint32_t meanwhile; /* ends of tasks that were handled while it decided */
	uint32_t missed;    /* of all snapshots */
};

static int64_t stand_still(const struct platform *platform)
{
	return 1;
}

static struct platform_job *think(const struct platform *base, const char *name, bool needed,
				  platform_work_f work, platform_work_f done, void *data)
{
	struct thinking *thinking = (struct thinking *)base;

	work(data);
	thinking->done = done;
	thinking->data = data;
	return (struct platform_job *)thinking;
}

static void forget(struct platform_job *job)
{
	((struct thinking *)(void *)job)->done = NULL;
}

static int decide_as_own(struct policy_outside *outside, const struct policy *policy,
			 const struct sched_snapshot *snapshot, struct policy_context *context,
			 struct sched_plan *ret_plan)
{
	struct thinking *thinking =
		(struct thinking *)((char *)outside - offsetof(struct thinking, outside));

	thinking->missed += snapshot->missed;
	return policy_decide(&thinking->own, snapshot, context, ret_plan);
}

static void tell(struct thinking *thinking)
{
	const platform_work_f done = g_steal_pointer(&thinking->done);

	if (done)
		done(thinking->data);
}

/* Runs the engine to its end; each decision takes 20 s. */
static void run_thinking(struct thinking *thinking, struct engine *engine, struct backend *sim,
			 struct engine_result *ret_result)
{
	double told_s = INFINITY;

	engine_begin_run(engine);
	while (!engine_has_ended(engine)) {
		const double now_s = backend_now_s(sim);
		const double next_s = engine_next_s(engine);
		const double until_s = fmin(next_s > -INFINITY ? next_s : now_s, told_s);
		struct backend_event event;

		backend_sim_wait(sim, until_s, &event);
		thinking->meanwhile += thinking->done && event.kind == BACKEND_EVENT_ENDED;
		if (backend_now_s(sim) >= told_s)
			tell(thinking);
		engine_event(engine, &event);
		if (!thinking->done)
			told_s = INFINITY;
		else if (told_s == INFINITY)
			told_s = backend_now_s(sim) + 20;
	}
	engine_stop_run(engine);
	engine_finish_run(engine, ret_result);
}

/* Looks on; first member of its kind. */
struct watch {
	struct engine_recorder recorder;
	const struct sched_system *system;
	struct sched_pruner pruner; /* of the plan before */
	bool evicts;
	uint64_t executing;      /* machines that execute, as bits */
	uint32_t enqueued;       /* tasks so far */
	uint32_t order[TASKS];   /* per task: how many were before it */
	uint32_t machine[TASKS]; /* per task: whose queue it was put in */
	uint32_t decisions;
	uint32_t pruned;
	uint32_t evicted;
	double busy_s;
};

static void watch_queue(const struct watch *watch, const struct sched_snapshot *snapshot,
			uint32_t machine)
{
	const struct sched_queue *queue = &snapshot->queues[machine];

	g_assert_cmpuint(queue->count, <=, watch->system->queueing->length);
	/* Machines do not idle over queued tasks, but for the instant at which one left. */
	if (queue->executes)
		g_assert_cmpfloat(queue->start_s, <=, snapshot->now_s);
	if (queue->executes && watch->evicts)
		g_assert_cmpfloat(queue->tasks[0]->deadline_s, >=, snapshot->now_s);
	for (uint32_t i = 0; i < queue->count; i++) {
		const uint32_t task = queue->tasks[i]->id;

		g_assert_cmpuint(watch->machine[task], ==, machine);
		if (i > 0)
			g_assert_cmpuint(watch->order[queue->tasks[i - 1]->id], <,
					 watch->order[task]);
		for (uint32_t j = 0; j < snapshot->waiting_count; j++)
			g_assert_cmpuint(snapshot->waiting[j]->id, !=, task);
	}
}

static bool watch_decision(struct engine_recorder *recorder, const struct policy *policy,
			   const struct sched_snapshot *snapshot, const struct sched_plan *plan)
{
	struct watch *watch = (struct watch *)recorder;

	watch->decisions++;
	g_assert_cmpfloat(snapshot->pruner.level, ==, watch->pruner.level);
	g_assert_cmpint(snapshot->pruner.dropping, ==, watch->pruner.dropping);
	watch->pruner = plan->pruner;
	for (uint32_t m = 0; m < watch->system->clusters_count; m++)
		watch_queue(watch, snapshot, m);
	for (uint32_t i = 0; i < plan->actions_count; i++) {
		const struct sched_action *action = &plan->actions[i];

		watch->pruned += action->reason == SCHED_REASON_PRUNED;
		if (action->kind != SCHED_ACTION_ENQUEUE)
			continue;
		watch->order[action->task] = watch->enqueued++;
		watch->machine[action->task] = action->cluster;
	}
	for (uint32_t row = 0; row < watch->system->rows_count; row++) {
		g_assert_cmpfloat(snapshot->sufferage[row], >=, 0);
		g_assert_cmpfloat(snapshot->sufferage[row], <=, 1);
	}
	return true;
}

/* A machine executes one task at a time, in the order of its queue. */
static bool watch_task(struct engine_recorder *recorder, const struct engine_task *task)
{
	struct watch *watch = (struct watch *)recorder;
	const uint64_t bit = UINT64_C(1) << task->cluster;

	if (task->state == ENGINE_TASK_STARTING) {
		g_assert_false(watch->executing & bit);
		watch->executing |= bit;
		g_assert_cmpfloat(task->started_s, <, task->task->deadline_s);
	} else if (task->state == ENGINE_TASK_DROPPED && isfinite(task->energy_j)) {
		return true; /* told again when its machine is free */
	} else if (engine_task_over(task) && task->attempts > 0) {
		g_assert_true(watch->executing & bit);
		watch->executing &= ~bit;
		watch->busy_s += task->exec_s;
		g_assert_cmpfloat_with_epsilon(task->exec_s, task->ended_s - task->started_s, 1e-6);
		watch->evicted += task->state == ENGINE_TASK_DROPPED;
	}
	return true;
}

struct outcome {
	struct engine_result result;
	struct watch watch;
	uint32_t on_time;
	uint32_t late;
	double ends; /* a sum that tells runs apart */
};

static struct outcome run(const char *name, const struct sched_system *system,
			  const struct workload *workload)
{
	struct outcome outcome = {
		.watch =
			{
				.recorder = {.decision = watch_decision, .task = watch_task},
				.system = system,
			},
	};
	struct engine_setup setup = {
		.system = system,
		.workload = workload,
		.mapping_interval_s = NEVER_S,
		.duration_s = NEVER_S,
		.moments = POLICY_AT_CHANGES,
		.recorder = &outcome.watch.recorder,
	};
	struct backend *backend = backend_sim_new(system, workload->tasks_count);
	struct engine *engine;
	char message[256];

	g_assert_cmpint(policy_parse(name, &setup.policy, message, sizeof(message)), ==, 0);
	outcome.watch.evicts = queueing_evicts(&setup.policy, system);
	backend_sim_set_exec_seed(backend, 1, 1);
	engine = engine_new(&setup, backend);
	simulation_run(engine, backend, &outcome.result);
	g_assert_cmpstr(engine_reason(engine), ==, NULL);
	g_assert_cmpint(outcome.result.ended_by, ==, ENGINE_END_DONE);
	for (uint32_t i = 0; i < workload->tasks_count; i++) {
		const struct engine_task *task = engine_task_at(engine, i);
		const bool completed = task->state == ENGINE_TASK_COMPLETED;
		const bool on_time = completed && task->ended_s <= task->task->deadline_s;

		g_assert_true(completed || task->state == ENGINE_TASK_DROPPED);
		g_assert_cmpfloat(task->utility, ==, on_time ? 1 : 0);
		g_assert_true(on_time || !completed || !outcome.watch.evicts);
		outcome.on_time += on_time;
		outcome.late += completed && !on_time;
		outcome.ends += task->ended_s * (i + 1);
	}
	engine_free(engine);
	backend_destroy(backend);
	return outcome;
}

struct bed {
	struct pet *pet;
	struct sched_queueing settings;
	struct sched_system *system;
	struct workload *workload;
};

static void bed_init(struct bed *bed, double span, double slack)
{
	const struct pruning_load load = {TASKS, span, 0.1, slack};

	bed->pet = pruning_pet_new(4, 1);
	bed->settings = (struct sched_queueing){bed->pet, 1, 6, usual};
	bed->system = pruning_system_new(&bed->settings);
	bed->workload = pruning_workload_new(bed->pet, &load, 1, 1, 1);
}

static void bed_finish(struct bed *bed)
{
	workload_free(bed->workload);
	sched_system_free(bed->system);
	pet_free(bed->pet);
}

static void test_run(gconstpointer name)
{
	struct outcome first, second;
	struct bed bed;

	bed_init(&bed, 1500, 1.5);
	first = run(name, bed.system, bed.workload);
	second = run(name, bed.system, bed.workload);
	g_assert_cmpuint(first.result.tasks_arrived, ==, TASKS);
	g_assert_cmpuint(first.result.tasks_completed + first.result.tasks_dropped, ==, TASKS);
	g_assert_cmpfloat(first.result.utility, ==, first.on_time);
	g_assert_cmpuint(first.watch.decisions, >=, TASKS);
	g_assert_cmpuint(first.on_time, >, 0);
	g_assert_true((first.watch.pruned > 0) == first.watch.evicts);
	g_assert_true(first.late > 0 || first.watch.evicts);
	g_assert_cmpuint(first.watch.executing, ==, 0);
	g_assert_cmpfloat(first.ends, ==, second.ends);
	g_assert_cmpfloat(first.watch.busy_s, ==, second.watch.busy_s);
	bed_finish(&bed);
}

/* Baselines that evict have no task end late, and machines are busy for less. */
static void test_evicting_baselines(void)
{
	struct outcome lenient, strict;
	struct bed bed;

	bed_init(&bed, 1500, 1.5);
	lenient = run("mm", bed.system, bed.workload);
	bed.settings.pruning.evicting_baselines = true;
	strict = run("mm", bed.system, bed.workload);
	g_assert_cmpuint(lenient.late, >, 0);
	g_assert_cmpuint(strict.late, ==, 0);
	g_assert_cmpuint(strict.watch.evicted, >, 0);
	g_assert_cmpuint(lenient.watch.evicted, ==, 0);
	bed_finish(&bed);
}

/* With time to spare everything is on time, and nothing is pruned. */
static void test_idle(gconstpointer name)
{
	struct outcome outcome;
	struct bed bed;

	bed_init(&bed, 60000, 20);
	outcome = run(name, bed.system, bed.workload);
	g_assert_cmpuint(outcome.on_time, ==, TASKS);
	g_assert_cmpuint(outcome.watch.pruned, ==, 0);
	bed_finish(&bed);
}

/*
 * A policy from outside decides beside the run: tasks end meanwhile, and none of what they missed is
 * lost.
 */
static void test_apart(void)
{
	static const struct platform_clock clock = {.now_ns = stand_still,
						    .thread_ns = stand_still};
	static const struct platform_threads threads = {.run = think, .wait = forget};
	struct thinking thinking = {.platform = {.clock = &clock, .threads = &threads},
				    .outside = {.decide = decide_as_own}};
	struct engine_setup setup = {
		.mapping_interval_s = NEVER_S,
		.duration_s = NEVER_S,
		.moments = POLICY_AT_CHANGES,
		.apart = true,
		.outside = &thinking.outside,
		.platform = &thinking.platform,
	};
	struct engine_result result;
	struct backend *backend;
	struct engine *engine;
	struct bed bed;
	uint32_t late = 0;

	bed_init(&bed, 1500, 1.5);
	setup.system = bed.system;
	setup.workload = bed.workload;
	g_assert_cmpint(policy_parse("exec:outside", &setup.policy, NULL, 0), ==, 0);
	g_assert_cmpint(policy_parse("mm", &thinking.own, NULL, 0), ==, 0);
	backend = backend_sim_new(bed.system, TASKS);
	backend_sim_set_exec_seed(backend, 1, 1);
	engine = engine_new(&setup, backend);
	run_thinking(&thinking, engine, backend, &result);
	g_assert_cmpstr(engine_reason(engine), ==, NULL);
	g_assert_cmpint(result.ended_by, ==, ENGINE_END_DONE);
	for (uint32_t i = 0; i < TASKS; i++) {
		const struct engine_task *task = engine_task_at(engine, i);

		g_assert_true(engine_task_over(task));
		late += task->state == ENGINE_TASK_COMPLETED && !engine_on_time(engine, i);
	}
	g_assert_cmpuint(result.tasks_completed, >, 0);
	g_assert_cmpuint(thinking.meanwhile, >, 0);
	g_assert_cmpuint(late, >, 0);
	/* The last one may be later than the last decision. */
	g_assert_cmpuint(late - thinking.missed, <=, 2);
	engine_free(engine);
	backend_destroy(backend);
	bed_finish(&bed);
}

#define HAND_TASKS 5

/* Execution times of one bin each: x 10 and y 20 on both machines. */
static struct pet *hand_pet(void)
{
	struct pet *pet = pet_new(2, 2);
	struct pmf pmf = {0};

	for (uint32_t type = 0; type < 2; type++)
		for (uint32_t m = 0; m < 2; m++) {
			g_assert_cmpint(pmf_point(&pmf, 10 * (type + 1)), ==, PMF_OK);
			g_assert_cmpint(pet_set(pet, type, m, &pmf), ==, PMF_OK);
		}
	pmf_finish(&pmf);
	return pet;
}

/*
 * Of five tasks that arrive at 0 under MM three go to machine a: x from 0 to 10, x from 10 to 20, y
 * from 20 to 40; two to b: x from 0 to 10, y from 10, late at its deadline 25 and taken off. The
 * order in which they leave: 0, 1 (10), 2 (20), 3 (25), 4 (40); without the first and the last 1, 2
 * and 3 count.
 */
static void test_robustness_by_hand(void)
{
	static const struct sched_cluster machines[] = {
		{.name = "a", .nodes = 1, .cores = 1, .pstates = 1},
		{.name = "b", .nodes = 1, .cores = 1, .pstates = 1},
	};
	static const char *const types[] = {"x", "y"};
	const double prices[] = {3600, 7200};
	struct pet *pet = hand_pet();
	struct sched_queueing settings = {pet, 1, 6, usual};
	struct sched_system *system = pruning_system_of(&settings, machines, types);
	struct sched_task tasks[HAND_TASKS] = {
		pruning_task(0, 0, 90, 1), pruning_task(0, 0, 91, 1), pruning_task(0, 0, 92, 1),
		pruning_task(1, 0, 25, 1), pruning_task(1, 0, 93, 1),
	};
	const struct workload workload = {.tasks_count = HAND_TASKS, .tasks = tasks};
	struct engine_setup setup = {
		.system = system,
		.workload = &workload,
		.mapping_interval_s = NEVER_S,
		.duration_s = NEVER_S,
		.moments = POLICY_AT_CHANGES,
	};
	struct backend *backend = backend_sim_new(system, HAND_TASKS);
	struct engine_result result;
	struct robustness robustness;
	struct engine *engine;

	settings.pruning.evicting_baselines = true;
	for (uint32_t i = 0; i < HAND_TASKS; i++)
		tasks[i].id = i;
	g_assert_cmpint(policy_parse("mm", &setup.policy, NULL, 0), ==, 0);
	engine = engine_new(&setup, backend);
	simulation_run(engine, backend, &result);
	robustness_of(engine, setup.system->rows_count, 1, prices, &robustness);
	g_assert_cmpuint(robustness.counted, ==, 3);
	g_assert_cmpuint(robustness.on_time, ==, 2);
	g_assert_cmpfloat_with_epsilon(robustness.share, 2.0 / 3, 1e-12);
	/* x 2 of 2, y 0 of 1. */
	g_assert_cmpfloat_with_epsilon(robustness.type_variance, 0.25, 1e-12);
	g_assert_cmpfloat_with_epsilon(robustness.busy_s, 10 + 10 + 15, 1e-9);
	g_assert_cmpfloat_with_epsilon(robustness.cost, 2 * 10 + 10 + 2 * 15, 1e-9);
	engine_free(engine);
	backend_destroy(backend);
	sched_system_free(system);
	pet_free(pet);
}

/* What the generator promises. */
static void test_workload(void)
{
	double mean_all = 0, last_s = 0;
	uint32_t counts[PRUNING_TYPES] = {0};
	struct bed bed;
	g_autoptr(GError) error = NULL;

	bed_init(&bed, 1500, 1.5);
	g_assert_true(workload_check(bed.workload, bed.system, &error));
	for (uint32_t type = 0; type < PRUNING_TYPES; type++) {
		const double mean = pet_type_mean(bed.pet, type);

		g_assert_cmpfloat(mean, >, 45);
		g_assert_cmpfloat(mean, <, 215);
		mean_all += mean / PRUNING_TYPES;
		for (uint32_t m = 0; m < PRUNING_MACHINES; m++)
			g_assert_cmpint(pmf_check(&pet_at(bed.pet, type, m)->pmf), ==, PMF_OK);
	}
	for (uint32_t i = 0; i < TASKS; i++) {
		const struct sched_task *task = &bed.workload->tasks[i];
		const double slack = pet_type_mean(bed.pet, task->row) + 1.5 * mean_all;

		counts[task->row]++;
		last_s = task->arrival_s;
		g_assert_cmpfloat(task->deadline_s, ==, floor(task->arrival_s + slack));
	}
	g_assert_cmpfloat(last_s, >, 1400);
	g_assert_cmpfloat(last_s, <, 1600);
	for (uint32_t type = 0; type < PRUNING_TYPES; type++) {
		g_assert_cmpuint(counts[type], >=, TASKS / PRUNING_TYPES - 3);
		g_assert_cmpuint(counts[type], <=, TASKS / PRUNING_TYPES + 3);
	}
	bed_finish(&bed);
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"pam", "pamf", "mm", "msd", "mmu", "moc"};

	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/engine-queues/tasks-of-the-paper-have-deadlines-behind-their-means",
			test_workload);
	g_test_add_func("/engine-queues/robustness-by-hand", test_robustness_by_hand);
	g_test_add_func("/engine-queues/baselines-may-evict", test_evicting_baselines);
	g_test_add_func("/engine-queues/a-policy-from-outside-decides-beside-the-run", test_apart);
	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree char *busy =
			g_strdup_printf("/engine-queues/under-%s-machines-work-their-queues-off",
					names[i]);
		g_autofree char *idle =
			g_strdup_printf("/engine-queues/under-%s-all-is-on-time-if-it-can-be",
					names[i]);

		g_test_add_data_func(busy, names[i], test_run);
		g_test_add_data_func(idle, names[i], test_idle);
	}
	return g_test_run();
}
