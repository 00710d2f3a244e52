/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <math.h>

#include "controller/backend/sim.h"
#include "controller/sched/model.h"

/* One cluster of four nodes; row 0: 10 s and 100 J, row 1: 20 s and 100 J. */
static struct sched_system *make_system(void)
{
	const struct sched_cluster cluster = { .name = "c", .nodes = 4, .cores = 1, .pstates = 1 };
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

	backend_start(backend, &(struct backend_start){ task, attempt, type, 0, 0, &node, 1 });
}

static void expect(struct backend *backend, double until_s, enum backend_event_kind kind,
		   double time_s, uint32_t task)
{
	struct backend_event event;

	backend_wait(backend, until_s, &event);
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
	backend_wait(backend, 4, &event);
	g_assert_cmpint(event.kind, ==, BACKEND_EVENT_ENDED);
	g_assert_cmpint(event.outcome, ==, BACKEND_OUTCOME_KILLED);
	g_assert_cmpfloat(event.exec_s, ==, 4);
	g_assert_cmpfloat(event.energy_j, ==, 40);
	expect(backend, 50, BACKEND_EVENT_NONE, 50, 0);
	g_assert_cmpfloat(backend_energy_j(backend), ==, 40);
	backend_destroy(backend);
	sched_system_free(system);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/sim/tasks take their estimates and end in order", test_completions);
	g_test_add_func("/sim/the limit is reported at the instant it is reached", test_limit);
	g_test_add_func("/sim/a killed task keeps what it used", test_kill);
	return g_test_run();
}
