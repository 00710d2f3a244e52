/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The same engine on either backend, simulated clusters in virtual time and a local scheduler
 * (scripted, without VMs) in real time, decides the same. What each backend promises by itself is
 * asked in tests/unit/backend/test-conformance.c.
 */
#include <glib.h>
#include <glib/gstdio.h>

#include "common/clock.h"
#include "controller/backend/remote.h"
#include "controller/backend/sim.h"
#include "controller/engine/engine.h"
#include "controller/experiment/simulation.h"
#include "controller/session/run_loop.h"
#include "tests/unit/backend/scripted_scheduler.h"

/* A task draws this much more than the idle host. */
#define IDLE_W 50
#define BUSY_W 20

/* Nothing takes longer, even on a machine that is busy with other things. */
#define SOON_S 20.0

static struct config_meter meter = {.kind = CONFIG_METER_IPMI, .interval_s = SCRIPTED_INTERVAL_S};
static struct config_host host = {.name = (char *)"b1", .meter = &meter};
static struct config_cluster cluster = {
	.name = (char *)"c1",
	.nodes = 3,
	.cores = 1,
	.memory_mib = 128,
	.hosts = &host,
	.hosts_count = 1,
};
static struct config_type types[] = {
	{.name = (char *)"narrow",
	 .benchmark = (char *)"is",
	 .class_ = (char *)"S",
	 .cores = 1,
	 .repetitions = 1,
	 .share = 0.5},
	{.name = (char *)"wide",
	 .benchmark = (char *)"is",
	 .class_ = (char *)"S",
	 .cores = 2,
	 .repetitions = 1,
	 .share = 0.5},
};
static struct config_experiment experiment = {.task_deadline_s = 60};
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
	const struct sched_cluster one = {.name = cluster.name,
					  .nodes = cluster.nodes,
					  .cores = 1,
					  .pstates = 1};
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
	const char *addresses[2] = {0};
	struct remote_run run = {.experiment = "test", .run = 1};
	GPtrArray *meters;

	side->dir = g_dir_make_tmp("virtbed-test-XXXXXX", NULL);
	address = g_strdup_printf("unix:%s/ls.sock", side->dir);
	addresses[0] = address;
	side->scheduler = scripted_scheduler_new(address, cluster.name, cluster.nodes);
	scripted_scheduler_set_watts(side->scheduler, IDLE_W);
	scripted_scheduler_set_busy(side->scheduler, BUSY_W);
	scripted_scheduler_set_auto(side->scheduler, duration_of, &side->times);
	side->fleet = remote_fleet_new(&platform_machine, &config, addresses, &error);
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
	*side = (struct side){.remote = remote, .times = {{narrow_s, wide_s}}};
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
		{0, 0, 0, utility_testbed(2, 6, 10)},   {1, 1, 0, utility_testbed(3, 6, 10)},
		{2, 1, 0.5, utility_testbed(4, 6, 10)}, {3, 0, 0.7, utility_testbed(1, 3, 4)},
		{4, 0, 0.9, utility_testbed(4, 6, 10)}, {5, 1, 2.5, utility_testbed(1, 6, 10)},
	};
	const struct workload workload = {1, 1, G_N_ELEMENTS(tasks), tasks};
	struct log log = {{.task = log_task}, g_string_new(NULL)};
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
	if (remote)
		run_loop(&platform_machine, engine, side.backend, ret_result);
	else
		simulation_run(engine, side.backend, ret_result);
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
	static const char *const policies[] = {"easy", "max-upr"};

	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(policies); i++) {
		g_autofree char *path = g_strdup_printf("/same-decisions/%s", policies[i]);

		g_test_add_data_func(path, policies[i], test_engine);
	}
	return g_test_run();
}
