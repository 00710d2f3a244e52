/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the engine may rely on holds for both backends: simulated clusters in virtual time, and a
 * local scheduler (scripted, without VMs) in real time. At the end the same engine drives both and
 * decides the same.
 */
#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "common/clock.h"
#include "controller/backend/remote.h"
#include "controller/backend/sim.h"
#include "controller/engine/engine.h"
#include "tests/unit/run/scripted_scheduler.h"

/* A task draws this much more than the idle host. */
#define IDLE_W 50
#define BUSY_W 20

/* No event takes longer, even on a machine that is busy with other things. */
#define SOON_S 20.0

static struct config_meter meter = { .kind = CONFIG_METER_IPMI, .interval_s = SCRIPTED_INTERVAL_S };
static struct config_host host = { .name = (char *)"b1", .meter = &meter };
static struct config_cluster cluster = {
	.name = (char *)"c1",
	.nodes = 3,
	.cores = 1,
	.memory_mib = 128,
	.hosts = &host,
	.hosts_count = 1,
};
static struct config_type types[] = {
	{ .name = (char *)"narrow", .benchmark = (char *)"is", .class_ = (char *)"S", .cores = 1,
	  .repetitions = 1, .share = 0.5 },
	{ .name = (char *)"wide", .benchmark = (char *)"is", .class_ = (char *)"S", .cores = 2,
	  .repetitions = 1, .share = 0.5 },
};
static struct config_experiment experiment = { .task_deadline_s = 60 };
static struct config config = {
	.name = (char *)"test",
	.clusters = &cluster,
	.clusters_count = 1,
	.types = types,
	.types_count = G_N_ELEMENTS(types),
	.experiment = &experiment,
};

/* Execution times of the two types. */
struct times {
	double etc_s[2];
};

/* One backend with what stands behind it. */
struct side {
	bool remote;
	struct times times;
	struct sched_system *system;
	struct backend *backend;
	char *dir;
	struct scripted_scheduler *scheduler;
	struct remote_fleet *fleet;
};

static double duration_of(const json_t *request, void *data)
{
	const struct times *times = data;
	const json_t *nodes = json_object_get(request, "nodes");

	return times->etc_s[json_array_size(nodes) - 1];
}

static struct sched_system *make_system(const struct times *times)
{
	const struct sched_cluster one = {
		.name = cluster.name, .nodes = cluster.nodes, .cores = 1, .pstates = 1
	};
	struct sched_system *system = sched_system_new(&one, 1, 2);

	for (uint32_t row = 0; row < 2; row++) {
		system->row_names[row] = types[row].name;
		system->etc_s[row] = times->etc_s[row];
		system->eec_j[row] = BUSY_W * times->etc_s[row];
		system->nodes[row] = row + 1;
	}
	g_assert_cmpint(sched_system_finish(system, NULL), ==, SCHED_SYSTEM_OK);
	return system;
}

static void open_remote(struct side *side)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *address = NULL;
	const char *addresses[2] = { 0 };
	struct remote_run run = { .experiment = "test", .run = 1 };
	GPtrArray *meters;

	side->dir = g_dir_make_tmp("virtbed-test-XXXXXX", NULL);
	address = g_strdup_printf("unix:%s/ls.sock", side->dir);
	addresses[0] = address;
	side->scheduler = scripted_scheduler_new(address, cluster.name, cluster.nodes);
	scripted_scheduler_set_watts(side->scheduler, IDLE_W);
	scripted_scheduler_set_busy(side->scheduler, BUSY_W);
	scripted_scheduler_set_auto(side->scheduler, duration_of, &side->times);
	side->fleet = remote_fleet_new(&config, addresses, &error);
	g_assert_no_error(error);
	g_assert_true(remote_fleet_wait_ready(side->fleet, SOON_S, &error));
	run.t0_ns = clock_now_ns();
	meters = remote_fleet_meters(side->fleet);
	for (guint i = 0; i < meters->len; i++)
		remote_meter_start(g_ptr_array_index(meters, i), run.t0_ns, IDLE_W);
	side->backend = remote_backend_new(side->fleet, &run);
}

static void side_open(struct side *side, bool remote, double narrow_s, double wide_s)
{
	*side = (struct side){ .remote = remote, .times = { { narrow_s, wide_s } } };
	side->system = make_system(&side->times);
	if (remote)
		open_remote(side);
	else
		side->backend = backend_sim_new(side->system, 16);
}

static void side_close(struct side *side)
{
	backend_destroy(side->backend);
	if (side->remote) {
		remote_fleet_free(side->fleet);
		scripted_scheduler_free(side->scheduler);
		g_rmdir(side->dir);
		g_free(side->dir);
	}
	sched_system_free(side->system);
}

static void start(struct side *side, uint32_t task, uint32_t attempt)
{
	const uint32_t node = task;

	backend_start(side->backend, &(struct backend_start){
		.task = task, .attempt = attempt, .nodes = &node, .nodes_count = 1 });
}

/* The next event that is not a wait's end. */
static struct backend_event next(struct side *side)
{
	struct backend_event event;

	backend_wait(side->backend, backend_now_s(side->backend) + SOON_S, &event);
	g_assert_cmpint(event.kind, !=, BACKEND_EVENT_NONE);
	return event;
}

static void assert_quiet(struct side *side, double for_s)
{
	const double until_s = backend_now_s(side->backend) + for_s;
	struct backend_event event;

	backend_wait(side->backend, until_s, &event);
	g_assert_cmpint(event.kind, ==, BACKEND_EVENT_NONE);
	g_assert_cmpfloat(backend_now_s(side->backend), >=, until_s);
}

static void a_task_starts_and_completes(struct side *side)
{
	struct backend_event event;
	const double asked_s = backend_now_s(side->backend);

	start(side, 1, 1);
	event = next(side);
	g_assert_cmpint(event.kind, ==, BACKEND_EVENT_STARTED);
	g_assert_cmpuint(event.task, ==, 1);
	g_assert_cmpuint(event.attempt, ==, 1);
	g_assert_cmpfloat(event.time_s, >=, asked_s);
	event = next(side);
	g_assert_cmpint(event.kind, ==, BACKEND_EVENT_ENDED);
	g_assert_cmpint(event.outcome, ==, BACKEND_OUTCOME_COMPLETED);
	g_assert_cmpuint(event.task, ==, 1);
	g_assert_cmpuint(event.attempt, ==, 1);
	g_assert_cmpfloat(event.exec_s, >=, side->times.etc_s[0] - 0.01);
	g_assert_cmpfloat(event.time_s, >=, asked_s + side->times.etc_s[0] - 0.01);
	g_assert_cmpfloat(event.time_s, <=, backend_now_s(side->backend));
}

static void an_attempt_is_carried_out_once(struct side *side)
{
	start(side, 0, 1);
	start(side, 0, 1);
	g_assert_cmpint(next(side).kind, ==, BACKEND_EVENT_STARTED);
	g_assert_cmpint(next(side).kind, ==, BACKEND_EVENT_ENDED);
	start(side, 0, 1);
	assert_quiet(side, 0.5);
	start(side, 0, 2);
	g_assert_cmpuint(next(side).attempt, ==, 2);
	g_assert_cmpuint(next(side).attempt, ==, 2);
}

static void tasks_end_in_order(struct side *side)
{
	double last_s = 0;
	uint32_t ended = 0;

	for (uint32_t task = 0; task < 3; task++)
		start(side, task, 1);
	while (ended < 3) {
		const struct backend_event event = next(side);

		g_assert_cmpuint(event.task, <, 3);
		if (event.kind != BACKEND_EVENT_ENDED)
			continue;
		g_assert_cmpfloat(event.time_s, >=, last_s);
		last_s = event.time_s;
		ended++;
	}
	assert_quiet(side, 0.3);
}

static void a_kill_ends_a_task_once(struct side *side)
{
	struct backend_event event;

	side->times.etc_s[0] = 100; /* of the remote side; the simulated one is killed at once */
	start(side, 2, 1);
	g_assert_cmpint(next(side).kind, ==, BACKEND_EVENT_STARTED);
	backend_kill(side->backend, 2, 2); /* another attempt */
	backend_kill(side->backend, 0, 1); /* never started */
	backend_kill(side->backend, 2, 1);
	backend_kill(side->backend, 2, 1);
	event = next(side);
	g_assert_cmpint(event.kind, ==, BACKEND_EVENT_ENDED);
	g_assert_cmpint(event.outcome, ==, BACKEND_OUTCOME_KILLED);
	g_assert_cmpuint(event.task, ==, 2);
	assert_quiet(side, 0.3);
	backend_kill(side->backend, 2, 1);
	assert_quiet(side, 0.3);
}

static void a_wait_ends_at_its_time(struct side *side)
{
	const double now_s = backend_now_s(side->backend);

	assert_quiet(side, 0.2);
	g_assert_cmpfloat(backend_now_s(side->backend), <, now_s + SOON_S);
	assert_quiet(side, 0);
	assert_quiet(side, -1e-9);
}

static void the_limit_is_reported_once(struct side *side)
{
	double last_j = backend_energy_j(side->backend);
	struct backend_event event;

	/* Half of what one task draws. */
	backend_set_limit(side->backend, last_j + BUSY_W * side->times.etc_s[0] / 2);
	start(side, 0, 1);
	do {
		event = next(side);
		/* Idle power scatters, so that a meter may fall back by very little. */
		g_assert_cmpfloat(backend_energy_j(side->backend), >=, last_j - 0.5);
		last_j = backend_energy_j(side->backend);
	} while (event.kind != BACKEND_EVENT_ENERGY_LIMIT);
	g_assert_cmpfloat(event.time_s, <=, backend_now_s(side->backend));
	g_assert_cmpfloat(last_j, >=, BUSY_W * side->times.etc_s[0] / 2 - 1e-6);
	do {
		backend_wait(side->backend, backend_now_s(side->backend) + 0.5, &event);
		g_assert_cmpint(event.kind, !=, BACKEND_EVENT_ENERGY_LIMIT);
	} while (event.kind != BACKEND_EVENT_NONE);
	backend_set_limit(side->backend, 0);
	assert_quiet(side, 0.2);
}

static void it_may_be_left_while_tasks_run(struct side *side)
{
	start(side, 0, 1);
	start(side, 1, 1);
}

typedef void (*check_f)(struct side *side);

static const struct {
	const char *name;
	check_f check;
} checks[] = {
	{ "a task starts and completes", a_task_starts_and_completes },
	{ "an attempt is carried out once", an_attempt_is_carried_out_once },
	{ "tasks end in order", tasks_end_in_order },
	{ "a kill ends a task once", a_kill_ends_a_task_once },
	{ "a wait ends at its time", a_wait_ends_at_its_time },
	{ "the energy limit is reported once", the_limit_is_reported_once },
	{ "it may be left while tasks run", it_may_be_left_while_tasks_run },
};

static void test_check(size_t index, bool remote)
{
	struct side side;

	side_open(&side, remote, 1, 1);
	checks[index].check(&side);
	side_close(&side);
}

static void test_sim(const void *data)
{
	test_check(GPOINTER_TO_SIZE(data), false);
}

static void test_remote(const void *data)
{
	test_check(GPOINTER_TO_SIZE(data), true);
}

/* What the engine asked for and what became of it, without times. */
struct log {
	struct engine_recorder recorder;
	GString *text;
};

static bool log_task(struct engine_recorder *recorder, const struct engine_task *task)
{
	GString *text = ((struct log *)recorder)->text;

	if (task->state != ENGINE_TASK_STARTING && task->state != ENGINE_TASK_DROPPED)
		return true;
	g_string_append_printf(text, "%s %u on", engine_task_state_name(task->state),
			       task->task->id);
	for (uint32_t i = 0; i < task->nodes_count; i++)
		g_string_append_printf(text, " %u", task->nodes[i]);
	g_string_append_c(text, '\n');
	return true;
}

/*
 * Mapping every 2 s, tasks of 1.5 and 2.7 s: whatever follows upon what, nothing comes closer than
 * 0.2 s to a mapping event, so that a delay of a few hundredths changes no decision.
 */
static char *drive(const char *policy, bool remote, struct engine_result *ret_result)
{
	struct sched_task tasks[] = {
		{ 0, 0, 0, utility_testbed(2, 6, 10) },   { 1, 1, 0, utility_testbed(3, 6, 10) },
		{ 2, 1, 0.5, utility_testbed(4, 6, 10) }, { 3, 0, 0.7, utility_testbed(1, 3, 4) },
		{ 4, 0, 0.9, utility_testbed(4, 6, 10) }, { 5, 1, 2.5, utility_testbed(1, 6, 10) },
	};
	const struct workload workload = { 1, 1, G_N_ELEMENTS(tasks), tasks };
	struct log log = { { .task = log_task }, g_string_new(NULL) };
	struct engine_setup setup = {
		.workload = &workload,
		.mapping_interval_s = 2,
		.duration_s = 11,
		.recorder = &log.recorder,
	};
	char message[128];
	struct side side;
	struct engine *engine;

	side_open(&side, remote, 1.5, 2.7);
	setup.system = side.system;
	g_assert_cmpint(policy_parse(policy, &setup.policy, message, sizeof(message)), ==, 0);
	engine = engine_new(&setup, side.backend);
	engine_run(engine, ret_result);
	engine_free(engine);
	side_close(&side);
	return g_string_free(log.text, FALSE);
}

static void test_engine(const void *data)
{
	struct engine_result simulated;
	struct engine_result measured;
	g_autofree char *expected = drive(data, false, &simulated);
	g_autofree char *text = drive(data, true, &measured);

	g_test_message("%s", expected);
	g_assert_cmpstr(text, ==, expected);
	g_assert_cmpint(measured.ended_by, ==, simulated.ended_by);
	g_assert_cmpuint(measured.tasks_arrived, ==, simulated.tasks_arrived);
	g_assert_cmpuint(measured.tasks_completed, ==, simulated.tasks_completed);
	g_assert_cmpuint(measured.tasks_dropped, ==, simulated.tasks_dropped);
	g_assert_cmpfloat_with_epsilon(measured.utility, simulated.utility, 1.0);
}

int main(int argc, char **argv)
{
	static const char *const policies[] = { "easy", "max-upr" };

	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(checks); i++) {
		g_autofree char *sim = g_strdup_printf("/backend/sim/%s", checks[i].name);
		g_autofree char *remote = g_strdup_printf("/backend/remote/%s", checks[i].name);

		g_test_add_data_func(sim, GSIZE_TO_POINTER(i), test_sim);
		g_test_add_data_func(remote, GSIZE_TO_POINTER(i), test_remote);
	}
	for (size_t i = 0; i < G_N_ELEMENTS(policies); i++) {
		g_autofree char *path =
			g_strdup_printf("/backend/both/%s decides the same on both", policies[i]);

		g_test_add_data_func(path, policies[i], test_engine);
	}
	return g_test_run();
}
