/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/experiment/trials.h"

#include "controller/experiment/batch.h"
#include "controller/experiment/simulation.h"

/* What the threads share. */
struct running {
	const struct trials *trials;
	struct engine_result *results;
	uint32_t *ascending; /* indices of the limits, lowest first */
	double *limits_j;    /* the limits in that order */
};

static struct engine_result *result_at(const struct running *running, uint32_t trial,
				       uint32_t policy, uint32_t ascending)
{
	return (struct engine_result *)trials_result(running->trials, running->results, trial,
						     policy, running->ascending[ascending]);
}

/* Does one run for all limits; the lower ones are marks of the run. */
static void run_once(const struct running *running, const struct experiment_trial *drawn,
		     struct engine_setup *setup, uint32_t trial, uint32_t policy)
{
	struct backend *backend = experiment_backend_new(running->trials->experiment, drawn, setup);
	const uint32_t last = running->trials->limits_count - 1;

	setup->limit_j = running->limits_j[last];
	setup->marks_j = running->limits_j;
	setup->marks_count = last;

	g_autoptr(engine_t) engine = engine_new(setup, backend);

	simulation_run(engine, backend, result_at(running, trial, policy, last));
	for (uint32_t i = 0; i < last; i++)
		*result_at(running, trial, policy, i) = *engine_mark_result(engine, i);
	backend_destroy(backend);
}

static bool run_policy(const struct running *running, const struct experiment_trial *drawn,
		       uint32_t trial, uint32_t policy, GError **error)
{
	const struct experiment *experiment = running->trials->experiment;
	struct engine_setup setup =
		experiment_trial_setup(experiment, drawn, &experiment->policies[policy], 0);

	setup.trim = true;
	if (!setup.gate && !drawn->whole && !drawn->pruning &&
	    !policy_reads_budget(&setup.policy)) {
		run_once(running, drawn, &setup, trial, policy);
		return true;
	}
	for (uint32_t i = 0; i < running->trials->limits_count; i++) {
		struct engine_result *result = result_at(running, trial, policy, i);

		setup = experiment_trial_setup(experiment, drawn, &experiment->policies[policy],
					       running->limits_j[i]);
		setup.trim = true;
		if (!experiment_simulate_run(experiment, drawn, &setup, result, error))
			return false;
	}
	return true;
}

static bool run_trial(uint32_t trial, void *data, GError **error)
{
	const struct running *running = data;
	const struct experiment *experiment = running->trials->experiment;
	struct experiment_trial drawn;
	bool good = true;

	if (!experiment_trial_init(experiment, running->trials->seed, trial + 1, &drawn, error))
		return false;
	if (running->trials->change)
		experiment_trial_change(&drawn, running->trials->change);
	for (uint32_t policy = 0; good && policy < experiment->policies_count; policy++)
		good = run_policy(running, &drawn, trial, policy, error);
	experiment_trial_clear(&drawn);
	return good;
}

static void sort_limits(struct running *running)
{
	const uint32_t count = running->trials->limits_count;

	running->ascending = g_new(uint32_t, count);
	running->limits_j = g_new(double, count);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = i;

		for (; at > 0 && running->limits_j[at - 1] > running->trials->limits_j[i]; at--) {
			running->limits_j[at] = running->limits_j[at - 1];
			running->ascending[at] = running->ascending[at - 1];
		}
		running->limits_j[at] = running->trials->limits_j[i];
		running->ascending[at] = i;
	}
}

struct engine_result *trials_run(const struct trials *trials, GError **error)
{
	struct running running = {.trials = trials};
	const struct batch batch = {
		.name = "trials",
		.count = trials->trials,
		.jobs = trials->jobs,
		.work = run_trial,
		.data = &running,
		.progress = trials->progress,
		.progress_data = trials->data,
	};
	bool good;

	running.results = g_new0(struct engine_result, (size_t)trials->trials *
							       trials->experiment->policies_count *
							       trials->limits_count);
	sort_limits(&running);
	good = batch_run(&batch, error);
	g_free(running.ascending);
	g_free(running.limits_j);
	if (good)
		return running.results;
	g_free(running.results);
	return NULL;
}
