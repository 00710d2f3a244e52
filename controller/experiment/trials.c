/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/experiment/trials.h"

#include <gio/gio.h>

#include "common/handoff.h"
#include "controller/experiment/simulation.h"

/* What the threads share. */
struct batch {
	const struct trials *trials;
	struct engine_result *results;
	uint32_t *ascending; /* indices of the limits, lowest first */
	double *limits_j;    /* the limits in that order */
	gint next;           /* the next trial that a thread takes */
	gint done;
	gint stop;
	GMutex mutex;
	GCond finished;
	uint32_t threads; /* running threads; under the mutex */
	GError *error;    /* the first; under the mutex */
};

static struct engine_result *result_at(const struct batch *batch, uint32_t trial, uint32_t policy,
				       uint32_t ascending)
{
	return (struct engine_result *)trials_result(batch->trials, batch->results, trial, policy,
						     batch->ascending[ascending]);
}

/* Does one run for all limits; the lower ones are marks of the run. */
static void run_once(const struct batch *batch, const struct experiment_trial *drawn,
		     struct engine_setup *setup, uint32_t trial, uint32_t policy)
{
	struct backend *backend = experiment_backend_new(batch->trials->experiment, drawn, setup);
	const uint32_t last = batch->trials->limits_count - 1;

	setup->limit_j = batch->limits_j[last];
	setup->marks_j = batch->limits_j;
	setup->marks_count = last;

	g_autoptr(engine_t) engine = engine_new(setup, backend);

	simulation_run(engine, backend, result_at(batch, trial, policy, last));
	for (uint32_t i = 0; i < last; i++)
		*result_at(batch, trial, policy, i) = *engine_mark_result(engine, i);
	backend_destroy(backend);
}

static void run_policy(const struct batch *batch, const struct experiment_trial *drawn,
		       uint32_t trial, uint32_t policy)
{
	const struct experiment *experiment = batch->trials->experiment;
	struct engine_setup setup =
		experiment_trial_setup(experiment, drawn, &experiment->policies[policy], 0);

	setup.trim = true;
	if (!setup.gate && !drawn->whole && !drawn->pruning &&
	    !policy_reads_budget(&setup.policy)) {
		run_once(batch, drawn, &setup, trial, policy);
		return;
	}
	for (uint32_t i = 0; i < batch->trials->limits_count; i++) {
		struct engine_result *result = result_at(batch, trial, policy, i);

		setup = experiment_trial_setup(experiment, drawn, &experiment->policies[policy],
					       batch->limits_j[i]);
		setup.trim = true;
		experiment_simulate_run(experiment, drawn, &setup, result);
	}
}

static bool run_trial(const struct batch *batch, uint32_t trial, GError **error)
{
	const struct experiment *experiment = batch->trials->experiment;
	struct experiment_trial drawn;

	if (!experiment_trial_init(experiment, batch->trials->seed, trial + 1, &drawn, error))
		return false;
	if (batch->trials->change)
		experiment_trial_change(&drawn, batch->trials->change);
	for (uint32_t policy = 0; policy < experiment->policies_count; policy++)
		run_policy(batch, &drawn, trial, policy);
	experiment_trial_clear(&drawn);
	return true;
}

static void lock(struct batch *batch)
{
	g_mutex_lock(&batch->mutex);
	HANDOFF_TAKE(batch);
}

static void unlock(struct batch *batch)
{
	HANDOFF_GIVE(batch);
	g_mutex_unlock(&batch->mutex);
}

static gpointer run_trials(gpointer data)
{
	struct batch *batch = data;
	GError *error = NULL;

	HANDOFF_TAKE(batch);
	while (!g_atomic_int_get(&batch->stop)) {
		const gint trial = g_atomic_int_add(&batch->next, 1);

		if (trial >= (gint)batch->trials->trials)
			break;
		if (!run_trial(batch, (uint32_t)trial, &error)) {
			g_atomic_int_set(&batch->stop, 1);
			break;
		}
		g_atomic_int_inc(&batch->done);
	}
	lock(batch);
	if (error && !batch->error)
		batch->error = g_steal_pointer(&error);
	batch->threads--;
	g_cond_signal(&batch->finished);
	unlock(batch);
	g_clear_error(&error);
	return NULL;
}

/* Waits for the threads and calls progress() once a second. */
static void wait_for_threads(struct batch *batch)
{
	const struct trials *trials = batch->trials;

	lock(batch);
	while (batch->threads > 0) {
		const gint64 deadline = g_get_monotonic_time() + G_TIME_SPAN_SECOND;
		bool signalled;

		HANDOFF_GIVE(batch);
		signalled = g_cond_wait_until(&batch->finished, &batch->mutex, deadline);
		HANDOFF_TAKE(batch);
		if (signalled || !trials->progress)
			continue;
		unlock(batch);
		if (!trials->progress((uint32_t)g_atomic_int_get(&batch->done), trials->trials,
				      trials->data))
			g_atomic_int_set(&batch->stop, 1);
		lock(batch);
	}
	unlock(batch);
}

static void sort_limits(struct batch *batch)
{
	const uint32_t count = batch->trials->limits_count;

	batch->ascending = g_new(uint32_t, count);
	batch->limits_j = g_new(double, count);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = i;

		for (; at > 0 && batch->limits_j[at - 1] > batch->trials->limits_j[i]; at--) {
			batch->limits_j[at] = batch->limits_j[at - 1];
			batch->ascending[at] = batch->ascending[at - 1];
		}
		batch->limits_j[at] = batch->trials->limits_j[i];
		batch->ascending[at] = i;
	}
}

static void run_threads(struct batch *batch)
{
	const uint32_t count = MIN(batch->trials->jobs, batch->trials->trials);
	g_autofree GThread **threads = g_new(GThread *, count);

	batch->threads = count;
	HANDOFF_GIVE(batch);
	for (uint32_t i = 0; i < count; i++)
		threads[i] = g_thread_new("trials", run_trials, batch);
	wait_for_threads(batch);
	for (uint32_t i = 0; i < count; i++)
		g_thread_join(threads[i]);
}

struct engine_result *trials_run(const struct trials *trials, GError **error)
{
	struct batch batch = {.trials = trials};

	batch.results = g_new0(struct engine_result, (size_t)trials->trials *
							     trials->experiment->policies_count *
							     trials->limits_count);
	g_mutex_init(&batch.mutex);
	g_cond_init(&batch.finished);
	sort_limits(&batch);
	run_threads(&batch);
	g_mutex_clear(&batch.mutex);
	g_cond_clear(&batch.finished);
	g_free(batch.ascending);
	g_free(batch.limits_j);
	if (!batch.error && g_atomic_int_get(&batch.stop))
		batch.error = g_error_new_literal(G_IO_ERROR, G_IO_ERROR_CANCELLED, "stopped");
	if (!batch.error)
		return batch.results;
	g_propagate_error(error, batch.error);
	g_free(batch.results);
	return NULL;
}
