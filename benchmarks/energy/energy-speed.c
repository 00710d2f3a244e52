/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How long mapping events of a simulated environment take (Machovec 2018, section 4.2): each policy
 * runs the first trials of a configuration on one core, as `virtbed simulate` does. Of every so
 * many mapping events the oracle of the unit tests (tests/oracle/oracle.h), which rescans every
 * option of every task after every placement, decides the same snapshot; what both start before the
 * next event must be equal.
 *
 *   energy-speed CONFIG [--policy NAME,...] [--trials N] [--seed N] [--every N]
 *
 * prints one JSON document; exit status 1 when decisions differ, 2 for bad usage or input.
 */
#include <stdio.h>
#include <sys/resource.h>

#include "benchmarks/host.h"
#include "common/json.h"
#include "controller/config/config_controller.h"
#include "controller/experiment/experiment.h"
#include "tests/oracle/oracle.h"

struct options {
	char *policies;
	gint trials;
	gint64 seed;
	gint every; /* 0: no oracle */
};

/* Looks over the shoulder of a run. */
struct witness {
	struct engine_recorder recorder;
	uint32_t every;
	uint64_t seen;
	uint64_t compared;
	uint64_t differing;
	uint64_t waiting; /* mappable tasks, summed over all events */
	uint32_t waiting_max;
	double oracle_s;
};

/* The next action from *at on that takes effect before the next event; NULL: none. */
static const struct sched_action *next_effect(const struct sched_action *actions, uint32_t count,
					      const struct sched_snapshot *snapshot, uint32_t *at)
{
	while (*at < count) {
		const struct sched_action *action = &actions[(*at)++];

		if (action->kind != SCHED_ACTION_PLACEHOLDER ||
		    action->start_s < snapshot->next_event_s)
			return action;
	}
	return NULL;
}

static bool same(const struct sched_action *a, const struct sched_action *b)
{
	if (a->kind != b->kind || a->task != b->task)
		return false;
	return a->kind == SCHED_ACTION_DROP ||
	       (a->cluster == b->cluster && a->pstate == b->pstate && a->start_s == b->start_s &&
		a->nodes_count == b->nodes_count &&
		memcmp(a->nodes, b->nodes, a->nodes_count * sizeof(*a->nodes)) == 0);
}

static bool compare(struct engine_recorder *recorder, const struct policy *policy,
		    const struct sched_snapshot *snapshot, const struct sched_plan *plan)
{
	struct witness *witness = (struct witness *)recorder;
	uint32_t a = 0;
	uint32_t b = 0;

	witness->waiting += snapshot->waiting_count;
	witness->waiting_max = MAX(witness->waiting_max, snapshot->waiting_count);
	if (witness->every == 0 || !oracle_knows(policy->ops) ||
	    witness->seen++ % witness->every != 0)
		return true;

	const double begun_s = host_cpu_s();
	g_autoptr(GArray) expected = oracle_decide(policy, snapshot);
	const struct sched_action *x;
	const struct sched_action *y;

	witness->oracle_s += host_cpu_s() - begun_s;
	witness->compared++;
	do {
		x = next_effect(plan->actions, plan->actions_count, snapshot, &a);
		y = next_effect((struct sched_action *)(void *)expected->data, expected->len,
				snapshot, &b);
	} while (x && y && same(x, y));
	witness->differing += x || y;
	return true;
}

static double resident_mib(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)usage.ru_maxrss / 1024;
}

/* Runs a policy on some trials. Returns its part of the document, or NULL with `error` set. */
static json_t *measure_policy(const struct experiment *experiment, const struct policy *policy,
			      const struct options *options, struct witness *witness,
			      GError **error)
{
	const double limit_j = experiment->config->experiment->budget_j *
			       experiment->config->experiment->limits[0];
	struct engine_result sum = {0};
	double percent = 0;
	double run_s = 0;

	*witness =
		(struct witness){.recorder.decision = compare, .every = (uint32_t)options->every};
	for (gint i = 0; i < options->trials; i++) {
		struct experiment_trial trial;
		struct engine_result result;

		if (!experiment_trial_init(experiment, (uint64_t)options->seed, (uint32_t)i + 1,
					   &trial, error))
			return NULL;

		struct engine_setup setup =
			experiment_trial_setup(experiment, &trial, policy, limit_j);
		const double begun_s = host_cpu_s();

		setup.trim = true;
		setup.platform = &platform_machine;
		setup.recorder = &witness->recorder;
		experiment_simulate(&setup, &result);
		run_s += host_cpu_s() - begun_s;
		sum.decisions += result.decisions;
		sum.decide_s += result.decide_s;
		sum.energy_j += result.energy_j;
		percent += trial.utility_max > 0 ? 100 * result.utility / trial.utility_max : 0;
		experiment_trial_clear(&trial);
	}
	const double events = (double)MAX(sum.decisions, 1);
	const double decide_ms = 1e3 * sum.decide_s / events;
	json_t *object = json_pack("{s:s, s:i, s:I, s:f, s:f, s:f, s:f, s:f, s:i}", "policy",
				   policy->name, "trials", options->trials, "events",
				   (json_int_t)sum.decisions, "event_ms", decide_ms, "trial_s",
				   (run_s - witness->oracle_s) / options->trials, "utility_percent",
				   percent / options->trials, "energy_gj",
				   sum.energy_j / options->trials / 1e9, "waiting_mean",
				   (double)witness->waiting / events, "waiting_max",
				   (int)witness->waiting_max);

	if (witness->compared > 0) {
		const double oracle_ms = 1e3 * witness->oracle_s / (double)witness->compared;

		json_object_set_new(object, "compared",
				    json_integer((json_int_t)witness->compared));
		json_object_set_new(object, "baseline_event_ms", json_real(oracle_ms));
		json_object_set_new(object, "speedup", json_real(oracle_ms / decide_ms));
	}
	return object;
}

static int measure(const char *path, const struct options *options)
{
	const double load = host_load();
	g_auto(GStrv) names = options->policies ? g_strsplit(options->policies, ",", -1) : NULL;
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) config = config_controller_load(path, &error);
	g_autoptr(experiment_t) experiment =
		config ? experiment_new(config, (const char *const *)names, &error) : NULL;
	g_autoptr(json_t) list = json_array();
	g_autoptr(json_t) document = NULL;
	g_autofree char *text = NULL;
	uint64_t differing = 0;

	for (uint32_t i = 0; experiment && !error && i < experiment->policies_count; i++) {
		struct witness witness;
		json_t *object = measure_policy(experiment, &experiment->policies[i], options,
						&witness, &error);

		if (!object)
			break;
		json_array_append_new(list, object);
		differing += witness.differing;
		if (witness.differing > 0)
			fprintf(stderr,
				"energy-speed: %s: the oracle decides otherwise in %" G_GUINT64_FORMAT
				" of %" G_GUINT64_FORMAT " mapping events\n",
				experiment->policies[i].name, witness.differing, witness.compared);
	}
	if (error) {
		fprintf(stderr, "energy-speed: %s\n", error->message);
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
	struct options options = {.trials = 1, .every = 200};
	const GOptionEntry entries[] = {
		{"policy", 0, 0, G_OPTION_ARG_STRING, &options.policies, "(the configured ones)",
		 "NAME,..."},
		{"trials", 0, 0, G_OPTION_ARG_INT, &options.trials, "(1)", "N"},
		{"seed", 0, 0, G_OPTION_ARG_INT64, &options.seed, "(the configured one)", "N"},
		{"every", 0, 0, G_OPTION_ARG_INT, &options.every,
		 "The oracle decides one of so many events; 0: none (200)", "N"},
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
	else if (options.trials < 1 || options.every < 0 || options.seed < 0)
		wrong = "numbers must not be negative, and --trials at least 1";
	if (!wrong)
		return measure(argv[1], &options);
	fprintf(stderr, "energy-speed: %s\n", wrong);
	return 2;
}
