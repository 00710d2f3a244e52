/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Open workloads on the simulation: tasks that are submitted at their arrivals fare as those of a
 * closed workload, to the bit, and whatever people ask for, in whatever order, policies are never
 * led to ask for what cannot be, no task is lost or ends twice, and nothing starts on a drained
 * node.
 */
#include <glib.h>
#include <string.h>

#include "controller/engine/counters.h"
#include "controller/engine/mapping.h"
#include "tests/unit/engine/open_bed.h"

static void draw_times(struct random_stream *random, double *ret_times_s, uint32_t count)
{
	double time_s = 0;

	for (uint32_t i = 0; i < count; i++)
		ret_times_s[i] = time_s += 60 * random_stream_uniform(random);
}

static const char *const policies[] = {
	"fcfs",
	"easy",
	"conservative",
	"random",
	"max-util",
	"max-upt",
	"max-upr",
	"max-upe",
	"max-util-preempt-greedy",
	"max-util-preempt-diff",
	"max-upt-preempt-pair",
};

static const char *const sharing[] = {
	"greedy",      "greedy-pmtn",      "greedy-pmtn-migr",    "dynmcb8",
	"dynmcb8-per", "dynmcb8-asap-per", "dynmcb8-stretch-per",
};

static void assert_same(double one, double other)
{
	g_assert_cmpint(memcmp(&one, &other, sizeof(one)), ==, 0);
}

/* The tasks of a closed workload. */
static void draw_closed(struct workload *workload, uint64_t seed)
{
	struct random_stream random;
	double times_s[OPEN_TASKS_MAX];

	random_stream_init(&random, seed, 6);
	draw_times(&random, times_s, OPEN_TASKS_MAX);
	for (uint32_t i = 0; i < OPEN_TASKS_MAX; i++) {
		workload->tasks[i] = open_bed_draw_task(&random);
		workload->tasks[i].id = i;
		workload->tasks[i].arrival_s = times_s[i];
	}
	workload->tasks_count = OPEN_TASKS_MAX;
}

/* While it is decided apart the time stands still, or at times advances. */
static void apart_wait(struct backend *backend, double until_s, struct backend_event *ret_event)
{
	struct open_caller *caller = (struct open_caller *)backend;
	struct open_bed *bed = caller->data;

	if (engine_decision(bed->engine) == ENGINE_DECISION_ASKED &&
	    (!bed->hasty || random_stream_below(&bed->random, 2) == 0))
		while (engine_next_s(bed->engine) > -INFINITY)
			g_main_context_iteration(NULL, TRUE);
	open_caller_wait(backend, until_s, ret_event);
}

static void check_same(const char *policy, bool shared, bool apart, uint64_t seed)
{
	struct open_bed closed, open;

	open_bed_init(&closed, policy, shared, seed);
	open_bed_init(&open, policy, shared, seed);
	draw_closed(closed.workload, seed);
	closed.workload->tasks_max = 0;
	closed.setup.open = NULL;
	open.closed = closed.workload;
	open.setup.platform = apart ? &platform_machine : NULL;
	open.setup.apart = apart;
	open.wait = apart_wait;
	open.caller.calls_count = OPEN_TASKS_MAX;
	for (uint32_t i = 0; i < OPEN_TASKS_MAX; i++)
		open.caller.calls_s[i] = closed.workload->tasks[i].arrival_s;
	open_bed_run(&closed);
	open_bed_run(&open);
	g_assert_cmpint(open.result.ended_by, ==, ENGINE_END_TIME);
	g_assert_cmpuint(open.result.tasks_completed, ==, closed.result.tasks_completed);
	g_assert_cmpuint(closed.result.tasks_completed, >, 0);
	assert_same(open.result.utility, closed.result.utility);
	/* The simulation adds its energy up piece by piece, and a call splits one piece in two. */
	g_assert_cmpfloat_with_epsilon(open.result.energy_j, closed.result.energy_j,
				       1e-9 * closed.result.energy_j);
	for (uint32_t i = 0; i < OPEN_TASKS_MAX; i++) {
		const struct engine_task *a = engine_task_at(closed.engine, i);
		const struct engine_task *b = engine_task_at(open.engine, i);

		assert_same(a->task->arrival_s, b->task->arrival_s);
		g_assert_cmpint(a->state, ==, b->state);
		assert_same(a->started_s, b->started_s);
		assert_same(a->ended_s, b->ended_s);
		assert_same(a->exec_s, b->exec_s);
	}
	open_bed_finish(&closed);
	open_bed_finish(&open);
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
static void check_end(const struct open_bed *bed)
{
	const struct engine_result *result = &bed->result;
	uint32_t unfinished = 0;

	for (uint32_t i = 0; i < engine_tasks_count(bed->engine); i++) {
		g_assert_true(engine_task_over(engine_task_at(bed->engine, i)));
		unfinished += engine_task_at(bed->engine, i)->state == ENGINE_TASK_UNFINISHED;
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
	static const struct backend_overhead samples[] = {{3, 20, 5, 2, 1}, {0, 0, 0, 0, 0}};
	static const struct backend_overhead *const clusters[] = {samples, samples};
	static const uint32_t counts[] = {2, 2};
	struct open_bed bed;

	open_bed_init(&bed, policy, shared, seed);
	draw_times(&bed.random, bed.caller.calls_s, OPEN_CALLS_MAX);
	bed.caller.calls_count = OPEN_CALLS_MAX;
	bed.caller.stubborn = stubborn;
	bed.setup.changes_apart_s = shared ? 0 : (double)(seed % 4); /* served ones do not share */
	backend_sim_set_overheads(bed.caller.sim,
				  &(struct backend_sim_overheads){.samples = clusters,
								  .counts = counts,
								  .seed = seed});
	open_bed_run(&bed);
	check_end(&bed);
	for (size_t i = 0; i < G_N_ELEMENTS(bed.deeds); i++)
		deeds[i] += bed.deeds[i];
	deeds[G_N_ELEMENTS(bed.deeds)] += bed.left;
	for (uint32_t i = 0; stubborn && i < OPEN_TASKS_MAX; i++) {
		g_assert_cmpuint(bed.caller.tries[i], <=, 3);
		deeds[G_N_ELEMENTS(bed.deeds) + 1] += bed.caller.tries[i] == 3;
	}
	open_bed_finish(&bed);
}

static void test_anything(void)
{
	/* And nodes that were being left, and tasks that did not let themselves be migrated. */
	uint32_t deeds[G_N_ELEMENTS(((struct open_bed *)NULL)->deeds) + 2] = {0};

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
		struct open_bed bed;

		open_bed_init(&bed, policies[seed % G_N_ELEMENTS(policies)], false, seed);
		draw_times(&bed.random, bed.caller.calls_s, OPEN_CALLS_MAX);
		bed.caller.calls_count = OPEN_CALLS_MAX;
		bed.wait = apart_wait;
		bed.recorder.decision = NULL; /* nodes may have come and gone since */
		bed.setup.changes_apart_s = 1;
		bed.setup.platform = &platform_machine;
		bed.setup.apart = bed.hasty = true;
		open_bed_run(&bed);
		check_end(&bed);
		open_bed_finish(&bed);
	}
}

/* An account of energy that has 0 or 10 J of each task when it ends, and does not have the first. */
static double ten_joules(uint32_t task, enum engine_energy_kind *ret_kind, void *data)
{
	return task == 0 ? (double)NAN : task % 2 * 10.0;
}

/* What policies read of completed tasks is the sum of what the account has. */
static void test_energy(void)
{
	struct open_bed bed;
	double sum_j = 0;
	uint32_t counted = 0;

	open_bed_init(&bed, "easy", false, 3);
	draw_times(&bed.random, bed.caller.calls_s, OPEN_CALLS_MAX);
	bed.caller.calls_count = OPEN_CALLS_MAX;
	bed.setup.task_ended_j = ten_joules;
	open_bed_run(&bed);
	bed.recorder = (struct engine_recorder){0}; /* it asserts that ended tasks do not change */
	for (uint32_t i = 0; i < engine_tasks_count(bed.engine); i++) {
		const struct engine_task *task = engine_task_at(bed.engine, i);

		if (task->state != ENGINE_TASK_COMPLETED)
			continue;
		g_assert_cmpint(task->energy_kind, ==,
				i == 0 ? ENGINE_ENERGY_ESTIMATED : ENGINE_ENERGY_PROVISIONAL);
		g_assert_true(i == 0 || task->energy_j == i % 2 * 10.0);
		/* as a restart does: the same joules of another kind */
		engine_set_energy(bed.engine, i, task->energy_j, ENGINE_ENERGY_ESTIMATED);
		engine_set_energy(bed.engine, i, task->energy_j, ENGINE_ENERGY_PROVISIONAL);
		engine_set_energy(bed.engine, i, 10 + i, ENGINE_ENERGY_FINAL);
		engine_set_energy(bed.engine, i, 10 + i, ENGINE_ENERGY_FINAL);
		g_assert_cmpint(task->energy_kind, ==, ENGINE_ENERGY_FINAL);
		sum_j += 10 + i;
		counted++;
	}
	g_assert_cmpuint(counted, >, 5);
	g_assert_cmpfloat_with_epsilon(engine_completed_j(bed.engine), sum_j, 1e-6);
	open_bed_finish(&bed);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/engine/open/submitted tasks fare as those of a closed workload",
			test_same);
	g_test_add_func("/engine/open/people may ask for anything at any time", test_anything);
	g_test_add_func("/engine/open/a policy decides the same on a thread of its own",
			test_same_apart);
	g_test_add_func("/engine/open/people may ask for anything while it is decided",
			test_anything_apart);
	g_test_add_func("/engine/open/the energy of tasks is that of an account", test_energy);
	return g_test_run();
}
