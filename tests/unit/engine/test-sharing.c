/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs on hosts that are shared in time (Stillwell 2010), in virtual time, against a second, plain
 * simulation: every job must end when it says.
 */
#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "common/json.h"
#include "common/random.h"
#include "controller/backend/sim.h"
#include "controller/engine/engine.h"
#include "controller/experiment/simulation.h"
#include "controller/journal/recorder_store.h"
#include "controller/snapshot/snapshot_json.h"
#include "controller/store/store.h"
#include "controller/sched/sharing.h"
#include "tests/oracle/sharing_oracle.h"
#include "tests/oracle/snapshots.h"
#include "tests/unit/store/each_decision.h"

#define PERIOD_S 600.0
#define NEVER_S 1e9

/* A cluster and jobs, with all that engine and simulation need. */
struct scene {
	struct sched_system *shared; /* as the engine sees it */
	struct sched_system *real;   /* a row per job: how long it takes */
	struct workload workload;
	uint32_t hosts;
};

static struct sched_system *system_new(uint32_t hosts, const double *run_s, uint32_t jobs)
{
	const struct sched_cluster cluster = {.name = "c",
					      .nodes = hosts,
					      .cores = 4,
					      .pstates = 1};
	struct sched_system *system = sched_system_new(&cluster, 1, run_s ? jobs : 0);

	system->shared = !run_s;
	for (uint32_t i = 0; run_s && i < jobs; i++) {
		system->row_names[i] = "job";
		system->etc_s[i] = run_s[i];
		system->nodes[i] = 1;
	}
	g_assert_cmpint(sched_system_finish(system, NULL), ==, SCHED_SYSTEM_OK);
	return system;
}

static double uniform(struct random_stream *stream, double low, double high)
{
	return low + (high - low) * random_stream_uniform(stream);
}

static void scene_init(struct scene *scene, uint64_t seed)
{
	static const double needs[] = {0.25, 1, 1, 0.5};
	struct random_stream stream;
	g_autofree double *run_s = NULL;
	double arrival_s = 0;

	random_stream_init(&stream, seed, 17);
	scene->hosts = 1 + (uint32_t)random_stream_below(&stream, 8);
	scene->workload = (struct workload){0};
	scene->workload.tasks_count = 1 + (uint32_t)random_stream_below(&stream, 40);
	scene->workload.tasks = g_new0(struct sched_task, scene->workload.tasks_count);
	run_s = g_new(double, scene->workload.tasks_count);
	for (uint32_t i = 0; i < scene->workload.tasks_count; i++) {
		struct sched_task *task = &scene->workload.tasks[i];
		const uint32_t tenths = 1 + (uint32_t)random_stream_below(&stream, 10);

		arrival_s += uniform(&stream, 0, 200);
		run_s[i] = random_stream_below(&stream, 3) ? uniform(&stream, 1, 300)
							   : uniform(&stream, 300, 3000);
		task->id = task->row = i;
		task->arrival_s = arrival_s;
		task->demand = (struct sched_demand){
			.vms = 1 +
			       (uint32_t)random_stream_below(&stream, scene->hosts * (10 / tenths)),
			.cpu = needs[random_stream_below(&stream, G_N_ELEMENTS(needs))],
			.memory = tenths / 10.0,
		};
	}
	scene->shared = system_new(scene->hosts, NULL, 0);
	scene->real = system_new(scene->hosts, run_s, scene->workload.tasks_count);
}

static void scene_finish(struct scene *scene)
{
	sched_system_free(scene->shared);
	sched_system_free(scene->real);
	g_free(scene->workload.tasks);
}

/* What came of a run. */
struct outcome {
	double *end_s;
	double *virtual_s;
	uint32_t pauses;
	uint32_t migrations;
};

/* Counts what plans ask for; first member of its kind. */
struct counter {
	struct engine_recorder recorder;
	struct outcome *outcome;
};

static bool count_actions(struct engine_recorder *recorder, const struct policy *policy,
			  const struct sched_snapshot *snapshot, const struct sched_plan *plan)
{
	struct outcome *outcome = ((struct counter *)recorder)->outcome;

	for (uint32_t i = 0; i < plan->actions_count; i++) {
		outcome->pauses += plan->actions[i].kind == SCHED_ACTION_PAUSE;
		outcome->migrations += plan->actions[i].kind == SCHED_ACTION_MIGRATE;
	}
	return true;
}

static void run_engine(const struct scene *scene, const char *name, double penalty_s,
		       bool progress_only, struct outcome *ret_outcome)
{
	struct counter counter = {{.decision = count_actions}, ret_outcome};
	struct engine_setup setup = {
		.system = scene->shared,
		.workload = &scene->workload,
		.mapping_interval_s = PERIOD_S,
		.duration_s = NEVER_S,
		.virtual_pause_s = progress_only ? penalty_s : 0,
		.recorder = &counter.recorder,
	};
	struct backend *backend = backend_sim_new(scene->real, scene->workload.tasks_count);
	struct engine_result result;
	struct engine *engine;
	char message[256];

	g_assert_cmpint(policy_parse(name, &setup.policy, message, sizeof(message)), ==, 0);
	setup.moments = setup.policy.ops->sharing->moments;
	backend_sim_set_penalty(backend, penalty_s);
	engine = engine_new(&setup, backend);
	simulation_run(engine, backend, &result);
	g_assert_cmpstr(engine_reason(engine), ==, NULL);
	g_assert_cmpint(result.ended_by, ==, ENGINE_END_DONE);
	g_assert_cmpuint(result.tasks_completed, ==, scene->workload.tasks_count);
	for (uint32_t i = 0; i < scene->workload.tasks_count; i++) {
		ret_outcome->end_s[i] = engine_task_at(engine, i)->ended_s;
		ret_outcome->virtual_s[i] = engine_task_at(engine, i)->virtual_s;
	}
	engine_free(engine);
	backend_destroy(backend);
}

/* A job of the plain simulation. */
struct plain_job {
	struct oracle_job share; /* as of the last event */
	bool here;
	bool ended;
	double left_s; /* of its execution time */
	double held_s; /* no progress before */
};

/* The plain simulation. */
struct plain {
	const struct scene *scene;
	const char *policy;
	enum policy_moments moments;
	double penalty_s;
	bool progress_only; /* virtual time is progress */
	double now_s;
	struct plain_job *jobs;
	uint32_t left;
	struct outcome *outcome;
};

static double end_of(const struct plain *plain, const struct plain_job *job)
{
	if (!job->here || !job->share.placed)
		return INFINITY;
	return fmax(plain->now_s, job->held_s) + job->left_s / job->share.yield;
}

/* The next instant at which anything happens. */
static double next_of(const struct plain *plain)
{
	double next_s = INFINITY;

	if (plain->moments != POLICY_AT_CHANGES)
		next_s = (floor(plain->now_s / PERIOD_S + 1e-12) + 1) * PERIOD_S;
	for (uint32_t i = 0; i < plain->scene->workload.tasks_count; i++) {
		const struct plain_job *job = &plain->jobs[i];

		if (!job->here && !job->ended)
			next_s = fmin(next_s, job->share.task->arrival_s);
		next_s = fmin(next_s, end_of(plain, job));
		if (plain->moments != POLICY_AT_PERIODS && job->here && job->share.waited &&
		    job->share.tries > 0 && job->share.until_s > plain->now_s)
			next_s = fmin(next_s, job->share.until_s);
	}
	return next_s;
}

/* Lets time pass until `next_s`. Returns whether that is a mapping event for a change. */
static bool pass(struct plain *plain, double next_s)
{
	bool changed = false;

	for (uint32_t i = 0; i < plain->scene->workload.tasks_count; i++) {
		struct plain_job *job = &plain->jobs[i];
		const bool ends = end_of(plain, job) <= next_s + 1e-9;

		if (job->here && job->share.placed) {
			const double from_s = fmax(plain->now_s, job->held_s);
			const double progress = job->share.yield * fmax(0, next_s - from_s);

			job->share.virtual_s +=
				plain->progress_only ? progress
						     : job->share.yield * (next_s - plain->now_s);
			job->left_s -= progress;
		}
		if (ends) {
			plain->outcome->end_s[i] = next_s;
			plain->outcome->virtual_s[i] = job->share.virtual_s;
			job->here = false;
			job->ended = changed = true;
			plain->left--;
		}
		if (!job->here && !job->ended && job->share.task->arrival_s <= next_s) {
			job->here = job->share.waited = changed = true;
		} else if (job->here && job->share.waited && job->share.tries > 0 &&
			   job->share.until_s > plain->now_s && job->share.until_s <= next_s) {
			changed = true;
		}
	}
	plain->now_s = next_s;
	return changed;
}

static int compare_hosts(const void *left, const void *right)
{
	const uint32_t a = *(const uint32_t *)left;
	const uint32_t b = *(const uint32_t *)right;

	return (a > b) - (a < b);
}

/* Whether its VMs are on other hosts than before. Sorts both. */
static bool has_moved(const struct plain_job *job, uint32_t *before)
{
	const uint32_t vms = job->share.task->demand.vms;

	qsort(before, vms, sizeof(*before), compare_hosts);
	qsort(job->share.hosts, vms, sizeof(*before), compare_hosts);
	return memcmp(before, job->share.hosts, vms * sizeof(*before)) != 0;
}

/* What the policy made of a job, `before` being its hosts if it ran. */
static void take_over(struct plain *plain, struct plain_job *job, const struct oracle_job *after,
		      uint32_t *before)
{
	const bool ran = job->share.placed;

	job->share.placed = after->placed;
	job->share.yield = after->yield;
	if (after->put_off_s > 0) {
		job->share.tries++;
		job->share.until_s = after->put_off_s;
	}
	if (ran && !after->placed)
		plain->outcome->pauses++;
	if (!after->placed)
		return;
	if (ran && has_moved(job, before)) {
		plain->outcome->migrations++;
		job->held_s = plain->now_s + plain->penalty_s;
	} else if (!ran && !job->share.waited) {
		job->held_s = plain->now_s + plain->penalty_s;
	}
	job->share.waited = false;
}

static void map(struct plain *plain, bool between)
{
	const uint32_t count = plain->scene->workload.tasks_count;
	g_autofree bool *down = g_new0(bool, plain->scene->hosts);
	g_autofree struct oracle_job *shares = g_new0(struct oracle_job, count);
	g_autofree uint32_t *index = g_new0(uint32_t, count);
	g_autoptr(GPtrArray) hosts = g_ptr_array_new_with_free_func(g_free);
	struct oracle_state state = {plain->scene->hosts, down, 0, shares};
	const double periods = floor(plain->now_s / PERIOD_S + 1e-12) + 1;
	const struct sched_snapshot snapshot = {
		.now_s = plain->now_s,
		.next_event_s = periods * PERIOD_S,
		.between = between,
	};

	for (uint32_t i = 0; i < count; i++) {
		struct plain_job *job = &plain->jobs[i];
		struct oracle_job *share = &shares[state.jobs_count];

		if (!job->here)
			continue;
		*share = job->share;
		share->ran = share->placed;
		share->flow_s = plain->now_s - share->task->arrival_s;
		share->put_off_s = 0;
		index[state.jobs_count++] = i;
		g_ptr_array_add(hosts, g_memdup2(share->hosts,
						 share->task->demand.vms * sizeof(uint32_t)));
	}
	oracle_share(&state, &snapshot, plain->policy);
	for (uint32_t i = 0; i < state.jobs_count; i++)
		take_over(plain, &plain->jobs[index[i]], &shares[i], hosts->pdata[i]);
}

static void run_plain(const struct scene *scene, const char *name, double penalty_s,
		      bool progress_only, struct outcome *ret_outcome)
{
	const uint32_t count = scene->workload.tasks_count;
	struct plain plain = {
		.scene = scene,
		.policy = name,
		.moments = policy_find(name)->sharing->moments,
		.penalty_s = penalty_s,
		.progress_only = progress_only,
		.jobs = g_new0(struct plain_job, count),
		.left = count,
		.outcome = ret_outcome,
	};

	for (uint32_t i = 0; i < count; i++) {
		plain.jobs[i].share.task = &scene->workload.tasks[i];
		plain.jobs[i].share.hosts = g_new0(uint32_t, scene->workload.tasks[i].demand.vms);
		plain.jobs[i].left_s = scene->real->etc_s[i];
	}
	while (plain.left > 0) {
		const double next_s = next_of(&plain);
		const bool changed = pass(&plain, next_s);
		const bool periodic =
			plain.moments != POLICY_AT_CHANGES && fmod(next_s, PERIOD_S) == 0;

		if (periodic || (changed && plain.moments != POLICY_AT_PERIODS))
			map(&plain, !periodic);
	}
	for (uint32_t i = 0; i < count; i++)
		g_free(plain.jobs[i].share.hosts);
	g_free(plain.jobs);
}

static void outcome_init(struct outcome *outcome, uint32_t count)
{
	*outcome = (struct outcome){.end_s = g_new0(double, count),
				    .virtual_s = g_new0(double, count)};
}

static void outcome_finish(struct outcome *outcome)
{
	g_free(outcome->end_s);
	g_free(outcome->virtual_s);
}

/* Jobs end when the plain simulation says, after as many pauses and migrations. */
static void test_policy(const void *data)
{
	const struct policy_ops *ops = data;
	uint32_t pauses = 0;
	uint32_t migrations = 0;

	if (!oracle_shares(ops->name)) {
		g_autofree char *reason =
			g_strdup_printf("the oracle does not know \"%s\"", ops->name);

		g_test_skip(reason);
		return;
	}
	for (uint64_t seed = 0; seed < 60; seed++) {
		const double penalty_s = seed % 2 ? 300 : 0;
		const bool progress_only = seed % 4 == 3;
		struct scene scene;
		struct outcome got;
		struct outcome expected;

		scene_init(&scene, seed);
		outcome_init(&got, scene.workload.tasks_count);
		outcome_init(&expected, scene.workload.tasks_count);
		run_engine(&scene, ops->name, penalty_s, progress_only, &got);
		run_plain(&scene, ops->name, penalty_s, progress_only, &expected);
		for (uint32_t i = 0; i < scene.workload.tasks_count; i++) {
			g_assert_cmpfloat_with_epsilon(got.end_s[i], expected.end_s[i], 1e-3);
			g_assert_cmpfloat_with_epsilon(got.virtual_s[i], expected.virtual_s[i],
						       1e-3);
			g_assert_cmpfloat(got.virtual_s[i], >=, scene.real->etc_s[i] - 1e-6);
			if (progress_only)
				g_assert_cmpfloat(got.virtual_s[i], <=,
						  scene.real->etc_s[i] + 1e-6);
		}
		g_assert_cmpuint(got.pauses, ==, expected.pauses);
		g_assert_cmpuint(got.migrations, ==, expected.migrations);
		pauses += got.pauses;
		migrations += got.migrations;
		outcome_finish(&got);
		outcome_finish(&expected);
		scene_finish(&scene);
	}
	if (strcmp(ops->name, "greedy") == 0)
		g_assert_cmpuint(pauses + migrations, ==, 0);
	else
		g_assert_cmpuint(pauses, >, 20);
	if (g_str_has_prefix(ops->name, "dynmcb8"))
		g_assert_cmpuint(migrations, >, 20);
}

/* Policies that do not keep to what hosts have. */
static int put_on_one_host(struct sharing *sharing)
{
	g_autofree uint32_t *hosts = NULL;

	for (uint32_t i = 0; i < sharing->jobs_count; i++) {
		if (sharing->jobs[i].placed)
			continue;
		hosts = g_renew(uint32_t, hosts, sharing->jobs[i].vms);
		memset(hosts, 0, sharing->jobs[i].vms * sizeof(*hosts));
		sharing_place(sharing, i, hosts, SCHED_REASON_PACKED);
		sharing->jobs[i].yield = 1.0 / sharing->jobs[i].vms;
	}
	return 0;
}

static int give_all(struct sharing *sharing)
{
	for (uint32_t i = 0; i < sharing->jobs_count; i++)
		if (sharing->jobs[i].placed ||
		    sharing_place_greedily(sharing, i, SCHED_REASON_LEAST_LOADED))
			sharing->jobs[i].yield = 1;
	return 0;
}

static int give_nothing(struct sharing *sharing)
{
	give_all(sharing);
	for (uint32_t i = 0; i < sharing->jobs_count; i++)
		sharing->jobs[i].yield = 0;
	return 0;
}

/* A plan that hosts cannot keep ends the run with a reason. */
static void test_illegal(void)
{
	const struct {
		int (*decide)(struct sharing *sharing);
		const char *says;
	} cases[] = {
		{put_on_one_host, "more memory than a host has"},
		{give_all, "more CPU than a host has"},
		{give_nothing, "its yield is not above 0 and at most 1"},
	};
	struct scene scene = {.hosts = 2, .workload = {.tasks_count = 2}};
	const double run_s[] = {10, 10};

	scene.workload.tasks = g_new0(struct sched_task, 2);
	for (uint32_t i = 0; i < 2; i++)
		scene.workload.tasks[i] = (struct sched_task){.id = i,
							      .row = i,
							      .arrival_s = 1,
							      .demand = {3, 0.5, 0.3}};
	scene.shared = system_new(2, NULL, 0);
	scene.real = system_new(2, run_s, 2);
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct policy_sharing sharing = {.decide = cases[i].decide};
		const struct policy_ops ops = {.name = "wrong", .sharing = &sharing};
		const struct engine_setup setup = {
			.system = scene.shared,
			.workload = &scene.workload,
			.policy = {.ops = &ops, .name = "wrong"},
			.mapping_interval_s = PERIOD_S,
			.duration_s = NEVER_S,
			.moments = POLICY_AT_CHANGES,
		};
		struct backend *backend = backend_sim_new(scene.real, 2);
		struct engine *engine = engine_new(&setup, backend);
		struct engine_result result;

		simulation_run(engine, backend, &result);
		g_assert_cmpint(result.ended_by, ==, ENGINE_END_ABORTED);
		if (!strstr(engine_reason(engine), cases[i].says))
			g_error("\"%s\" does not say \"%s\"", engine_reason(engine), cases[i].says);
		engine_free(engine);
		backend_destroy(backend);
	}
	scene_finish(&scene);
}

/* Suspending and resuming take their time, longer than until the next event now and then. */
static void run_slowly(const struct scene *scene, const char *name,
		       struct engine_recorder *recorder, struct engine_result *ret_result)
{
	static const struct backend_overhead sample = {5, 60, 90, 20, 0};
	static const struct backend_overhead *const samples[] = {&sample};
	static const uint32_t counts[] = {1};
	const struct backend_sim_overheads overheads = {samples, counts, 1, 1};
	struct engine_setup setup = {
		.system = scene->shared,
		.workload = &scene->workload,
		.mapping_interval_s = PERIOD_S / 4,
		.duration_s = NEVER_S,
		.recorder = recorder,
	};
	struct backend *backend = backend_sim_new(scene->real, scene->workload.tasks_count);
	struct engine *engine;
	char message[256];

	g_assert_cmpint(policy_parse(name, &setup.policy, message, sizeof(message)), ==, 0);
	setup.moments = setup.policy.ops->sharing->moments;
	backend_sim_set_overheads(backend, &overheads);
	engine = engine_new(&setup, backend);
	simulation_run(engine, backend, ret_result);
	g_assert_cmpstr(engine_reason(engine), ==, NULL);
	engine_free(engine);
	backend_destroy(backend);
}

/* What was seen of jobs on their way; first member of its kind. */
struct busy_watch {
	struct engine_recorder recorder;
	uint32_t seen;   /* busy jobs in snapshots */
	uint32_t shared; /* new shares of them */
};

static bool watch_busy(struct engine_recorder *recorder, const struct policy *policy,
		       const struct sched_snapshot *snapshot, const struct sched_plan *plan)
{
	struct busy_watch *watch = (struct busy_watch *)recorder;

	for (uint32_t i = 0; i < snapshot->running_count; i++) {
		const struct sched_allocation *running = &snapshot->running[i];

		watch->seen += running->busy;
		for (uint32_t a = 0; running->busy && a < plan->actions_count; a++) {
			if (plan->actions[a].task != running->task->id)
				continue;
			g_assert_cmpint(plan->actions[a].kind, ==, SCHED_ACTION_SHARE);
			watch->shared++;
		}
	}
	return true;
}

/* Jobs that are on their way when the policy is asked stay on it, and all jobs end. */
static void test_slow(const void *data)
{
	const struct policy_ops *ops = data;
	struct busy_watch watch = {{.decision = watch_busy}, 0, 0};

	for (uint64_t seed = 0; seed < 40; seed++) {
		struct engine_result result;
		struct scene scene;

		scene_init(&scene, seed);
		run_slowly(&scene, ops->name, &watch.recorder, &result);
		g_assert_cmpint(result.ended_by, ==, ENGINE_END_DONE);
		g_assert_cmpuint(result.tasks_completed, ==, scene.workload.tasks_count);
		scene_finish(&scene);
	}
	if (strcmp(ops->name, "greedy") == 0)
		return;
	g_assert_cmpuint(watch.seen, >, 20);
	g_assert_cmpuint(watch.shared, >, 0);
}

/* What a record says of an event decides as it did. */
static bool decide_again(double time_s, const char *snapshot, const char *actions, void *data)
{
	uint32_t *count = data;
	g_autoptr(GError) error = NULL;
	g_autoptr(json_t) object = json_parse(snapshot, strlen(snapshot), "snapshot", &error);
	g_autoptr(snapshot_json_t) read =
		object ? snapshot_json_read(object, "snapshot", &error) : NULL;
	struct policy_context context = {.arena = arena_new()};
	struct policy policy;
	struct sched_plan plan;
	char message[256];

	g_assert_no_error(error);
	g_assert_cmpint(policy_parse(json_string_value(json_object_get(object, "policy")), &policy,
				     message, sizeof(message)),
			==, 0);
	g_assert_cmpint(policy_decide(&policy, &read->snapshot, &context, &plan), ==, 0);

	g_autoptr(json_t) list = snapshot_json_actions(read->snapshot.system, &plan, false);
	g_autofree char *text = json_text(list);

	g_assert_cmpstr(text, ==, actions);
	arena_free(context.arena);
	++*count;
	return true;
}

static bool check_row(const struct store_task *row)
{
	return !row->type && isnan(row->etc_s) && g_str_equal(row->state, "completed");
}

/*
 * A run is recorded though its jobs' execution times are unknown, and its snapshots decide the
 * same.
 */
static void test_record(const void *data)
{
	const struct policy_ops *ops = data;
	g_autofree char *dir = g_dir_make_tmp("virtbed-sharing-XXXXXX", NULL);
	g_autofree char *file = g_build_filename(dir, STORE_FILE, NULL);
	g_autoptr(GError) error = NULL;
	g_autoptr(store_t) store = store_open(dir, true, &error);
	struct store_run row = {.policy = (char *)ops->name,
				.limit = 1,
				.repeat = 1,
				.host_load = (double)NAN};
	struct engine_result result;
	struct scene scene;
	uint32_t count = 0;

	g_assert_no_error(error);
	scene_init(&scene, 5);
	g_assert_true(store_add_run(store, &row, &error));

	struct recorder_store *recorder = recorder_store_new(store, row.run, scene.shared, false);

	run_slowly(&scene, ops->name, recorder_store_engine(recorder), &result);
	g_assert_true(recorder_store_finish(recorder, &error));
	recorder_store_free(recorder);
	g_assert_true(each_decision(store, row.run, decide_again, &count, &error));
	g_assert_cmpuint(count, ==, result.decisions);

	g_autoptr(GPtrArray) rows = store_tasks(store, row.run, &error);

	g_assert_cmpuint(rows->len, ==, scene.workload.tasks_count);
	for (guint i = 0; i < rows->len; i++)
		g_assert_true(check_row(rows->pdata[i]));
	scene_finish(&scene);
	g_clear_pointer(&store, store_close);
	g_assert_cmpint(g_unlink(file), ==, 0);
	g_assert_cmpint(g_rmdir(dir), ==, 0);
}

/* A job alone: its penalties by hand. */
static void test_penalty(void)
{
	const double run_s[] = {100};
	struct sched_system *real = system_new(1, run_s, 1);
	struct backend *backend = backend_sim_new(real, 1);
	struct backend_event event;
	const uint32_t node = 0;

	backend_sim_set_penalty(backend, 30);
	backend_start(backend,
		      &(struct sched_allocation){.task = &(struct sched_task){0},
						 .nodes = &node,
						 .nodes_count = 1},
		      1);
	backend_share(backend, 0, 1, 0.5);
	backend_sim_wait(backend, 20, &event); /* STARTED; 10 s of progress by 20 s */
	g_assert_cmpint(event.kind, ==, BACKEND_EVENT_STARTED);
	backend_sim_wait(backend, 20, &event);
	g_assert_cmpint(event.kind, ==, BACKEND_EVENT_NONE);
	/* at 20 s, and again 10 s later: the penalty starts again */
	for (uint32_t n = 1; n <= 2; n++) {
		backend_suspend(backend, 0, 1, n);
		backend_sim_wait(backend, 20, &event);
		g_assert_cmpint(event.kind, ==, BACKEND_EVENT_SUSPENDED);
		backend_resume(backend, 0, 1, n, &node, 1);
		backend_sim_wait(backend, 20, &event);
		g_assert_cmpint(event.kind, ==, BACKEND_EVENT_RESUMED);
		backend_sim_wait(backend, 20 + 10 * n, &event);
		g_assert_cmpint(event.kind, ==, BACKEND_EVENT_NONE);
	}
	backend_share(backend, 0, 1, 1);
	backend_sim_wait(backend, NEVER_S, &event);
	g_assert_cmpint(event.kind, ==, BACKEND_EVENT_ENDED);
	g_assert_cmpfloat(event.time_s, ==, 20 + 10 + 30 + 90);
	g_assert_cmpfloat(event.exec_s, ==, event.time_s);
	backend_destroy(backend);
	sched_system_free(real);
}

int main(int argc, char **argv)
{
	uint32_t count;
	const struct policy_ops *const *list = policy_list(&count);

	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/engine-sharing/penalties add up by hand", test_penalty);
	g_test_add_func("/engine-sharing/plans that hosts cannot keep are refused", test_illegal);
	for (uint32_t i = 0; i < count; i++) {
		if (!list[i]->sharing)
			continue;

		g_autofree char *path = g_strdup_printf(
			"/engine-sharing/under %s jobs end when a plain simulation says",
			list[i]->name);
		g_autofree char *slow =
			g_strdup_printf("/engine-sharing/under %s jobs on their way stay on it",
					list[i]->name);
		g_autofree char *record =
			g_strdup_printf("/engine-sharing/what is recorded of %s decides the same",
					list[i]->name);

		g_test_add_data_func(slow, list[i], test_slow);
		g_test_add_data_func(record, list[i], test_record);
		g_test_add_data_func(path, list[i], test_policy);
	}
	return g_test_run();
}
