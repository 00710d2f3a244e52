/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "common/clock.h"
#include "common/json.h"
#include "common/platform.h"
#include "local-sched/executor/executor.h"
#include "local-sched/executor/simulated_host.h"

#define DEADLINE_S 20

static const char config_text[] =
	"name: test\n"
	"clusters:\n"
	"  - {name: c1, nodes: 4, cores: 1, memory_mib: 64, simulated: {speed: 100, idle_w: 50, seed: 7},\n"
	"     hosts: [{name: h1}, {name: h2}]}\n"
	"types:\n"
	"  - {name: A, benchmark: is, class: S, cores: 2, memory_mib: 64, share: 1}\n"
	"  - {name: L, benchmark: is, class: S, cores: 1, memory_mib: 64, share: 0}\n"
	"  - {name: S, benchmark: script, cores: 1, memory_mib: 64, share: 0, time_s: 12}\n"
	"estimates:\n"
	"  - {type: A, cluster: c1, etc_s: 20, etc_sd_s: 2, eec_j: 40}\n"
	"  - {type: L, cluster: c1, etc_s: 1e6, eec_j: 40}\n"
	"workload: {arrival_mean_s: 1, duration_s: 1, utility_max: [1]}\n"
	"experiment: {policies: [easy], limits: [1], mapping_interval_s: 1, duration_s: 1}\n";

struct fixture {
	struct config *config;
	const struct config_cluster *cluster;
	struct executor *executor;
	uint32_t ready, ended;
	GString *told;
};

static void node_ready(uint32_t node, double boot_s, void *data)
{
	((struct fixture *)data)->ready++;
}

static void node_down(uint32_t node, const char *reason, void *data)
{
	g_assert_not_reached();
}

static void settled(void *data)
{
}

static void say(void *data, const struct task *task, const char *what)
{
	g_string_append_printf(((struct fixture *)data)->told, "%s %s ", task->id, what);
}

static void started(struct task *task, void *data)
{
	say(data, task, "started");
}

/* Every file by its name, with why it is not there. */
static void results(struct task *task, GBytes *stream, void *data)
{
	g_autoptr(json_t) files = task_script_results(stream);
	const char *skipped =
		json_string_value(json_array_get(json_object_get(files, "skipped"), 0));

	g_assert_cmpuint(json_array_size(json_object_get(files, "files")), ==, 0);
	g_assert_cmpuint(json_array_size(json_object_get(files, "skipped")), ==, 2);
	say(data, task, skipped);
}

static void ended(struct task *task, const char *output, size_t length, void *data)
{
	((struct fixture *)data)->ended++;
	say(data, task, task_outcome_name(task->outcome));
}

/* As the scheduler does, by the states between that these tests leave out. */
static void changed(struct task *task, const char *reason, void *data)
{
	const bool is_resumed = task_last_suspension(task)->resumed_ns > 0;

	g_assert_null(reason);
	task->state = is_resumed ? TASK_RUNNING : TASK_SUSPENDED;
	say(data, task, is_resumed ? "resumed" : "suspended");
}

static void moved(struct task *task, const char *reason, void *data)
{
	g_assert_null(reason);
	say(data, task, "moved");
}

static void shared(struct task *task, const char *reason, void *data)
{
	g_assert_null(reason);
	say(data, task, "shared");
}

static const struct executor_events events = {
	.node_ready = node_ready,
	.node_down = node_down,
	.settled = settled,
	.tasks = {.started = started,
		  .results = results,
		  .ended = ended,
		  .changed = changed,
		  .moved = moved,
		  .shared = shared},
};

static struct config *load(const char *text)
{
	g_autofree char *path = NULL;
	g_autoptr(GError) error = NULL;
	struct config *config;
	int fd = g_file_open_tmp("virtbed-XXXXXX.yaml", &path, &error);

	g_assert_no_error(error);
	g_close(fd, NULL);
	g_assert_true(g_file_set_contents(path, text, -1, NULL));
	config = config_load(path, &error);
	g_assert_no_error(error);
	g_unlink(path);
	return config;
}

static void set_up(struct fixture *fixture, gconstpointer data)
{
	struct executor_settings settings = {.platform = &platform_machine,
					     .events = &events,
					     .data = fixture};
	g_autoptr(GError) error = NULL;

	fixture->config = load(config_text);
	fixture->cluster = fixture->config->clusters;
	fixture->told = g_string_new(NULL);
	settings.config = fixture->config;
	g_assert_true(executor_find(fixture->cluster) == &executor_simulated_ops);
	fixture->executor = executor_simulated_ops.open(&settings, &error);
	g_assert_no_error(error);
	g_assert_false(executor_simulated_ops.node_is_ready(fixture->executor, 0));
	executor_simulated_ops.begin(fixture->executor, NULL);
	while (fixture->ready < 4)
		g_main_context_iteration(NULL, TRUE);
}

static void tear_down(struct fixture *fixture, gconstpointer data)
{
	executor_simulated_ops.stop(fixture->executor);
	executor_simulated_ops.free(fixture->executor);
	config_free(fixture->config);
	g_string_free(fixture->told, TRUE);
}

static struct task *new_task(const char *id, const char *type, uint32_t node, uint32_t count,
			     double deadline_s)
{
	g_autoptr(json_t) nodes = json_array();
	g_autoptr(json_t) body = NULL;
	g_autoptr(GError) error = NULL;
	struct task *task;

	for (uint32_t i = 0; i < count; i++)
		json_array_append_new(nodes, json_integer(node + i));
	body = json_pack("{s:s, s:s, s:s, s:i, s:i, s:O, s:f}", "type", type, "benchmark", "is",
			 "class", "S", "ranks", (int)count, "repetitions", 1, "nodes", nodes,
			 "deadline_s", deadline_s);
	task = task_parse_request(id, body, 4, 1, &error);
	g_assert_no_error(error);
	task->requested_ns = clock_now_ns();
	return task;
}

static void assert_node(struct fixture *fixture, uint32_t index, const char *state,
			const char *task)
{
	struct wire_node node;

	executor_simulated_ops.describe_node(fixture->executor, index, &node);
	g_assert_cmpuint(node.index, ==, index);
	g_assert_cmpstr(node.state, ==, state);
	g_assert_cmpstr(node.task, ==, task);
	record_clear(&wire_node_record, &node);
}

/* Waits until `what` was told. */
static void wait_told(struct fixture *fixture, const char *what)
{
	const int64_t began_ns = clock_now_ns();

	while (!strstr(fixture->told->str, what)) {
		g_assert_cmpfloat(clock_elapsed_s(began_ns, clock_now_ns()), <, DEADLINE_S);
		g_main_context_iteration(NULL, TRUE);
	}
}

static void test_task(struct fixture *fixture, gconstpointer data)
{
	g_autoptr(task_t) task = new_task("t1", "A", 1, 2, 60);
	struct simulated_run run;
	double took_s;

	g_assert_true(simulated_run_find(fixture->config, fixture->cluster, task, &run));
	g_assert_cmpfloat(run.time_s, >, 0.1);
	g_assert_cmpfloat(run.time_s, <, 0.3);
	executor_simulated_ops.start(fixture->executor, task);
	g_assert_cmpstr(fixture->told->str, ==, "");
	g_assert_true(executor_simulated_ops.node_is_ready(fixture->executor, 0));
	assert_node(fixture, 1, "busy", "t1");
	assert_node(fixture, 2, "busy", "t1");
	wait_told(fixture, "completed");
	took_s = clock_elapsed_s(task->started_ns, task->ended_ns);
	g_assert_cmpfloat(took_s, >=, run.time_s - 2e-3);
	g_assert_cmpfloat_with_epsilon(task->benchmark_time_s, took_s, 0.05);
	/*
	 * Both nodes' hosts: their idle watts, and what the task draws, which is the estimate's
	 * energy.
	 */
	g_assert_cmpfloat_with_epsilon(task->host_energy_uj * 1e-6,
				       100 * task->benchmark_time_s +
					       run.watts * task->benchmark_time_s,
				       0.5);
	g_assert_cmpfloat_with_epsilon(run.watts * run.time_s, 40, 1e-9);
	g_assert_cmpfloat_with_epsilon(task->cpu_s, 2 * task->benchmark_time_s, 1e-9);
	g_assert_cmpfloat_with_epsilon(task->cpu_s, task->host_cpu_s, 1e-9);
	g_assert_true(executor_simulated_ops.node_is_ready(fixture->executor, 1));
	g_assert_cmpstr(fixture->told->str, ==, "t1 started t1 completed ");
}

/* A part of what is simulated is a part of the steps, and suspended it gets no further. */
static void test_progress(struct fixture *fixture, gconstpointer data)
{
	g_autoptr(task_t) task = new_task("t1", "A", 0, 1, 60);
	g_autoptr(task_t) late = new_task("late", "L", 1, 1, 0.1);
	struct task_progress before;

	executor_simulated_ops.start(fixture->executor, task);
	executor_simulated_ops.update(fixture->executor, task);
	g_assert_cmpint(task->progress.total, ==, 0);
	wait_told(fixture, "t1 started");
	while (task->progress.done < 100) {
		g_main_context_iteration(NULL, FALSE);
		executor_simulated_ops.update(fixture->executor, task);
	}
	before = task->progress;
	g_assert_cmpint(before.done, <, before.total);
	g_ptr_array_add(task->suspensions, task_suspension_new(1, task->nodes, 1, clock_now_ns()));
	executor_simulated_ops.suspend(fixture->executor, task);
	wait_told(fixture, "t1 suspended");
	executor_simulated_ops.update(fixture->executor, task);
	before = task->progress;
	executor_simulated_ops.update(fixture->executor, task);
	g_assert_cmpint(task->progress.done, ==, before.done);
	g_assert_cmpint(task->progress.t_ns, ==, before.t_ns);
	task_last_suspension(task)->resumed_nodes = g_memdup2(task->nodes, sizeof(*task->nodes));
	executor_simulated_ops.resume(fixture->executor, task);
	wait_told(fixture, "t1 completed");
	g_assert_cmpint(task->progress.done, ==, task->progress.total);
	executor_simulated_ops.start(fixture->executor, late);
	wait_told(fixture, "late deadline");
	g_assert_cmpint(late->progress.done, ==, 0);
	g_assert_cmpint(late->progress.total, ==, task->progress.total);
}

static void test_kill_and_deadline(struct fixture *fixture, gconstpointer data)
{
	g_autoptr(task_t) late = new_task("late", "L", 0, 1, 0.1);
	g_autoptr(task_t) killed = new_task("killed", "L", 1, 1, 60);
	g_autoptr(task_t) unknown = new_task("unknown", "X", 2, 1, 60);

	executor_simulated_ops.start(fixture->executor, late);
	executor_simulated_ops.start(fixture->executor, killed);
	executor_simulated_ops.start(fixture->executor, unknown);
	wait_told(fixture, "late deadline");
	wait_told(fixture, "unknown failed");
	g_assert_nonnull(strstr(unknown->reason, "no estimate of type 'X'"));
	executor_simulated_ops.kill(fixture->executor, killed, TASK_OUTCOME_KILLED, "on request");
	executor_simulated_ops.kill(fixture->executor, killed, TASK_OUTCOME_LOST, "too late");
	wait_told(fixture, "killed killed");
	g_assert_cmpstr(killed->reason, ==, "on request");
	g_assert_cmpuint(fixture->ended, ==, 3);
}

/* Timers count whole milliseconds, and what is left of a deadline is seldom that. */
static void test_deadline_in_parts(struct fixture *fixture, gconstpointer data)
{
	const struct executor_ops *ops = &executor_simulated_ops;

	for (int i = 0; i < 8; i++) {
		g_autofree char *id = g_strdup_printf("late%d", i);
		g_autofree char *is_suspended = g_strconcat(id, " suspended", NULL);
		g_autofree char *is_started = g_strconcat(id, " started", NULL);
		g_autofree char *is_over = g_strconcat(id, " deadline", NULL);
		g_autoptr(task_t) task = new_task(id, "L", 0, 1, 0.02);

		ops->start(fixture->executor, task);
		wait_told(fixture, is_started);
		g_ptr_array_add(task->suspensions,
				task_suspension_new(1, task->nodes, 1, clock_now_ns()));
		ops->suspend(fixture->executor, task);
		wait_told(fixture, is_suspended);
		task_last_suspension(task)->resumed_nodes =
			g_memdup2(task->nodes, sizeof(uint32_t));
		ops->resume(fixture->executor, task);
		wait_told(fixture, is_over);
	}
}

/* What a script takes is not known: it has the time of its type, which is its deadline, too. */
static void test_script(struct fixture *fixture, gconstpointer data)
{
	g_autoptr(task_t) task = new_task("s", "S", 0, 1, 0.12);
	struct simulated_run run;

	g_assert_true(simulated_run_find(fixture->config, fixture->cluster, task, &run));
	g_assert_cmpfloat_with_epsilon(run.time_s, 0.12, 1e-9);
	task->script = g_new0(struct task_script, 1);
	task->script->files = g_ptr_array_new();
	task->script->results = g_strsplit("out.txt log", " ", 0);
	executor_simulated_ops.start(fixture->executor, task);
	wait_told(fixture, "s out.txt: the cluster is simulated");
	wait_told(fixture, "s completed");
}

/* It stands still while it is suspended, and runs as fast as its share. */
static void test_steps(struct fixture *fixture, gconstpointer data)
{
	const struct executor_ops *ops = &executor_simulated_ops;
	const uint32_t nodes[] = {2, 3};
	g_autoptr(task_t) task = new_task("t", "A", 0, 2, 60);
	struct task_suspension *suspension;

	ops->start(fixture->executor, task);
	g_assert_false(ops->may_step(fixture->executor, task));
	wait_told(fixture, "started");
	g_assert_true(ops->may_step(fixture->executor, task));
	suspension = task_suspension_new(1, task->nodes, 2, clock_now_ns());
	g_ptr_array_add(task->suspensions, suspension);
	task->state = TASK_SUSPENDING;
	ops->suspend(fixture->executor, task);
	wait_told(fixture, "suspended");
	g_assert_true(ops->node_is_ready(fixture->executor, 0));
	g_assert_cmpint(suspension->suspended_ns, >, 0);
	suspension->resumed_nodes = g_memdup2(nodes, sizeof(nodes));
	task->state = TASK_RESUMING;
	ops->resume(fixture->executor, task);
	wait_told(fixture, "resumed");
	g_assert_true(ops->node_is_ready(fixture->executor, 0));
	assert_node(fixture, 3, "busy", task->id);
	g_ptr_array_add(task->migrations,
			task_migration_new(1, nodes, (const uint32_t[]){1, 3}, 2, clock_now_ns()));
	ops->migrate(fixture->executor, task);
	wait_told(fixture, "moved");
	assert_node(fixture, 1, "busy", task->id);
	assert_node(fixture, 2, "ready", NULL);
	task->share.fraction = 0.5;
	ops->share(fixture->executor, task);
	wait_told(fixture, "shared");
	wait_told(fixture, "completed");
	g_assert_true(ops->node_is_ready(fixture->executor, 1));
}

/* Operations take the time of the configuration, which is none of the task's. */
static void test_operation_time(struct fixture *fixture, gconstpointer data)
{
	const struct executor_ops *ops = &executor_simulated_ops;
	const uint32_t nodes[] = {0, 1};
	g_autoptr(task_t) task = new_task("t", "A", 0, 2, 60);
	struct simulated_run run;
	struct task_migration *migration;

	fixture->config->clusters[0].simulated->operation_s = 10; /* of 100 times the speed */
	g_assert_true(simulated_run_find(fixture->config, fixture->cluster, task, &run));
	ops->start(fixture->executor, task);
	wait_told(fixture, "started");
	g_assert_cmpfloat(clock_elapsed_s(task->requested_ns, task->started_ns), >=, 0.1 - 2e-3);
	migration = task_migration_new(1, nodes, (const uint32_t[]){2, 3}, 2, clock_now_ns());
	g_ptr_array_add(task->migrations, migration);
	ops->migrate(fixture->executor, task);
	g_assert_false(ops->may_step(fixture->executor, task));
	assert_node(fixture, 0, "busy", task->id);
	assert_node(fixture, 2, "busy", task->id);
	wait_told(fixture, "moved");
	g_assert_cmpfloat(clock_elapsed_s(migration->begun_ns, migration->moved_ns), >=,
			  0.1 - 2e-3);
	wait_told(fixture, "completed");
	g_assert_cmpfloat(clock_elapsed_s(task->started_ns, task->ended_ns), >=,
			  run.time_s + 0.1 - 4e-3);
}

/* The same task takes the same time, whenever it is asked; different ones differ. */
static void test_times(struct fixture *fixture, gconstpointer data)
{
	double sum = 0;
	double first_s = 0;

	for (int i = 0; i < 2000; i++) {
		g_autofree char *id = g_strdup_printf("task-%d", i);
		g_autoptr(task_t) task = new_task(id, "A", 0, 2, 60);
		struct simulated_run run;
		struct simulated_run again;

		g_assert_true(simulated_run_find(fixture->config, fixture->cluster, task, &run));
		g_assert_true(simulated_run_find(fixture->config, fixture->cluster, task, &again));
		g_assert_true(memcmp(&run, &again, sizeof(run)) == 0);
		sum += run.time_s;
		if (i == 0)
			first_s = run.time_s;
		else
			g_assert_true(fabs(run.time_s - first_s) > 0);
	}
	/* 20 s at 100 times the speed, +-2 */
	g_assert_cmpfloat_with_epsilon(sum / 2000, 0.2, 0.003);
}

static void test_host(void)
{
	struct simulated_host host;
	struct simulated_use use;

	simulated_host_init(&host, 10, 0);
	simulated_host_load(&host, INT64_C(2000000000), 5, 2);
	simulated_host_load(&host, INT64_C(3000000000), -5, -2);
	use = simulated_host_use(&host, INT64_C(5000000000));
	g_assert_cmpfloat_with_epsilon(use.energy_j, 20 + 15 + 20, 1e-9);
	g_assert_cmpfloat_with_epsilon(use.cpu_s, 2, 1e-9);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#define ADD(name, test)                                                                            \
	g_test_add("/executor/simulated/" name, struct fixture, NULL, set_up, test, tear_down)
	ADD("tells how far a task is", test_progress);
	ADD("a task runs as long as it should and is accounted for", test_task);
	ADD("tasks are killed, and end at their deadline", test_kill_and_deadline);
	ADD("a task is suspended, resumed, moved and given a share", test_steps);
	ADD("operations take the time of the configuration", test_operation_time);
	ADD("a deadline comes after a suspension, too", test_deadline_in_parts);
	ADD("a script takes the time of its type", test_script);
	ADD("times are drawn by seed and task", test_times);
#undef ADD
	g_test_add_func("/executor/simulated/a host adds up what it draws", test_host);
	return g_test_run();
}
