/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Policies that share hosts in time, and FCFS and EASY on whole hosts, on traces of the Lublin
 * model for 128 hosts (Stillwell 2010, sections IV and V): how long an allocation takes, over all
 * mapping events with at least 11 jobs in the system as in the paper, and how far each policy's
 * largest stretch of a trace is above that of the best policy (degradation factor, Table I).
 *
 * Times are processor time of one thread. Every allocation is computed twice more, and the lesser
 * time counts: what interrupts one of them is not the policy's.
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
#include "controller/experiment/simulation.h"
#include "controller/workload/dfrs.h"

#define PERIOD_S 600
#define NEVER_S 1e9
/* "the remaining observations were for 11 to 102 jobs" */
#define JOBS_MIN 11

static const char *const policy_names[] = {
	"fcfs",    "easy",        "greedy",           "greedy-pmtn",         "greedy-pmtn-migr",
	"dynmcb8", "dynmcb8-per", "dynmcb8-asap-per", "dynmcb8-stretch-per",
};

#define POLICIES G_N_ELEMENTS(policy_names)

/* A sample of values. */
struct tally {
	uint64_t count;
	double sum;
	double squares;
	double max;
};

static void tally_add(struct tally *tally, double value)
{
	tally->count++;
	tally->sum += value;
	tally->squares += value * value;
	tally->max = fmax(tally->max, value);
}

static double tally_mean(const struct tally *tally)
{
	return tally->count > 0 ? tally->sum / (double)tally->count : 0;
}

static double tally_deviation(const struct tally *tally)
{
	const double mean = tally_mean(tally);

	return tally->count > 1
		       ? sqrt(fmax(0, (tally->squares - (double)tally->count * mean * mean) /
					      (double)(tally->count - 1)))
		       : 0;
}

/* What came of one policy over all traces. */
struct score {
	struct tally allocation_s; /* of events with at least JOBS_MIN jobs */
	struct tally degradation;
	struct tally stretch; /* the largest of a trace */
	struct tally pauses;  /* per job */
	struct tally migrations;
	struct tally hourly_pauses; /* from the first submission to the last end */
	struct tally hourly_migrations;
	double run_s;
};

/* Decides again, with a clock; first member of its kind. */
struct watch {
	struct engine_recorder recorder;
	struct arena *arena;
	struct score *score;
	uint64_t pauses;
	uint64_t migrations;
	double end_s; /* of the last job */
};

static double thread_s(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double time_decision(struct watch *watch, const struct policy *policy,
			    const struct sched_snapshot *snapshot)
{
	struct policy_context context = {.arena = watch->arena};
	const double begun_s = thread_s();
	struct sched_plan plan;

	if (policy_decide(policy, snapshot, &context, &plan) < 0)
		g_error("out of memory");
	return thread_s() - begun_s;
}

static bool watch_decision(struct engine_recorder *recorder, const struct policy *policy,
			   const struct sched_snapshot *snapshot, const struct sched_plan *plan)
{
	struct watch *watch = (struct watch *)recorder;
	for (uint32_t i = 0; i < plan->actions_count; i++) {
		watch->pauses += plan->actions[i].kind == SCHED_ACTION_PAUSE;
		watch->migrations += plan->actions[i].kind == SCHED_ACTION_MIGRATE;
	}
	if (!snapshot->system->shared ||
	    snapshot->waiting_count + snapshot->suspended_count + snapshot->running_count <
		    JOBS_MIN)
		return true;
	tally_add(&watch->score->allocation_s, fmin(time_decision(watch, policy, snapshot),
						    time_decision(watch, policy, snapshot)));
	return true;
}

/* Runs a policy on a trace. Returns the largest bounded stretch. */
static double run(const struct environment_trial *trial, const char *name, double penalty_s,
		  struct watch *watch)
{
	struct engine_setup setup = {
		.workload = trial->workload,
		.mapping_interval_s = PERIOD_S,
		.duration_s = NEVER_S,
		.virtual_pause_s = penalty_s,
		.recorder = &watch->recorder,
		.trim = true,
	};
	const uint32_t count = trial->workload->tasks_count;
	struct backend *backend = backend_sim_new(trial->whole, count);
	struct engine_result result;
	struct engine *engine;
	char message[512];
	double most = 0;

	if (policy_parse(name, &setup.policy, message, sizeof(message)) < 0)
		g_error("%s", message);

	const struct policy_sharing *sharing = setup.policy.ops->sharing;

	setup.system = sharing ? trial->system : trial->whole;
	setup.moments = sharing ? sharing->moments : POLICY_AT_CHANGES;
	backend_sim_set_penalty(backend, penalty_s);
	engine = engine_new(&setup, backend);
	simulation_run(engine, backend, &result);
	if (engine_reason(engine) || result.tasks_completed != count)
		g_error("%s: %s", name,
			engine_reason(engine) ? engine_reason(engine) : "not all jobs ended");
	for (uint32_t i = 0; i < count; i++) {
		const struct engine_task *task = engine_task_at(engine, i);

		watch->end_s = fmax(watch->end_s, task->ended_s);
		most = fmax(most, dfrs_bounded_stretch(task->ended_s - task->task->arrival_s,
						       trial->whole->etc_s[i]));
	}
	engine_free(engine);
	backend_destroy(backend);
	return most;
}

static void run_trace(const struct environment_trial *trial, double penalty_s, struct score *scores)
{
	const double jobs = trial->workload->tasks_count;
	double stretches[POLICIES];
	double best = INFINITY;

	for (size_t p = 0; p < POLICIES; p++) {
		struct watch watch = {
			.recorder = {.decision = watch_decision},
			.arena = arena_new(),
			.score = &scores[p],
		};
		const double begun_s = thread_s();
		double hours;

		stretches[p] = run(trial, policy_names[p], penalty_s, &watch);
		scores[p].run_s += thread_s() - begun_s;
		best = fmin(best, stretches[p]);
		tally_add(&scores[p].pauses, (double)watch.pauses / jobs);
		tally_add(&scores[p].migrations, (double)watch.migrations / jobs);
		hours = (watch.end_s - trial->workload->tasks[0].arrival_s) / 3600;
		tally_add(&scores[p].hourly_pauses, (double)watch.pauses / hours);
		tally_add(&scores[p].hourly_migrations, (double)watch.migrations / hours);
		arena_free(watch.arena);
	}
	for (size_t p = 0; p < POLICIES; p++) {
		tally_add(&scores[p].stretch, stretches[p]);
		tally_add(&scores[p].degradation, stretches[p] / best);
	}
}

static json_t *score_json(const struct score *score, const char *name)
{
	return json_pack("{s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:f, s:f}",
			 "policy", name, "degradation_mean", tally_mean(&score->degradation),
			 "degradation_sd", tally_deviation(&score->degradation), "degradation_max",
			 score->degradation.max, "max_stretch_mean", tally_mean(&score->stretch),
			 "pauses_per_job", tally_mean(&score->pauses), "migrations_per_job",
			 tally_mean(&score->migrations), "pauses_per_hour",
			 tally_mean(&score->hourly_pauses), "migrations_per_hour",
			 tally_mean(&score->hourly_migrations), "run_s", score->run_s,
			 "allocations", (json_int_t)score->allocation_s.count, "allocation_mean_ms",
			 tally_mean(&score->allocation_s) * 1e3, "allocation_max_ms",
			 score->allocation_s.max * 1e3);
}

/* A trial to run, and how many of them there are. */
struct source {
	struct swf_trace *trace; /* NULL: the Lublin model */
	uint32_t jobs;           /* of the model */
	double load;
};

/* Trial `number` from 1. */
static struct environment_trial *trial_new(const struct source *source, uint32_t number)
{
	uint32_t count = source->jobs;
	g_autofree struct dfrs_job *jobs =
		source->trace ? dfrs_hpc2n_new(source->trace, number - 1, DFRS_HPC2N_HOSTS, &count)
			      : dfrs_lublin_new(1, number, count, source->load, 10);

	return dfrs_trial_new(jobs, count, source->trace ? DFRS_HPC2N_HOSTS : LUBLIN_NODES);
}

static void run_traces(const struct source *source, uint32_t first, uint32_t traces,
		       double penalty_s, struct score *scores)
{
	for (uint32_t number = first; number < first + traces; number++) {
		g_autoptr(environment_trial_t) trial = trial_new(source, number);

		if (trial->workload->tasks_count > 0)
			run_trace(trial, penalty_s, scores);
		fprintf(stderr, "\rtrace %u of %u", number + 1 - first, traces);
	}
	fputc('\n', stderr);
}

int main(int argc, char **argv)
{
	g_autofree char *path = NULL;
	struct source source = {0};
	int first = 1;
	int traces = 10;
	int jobs = 1000;
	double load = 0;
	double penalty_s = 300;
	const GOptionEntry entries[] = {
		{"traces", 0, 0, G_OPTION_ARG_INT, &traces, "how many (10)", "N"},
		{"first", 0, 0, G_OPTION_ARG_INT, &first, "the number of the first (1)", "N"},
		{"jobs", 0, 0, G_OPTION_ARG_INT, &jobs, "of each (1000)", "N"},
		{"load", 0, 0, G_OPTION_ARG_DOUBLE, &load, "scaled to it (0: unscaled)", "LOAD"},
		{"trace", 0, 0, G_OPTION_ARG_FILENAME, &path, "the weeks of HPC2N's trace instead",
		 "FILE"},
		{"penalty", 0, 0, G_OPTION_ARG_DOUBLE, &penalty_s, "of rescheduling (300)", "S"},
		G_OPTION_ENTRY_NULL,
	};
	g_autoptr(GOptionContext) context = g_option_context_new(NULL);
	g_autoptr(GError) error = NULL;
	g_autoptr(json_t) list = json_array();
	g_autoptr(json_t) object = NULL;
	g_autofree char *text = NULL;
	struct score scores[POLICIES] = {0};
	const double load_before = host_load();

	g_option_context_add_main_entries(context, entries, NULL);
	if (!g_option_context_parse(context, &argc, &argv, &error))
		g_error("%s", error->message);
	source.jobs = (uint32_t)jobs;
	source.load = load;
	if (path && !(source.trace = swf_read(path, &(struct swf_filter){0}, &error)))
		g_error("%s", error->message);
	if (source.trace)
		traces = MIN(traces, (int)dfrs_trace_weeks(source.trace) + 1 - first);
	run_traces(&source, (uint32_t)first, (uint32_t)traces, penalty_s, scores);
	swf_free(source.trace);
	for (size_t p = 0; p < POLICIES; p++)
		json_array_append_new(list, score_json(&scores[p], policy_names[p]));
	object = json_pack("{s:o, s:i, s:i, s:f, s:f, s:O}", "host", host_json(load_before),
			   "traces", traces, "jobs", jobs, "load", load, "penalty_s", penalty_s,
			   "policies", list);
	text = json_pretty(object);
	puts(text);
	return 0;
}
