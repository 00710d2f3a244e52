/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How long mapping events of the environment of Machovec 2017 take: each heuristic runs the first
 * trials of a configuration on one core, as `virtbed simulate` does, and every mapping event is
 * decided once more and timed, the longest ones thrice, of which the shortest counts: what else the
 * machine does is no part of it. Of every so many events the literal oracle of the unit tests
 * (tests/oracle/preempt_oracle.h), which looks at every core for every task after every decision,
 * decides the same snapshot, cut down to some of its mappable tasks; the actions must be equal.
 *
 *   preempt-speed CONFIG [--policy NAME,...] [--burst N,...] [--utility step|decay|classes]
 *                 [--trials N] [--seed N] [--every N] [--baseline-tasks N]
 *
 * prints one JSON document; exit status 1 when decisions differ, 2 for bad usage or input. Times
 * are processor time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "benchmarks/host.h"
#include "common/json.h"
#include "controller/config/config_controller.h"
#include "controller/config/config_environment.h"
#include "controller/experiment/experiment.h"
#include "tests/oracle/preempt_oracle.h"

struct options {
	char *policies;
	char *bursts;
	char *utility;
	gint trials;
	gint64 seed;
	gint every; /* 0: no oracle */
	gint baseline_tasks;
};

/* How the oracle decides what a policy does. */
static const struct heuristic {
	const char *name;
	enum oracle_preempt preempt;
	bool upt;
	bool algorithm_3;
} heuristics[] = {
	{"random", ORACLE_RANDOM, false},
	{"fcfs", ORACLE_FCFS, false},
	{"max-util", ORACLE_NEVER, false},
	{"max-upt", ORACLE_NEVER, true},
	{"max-util-preempt-greedy", ORACLE_GREEDY, false},
	{"max-upt-preempt-greedy", ORACLE_GREEDY, true},
	{"max-util-preempt-diff", ORACLE_DIFF, false},
	{"max-upt-preempt-diff", ORACLE_DIFF, true},
	{"max-util-preempt-pair", ORACLE_PAIR, false},
	{"max-upt-preempt-pair", ORACLE_PAIR, true},
	{"max-util-preempt-pair+algorithm-3", ORACLE_PAIR, false, true},
	{"max-upt-preempt-pair+algorithm-3", ORACLE_PAIR, true, true},
};

/* Looks over the shoulder of a run. */
struct witness {
	struct engine_recorder recorder;
	const struct options *options;
	const struct heuristic *heuristic;
	struct arena *arena;
	uint64_t events;
	double decide_s; /* of all events */
	double worst_s;
	double spent_s; /* on what the run itself would not do */
	uint32_t waiting_max;
	uint32_t suspended_max;
	uint64_t suspensions;
	uint64_t compared;
	uint64_t differing;
	double ours_s; /* of the compared ones */
	double oracle_s;
};

/* Decides a snapshot again. Returns how long it took. */
static double time_decision(struct witness *witness, const struct policy *policy,
			    const struct sched_snapshot *snapshot, struct sched_plan *ret_plan)
{
	struct policy_context context = {.arena = witness->arena};
	const double begun_s = host_cpu_s();

	if (policy_decide(policy, snapshot, &context, ret_plan) < 0)
		g_error("out of memory");
	return host_cpu_s() - begun_s;
}

static bool same(const struct sched_action *a, const struct sched_action *b)
{
	return a->kind == b->kind && a->task == b->task && a->cluster == b->cluster &&
	       a->nodes_count == b->nodes_count && a->objective == b->objective &&
	       (a->nodes_count == 0 ||
		memcmp(a->nodes, b->nodes, a->nodes_count * sizeof(*a->nodes)) == 0);
}

/* Compares decisions on a snapshot with at most so many of its waiting and suspended tasks. */
static void compare(struct witness *witness, const struct policy *policy,
		    const struct sched_snapshot *snapshot)
{
	const uint32_t most = (uint32_t)witness->options->baseline_tasks;
	const uint32_t step = snapshot->waiting_count / most + 1;
	const uint32_t suspended_step = snapshot->suspended_count / most + 1;
	g_autofree const struct sched_task **waiting = g_new(const struct sched_task *, most + 1);
	g_autofree struct sched_allocation *suspended = g_new(struct sched_allocation, most + 1);
	struct sched_snapshot part = *snapshot;
	const struct heuristic *heuristic = witness->heuristic;
	const struct preempt_oracle oracle = {&part, heuristic->preempt, heuristic->upt,
					      heuristic->algorithm_3, true};
	struct sched_plan plan;
	GArray *expected;
	double begun_s;
	bool equal;

	part.waiting = waiting;
	part.suspended = suspended;
	part.waiting_count = part.suspended_count = 0;
	for (uint32_t i = 0; i < snapshot->waiting_count; i += step)
		waiting[part.waiting_count++] = snapshot->waiting[i];
	for (uint32_t i = 0; i < snapshot->suspended_count; i += suspended_step)
		suspended[part.suspended_count++] = snapshot->suspended[i];
	begun_s = host_cpu_s();
	expected = preempt_oracle_decide(&oracle);
	witness->oracle_s += host_cpu_s() - begun_s;
	witness->ours_s += time_decision(witness, policy, &part, &plan);
	equal = plan.actions_count == expected->len;
	for (uint32_t i = 0; equal && i < plan.actions_count; i++)
		equal = same(&plan.actions[i], &g_array_index(expected, struct sched_action, i));
	witness->compared++;
	witness->differing += !equal;
	preempt_oracle_free(expected);
}

static bool watch(struct engine_recorder *recorder, const struct policy *policy,
		  const struct sched_snapshot *snapshot, const struct sched_plan *plan)
{
	struct witness *witness = (struct witness *)recorder;
	const double begun_s = host_cpu_s();
	struct sched_plan again;
	double took_s = time_decision(witness, policy, snapshot, &again);

	for (int i = 0; i < 2 && took_s > witness->worst_s; i++)
		took_s = MIN(took_s, time_decision(witness, policy, snapshot, &again));
	witness->worst_s = MAX(witness->worst_s, took_s);
	witness->decide_s += took_s;
	witness->waiting_max = MAX(witness->waiting_max, snapshot->waiting_count);
	witness->suspended_max = MAX(witness->suspended_max, snapshot->suspended_count);
	for (uint32_t i = 0; i < plan->actions_count; i++)
		witness->suspensions += plan->actions[i].kind == SCHED_ACTION_SUSPEND;
	if (witness->options->every > 0 && witness->events++ % (uint64_t)witness->options->every ==
						   (uint64_t)witness->options->every / 2)
		compare(witness, policy, snapshot);
	witness->spent_s += host_cpu_s() - begun_s;
	return true;
}

static json_t *to_json(const struct policy *policy, double burst, const struct witness *witness,
		       double trials, const struct engine_result *sum, double percent, double run_s)
{
	const double events = (double)MAX(sum->decisions, 1);
	json_t *object =
		json_pack("{s:s, s:f, s:I, s:f, s:f, s:f, s:f, s:i, s:i, s:f}", "policy",
			  policy->name, "burst", burst, "events", (json_int_t)sum->decisions,
			  "event_mean_ms", 1e3 * witness->decide_s / events, "event_worst_ms",
			  1e3 * witness->worst_s, "trial_s", (run_s - witness->spent_s) / trials,
			  "utility_percent", percent / trials, "waiting_max",
			  (int)witness->waiting_max, "suspended_max", (int)witness->suspended_max,
			  "suspensions", (double)witness->suspensions / trials);

	if (witness->compared > 0) {
		const double compared = (double)witness->compared;

		json_object_set_new(object, "compared",
				    json_integer((json_int_t)witness->compared));
		json_object_set_new(object, "compared_event_ms",
				    json_real(1e3 * witness->ours_s / compared));
		json_object_set_new(object, "baseline_event_ms",
				    json_real(1e3 * witness->oracle_s / compared));
		json_object_set_new(object, "speedup",
				    json_real(witness->oracle_s / witness->ours_s));
	}
	return object;
}

/* Runs a policy on some trials. Returns its part of the document, or NULL with `error` set. */
static json_t *measure_policy(const struct experiment *experiment, const struct policy *policy,
			      const struct options *options, struct witness *witness,
			      GError **error)
{
	struct engine_result sum = {0};
	double percent = 0;
	double run_s = 0;

	for (gint i = 0; i < options->trials; i++) {
		struct experiment_trial trial;
		struct engine_result result;

		if (!experiment_trial_init(experiment, (uint64_t)options->seed, (uint32_t)i + 1,
					   &trial, error))
			return NULL;

		struct engine_setup setup = experiment_trial_setup(experiment, &trial, policy, 0);
		const double begun_s = host_cpu_s();

		setup.trim = true;
		setup.recorder = &witness->recorder;
		experiment_simulate(&setup, &result);
		run_s += host_cpu_s() - begun_s;
		sum.decisions += result.decisions;
		percent += trial.utility_max > 0 ? 100 * result.utility / trial.utility_max : 0;
		experiment_trial_clear(&trial);
	}
	return to_json(policy, config_environment(experiment->config)->serial->burst, witness,
		       options->trials, &sum, percent, run_s);
}

static const struct heuristic *find_heuristic(const char *name)
{
	for (size_t i = 0; i < G_N_ELEMENTS(heuristics); i++)
		if (strcmp(heuristics[i].name, name) == 0)
			return &heuristics[i];
	return NULL;
}

/* All policies at one burst size. Adds to `list` and to *differing; false with `error` set. */
static bool measure_burst(struct config *config, const char *const *names,
			  const struct options *options, json_t *list, uint64_t *differing,
			  GError **error)
{
	g_autoptr(experiment_t) experiment = experiment_new(config, names, error);

	for (uint32_t i = 0; experiment && i < experiment->policies_count; i++) {
		const struct policy *policy = &experiment->policies[i];
		struct witness witness = {
			.recorder.decision = watch,
			.options = options,
			.heuristic = find_heuristic(policy->name),
			.arena = arena_new(),
		};
		json_t *object = measure_policy(experiment, policy, options, &witness, error);

		arena_free(witness.arena);
		if (!object)
			return false;
		json_array_append_new(list, object);
		*differing += witness.differing;
		if (witness.differing > 0)
			fprintf(stderr,
				"preempt-speed: %s: the oracle decides otherwise in %" G_GUINT64_FORMAT
				" of %" G_GUINT64_FORMAT " mapping events\n",
				policy->name, witness.differing, witness.compared);
	}
	return experiment;
}

/* The names of all heuristics, or those asked for. NULL: one is unknown, said on standard error. */
static char **names_of(const struct options *options)
{
	g_auto(GStrv) names = NULL;

	if (!options->policies) {
		names = g_new0(char *, G_N_ELEMENTS(heuristics) + 1);
		for (size_t i = 0; i < G_N_ELEMENTS(heuristics); i++)
			names[i] = g_strdup(heuristics[i].name);
		return g_steal_pointer(&names);
	}
	names = g_strsplit(options->policies, ",", -1);
	for (char **name = names; *name; name++) {
		if (find_heuristic(*name))
			continue;
		fprintf(stderr, "preempt-speed: \"%s\" is no heuristic of Machovec 2017\n", *name);
		return NULL;
	}
	return g_steal_pointer(&names);
}

static bool set_utility(struct config_serial *serial, const char *name)
{
	static const char *const utilities[] = {
		[CONFIG_UTILITY_CLASSES] = "classes",
		[CONFIG_UTILITY_STEP] = "step",
		[CONFIG_UTILITY_DECAY] = "decay",
	};

	for (size_t i = 0; name && i < G_N_ELEMENTS(utilities); i++) {
		if (strcmp(utilities[i], name) != 0)
			continue;
		serial->utility = (enum config_utility)i;
		return true;
	}
	return !name;
}

static double resident_mib(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)usage.ru_maxrss / 1024;
}

static int measure(const char *path, const struct options *options)
{
	const double load = host_load();
	g_auto(GStrv) names = names_of(options);
	g_auto(GStrv) bursts = g_strsplit(options->bursts ? options->bursts : "64,128", ",", -1);
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) config = config_controller_load(path, &error);
	g_autoptr(json_t) list = json_array();
	g_autoptr(json_t) document = NULL;
	g_autofree char *text = NULL;
	uint64_t differing = 0;

	if (!names)
		return 2;
	if (config && (!config_environment(config) || !config_environment(config)->serial ||
		       !set_utility(config_environment(config)->serial, options->utility))) {
		fprintf(stderr,
			"preempt-speed: %s: no environment.serial, or --utility is none of "
			"step, decay and classes\n",
			path);
		return 2;
	}
	for (char **burst = bursts; config && *burst && !error; burst++) {
		config_environment(config)->serial->burst = MAX(1, g_ascii_strtod(*burst, NULL));
		measure_burst(config, (const char *const *)names, options, list, &differing,
			      &error);
	}
	if (error) {
		fprintf(stderr, "preempt-speed: %s\n", error->message);
		return 2;
	}
	document = json_pack("{s:s, s:O, s:f, s:o}", "config", config->name, "policies", list,
			     "resident_mib", resident_mib(), "host", host_json(load));
	text = json_pretty(document);
	puts(text);
	return differing > 0;
}

int main(int argc, char **argv)
{
	struct options options = {.trials = 1, .every = 400, .baseline_tasks = 100};
	const GOptionEntry entries[] = {
		{"policy", 0, 0, G_OPTION_ARG_STRING, &options.policies, "(all of Machovec 2017)",
		 "NAME,..."},
		{"burst", 0, 0, G_OPTION_ARG_STRING, &options.bursts, "(64,128)", "N,..."},
		{"utility", 0, 0, G_OPTION_ARG_STRING, &options.utility, "(the configured one)",
		 "step|decay|classes"},
		{"trials", 0, 0, G_OPTION_ARG_INT, &options.trials, "(1)", "N"},
		{"seed", 0, 0, G_OPTION_ARG_INT64, &options.seed, "(the configured one)", "N"},
		{"every", 0, 0, G_OPTION_ARG_INT, &options.every,
		 "The oracle decides one of so many events; 0: none (400)", "N"},
		{"baseline-tasks", 0, 0, G_OPTION_ARG_INT, &options.baseline_tasks,
		 "Waiting, and suspended, tasks that it is given at most (100)", "N"},
		G_OPTION_ENTRY_NULL,
	};
	g_autoptr(GOptionContext) context = g_option_context_new("CONFIG - time mapping events");
	g_autoptr(GError) error = NULL;
	const char *wrong = NULL;

	g_option_context_add_main_entries(context, entries, NULL);
	if (!g_option_context_parse(context, &argc, &argv, &error))
		wrong = error->message;
	else if (argc != 2)
		wrong = "give one configuration file";
	else if (options.trials < 1 || options.every < 0 || options.seed < 0 ||
		 options.baseline_tasks < 1)
		wrong = "numbers must not be negative, --trials and --baseline-tasks at least 1";
	if (!wrong)
		return measure(argv[1], &options);
	fprintf(stderr, "preempt-speed: %s\n", wrong);
	return 2;
}
