/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A run that is cut off is resumed from its record as if nothing had happened. */
#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "controller/experiment/experiment.h"
#include "controller/journal/recorder_store.h"
#include "controller/sched/immediate.h"
#include "controller/store/store.h"
#include "tests/unit/backend/scripted_backend.h"
#include "tests/unit/engine/drive.h"
#include "tests/unit/workload/testbed.h"

/* When it is cut off: between events, at one, early and late. */
static const double cuts_s[] = {40, 2500.5, 5000, 9999};
static const char *const policies[] = {"easy", "max-upr", "max-upe+reservations", "event-based",
				       NULL};

/*
 * In the midst of steps, which take some seconds. (At 4651 s a task is being resumed where another
 * one is leaving: that is not on record, it is mappable again after a restart.)
 */
static const double preempt_cuts_s[] = {1051.5, 2551, 4657, 4701.5, 5001, 6304, 9999};

/* How many suspended tasks were met in each state. */
static uint32_t states[ENGINE_TASK_RESUMING + 1];

/*
 * A policy that preempts more than any other would: at every third event all that runs in a cluster
 * gives way. What waits, and then what is suspended, goes to idle nodes; at some events the other
 * way round.
 */
struct turns {
	struct immediate *event;
	bool *busy[16]; /* per cluster and node; of running tasks that stay */
};

static void turns_init(struct turns *turns, struct immediate *event)
{
	const struct sched_snapshot *snapshot = event->snapshot;

	turns->event = event;
	event->actions = arena_array(event->arena, 1000, sizeof(*event->actions));
	event->actions_count = 0;
	for (uint32_t c = 0; c < snapshot->system->clusters_count; c++) {
		const uint32_t nodes = snapshot->system->clusters[c].nodes;

		turns->busy[c] = arena_array(event->arena, nodes, sizeof(bool));
		memset(turns->busy[c], 0, nodes * sizeof(bool));
	}
	for (uint32_t i = 0; i < snapshot->running_count; i++)
		for (uint32_t j = 0; j < snapshot->running[i].nodes_count; j++)
			turns->busy[snapshot->running[i].cluster][snapshot->running[i].nodes[j]] =
				true;
	for (uint32_t i = 0; i < snapshot->reservations_count; i++)
		for (uint32_t j = 0; j < snapshot->reservations[i].nodes_count; j++)
			turns->busy[snapshot->reservations[i].cluster]
				   [snapshot->reservations[i].nodes[j]] = true;
	for (uint32_t i = 0; i < snapshot->down_count; i++)
		turns->busy[snapshot->down[i].cluster][snapshot->down[i].node] = true;
}

/* Puts a task on idle nodes of a cluster, if they are enough. */
static bool turns_put(struct turns *turns, enum sched_action_kind kind,
		      const struct sched_task *task, uint32_t cluster, uint32_t pstate)
{
	struct immediate *event = turns->event;
	const struct sched_option *option =
		sched_system_option(event->system, task->row, cluster, pstate);
	uint32_t *nodes = arena_array(event->arena, option->nodes, sizeof(*nodes));
	uint32_t found = 0;

	for (uint32_t i = 0; i < event->system->clusters[cluster].nodes; i++)
		if (!turns->busy[cluster][i] && found < option->nodes)
			nodes[found++] = i;
	if (found < option->nodes)
		return false;
	for (uint32_t i = 0; i < found; i++)
		turns->busy[cluster][nodes[i]] = true;
	event->actions[event->actions_count++] = (struct sched_action){
		.kind = kind,
		.task = task->id,
		.cluster = cluster,
		.pstate = pstate,
		.nodes_count = found,
		.nodes = nodes,
		.start_s = event->snapshot->now_s,
		.reason = SCHED_REASON_CHANCE,
	};
	return true;
}

static bool turns_start(struct turns *turns, const struct sched_task *task)
{
	uint32_t count;
	const struct sched_option *options =
		sched_system_options(turns->event->system, task->row, &count);

	for (uint32_t i = 0; i < count; i++)
		if (turns_put(turns, SCHED_ACTION_START, task, options[i].cluster,
			      options[i].pstate))
			return true;
	return false;
}

static void turns_resume(struct turns *turns)
{
	const struct sched_snapshot *snapshot = turns->event->snapshot;

	for (uint32_t i = 0; i < snapshot->suspended_count; i++)
		turns_put(turns, SCHED_ACTION_RESUME, snapshot->suspended[i].task,
			  snapshot->suspended[i].cluster, snapshot->suspended[i].pstate);
}

/* Everything that runs in a cluster gives way. */
static void turns_clear(struct turns *turns, uint32_t cluster)
{
	struct immediate *event = turns->event;

	for (uint32_t i = 0; i < event->snapshot->running_count; i++) {
		const struct sched_allocation *running = &event->snapshot->running[i];

		if (running->cluster != cluster || !running->task->preemptible)
			continue;
		event->actions[event->actions_count++] = (struct sched_action){
			.kind = SCHED_ACTION_SUSPEND,
			.task = running->task->id,
			.reason = SCHED_REASON_CHANCE,
		};
		for (uint32_t j = 0; j < running->nodes_count; j++)
			turns->busy[cluster][running->nodes[j]] = false;
	}
}

static int turns_decide(struct immediate *event)
{
	const struct sched_snapshot *snapshot = event->snapshot;
	struct turns turns;

	turns_init(&turns, event);
	if (snapshot->event % 3 == 0)
		turns_clear(&turns,
			    (uint32_t)(snapshot->event / 3) % snapshot->system->clusters_count);
	if (snapshot->event % 3 == 1)
		turns_resume(&turns);
	for (uint32_t i = 0; i < snapshot->waiting_count; i++)
		if (event->waiting_class[i] != IMMEDIATE_NONE)
			turns_start(&turns, snapshot->waiting[i]);
	if (snapshot->event % 3 != 1)
		turns_resume(&turns);
	return 0;
}

static const struct policy_immediate immediate = {.decide = turns_decide};
static const struct policy_ops turns_ops = {.name = "turns", .immediate = &immediate};

/* A directory with a store in it, and one run. */
struct place {
	char *dir;
	struct store *store;
	struct store_run row;
};

static void place_open(struct place *place, const char *policy)
{
	g_autoptr(GError) error = NULL;

	place->dir = g_dir_make_tmp("virtbed-resume-XXXXXX", &error);
	g_assert_no_error(error);
	place->store = store_open(place->dir, true, &error);
	g_assert_no_error(error);
	place->row = (struct store_run){
		.policy = (char *)policy,
		.limit = 1,
		.repeat = 1,
		.host_load = (double)NAN,
	};
	g_assert_true(store_add_run(place->store, &place->row, &error));
}

static void place_close(struct place *place)
{
	g_autoptr(GDir) dir = g_dir_open(place->dir, 0, NULL);
	const char *name;

	store_close(place->store);
	while ((name = g_dir_read_name(dir))) {
		g_autofree char *path = g_build_filename(place->dir, name, NULL);

		g_unlink(path);
	}
	g_rmdir(place->dir);
	g_free(place->dir);
}

static const struct store_suspension *last_suspension(const GPtrArray *rows, uint32_t task,
						      uint32_t attempt)
{
	const struct store_suspension *last = NULL;

	for (guint i = 0; i < rows->len; i++) {
		const struct store_suspension *row = g_ptr_array_index(rows, i);

		if (row->task == task && row->attempt == attempt)
			last = row;
	}
	return last;
}

/* What the backend knows of the tasks that were under way. */
static void adopt_tasks(struct engine *engine, const struct workload *workload, struct place *place,
			struct backend *backend)
{
	g_autoptr(GPtrArray) rows = store_suspensions(place->store, place->row.run, NULL);

	for (uint32_t i = 0; i < workload->tasks_count; i++) {
		const struct engine_task *task = engine_task_at(engine, i);
		const struct sched_allocation placed = engine_task_allocation(task);
		const struct store_suspension *row = last_suspension(rows, i, task->attempts);

		if (!engine_task_state_in(task->state, ENGINE_TASK_UNDER_WAY))
			continue;
		if (!row) {
			scripted_backend_adopt(backend, &placed, task->attempts, task->started_s);
			continue;
		}
		scripted_backend_adopt_suspended(
			backend, &placed, task->attempts,
			&(struct script_suspended){
				.n = task->suspensions,
				.executed_s = task->executed_s,
				.since_s = task->since_s,
				.leaves_s = task->state == ENGINE_TASK_SUSPENDING ? row->requested_s
										  : (double)NAN,
				.goes_on_s = task->state == ENGINE_TASK_RESUMING
						     ? row->resume_requested_s
						     : (double)NAN,
				.runs = task->state == ENGINE_TASK_RUNNING,
			});
		states[task->state]++;
	}
}

/* Runs with a recorder on a script; `resumed`: from the record, with what ran adopted. */
static void run(const struct experiment *experiment, const struct engine_setup *plain,
		struct place *place, const struct script *script, bool resumed,
		struct engine_result *ret_result)
{
	struct backend *backend = scripted_backend_new(script);
	struct recorder_store *recorder =
		recorder_store_new(place->store, place->row.run, experiment->system, true);
	struct engine_setup setup = *plain;
	g_autoptr(GError) error = NULL;

	setup.recorder = recorder_store_engine(recorder);

	g_autoptr(engine_t) engine = engine_new(&setup, backend);

	if (resumed) {
		g_assert_true(recorder_store_restore(place->store, place->row.run, &setup, engine,
						     NULL, &error));
		adopt_tasks(engine, setup.workload, place, backend);
	}
	drive(engine, backend, scripted_backend_wait, ret_result);
	g_assert_true(recorder_store_finish(recorder, &error));
	g_assert_no_error(error);
	recorder_store_free(recorder);
	backend_destroy(backend);
}

/*
 * The cut: the backend gives up at that time. The engine then marks what was under way as
 * unfinished, which a controller that is killed does not do: those records are held back.
 */
struct keeper {
	struct engine_recorder recorder;
	struct engine_recorder *to;
};

static bool keep_task(struct engine_recorder *recorder, const struct engine_task *task)
{
	struct keeper *keeper = (struct keeper *)recorder;

	return task->state == ENGINE_TASK_UNFINISHED || keeper->to->task(keeper->to, task);
}

static bool keep_suspension(struct engine_recorder *recorder,
			    const struct engine_suspension *suspension)
{
	struct keeper *keeper = (struct keeper *)recorder;

	return keeper->to->suspension(keeper->to, suspension);
}

static bool keep_flush(struct engine_recorder *recorder)
{
	struct keeper *keeper = (struct keeper *)recorder;

	return keeper->to->flush(keeper->to);
}

static void run_cut(const struct experiment *experiment, const struct engine_setup *plain,
		    struct place *place, const struct script *script)
{
	struct backend *backend = scripted_backend_new(script);
	struct recorder_store *recorder =
		recorder_store_new(place->store, place->row.run, experiment->system, true);
	struct keeper keeper = {
		.recorder = {.task = keep_task, .suspension = keep_suspension, .flush = keep_flush},
		.to = recorder_store_engine(recorder),
	};
	struct engine_setup setup = *plain;
	struct engine_result result;

	setup.recorder = &keeper.recorder;

	g_autoptr(engine_t) engine = engine_new(&setup, backend);

	drive(engine, backend, scripted_backend_wait, &result);
	g_assert_cmpint(result.ended_by, ==, ENGINE_END_ABORTED);
	g_assert_true(recorder_store_finish(recorder, NULL));
	recorder_store_free(recorder);
	backend_destroy(backend);
}

static void cut(const struct experiment *experiment, const struct engine_setup *setup, double cut_s)
{
	const struct script_event abort = {cut_s, BACKEND_EVENT_ABORTED, 0, 0, "cut"};
	struct script whole = {.system = experiment->system,
			       .watts = 250,
			       .suspend_s = 5,
			       .resume_s = 3};
	struct script first = whole;
	struct script second = whole;
	struct engine_result expected;
	struct engine_result result;
	struct place place;

	first.events = &abort;
	first.events_count = 1;
	second.now_s = cut_s;
	place_open(&place, setup->policy.name);
	run(experiment, setup, &place, &whole, false, &expected);
	place_close(&place);
	place_open(&place, setup->policy.name);
	run_cut(experiment, setup, &place, &first);
	run(experiment, setup, &place, &second, true, &result);
	place_close(&place);
	g_assert_cmpint(result.ended_by, ==, expected.ended_by);
	g_assert_cmpfloat(result.ended_s, ==, expected.ended_s);
	g_assert_cmpuint(result.tasks_arrived, ==, expected.tasks_arrived);
	g_assert_cmpuint(result.tasks_completed, ==, expected.tasks_completed);
	g_assert_cmpuint(result.tasks_dropped, ==, expected.tasks_dropped);
	g_assert_cmpfloat_with_epsilon(result.utility, expected.utility, 1e-9);
}

static void test_cut(const char *policy, double cut_s)
{
	const char *names[] = {policy, NULL};
	struct config *config = testbed_config_new();
	struct experiment *experiment = experiment_new(config, names, NULL);
	g_autoptr(workload_t) workload =
		workload_testbed_new(config, experiment->system, 3, 1, NULL);
	const struct engine_setup setup =
		experiment_setup(experiment, workload, &experiment->policies[0], 2.8e6);

	cut(experiment, &setup, cut_s);
	experiment_free(experiment);
	testbed_config_free(config);
}

/* The same with tasks that are suspended, or about to be, or being resumed. */
static void test_preempting(void)
{
	const char *names[] = {"max-util", NULL};
	struct config *config = testbed_config_new();
	struct experiment *experiment = experiment_new(config, names, NULL);
	g_autoptr(workload_t) workload =
		workload_testbed_new(config, experiment->system, 3, 1, NULL);
	struct engine_setup setup =
		experiment_setup(experiment, workload, &experiment->policies[0], 2.8e6);

	setup.policy.ops = &turns_ops;
	for (uint32_t i = 0; i < workload->tasks_count; i++)
		workload->tasks[i].preemptible = i % 4 != 0;
	for (size_t i = 0; i < G_N_ELEMENTS(preempt_cuts_s); i++)
		cut(experiment, &setup, preempt_cuts_s[i]);
	g_assert_cmpuint(states[ENGINE_TASK_RUNNING], >, 0);
	g_assert_cmpuint(states[ENGINE_TASK_SUSPENDING], >, 0);
	g_assert_cmpuint(states[ENGINE_TASK_SUSPENDED], >, 0);
	g_assert_cmpuint(states[ENGINE_TASK_RESUMING], >, 0);
	experiment_free(experiment);
	testbed_config_free(config);
}

static void test_policy(const void *data)
{
	for (size_t i = 0; i < G_N_ELEMENTS(cuts_s); i++)
		test_cut(data, cuts_s[i]);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; policies[i]; i++) {
		g_autofree char *path =
			g_strdup_printf("/resume/%s ends as it would have without a stop",
					policies[i]);

		g_test_add_data_func(path, policies[i], test_policy);
	}
	g_test_add_func("/resume/so does one whose tasks are suspended", test_preempting);
	return g_test_run();
}
