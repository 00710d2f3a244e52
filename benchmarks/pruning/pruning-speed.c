/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The mappers of Gentry 2019 on its workload (section VI): how long a mapping event takes, beside
 * the same event with all completion times convolved from scratch, and which share of the tasks is
 * on time.
 *
 * Times are processor time of the thread. Every event is decided twice more for them, once with a
 * memory of its own that is as warm as that of the run, and once without any; all plans have to be
 * the same. Trials run side by side.
 *
 * A mapper that defers keeps queues short. What it costs where they are full: PAM and MOC also
 * decide the events of MM's runs at which no queue lacks more than one task ("full"); these
 * decisions are not carried out.
 */
#include <glib.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "benchmarks/host.h"
#include "common/json.h"
#include "controller/backend/sim.h"
#include "controller/engine/engine.h"
#include "controller/experiment/robustness.h"
#include "controller/experiment/simulation.h"
#include "controller/report/stats.h"
#include "controller/sched/queueing.h"
#include "controller/workload/pruning.h"
#include "tests/oracle/pruning_system.h"

/* Seeds of the matrix and of the trials. */
#define PET_SEED 4
#define SEED 1
#define NEVER_S 1e9
/* Of the intervals. */
#define LEVEL 0.95

static const char *const mappers[] = {"pam", "pamf", "moc", "mm", "msd", "mmu"};

#define MAPPERS G_N_ELEMENTS(mappers)
#define LEVELS 2
#define QUEUE_LENGTH 6
/*
 * Calibrated (docs/explanation/reproduction.md): the tasks of the higher level arrive in so long,
 * beta.
 */
#define SPAN (250000.0 * 800 / 34000)
#define SLACK 1.7

/* The policy that decides the events with full queues. */
static const char *const guests[] = {"pam", "moc"};
#define GUESTS G_N_ELEMENTS(guests)
#define HOST "mm"

/* Events of another mapper. */
struct visit {
	uint64_t events;
	double warm_s;
	double scratch_s;
};

/* What came of a mapper in a trial at a level. */
struct score {
	uint64_t events;
	double warm_s; /* of all events */
	double scratch_s;
	struct robustness robustness;
	struct visit visits[GUESTS]; /* of the mapper HOST */
};

struct options {
	int trials;
	int jobs;
	int tasks;
	int left_out; /* first and last tasks that do not count */
	double span[LEVELS];
	double slack;
	double drop;
	double defer;
	double recency;
	double separation;
	double fairness;
	gboolean plain; /* no second decisions */
	gboolean keep;
	double bin;
};

/* One trial at one level; scores of all mappers. */
struct job {
	const struct options *options;
	const struct sched_system *system;
	uint32_t level;
	uint32_t trial;
	struct score scores[MAPPERS];
};

struct watch {
	struct engine_recorder recorder;
	struct score *score;
	struct arena *arena;
	struct queueing_memory *memory;
	bool hosts;
	struct policy guests[GUESTS];
	struct queueing_memory *memories[GUESTS];
};

static double thread_s(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static bool same_plan(const struct sched_plan *plan, const struct sched_plan *other)
{
	for (uint32_t i = 0; i < plan->actions_count && i < other->actions_count; i++) {
		const struct sched_action *a = &plan->actions[i], *b = &other->actions[i];

		if (a->kind != b->kind || a->task != b->task || a->cluster != b->cluster ||
		    a->chance != b->chance || a->threshold != b->threshold)
			return false;
	}
	return plan->actions_count == other->actions_count;
}

/* Decides once more. Returns how long it took. */
static double decide_again(const struct watch *watch, const struct policy *policy,
			   const struct sched_snapshot *snapshot, const struct sched_plan *plan,
			   struct queueing_memory *memory)
{
	struct policy_context context = {.arena = watch->arena, .memory = memory};
	const double begun_s = thread_s();
	struct sched_plan again;
	double took_s;

	if (policy_decide(policy, snapshot, &context, &again) < 0)
		g_error("out of memory");
	took_s = thread_s() - begun_s;
	if (!same_plan(&again, plan))
		g_error("%s: another plan at %g s", policy->name, snapshot->now_s);
	return took_s;
}

/* Whether no queue lacks more than the task that has just left it. */
static bool is_full(const struct sched_snapshot *snapshot)
{
	for (uint32_t m = 0; m < snapshot->system->clusters_count; m++)
		if (snapshot->queues[m].count + 1 < snapshot->system->queueing->length)
			return false;
	return snapshot->waiting_count > 0;
}

/* Every event goes into their memories; full ones count. */
static void visit(struct watch *watch, const struct sched_snapshot *snapshot)
{
	const bool full = is_full(snapshot);

	for (size_t i = 0; i < GUESTS; i++) {
		struct visit *visit = &watch->score->visits[i];
		struct policy_context context = {.arena = watch->arena,
						 .memory = watch->memories[i]};
		const double begun_s = thread_s();
		g_autofree struct sched_action *actions = NULL;
		struct sched_plan plan;
		double took_s;

		if (policy_decide(&watch->guests[i], snapshot, &context, &plan) < 0)
			g_error("out of memory");
		took_s = thread_s() - begun_s;
		if (!full)
			continue;
		/* They are in the arena, which the next decision takes over. */
		plan.actions = actions =
			g_memdup2(plan.actions, plan.actions_count * sizeof(*plan.actions));
		visit->events++;
		visit->warm_s += took_s;
		visit->scratch_s += decide_again(watch, &watch->guests[i], snapshot, &plan, NULL);
	}
}

static bool watch_decision(struct engine_recorder *recorder, const struct policy *policy,
			   const struct sched_snapshot *snapshot, const struct sched_plan *plan)
{
	struct watch *watch = (struct watch *)recorder;

	watch->score->events++;
	watch->score->warm_s += decide_again(watch, policy, snapshot, plan, watch->memory);
	watch->score->scratch_s += decide_again(watch, policy, snapshot, plan, NULL);
	if (watch->hosts)
		visit(watch, snapshot);
	return true;
}

static void run_mapper(const struct job *job, const struct workload *workload, const char *name,
		       struct score *score)
{
	struct watch watch = {
		.recorder = {.decision = watch_decision},
		.score = score,
		.arena = arena_new(),
		.memory = queueing_memory_new(),
		.hosts = strcmp(name, HOST) == 0,
	};
	struct engine_setup setup = {
		.system = job->system,
		.workload = workload,
		.mapping_interval_s = NEVER_S,
		.duration_s = NEVER_S,
		.recorder = job->options->plain ? NULL : &watch.recorder,
		.moments = POLICY_AT_CHANGES,
		.platform = &platform_machine,
	};
	struct backend *backend = backend_sim_new(job->system, workload->tasks_count);
	struct engine_result result;
	struct engine *engine;
	char message[256];

	for (size_t i = 0; i < GUESTS; i++) {
		watch.memories[i] = queueing_memory_new();
		if (policy_parse(guests[i], &watch.guests[i], message, sizeof(message)) < 0)
			g_error("%s", message);
	}
	if (policy_parse(name, &setup.policy, message, sizeof(message)) < 0)
		g_error("%s", message);
	backend_sim_set_exec_seed(backend, SEED, job->trial);
	engine = engine_new(&setup, backend);
	simulation_run(engine, backend, &result);
	if (engine_reason(engine))
		g_error("%s: %s", name, engine_reason(engine));
	if (job->options->plain) {
		score->events = result.decisions;
		score->warm_s = result.decide_s;
	}
	robustness_of(engine, setup.system->rows_count, (uint32_t)job->options->left_out, NULL,
		      &score->robustness);
	engine_free(engine);
	backend_destroy(backend);
	for (size_t i = 0; i < GUESTS; i++)
		queueing_memory_free(watch.memories[i]);
	queueing_memory_free(watch.memory);
	arena_free(watch.arena);
}

static void run_job(gpointer data, gpointer unused)
{
	struct job *job = data;
	const struct options *options = job->options;
	const struct pruning_load load = {
		.tasks = (uint32_t)options->tasks,
		.span_s = options->span[job->level],
		.variance = 0.1,
		.slack = options->slack,
	};
	g_autoptr(workload_t) workload = pruning_workload_new(job->system->queueing->pet, &load,
							      options->bin, SEED, job->trial);

	for (size_t i = 0; i < MAPPERS; i++)
		run_mapper(job, workload, mappers[i], &job->scores[i]);
}

/* null for what one trial cannot tell */
static json_t *number(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

/* The mean over the trials of what stands at an offset of scores, times `scale`. */
static struct stats_interval mean_of(const struct job *jobs, uint32_t trials, size_t mapper,
				     size_t offset, double scale)
{
	g_autofree double *values = g_new(double, trials);

	for (uint32_t i = 0; i < trials; i++)
		values[i] =
			scale * *(const double *)((const char *)&jobs[i].scores[mapper] + offset);
	return stats_t_interval(values, trials, LEVEL);
}

#define OFFSET(field) G_STRUCT_OFFSET(struct score, field)

static json_t *mapper_json(const struct job *jobs, uint32_t trials, size_t mapper)
{
	const struct stats_interval share =
		mean_of(jobs, trials, mapper, OFFSET(robustness.share), 100);
	const struct stats_interval variance =
		mean_of(jobs, trials, mapper, OFFSET(robustness.type_variance), 100);
	uint64_t events = 0;
	double warm_s = 0, scratch_s = 0, busy_s = 0, on_time = 0;

	for (uint32_t i = 0; i < trials; i++) {
		const struct score *score = &jobs[i].scores[mapper];

		events += score->events;
		warm_s += score->warm_s;
		scratch_s += score->scratch_s;
		busy_s += score->robustness.busy_s;
		on_time += score->robustness.on_time;
	}
	return json_pack("{s:s, s:f, s:o, s:f, s:o, s:f, s:I, s:f, s:f}", "mapper", mappers[mapper],
			 "robustness_percent", share.value, "robustness_half_95",
			 number(share.value - share.low), "type_variance_percent", variance.value,
			 "type_variance_half_95", number(variance.value - variance.low),
			 "busy_per_on_time", on_time > 0 ? busy_s / on_time : 0, "events",
			 (json_int_t)events, "event_mean_ms", 1e3 * warm_s / (double)events,
			 "event_from_scratch_mean_ms", 1e3 * scratch_s / (double)events);
}

static void parse(int argc, char **argv, struct options *options)
{
	const GOptionEntry entries[] = {
		{"trials", 0, 0, G_OPTION_ARG_INT, &options->trials, "how many (30)", "N"},
		{"jobs", 0, 0, G_OPTION_ARG_INT, &options->jobs, "threads (2)", "N"},
		{"tasks", 0, 0, G_OPTION_ARG_INT, &options->tasks, "of a trial (800)", "N"},
		{"left-out", 0, 0, G_OPTION_ARG_INT, &options->left_out,
		 "first and last tasks that do not count (100)", "N"},
		{"span-low", 0, 0, G_OPTION_ARG_DOUBLE, &options->span[0],
		 "time in which the tasks of the lower level arrive", "UNITS"},
		{"span-high", 0, 0, G_OPTION_ARG_DOUBLE, &options->span[1], "the higher", "UNITS"},
		{"slack", 0, 0, G_OPTION_ARG_DOUBLE, &options->slack, "beta", "BETA"},
		{"drop", 0, 0, G_OPTION_ARG_DOUBLE, &options->drop, "threshold (0.5)", "P"},
		{"defer", 0, 0, G_OPTION_ARG_DOUBLE, &options->defer, "threshold (0.9)", "P"},
		{"recency", 0, 0, G_OPTION_ARG_DOUBLE, &options->recency, "lambda (0.9)", "L"},
		{"separation", 0, 0, G_OPTION_ARG_DOUBLE, &options->separation,
		 "of the Schmitt trigger (0.2)", "S"},
		{"fairness", 0, 0, G_OPTION_ARG_DOUBLE, &options->fairness, "factor (0.05)", "F"},
		{"bin", 0, 0, G_OPTION_ARG_DOUBLE, &options->bin, "time units of a bin (1)",
		 "UNITS"},
		{"plain", 0, 0, G_OPTION_ARG_NONE, &options->plain,
		 "time the decisions of the runs alone", NULL},
		{"keep", 0, 0, G_OPTION_ARG_NONE, &options->keep,
		 "baselines leave executing tasks alone at their deadlines", NULL},
		G_OPTION_ENTRY_NULL,
	};
	g_autoptr(GOptionContext) context = g_option_context_new(NULL);
	g_autoptr(GError) error = NULL;

	g_option_context_add_main_entries(context, entries, NULL);
	if (!g_option_context_parse(context, &argc, &argv, &error))
		g_error("%s", error->message);
	if (options->trials < 1 || options->jobs < 1 || options->tasks <= 2 * options->left_out ||
	    options->left_out < 0)
		g_error("no trials, threads or tasks");
}

static struct sched_queueing make_settings(const struct options *options, const struct pet *pet)
{
	return (struct sched_queueing){
		.pet = pet,
		.bin_s = options->bin,
		.length = QUEUE_LENGTH,
		.pruning =
			{
				.drop_threshold = options->drop,
				.defer_threshold = options->defer,
				.adjustment = options->drop,
				.recency = options->recency,
				.toggle = 1,
				.separation = options->separation,
				.fairness = options->fairness,
				.cull_threshold = 0.3,
				.evicting_baselines = !options->keep,
			},
	};
}

/* All trials at all levels, level by level; the caller frees. */
static struct job *run_jobs(const struct options *options, const struct sched_system *system)
{
	const uint32_t trials = (uint32_t)options->trials;
	struct job *jobs = g_new0(struct job, LEVELS * (size_t)trials);
	GThreadPool *pool = g_thread_pool_new(run_job, NULL, options->jobs, TRUE, NULL);

	for (uint32_t i = 0; i < LEVELS * trials; i++) {
		jobs[i] = (struct job){options, system, i / trials, i % trials + 1, {{0}}};
		g_thread_pool_push(pool, &jobs[i], NULL);
	}
	g_thread_pool_free(pool, FALSE, TRUE);
	return jobs;
}

/* What the guests' events took, over all trials of a level. */
static json_t *full_json(const struct job *jobs, uint32_t trials)
{
	json_t *list = json_array();

	for (size_t g = 0; g < GUESTS; g++) {
		struct visit sum = {0};

		for (uint32_t i = 0; i < trials; i++)
			for (size_t m = 0; m < MAPPERS; m++) {
				const struct visit *visit = &jobs[i].scores[m].visits[g];

				sum.events += visit->events;
				sum.warm_s += visit->warm_s;
				sum.scratch_s += visit->scratch_s;
			}
		json_array_append_new(list,
				      json_pack("{s:s, s:I, s:o, s:o}", "mapper", guests[g],
						"events", (json_int_t)sum.events, "event_mean_ms",
						number(1e3 * sum.warm_s / (double)sum.events),
						"event_from_scratch_mean_ms",
						number(1e3 * sum.scratch_s / (double)sum.events)));
	}
	return list;
}

static json_t *levels_json(const struct options *options, const struct job *jobs)
{
	const uint32_t trials = (uint32_t)options->trials;
	json_t *levels = json_array();

	for (uint32_t level = 0; level < LEVELS; level++) {
		json_t *list = json_array();

		for (size_t i = 0; i < MAPPERS; i++)
			json_array_append_new(list, mapper_json(jobs + level * trials, trials, i));
		json_array_append_new(levels,
				      json_pack("{s:f, s:o, s:o}", "span", options->span[level],
						"mappers", list, "full",
						full_json(jobs + level * trials, trials)));
	}
	return levels;
}

static double mean_bins(const struct pet *pet)
{
	double bins = 0;

	for (uint32_t i = 0; i < PRUNING_TYPES * PRUNING_MACHINES; i++)
		bins += pet->entries[i].pmf.count;
	return bins / (PRUNING_TYPES * PRUNING_MACHINES);
}

int main(int argc, char **argv)
{
	struct options options = {
		.trials = 30,
		.jobs = 2,
		.tasks = 800,
		.left_out = 100,
		.span = {SPAN * 34 / 19.0, SPAN},
		.slack = SLACK,
		.drop = 0.5,
		.defer = 0.9,
		.recency = 0.9,
		.separation = 0.2,
		.fairness = 0.05,
		.bin = 1,
	};
	const double load_before = host_load();
	const gint64 begun_us = g_get_monotonic_time();
	g_autoptr(json_t) object = NULL;
	g_autofree struct job *jobs = NULL;
	g_autofree char *text = NULL;
	struct sched_queueing settings;
	struct sched_system *system;
	struct pet *pet;

	parse(argc, argv, &options);
	pet = pruning_pet_new(PET_SEED, options.bin);
	if (!pet)
		g_error("bins of %g are too small", options.bin);
	settings = make_settings(&options, pet);
	system = pruning_system_new(&settings);
	jobs = run_jobs(&options, system);
	object = json_pack("{s:o, s:i, s:i, s:f, s:f, s:f, s:f, s:o}", "host",
			   host_json(load_before), "trials", options.trials, "tasks", options.tasks,
			   "slack", options.slack, "pmf_bins_mean", mean_bins(pet), "elapsed_s",
			   (double)(g_get_monotonic_time() - begun_us) * 1e-6, "cpu_s",
			   host_cpu_s(), "levels", levels_json(&options, jobs));
	text = json_pretty(object);
	puts(text);
	sched_system_free(system);
	pet_free(pet);
	return 0;
}
