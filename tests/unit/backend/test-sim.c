/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <math.h>

#include "controller/backend/sim.h"
#include "controller/experiment/overheads.h"
#include "controller/sched/model.h"

/* One cluster of four nodes; row 0: 10 s and 100 J, row 1: 20 s and 100 J. */
static struct sched_system *make_system(void)
{
	const struct sched_cluster cluster = {.name = "c", .nodes = 4, .cores = 1, .pstates = 1};
	struct sched_system *system = sched_system_new(&cluster, 1, 2);

	for (uint32_t row = 0; row < 2; row++) {
		system->row_names[row] = "t";
		system->etc_s[row] = 10 * (row + 1);
		system->eec_j[row] = 100;
		system->nodes[row] = 1;
	}
	g_assert_cmpint(sched_system_finish(system, NULL), ==, SCHED_SYSTEM_OK);
	return system;
}

static void start(struct backend *backend, uint32_t task, uint32_t attempt, uint32_t type)
{
	const uint32_t node = task;
	const struct sched_task one = {.id = task, .row = type};

	backend_start(backend,
		      &(struct sched_allocation){.task = &one, .nodes_count = 1, .nodes = &node},
		      attempt);
}

static void expect(struct backend *backend, double until_s, enum backend_event_kind kind,
		   double time_s, uint32_t task)
{
	struct backend_event event;

	backend_sim_wait(backend, until_s, &event);
	g_assert_cmpint(event.kind, ==, kind);
	g_assert_cmpfloat(event.time_s, ==, time_s);
	g_assert_cmpuint(event.task, ==, task);
	g_assert_cmpfloat(backend_now_s(backend), ==, time_s);
}

static void test_completions(void)
{
	struct sched_system *system = make_system();
	struct backend *backend = backend_sim_new(system, 4);

	expect(backend, 5, BACKEND_EVENT_NONE, 5, 0);
	start(backend, 0, 1, 1);
	start(backend, 1, 1, 0);
	expect(backend, 5, BACKEND_EVENT_STARTED, 5, 0);
	expect(backend, 5, BACKEND_EVENT_STARTED, 5, 1);
	expect(backend, 5, BACKEND_EVENT_NONE, 5, 0);
	expect(backend, 15, BACKEND_EVENT_ENDED, 15, 1);
	g_assert_cmpfloat(backend_energy_j(backend), ==, 150);
	start(backend, 2, 1, 0);
	start(backend, 2, 1, 0); /* an attempt is carried out once */
	expect(backend, 100, BACKEND_EVENT_STARTED, 15, 2);
	/* Both end at 25 s: in the order of their starts. */
	expect(backend, 100, BACKEND_EVENT_ENDED, 25, 0);
	expect(backend, 100, BACKEND_EVENT_ENDED, 25, 2);
	expect(backend, 100, BACKEND_EVENT_NONE, 100, 0);
	g_assert_cmpfloat(backend_energy_j(backend), ==, 300);
	backend_destroy(backend);
	sched_system_free(system);
}

static void test_limit(void)
{
	struct sched_system *system = make_system();
	struct backend *backend = backend_sim_new(system, 4);

	backend_set_limit(backend, 45);
	start(backend, 0, 1, 0); /* 10 W */
	start(backend, 1, 1, 1); /* 5 W */
	expect(backend, 9, BACKEND_EVENT_STARTED, 0, 0);
	expect(backend, 9, BACKEND_EVENT_STARTED, 0, 1);
	expect(backend, 9, BACKEND_EVENT_ENERGY_LIMIT, 3, 0);
	g_assert_cmpfloat(backend_energy_j(backend), ==, 45);
	expect(backend, 9, BACKEND_EVENT_NONE, 9, 0); /* reported once */
	backend_set_limit(backend, 100);              /* passed already */
	expect(backend, 9, BACKEND_EVENT_ENERGY_LIMIT, 9, 0);
	backend_set_limit(backend, 150);
	/* At 10 s the completion comes before the limit. */
	expect(backend, 99, BACKEND_EVENT_ENDED, 10, 0);
	expect(backend, 99, BACKEND_EVENT_ENERGY_LIMIT, 10, 0);
	backend_destroy(backend);
	sched_system_free(system);
}

static void test_kill(void)
{
	struct sched_system *system = make_system();
	struct backend *backend = backend_sim_new(system, 4);
	struct backend_event event;

	start(backend, 0, 1, 0);
	expect(backend, 4, BACKEND_EVENT_STARTED, 0, 0);
	expect(backend, 4, BACKEND_EVENT_NONE, 4, 0);
	backend_kill(backend, 0, 2); /* another attempt: no effect */
	backend_kill(backend, 0, 1);
	backend_kill(backend, 0, 1);
	backend_sim_wait(backend, 4, &event);
	g_assert_cmpint(event.kind, ==, BACKEND_EVENT_ENDED);
	g_assert_cmpint(event.outcome, ==, BACKEND_OUTCOME_KILLED);
	g_assert_cmpfloat(event.exec_s, ==, 4);
	g_assert_cmpfloat(event.energy_j, ==, 40);
	expect(backend, 50, BACKEND_EVENT_NONE, 50, 0);
	g_assert_cmpfloat(backend_energy_j(backend), ==, 40);
	backend_destroy(backend);
	sched_system_free(system);
}

static struct backend_event expect_step(struct backend *backend, enum backend_event_kind kind,
					double time_s, uint32_t task, uint32_t n)
{
	struct backend_event event;

	backend_sim_wait(backend, 1000, &event);
	g_assert_cmpint(event.kind, ==, kind);
	g_assert_cmpfloat(event.time_s, ==, time_s);
	g_assert_cmpuint(event.task, ==, task);
	g_assert_cmpuint(event.n, ==, n);
	return event;
}

static void test_suspend(void)
{
	struct sched_system *system = make_system();
	struct backend *backend = backend_sim_new(system, 4);
	const uint32_t node = 3;
	struct backend_event event;

	start(backend, 0, 1, 0); /* 10 s, 10 W */
	expect(backend, 4, BACKEND_EVENT_STARTED, 0, 0);
	expect(backend, 4, BACKEND_EVENT_NONE, 4, 0);
	backend_suspend(backend, 0, 2, 1); /* another attempt: no effect */
	backend_suspend(backend, 1, 1, 1); /* never started */
	backend_suspend(backend, 0, 1, 1);
	backend_suspend(backend, 0, 1, 1); /* once */
	event = expect_step(backend, BACKEND_EVENT_SUSPENDED, 4, 0, 1);
	g_assert_cmpfloat(event.exec_s, ==, 4);
	g_assert_cmpfloat(event.overhead.freeze_s, ==, 0);
	backend_suspend(backend, 0, 1, 2);
	event = expect_step(backend, BACKEND_EVENT_SUSPENSION_FAILED, 4, 0, 2);
	g_assert_cmpstr(event.reason, ==, "it does not run");
	expect(backend, 20, BACKEND_EVENT_NONE, 20, 0);
	g_assert_cmpfloat(backend_energy_j(backend), ==, 40);
	backend_resume(backend, 0, 1, 2, &node, 1);
	expect_step(backend, BACKEND_EVENT_SUSPENSION_FAILED, 20, 0, 2);
	backend_resume(backend, 0, 1, 1, &node, 1);
	backend_resume(backend, 0, 1, 1, &node, 1);
	event = expect_step(backend, BACKEND_EVENT_RESUMED, 20, 0, 1);
	g_assert_cmpfloat(event.since_s, ==, 20);
	expect(backend, 21, BACKEND_EVENT_NONE, 21, 0);
	backend_suspend(backend, 0, 1, 2);
	event = expect_step(backend, BACKEND_EVENT_SUSPENDED, 21, 0, 2);
	g_assert_cmpfloat(event.exec_s, ==, 1);
	backend_resume(backend, 0, 1, 2, &node, 1);
	expect_step(backend, BACKEND_EVENT_RESUMED, 21, 0, 2);
	event = expect_step(backend, BACKEND_EVENT_ENDED, 26, 0, 0);
	g_assert_cmpint(event.outcome, ==, BACKEND_OUTCOME_COMPLETED);
	g_assert_cmpfloat(event.exec_s, ==, 10);
	g_assert_cmpfloat(event.energy_j, ==, 100);
	g_assert_cmpfloat(backend_energy_j(backend), ==, 100);
	backend_suspend(backend, 0, 1, 3); /* ended */
	expect(backend, 30, BACKEND_EVENT_NONE, 30, 0);
	backend_destroy(backend);
	sched_system_free(system);
}

static void test_kill_suspended(void)
{
	struct sched_system *system = make_system();
	struct backend *backend = backend_sim_new(system, 4);
	struct backend_event event;

	start(backend, 0, 1, 0);
	start(backend, 1, 1, 0);
	expect(backend, 3, BACKEND_EVENT_STARTED, 0, 0);
	expect(backend, 3, BACKEND_EVENT_STARTED, 0, 1);
	expect(backend, 3, BACKEND_EVENT_NONE, 3, 0);
	backend_suspend(backend, 1, 1, 1);
	expect_step(backend, BACKEND_EVENT_SUSPENDED, 3, 1, 1);
	expect(backend, 8, BACKEND_EVENT_NONE, 8, 0);
	backend_kill(backend, 1, 1);
	event = expect_step(backend, BACKEND_EVENT_ENDED, 8, 1, 0);
	g_assert_cmpint(event.outcome, ==, BACKEND_OUTCOME_KILLED);
	g_assert_cmpfloat(event.exec_s, ==, 3);
	g_assert_cmpfloat(event.energy_j, ==, 30);
	expect(backend, 20, BACKEND_EVENT_ENDED, 10, 0);
	expect(backend, 20, BACKEND_EVENT_NONE, 20, 0);
	g_assert_cmpfloat(backend_energy_j(backend), ==, 130);
	backend_destroy(backend);
	sched_system_free(system);
}

static void test_overheads(void)
{
	static const struct backend_overhead sample = {1, 2, 0.5, 0.25, 0.125};
	static const struct backend_overhead *const samples[] = {&sample};
	static const uint32_t counts[] = {1};
	const struct backend_sim_overheads overheads = {samples, counts, 1, 1};
	struct sched_system *system = make_system();
	struct backend *backend = backend_sim_new(system, 4);
	const uint32_t node = 2;
	struct backend_event event;

	backend_sim_set_overheads(backend, &overheads);
	start(backend, 0, 1, 0);
	expect(backend, 4, BACKEND_EVENT_STARTED, 0, 0);
	expect(backend, 4, BACKEND_EVENT_NONE, 4, 0);
	backend_suspend(backend, 0, 1, 1);
	event = expect_step(backend, BACKEND_EVENT_SUSPENDED, 7, 0, 1);
	g_assert_cmpfloat(event.exec_s, ==, 5); /* it executes until it is frozen */
	g_assert_cmpfloat(event.overhead.freeze_s, ==, 1);
	g_assert_cmpfloat(event.overhead.save_s, ==, 2);
	g_assert_cmpfloat(event.overhead.restore_s, ==, 0);
	g_assert_cmpfloat(event.overhead.skew_s, ==, 0.125);
	g_assert_cmpfloat(backend_energy_j(backend), ==, 50);
	backend_resume(backend, 0, 1, 1, &node, 1);
	event = expect_step(backend, BACKEND_EVENT_RESUMED, 7.75, 0, 1);
	g_assert_cmpfloat(event.overhead.freeze_s, ==, 0);
	g_assert_cmpfloat(event.overhead.restore_s, ==, 0.5);
	g_assert_cmpfloat(event.overhead.resume_s, ==, 0.25);
	expect(backend, 12.25, BACKEND_EVENT_NONE, 12.25, 0);
	backend_suspend(backend, 0, 1, 2); /* ends while it is being frozen */
	event = expect_step(backend, BACKEND_EVENT_ENDED, 12.75, 0, 0);
	g_assert_cmpint(event.outcome, ==, BACKEND_OUTCOME_COMPLETED);
	g_assert_cmpfloat(event.exec_s, ==, 10);
	expect(backend, 30, BACKEND_EVENT_NONE, 30, 0);
	g_assert_cmpfloat(backend_energy_j(backend), ==, 100);
	backend_destroy(backend);
	sched_system_free(system);
}

/* What a task meets is its own: other suspensions before it change nothing. */
static void test_draws(void)
{
	static const struct backend_overhead list[] = {{0.1}, {0.2}, {0.3}, {0.4},
						       {0.5}, {0.6}, {0.7}, {0.8}};
	static const struct backend_overhead *const samples[] = {list};
	static const uint32_t counts[] = {G_N_ELEMENTS(list)};
	struct sched_system *system = make_system();
	double drawn_s[3][8];
	bool differs = false;

	for (uint32_t run = 0; run < 3; run++) {
		const struct backend_sim_overheads overheads = {samples, counts, 7, 1 + run / 2};
		struct backend *backend = backend_sim_new(system, 8);

		backend_sim_set_overheads(backend, &overheads);
		for (uint32_t i = 0; i < 8; i++) {
			const uint32_t task = run == 1 ? 7 - i : i;
			struct backend_event event;

			start(backend, task, 1, 0);
			backend_suspend(backend, task, 1, 1);
			expect_step(backend, BACKEND_EVENT_STARTED, backend_now_s(backend), task,
				    0);
			backend_sim_wait(backend, 1000, &event);
			g_assert_cmpint(event.kind, ==, BACKEND_EVENT_SUSPENDED);
			drawn_s[run][task] = event.overhead.freeze_s;
		}
		backend_destroy(backend);
	}
	for (uint32_t task = 0; task < 8; task++) {
		g_assert_cmpfloat(drawn_s[0][task], ==, drawn_s[1][task]);
		differs |= drawn_s[0][task] != drawn_s[2][task];
	}
	g_assert_true(differs); /* another repeat, other draws */
	sched_system_free(system);
}

/* A configuration has overheads of some clusters, in any order, or none. */
static void test_configured(void)
{
	struct config_cluster clusters[] = {{.name = (char *)"a"}, {.name = (char *)"b"}};
	struct config_overhead list[] = {{(char *)"b", 1, 2, 3, 4}, {(char *)"b", 5, 6, 7, 8}};
	const struct config config = {
		.clusters = clusters,
		.clusters_count = 2,
		.overheads = list,
		.overheads_count = 2,
	};
	const struct config none = {.clusters = clusters, .clusters_count = 2};
	g_autoptr(overheads_t) overheads = overheads_new(&config);
	const struct backend_sim_overheads view = overheads_view(overheads, 3, 4);

	g_assert_cmpuint(view.counts[0], ==, 0);
	g_assert_cmpuint(view.counts[1], ==, 2);
	g_assert_cmpfloat(view.samples[1][1].save_s, ==, 6);
	g_assert_cmpfloat(view.samples[1][0].resume_s, ==, 4);
	g_assert_cmpuint(view.seed, ==, 3);
	g_assert_null(overheads_new(&none));
	g_assert_null(overheads_view(NULL, 1, 1).samples);
}

/* When task `task` of a row ends in a simulation with an error, started at 0 after others. */
static double end_with(const struct backend_sim_error *error, uint32_t task, uint32_t row)
{
	struct sched_system *system = make_system();
	struct backend *backend = backend_sim_new(system, 4);
	struct backend_event event;

	backend_sim_set_courses(backend, &(struct backend_sim_courses){.error = *error});
	for (uint32_t i = 0; i < task % 2; i++)
		start(backend, 0, 1, 1);
	start(backend, task, 1, row);
	do
		backend_sim_wait(backend, 1000, &event);
	while (event.kind != BACKEND_EVENT_ENDED || event.task != task);
	backend_destroy(backend);
	sched_system_free(system);
	return event.time_s;
}

static void test_errors(void)
{
	const struct backend_sim_error estimate = {.estimate_sd = 0.3, .seed = 5, .stream = 2};
	const struct backend_sim_error noise = {.noise_sd = 0.3, .seed = 5, .stream = 2};
	const struct backend_sim_error twice = {.noise_sd = 0.6, .seed = 5, .stream = 2};
	const double shared = end_with(&estimate, 1, 0) / 10;
	const double one = end_with(&noise, 1, 0) / 10;

	/* An estimate is off for all of its tasks, and others for others. */
	g_assert_cmpfloat(shared, !=, 1);
	g_assert_cmpfloat(end_with(&estimate, 2, 0) / 10, ==, shared);
	g_assert_cmpfloat(end_with(&estimate, 2, 1) / 20, !=, shared);
	/* The noise is that of the task, whatever ran before it. */
	g_assert_cmpfloat(end_with(&noise, 2, 0) / 10, !=, one);
	g_assert_cmpfloat_with_epsilon(end_with(&noise, 1, 1) / 20, one, 1e-12);
	/* The same draw at another size: log f = z sd - sd^2 / 2. */
	g_assert_cmpfloat_with_epsilon(log(end_with(&twice, 1, 0) / 10),
				       2 * (log(one) + 0.045) - 0.18, 1e-9);
}

static void test_overhead_error(void)
{
	struct sched_system *system = make_system();
	struct backend *backend = backend_sim_new(system, 4);
	const struct backend_sim_error error = {.overhead_s = 3};
	struct backend_event event;

	backend_sim_set_courses(backend, &(struct backend_sim_courses){.error = error});
	start(backend, 0, 1, 0);
	expect(backend, 50, BACKEND_EVENT_STARTED, 0, 0);
	backend_sim_wait(backend, 50, &event);
	g_assert_cmpint(event.kind, ==, BACKEND_EVENT_ENDED);
	g_assert_cmpfloat(event.time_s, ==, 13);
	/* 10 W for as long as it held its node. */
	g_assert_cmpfloat(event.energy_j, ==, 130);
	g_assert_cmpfloat(backend_energy_j(backend), ==, 130);
	backend_destroy(backend);
	sched_system_free(system);
}

/* Times and powers by the course of each task, and what hosts draw beside them. */
static void test_courses(void)
{
	static const struct backend_sim_course of[] = {
		{.time = 2, .more_s = 1, .power = 0.5},
		{.time = 1, .power = 1},
	};
	const struct backend_sim_courses courses = {.of = of, .base_w = 3};
	struct sched_system *system = make_system();
	struct backend *backend = backend_sim_new(system, 2);
	struct backend_event event;

	backend_sim_set_courses(backend, &courses);
	start(backend, 0, 1, 0); /* 10 W x 0.5 for 10 s x 2 + 1 s */
	start(backend, 1, 1, 0);
	expect(backend, 9, BACKEND_EVENT_STARTED, 0, 0);
	expect(backend, 9, BACKEND_EVENT_STARTED, 0, 1);
	event = expect_step(backend, BACKEND_EVENT_ENDED, 10, 1, 0);
	g_assert_cmpfloat(event.energy_j, ==, 100);
	g_assert_cmpfloat(backend_energy_j(backend), ==, 180);
	event = expect_step(backend, BACKEND_EVENT_ENDED, 21, 0, 0);
	g_assert_cmpfloat(event.exec_s, ==, 21);
	g_assert_cmpfloat(event.energy_j, ==, 105);
	g_assert_cmpfloat(backend_energy_j(backend), ==, 100 + 105 + 3 * 21);
	/* Hosts alone reach a limit. */
	backend_set_limit(backend, 328);
	expect(backend, 99, BACKEND_EVENT_ENERGY_LIMIT, 41, 0);
	backend_destroy(backend);
	sched_system_free(system);
}

/* An attempt is lost when it has executed as long; the next one is not. */
static void test_losses(void)
{
	static const struct backend_sim_loss losses[] = {
		{.task = 0, .attempt = 1, .exec_s = 6, .outcome = BACKEND_OUTCOME_LOST},
		{.task = 1, .attempt = 1, .exec_s = 60, .outcome = BACKEND_OUTCOME_FAILED},
	};
	static const struct backend_event nodes[] = {
		{.kind = BACKEND_EVENT_NODE_DOWN, .time_s = 5, .node = 3},
		{.kind = BACKEND_EVENT_NODE_UP, .time_s = 9, .node = 3},
	};
	const struct backend_sim_courses courses = {.losses = losses,
						    .losses_count = 2,
						    .nodes = nodes,
						    .nodes_count = 2};
	struct sched_system *system = make_system();
	struct backend *backend = backend_sim_new(system, 4);
	const uint32_t node = 0;
	struct backend_event event;

	backend_sim_set_courses(backend, &courses);
	start(backend, 0, 1, 0);
	start(backend, 1, 1, 0);
	expect(backend, 2, BACKEND_EVENT_STARTED, 0, 0);
	expect(backend, 2, BACKEND_EVENT_STARTED, 0, 1);
	expect(backend, 2, BACKEND_EVENT_NONE, 2, 0);
	backend_suspend(backend, 0, 1, 1);
	expect_step(backend, BACKEND_EVENT_SUSPENDED, 2, 0, 1);
	expect(backend, 4, BACKEND_EVENT_NONE, 4, 0);
	backend_resume(backend, 0, 1, 1, &node, 1);
	expect_step(backend, BACKEND_EVENT_RESUMED, 4, 0, 1);
	backend_sim_wait(backend, 1000, &event);
	g_assert_cmpint(event.kind, ==, BACKEND_EVENT_NODE_DOWN);
	g_assert_cmpfloat(event.time_s, ==, 5);
	g_assert_cmpuint(event.node, ==, 3);
	/* 2 s before the suspension and 4 s after it. */
	event = expect_step(backend, BACKEND_EVENT_ENDED, 8, 0, 0);
	g_assert_cmpint(event.outcome, ==, BACKEND_OUTCOME_LOST);
	g_assert_cmpfloat(event.exec_s, ==, 6);
	start(backend, 0, 2, 0);
	expect_step(backend, BACKEND_EVENT_STARTED, 8, 0, 0);
	expect_step(backend, BACKEND_EVENT_NODE_UP, 9, 0, 0);
	/* Its loss would come after its end. */
	event = expect_step(backend, BACKEND_EVENT_ENDED, 10, 1, 0);
	g_assert_cmpint(event.outcome, ==, BACKEND_OUTCOME_COMPLETED);
	event = expect_step(backend, BACKEND_EVENT_ENDED, 18, 0, 0);
	g_assert_cmpint(event.outcome, ==, BACKEND_OUTCOME_COMPLETED);
	backend_destroy(backend);
	sched_system_free(system);
}

/* A suspension has its own times where they are known, by task and number. */
static void test_steps(void)
{
	static const struct backend_sim_step steps[] = {{0, 2, {1, 4, 0, 0, 0}}};
	const struct backend_sim_courses courses = {.steps = steps, .steps_count = 1};
	struct sched_system *system = make_system();
	struct backend *backend = backend_sim_new(system, 1);
	const uint32_t node = 0;

	backend_sim_set_courses(backend, &courses);
	start(backend, 0, 1, 0);
	expect(backend, 2, BACKEND_EVENT_STARTED, 0, 0);
	backend_suspend(backend, 0, 1, 1);
	expect_step(backend, BACKEND_EVENT_SUSPENDED, 0, 0, 1);
	backend_resume(backend, 0, 1, 1, &node, 1);
	expect_step(backend, BACKEND_EVENT_RESUMED, 0, 0, 1);
	backend_suspend(backend, 0, 1, 2);
	expect_step(backend, BACKEND_EVENT_SUSPENDED, 5, 0, 2);
	backend_destroy(backend);
	sched_system_free(system);
}

/* A running task migrates, with a downtime, and can do nothing else meanwhile. */
static void test_migration(void)
{
	static const struct backend_sim_migration migrations[] = {{3, 0.5}};
	const struct backend_sim_courses courses = {.migrations = migrations,
						    .migrations_count = 1};
	const struct backend_sim_courses none = {.base_w = 0};
	struct sched_system *system = make_system();
	struct backend *backend = backend_sim_new(system, 1);
	const uint32_t node = 1;
	struct backend_event event;

	backend_sim_set_courses(backend, &none);
	g_assert_false(backend_migrates(backend));
	backend_sim_set_courses(backend, &courses);
	g_assert_true(backend_migrates(backend));
	start(backend, 0, 1, 0);
	expect(backend, 2, BACKEND_EVENT_STARTED, 0, 0);
	expect(backend, 2, BACKEND_EVENT_NONE, 2, 0);
	backend_migrate(backend, 0, 1, 1, &node, 1);
	backend_migrate(backend, 0, 1, 1, &node, 1); /* once */
	backend_migrate(backend, 0, 1, 2, &node, 1);
	expect_step(backend, BACKEND_EVENT_MIGRATION_FAILED, 2, 0, 2);
	backend_suspend(backend, 0, 1, 1);
	expect_step(backend, BACKEND_EVENT_SUSPENSION_FAILED, 2, 0, 1);
	expect_step(backend, BACKEND_EVENT_MIGRATED, 5, 0, 1);
	event = expect_step(backend, BACKEND_EVENT_ENDED, 10.5, 0, 0);
	g_assert_cmpfloat(event.exec_s, ==, 10.5);
	backend_destroy(backend);
	sched_system_free(system);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/sim/tasks take their estimates and end in order", test_completions);
	g_test_add_func("/sim/the limit is reported at the instant it is reached", test_limit);
	g_test_add_func("/sim/a killed task keeps what it used", test_kill);
	g_test_add_func("/sim/a suspended task keeps its progress and uses nothing", test_suspend);
	g_test_add_func("/sim/a suspended task can be killed", test_kill_suspended);
	g_test_add_func("/sim/suspending takes what a sample took", test_overheads);
	g_test_add_func("/sim/overheads depend on the task alone", test_draws);
	g_test_add_func("/sim/errors are those of the estimate and of the task", test_errors);
	g_test_add_func("/sim/an added overhead holds the nodes", test_overhead_error);
	g_test_add_func("/sim/overheads come from the configuration by cluster", test_configured);
	g_test_add_func("/sim/tasks take what their courses say", test_courses);
	g_test_add_func("/sim/attempts are lost and nodes go down", test_losses);
	g_test_add_func("/sim/a suspension may have its own times", test_steps);
	g_test_add_func("/sim/running tasks migrate where that was measured", test_migration);
	return g_test_run();
}
