/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The mappers of paper 004 on its workload (section VI): how long a mapping event takes, beside the same
 * event with all completion times convolved from scratch, and which share of the tasks is on time.
 *
 * Times are processor time of the thread. Every event is decided twice more for them, once with a
 * memory of its own that is as warm as that of the run, and once without any; all plans have to be the
 * same. Trials run side by side.
 */
#include <glib.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "benchmarks/host.h"
#include "common/json.h"
#include "controller/backend/sim.h"
#include "controller/engine/engine.h"
#include "controller/sched/queueing.h"
#include "controller/workload/pruning.h"

/* Seeds of the matrix and of the trials. */
#define PET_SEED 4
#define SEED 1
#define NEVER_S 1e9
/* Student's t for 95 % and 29 degrees of freedom: 30 trials. */
#define STUDENT_29 2.045

static const char *const mappers[] = { "pam", "pamf", "moc", "mm", "msd", "mmu" };

#define MAPPERS G_N_ELEMENTS(mappers)
#define LEVELS 2

/* What came of a mapper in a trial at a level. */
struct score {
	uint64_t events;
	double warm_s;        /* of all events */
	double scratch_s;
	double robustness;    /* share of the tasks that count */
	double variance;      /* of the shares of the types, in percent squared */
	double busy;          /* time units that machines executed */
	uint32_t on_time;
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
	gboolean evict;
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
	struct scratch *scratch;
	struct queueing_memory *memory;
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
	struct policy_context context = { .scratch = watch->scratch, .memory = memory };
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

static bool watch_decision(struct engine_recorder *recorder, const struct policy *policy,
			   const struct sched_snapshot *snapshot, const struct sched_plan *plan)
{
	struct watch *watch = (struct watch *)recorder;

	watch->score->events++;
	watch->score->warm_s += decide_again(watch, policy, snapshot, plan, watch->memory);
	watch->score->scratch_s += decide_again(watch, policy, snapshot, plan, NULL);
	return true;
}

/* Shares of the tasks that count: of all, and the variance over the types. */
static void rate(const struct job *job, const struct engine *engine, struct score *score)
{
	const uint32_t out = (uint32_t)job->options->left_out;
	const uint32_t end = (uint32_t)job->options->tasks - out;
	double on_time[PRUNING_TYPES] = { 0 }, count[PRUNING_TYPES] = { 0 };
	double sum = 0, squares = 0;

	for (uint32_t i = 0; i < (uint32_t)job->options->tasks; i++) {
		const struct engine_task *task = engine_task(engine, i);
		const bool success = task->state == ENGINE_TASK_COMPLETED &&
				     task->ended_s <= task->task->deadline_s;

		if (i < out || i >= end)
			continue;
		if (isfinite(task->exec_s))
			score->busy += task->exec_s;
		score->on_time += success;
		on_time[task->task->row] += success;
		count[task->task->row]++;
	}
	score->robustness = (double)score->on_time / (end - out);
	for (uint32_t type = 0; type < PRUNING_TYPES; type++) {
		const double share = count[type] > 0 ? 100 * on_time[type] / count[type] : 0;

		sum += share;
		squares += share * share;
	}
	score->variance = squares / PRUNING_TYPES - pow(sum / PRUNING_TYPES, 2);
}

static void run_mapper(const struct job *job, const struct workload *workload, const char *name,
		       struct score *score)
{
	struct watch watch = {
		.recorder = { .decision = watch_decision },
		.score = score,
		.scratch = scratch_new(),
		.memory = queueing_memory_new(),
	};
	struct engine_setup setup = {
		.system = job->system,
		.workload = workload,
		.mapping_interval_s = NEVER_S,
		.duration_s = NEVER_S,
		.recorder = job->options->plain ? NULL : &watch.recorder,
		.moments = POLICY_AT_CHANGES,
	};
	struct backend *backend = backend_sim_new(job->system, workload->tasks_count);
	struct engine_result result;
	struct engine *engine;
	char message[256];

	if (policy_parse(name, &setup.policy, message, sizeof(message)) < 0)
		g_error("%s", message);
	backend_sim_set_exec_seed(backend, SEED, job->trial);
	engine = engine_new(&setup, backend);
	engine_run(engine, &result);
	if (engine_reason(engine))
		g_error("%s: %s", name, engine_reason(engine));
	if (job->options->plain) {
		score->events = result.decisions;
		score->warm_s = result.decide_s;
	}
	rate(job, engine, score);
	engine_free(engine);
	backend_destroy(backend);
	queueing_memory_free(watch.memory);
	scratch_free(watch.scratch);
}

static void run_job(gpointer data, gpointer unused)
{
	struct job *job = data;
	const struct options *options = job->options;
	const struct pruning_load load = {
		.tasks = (uint32_t)options->tasks,
		.span = options->span[job->level],
		.variance = 0.1,
		.slack = options->slack,
	};
	g_autoptr(workload_t) workload =
		pruning_workload_new(job->system->queueing->pet, &load, 1, SEED, job->trial);

	for (size_t i = 0; i < MAPPERS; i++)
		run_mapper(job, workload, mappers[i], &job->scores[i]);
}

static double mean_of(const struct job *jobs, uint32_t trials, size_t mapper, size_t offset,
		      double *ret_half)
{
	double sum = 0, squares = 0;

	for (uint32_t i = 0; i < trials; i++) {
		const double value =
			*(const double *)((const char *)&jobs[i].scores[mapper] + offset);

		sum += value;
		squares += value * value;
	}
	*ret_half = trials > 1 ? STUDENT_29 *
					 sqrt(fmax(0, squares - sum * sum / trials) /
					      (trials - 1) / trials)
			       : 0;
	return sum / trials;
}

static json_t *mapper_json(const struct job *jobs, uint32_t trials, size_t mapper)
{
	uint64_t events = 0;
	double warm_s = 0, scratch_s = 0, busy = 0, on_time = 0;
	double robust, robust_half, variance, variance_half;

	for (uint32_t i = 0; i < trials; i++) {
		const struct score *score = &jobs[i].scores[mapper];

		events += score->events;
		warm_s += score->warm_s;
		scratch_s += score->scratch_s;
		busy += score->busy;
		on_time += score->on_time;
	}
	robust = mean_of(jobs, trials, mapper, G_STRUCT_OFFSET(struct score, robustness),
			 &robust_half);
	variance = mean_of(jobs, trials, mapper, G_STRUCT_OFFSET(struct score, variance),
			   &variance_half);
	return json_pack("{s:s, s:f, s:f, s:f, s:f, s:f, s:I, s:f, s:f}", "mapper", mappers[mapper],
			 "robustness_percent", 100 * robust, "robustness_half_95", 100 * robust_half,
			 "type_variance", variance, "type_variance_half_95", variance_half,
			 "busy_per_on_time", on_time > 0 ? busy / on_time : 0, "events",
			 (json_int_t)events, "event_mean_ms", 1e3 * warm_s / (double)events,
			 "event_from_scratch_mean_ms", 1e3 * scratch_s / (double)events);
}

static void parse(int argc, char **argv, struct options *options)
{
	const GOptionEntry entries[] = {
		{ "trials", 0, 0, G_OPTION_ARG_INT, &options->trials, "how many (30)", "N" },
		{ "jobs", 0, 0, G_OPTION_ARG_INT, &options->jobs, "threads (2)", "N" },
		{ "tasks", 0, 0, G_OPTION_ARG_INT, &options->tasks, "of a trial (800)", "N" },
		{ "left-out", 0, 0, G_OPTION_ARG_INT, &options->left_out,
		  "first and last tasks that do not count (100)", "N" },
		{ "span-low", 0, 0, G_OPTION_ARG_DOUBLE, &options->span[0],
		  "time in which the tasks of the lower level arrive", "UNITS" },
		{ "span-high", 0, 0, G_OPTION_ARG_DOUBLE, &options->span[1], "the higher", "UNITS" },
		{ "slack", 0, 0, G_OPTION_ARG_DOUBLE, &options->slack, "beta", "BETA" },
		{ "drop", 0, 0, G_OPTION_ARG_DOUBLE, &options->drop, "threshold (0.5)", "P" },
		{ "defer", 0, 0, G_OPTION_ARG_DOUBLE, &options->defer, "threshold (0.9)", "P" },
		{ "recency", 0, 0, G_OPTION_ARG_DOUBLE, &options->recency, "lambda (0.9)", "L" },
		{ "separation", 0, 0, G_OPTION_ARG_DOUBLE, &options->separation,
		  "of the Schmitt trigger (0.2)", "S" },
		{ "fairness", 0, 0, G_OPTION_ARG_DOUBLE, &options->fairness, "factor (0.05)", "F" },
		{ "plain", 0, 0, G_OPTION_ARG_NONE, &options->plain,
		  "time the decisions of the runs alone", NULL },
		{ "evict", 0, 0, G_OPTION_ARG_NONE, &options->evict,
		  "baselines, too, take executing tasks off at their deadlines", NULL },
		G_OPTION_ENTRY_NULL,
	};
	g_autoptr(GOptionContext) context = g_option_context_new(NULL);
	g_autoptr(GError) error = NULL;

	g_option_context_add_main_entries(context, entries, NULL);
	if (!g_option_context_parse(context, &argc, &argv, &error))
		g_error("%s", error->message);
	if (options->trials < 1 || options->jobs < 1 ||
	    options->tasks <= 2 * options->left_out || options->left_out < 0)
		g_error("no trials, threads or tasks");
}

int main(int argc, char **argv)
{
	struct options options = {
		.trials = 30, .jobs = 2, .tasks = 800, .left_out = 100,
		.span = { 7000, 3900 }, .slack = 1.5, .drop = 0.5, .defer = 0.9,
		.recency = 0.9, .separation = 0.2, .fairness = 0.05,
	};
	const double load_before = host_load();
	const gint64 begun_us = g_get_monotonic_time();
	g_autoptr(json_t) levels = json_array();
	g_autoptr(json_t) object = NULL;
	g_autofree struct job *jobs = NULL;
	g_autofree char *text = NULL;
	struct pet *pet = pruning_pet_new(PET_SEED);
	struct sched_queueing settings = { .pet = pet, .bin_s = 1, .length = 6 };
	struct sched_system *system;
	GThreadPool *pool;
	uint32_t bins = 0;

	parse(argc, argv, &options);
	settings.pruning = (struct sched_pruning){
		.drop_threshold = options.drop, .defer_threshold = options.defer,
		.adjustment = options.drop, .recency = options.recency, .toggle = 1,
		.separation = options.separation, .fairness = options.fairness,
		.cull_threshold = 0.3, .evicting_baselines = options.evict,
	};
	system = pruning_system_new(&settings);
	for (uint32_t i = 0; i < PRUNING_TYPES * PRUNING_MACHINES; i++)
		bins += pet->entries[i].pmf.count;
	jobs = g_new0(struct job, LEVELS * (size_t)options.trials);
	pool = g_thread_pool_new(run_job, NULL, options.jobs, TRUE, NULL);
	for (uint32_t level = 0; level < LEVELS; level++)
		for (uint32_t trial = 0; trial < (uint32_t)options.trials; trial++) {
			struct job *job = &jobs[level * (uint32_t)options.trials + trial];

			*job = (struct job){ &options, system, level, trial + 1 };
			g_thread_pool_push(pool, job, NULL);
		}
	g_thread_pool_free(pool, FALSE, TRUE);
	for (uint32_t level = 0; level < LEVELS; level++) {
		g_autoptr(json_t) list = json_array();

		for (size_t i = 0; i < MAPPERS; i++)
			json_array_append_new(
				list, mapper_json(jobs + level * (uint32_t)options.trials,
						  (uint32_t)options.trials, i));
		json_array_append_new(levels, json_pack("{s:f, s:O}", "span", options.span[level],
							"mappers", list));
	}
	object = json_pack("{s:o, s:i, s:i, s:f, s:f, s:f, s:f, s:O}", "host", host_json(load_before),
			   "trials", options.trials, "tasks", options.tasks, "slack", options.slack,
			   "pmf_bins_mean", (double)bins / (PRUNING_TYPES * PRUNING_MACHINES),
			   "elapsed_s", (double)(g_get_monotonic_time() - begun_us) * 1e-6, "cpu_s",
			   host_cpu_s(), "levels", levels);
	text = json_pretty(object);
	puts(text);
	sched_system_free(system);
	pet_free(pet);
	return 0;
}
