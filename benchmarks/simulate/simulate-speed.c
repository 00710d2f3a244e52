/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How fast `virtbed simulate` is: all trials, policies and limits of a configuration through
 * trials_run(), beside the same engine, backend and trials with every decision taken by the oracle
 * of the unit tests (tests/oracle/oracle.h), which rescans every option of every task after
 * every placement. Both must earn the same utilities.
 *
 *   simulate-speed CONFIG [--trials N] [--baseline-trials N] [--jobs N] [--seed N]
 *
 * prints one JSON document; exit status 1 when the results differ, 2 for bad usage or input.
 *
 * What is compared is whole simulations: engine, backend and workload cost both passes the same.
 * The baseline also pays for what policy_decide() prepares before it calls a policy, beside
 * building its own schedules; that is a part of the fast pass, so `speedup` is too high by less
 * than 1.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "benchmarks/host.h"
#include "common/clock.h"
#include "common/json.h"
#include "controller/config/config_controller.h"
#include "controller/experiment/trials.h"
#include "controller/sched/mapping.h"
#include "tests/oracle/oracle.h"

#define TRIALS_MAX 1000000
#define JOBS_MAX 1024

struct options {
	gint trials;
	gint baseline_trials; /* 0: as many */
	gint jobs;
	gint64 seed;
};

/* One timed pass over the trials. */
struct pass {
	struct engine_result *results;
	uint32_t trials;
	double seconds;
	double cpu_seconds; /* of all threads */
};

/*
 * A policy's decision by the oracle. The drops are in the plan already; the other actions are
 * entered as mapping_place() would, which is why this touches what is mapping.c's own.
 */
static int decide_by_oracle(struct mapping *mapping)
{
	g_autoptr(GArray) actions = oracle_decide(mapping->policy, mapping->snapshot);

	for (guint i = 0; i < actions->len; i++) {
		struct sched_action action = g_array_index(actions, struct sched_action, i);
		uint32_t *nodes;

		if (action.kind == SCHED_ACTION_DROP)
			continue;
		nodes = arena_array(mapping->arena, action.nodes_count, sizeof(*nodes));
		if (!nodes)
			return -ENOMEM;
		memcpy(nodes, action.nodes, action.nodes_count * sizeof(*nodes));
		action.nodes = nodes;
		mapping->actions[mapping->actions_count++] = action;
	}
	return 0;
}

/* A policy that the oracle decides for. */
struct stand_in {
	struct policy_ops ops;
	struct policy_planning planning;
};

/* The experiment with the oracle behind each policy's name. The caller frees both arrays. */
static struct experiment with_oracle(const struct experiment *experiment,
				     struct stand_in **ret_stand_ins)
{
	const uint32_t count = experiment->policies_count;
	struct stand_in *stand_ins = g_new0(struct stand_in, count);
	struct experiment copy = *experiment;

	copy.policies = g_memdup2(experiment->policies, count * sizeof(*copy.policies));
	for (uint32_t i = 0; i < count; i++) {
		if (!experiment->policies[i].ops->planning)
			continue;
		stand_ins[i].ops = *experiment->policies[i].ops;
		stand_ins[i].planning = *stand_ins[i].ops.planning;
		stand_ins[i].planning.decide = decide_by_oracle;
		stand_ins[i].ops.planning = &stand_ins[i].planning;
		copy.policies[i].ops = &stand_ins[i].ops;
	}
	*ret_stand_ins = stand_ins;
	return copy;
}

static bool time_pass(const struct trials *trials, struct pass *ret_pass, GError **error)
{
	const int64_t start_ns = clock_now_ns();
	const double cpu_s = host_cpu_s();
	struct engine_result *results = trials_run(trials, error);

	if (!results)
		return false;
	*ret_pass = (struct pass){
		.results = results,
		.trials = trials->trials,
		.seconds = clock_elapsed_s(start_ns, clock_now_ns()),
		.cpu_seconds = host_cpu_s() - cpu_s,
	};
	return true;
}

static bool time_baseline(const struct trials *trials, uint32_t count, struct pass *ret_pass,
			  GError **error)
{
	g_autofree struct stand_in *stand_ins = NULL;
	const struct experiment experiment = with_oracle(trials->experiment, &stand_ins);
	struct trials baseline = *trials;
	bool done;

	baseline.experiment = &experiment;
	baseline.trials = count;
	done = time_pass(&baseline, ret_pass, error);
	g_free(experiment.policies);
	return done;
}

/* Whether both passes gave the same results on the trials of the shorter one. */
static bool verify(const struct trials *trials, const struct pass *pass,
		   const struct pass *baseline)
{
	const size_t per_trial = (size_t)trials->experiment->policies_count * trials->limits_count;

	for (size_t i = 0; i < baseline->trials * per_trial; i++) {
		const struct engine_result *a = &pass->results[i];
		const struct engine_result *b = &baseline->results[i];
		const size_t cell = i % per_trial;

		if (a->utility == b->utility && a->ended_by == b->ended_by &&
		    a->tasks_completed == b->tasks_completed)
			continue;
		fprintf(stderr,
			"simulate-speed: trial %zu, policy \"%s\", limit %.0f J: utility %.17g, "
			"but the oracle earns %.17g\n",
			i / per_trial + 1,
			trials->experiment->policies[cell / trials->limits_count].name,
			trials->limits_j[cell % trials->limits_count], a->utility, b->utility);
		return false;
	}
	return true;
}

static json_t *pass_json(const struct pass *pass)
{
	return json_pack("{s:i, s:f, s:f, s:f}", "trials", (int)pass->trials, "seconds",
			 pass->seconds, "cpu_seconds", pass->cpu_seconds, "trials_per_s",
			 pass->trials / pass->seconds);
}

static void print(const struct trials *trials, const struct pass *pass, const struct pass *baseline,
		  double load)
{
	const double ratio = (double)pass->trials / baseline->trials;
	g_autoptr(json_t) document = pass_json(pass);
	g_autofree char *text = NULL;

	json_object_set_new(document, "jobs", json_integer(trials->jobs));
	json_object_set_new(document, "policies", json_integer(trials->experiment->policies_count));
	json_object_set_new(document, "limits", json_integer(trials->limits_count));
	json_object_set_new(document, "baseline", pass_json(baseline));
	json_object_set_new(document, "speedup",
			    json_real(baseline->seconds * ratio / pass->seconds));
	json_object_set_new(document, "speedup_cpu",
			    json_real(baseline->cpu_seconds * ratio / pass->cpu_seconds));
	json_object_set_new(document, "host", host_json(load));
	text = json_pretty(document);
	puts(text);
}

/* Times both passes. Returns the exit status. */
static int measure(const struct trials *trials, uint32_t baseline_trials)
{
	struct pass pass = {0};
	struct pass baseline = {0};
	g_autoptr(GError) error = NULL;
	const double load = host_load();
	int status = 1;

	if (!time_pass(trials, &pass, &error) ||
	    !time_baseline(trials, baseline_trials, &baseline, &error)) {
		fprintf(stderr, "simulate-speed: %s\n", error->message);
		status = 2;
	} else if (verify(trials, &pass, &baseline)) {
		print(trials, &pass, &baseline, load);
		status = 0;
	}
	g_free(pass.results);
	g_free(baseline.results);
	return status;
}

static int measure_config(const char *path, const struct options *options)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) config = config_controller_load(path, &error);
	g_autoptr(experiment_t) experiment = config ? experiment_new(config, NULL, &error) : NULL;
	g_autofree double *limits_j = NULL;
	double budget_j = 0;

	if (experiment)
		budget_j = experiment_budget_j(experiment, (uint64_t)options->seed, &error);
	if (error) {
		fprintf(stderr, "simulate-speed: %s\n", error->message);
		return 2;
	}
	limits_j = g_new(double, config->experiment->limits_count);
	for (uint32_t i = 0; i < config->experiment->limits_count; i++)
		limits_j[i] = config->experiment->limits[i] * budget_j;

	const struct trials trials = {
		.experiment = experiment,
		.seed = (uint64_t)options->seed,
		.trials = (uint32_t)options->trials,
		.jobs = (uint32_t)options->jobs,
		.limits_j = limits_j,
		.limits_count = config->experiment->limits_count,
	};

	return measure(&trials, (uint32_t)(options->baseline_trials > 0 ? options->baseline_trials
									: options->trials));
}

/* What is wrong with the options, or NULL. */
static const char *check(const struct options *options)
{
	if (options->trials < 1 || options->trials > TRIALS_MAX)
		return "--trials must be a number from 1 to 1000000";
	if (options->baseline_trials < 0 || options->baseline_trials > options->trials)
		return "--baseline-trials must be a number from 1 to that of --trials";
	if (options->jobs < 1 || options->jobs > JOBS_MAX)
		return "--jobs must be a number from 1 to 1024";
	if (options->seed < 0)
		return "--seed must be a number from 1";
	return NULL;
}

int main(int argc, char **argv)
{
	struct options options = {.trials = 200, .jobs = (gint)g_get_num_processors()};
	const GOptionEntry entries[] = {
		{"trials", 0, 0, G_OPTION_ARG_INT, &options.trials, "Workloads (200)", "N"},
		{"baseline-trials", 0, 0, G_OPTION_ARG_INT, &options.baseline_trials,
		 "The first so many of them also by the oracle (all)", "N"},
		{"jobs", 0, 0, G_OPTION_ARG_INT, &options.jobs, "Threads (processors)", "N"},
		{"seed", 0, 0, G_OPTION_ARG_INT64, &options.seed, "Of the workloads", "N"},
		{NULL},
	};
	g_autoptr(GOptionContext) context = g_option_context_new("CONFIG - time simulations");
	g_autoptr(GError) error = NULL;
	const char *wrong = NULL;

	g_option_context_add_main_entries(context, entries, NULL);
	if (!g_option_context_parse(context, &argc, &argv, &error))
		wrong = error->message;
	else
		wrong = argc == 2 ? check(&options) : "give one configuration file";
	if (!wrong)
		return measure_config(argv[1], &options);
	fprintf(stderr, "simulate-speed: %s\n", wrong);
	return 2;
}
