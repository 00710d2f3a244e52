/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/run/run_profile.h"

#include <inttypes.h>
#include <math.h>

#include "controller/backend/remote.h"
#include "controller/run/host_load.h"
#include "controller/run/run_bench.h"
#include "controller/run/run_estimate.h"
#include "controller/run/run_meters.h"
#include "controller/run/run_overhead.h"
#include "controller/run/run_profile_results.h"

#define READY_S 300.0

/* A pair that failed or was lost so often in a row cannot be measured. */
#define LOST_MAX 3

struct profile {
	struct run_session *session;
	const struct config *config;
	struct backend *backend;
	struct run_bench *benches; /* one per cluster */
	GPtrArray *jobs;           /* struct run_job; the index is the task's number */
	GArray *measurements;      /* struct run_measurement */
	uint32_t *lost;            /* types x clusters: losses in a row */
	uint32_t total;
	double started_s;
	struct config_estimate *estimates; /* estimates_count of them, from the measurements */
	uint32_t estimates_count;
	struct run_overheads overheads;
};

/* Asks for a job's task; false: there is no job. */
static bool carry_out(struct profile *profile, struct run_job *job)
{
	struct backend_start start = {.attempt = 1};

	if (!job)
		return false;
	start.task = profile->jobs->len;
	start.type = job->type;
	start.cluster = job->cluster;
	start.nodes = job->nodes;
	start.nodes_count = job->nodes_count;
	g_ptr_array_add(profile->jobs, job);
	backend_start(profile->backend, &start);
	return true;
}

/* While a measurement waits for room, nothing else takes it. */
static void fill(struct profile *profile)
{
	for (uint32_t i = 0; i < profile->config->clusters_count; i++) {
		while (carry_out(profile, run_bench_start(&profile->benches[i])))
			;
		while (carry_out(profile, run_bench_fill(&profile->benches[i])))
			;
	}
}

static uint32_t left(const struct profile *profile)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < profile->config->clusters_count; i++)
		sum += profile->benches[i].left;
	return sum;
}

static void measured(struct profile *profile, const struct run_job *job,
		     const struct backend_event *event)
{
	struct run_measurement measurement = {
		.type = job->type,
		.cluster = job->cluster,
		.exec_s = event->exec_s,
		.energy_j = event->energy_j,
	};

	g_array_append_val(profile->measurements, measurement);
	profile->lost[job->type * profile->config->clusters_count + job->cluster] = 0;
}

static bool refuse(const struct profile *profile, const struct run_job *job, const char *how,
		   const char *reason, GError **error)
{
	g_set_error(
		error, RUN_ERROR, RUN_ERROR_MEASURE,
		"type '%s' cannot be measured on cluster '%s': %s: %s; look into the log of its "
		"local scheduler",
		profile->config->types[job->type].name,
		profile->config->clusters[job->cluster].name, how, reason ?: "no reason given");
	return false;
}

static bool take_end(struct profile *profile, const struct backend_event *event, GError **error)
{
	struct run_job *job = g_ptr_array_index(profile->jobs, event->task);
	const bool completed = event->outcome == BACKEND_OUTCOME_COMPLETED;
	uint32_t *lost = &profile->lost[job->type * profile->config->clusters_count + job->cluster];

	if (run_bench_end(&profile->benches[job->cluster], job, completed))
		measured(profile, job, event);
	if (!completed && ++*lost >= LOST_MAX)
		return refuse(profile, job, "it failed or was lost again and again", event->reason,
			      error);
	return true;
}

static bool take_event(struct profile *profile, const struct backend_event *event, GError **error)
{
	switch (event->kind) {
	case BACKEND_EVENT_ENDED:
		return take_end(profile, event, error);
	case BACKEND_EVENT_NODE_DOWN:
		run_bench_node_down(&profile->benches[event->cluster], event->node);
		return true;
	case BACKEND_EVENT_NODE_UP:
		run_bench_node_up(&profile->benches[event->cluster], event->node);
		return true;
	case BACKEND_EVENT_ABORTED:
		g_set_error(error, RUN_ERROR, RUN_ERROR_STOPPED, "%s", event->reason);
		return false;
	default:
		return true;
	}
}

static void show(struct run_progress *progress, void *data)
{
	struct profile *profile = data;
	double spent_s = backend_now_s(profile->backend) - profile->started_s;
	uint32_t done = profile->total - left(profile);

	progress->profile_done = done;
	progress->profile_total = profile->total;
	progress->time_s = spent_s;
	progress->energy_j = backend_energy_j(profile->backend);
	progress->phase_left_s = done >= 2 ? spent_s / done * (profile->total - done) : (double)NAN;
	progress->left_s = progress->phase_left_s +
			   run_session_runs(profile->session) * run_session_run_s(profile->session);
}

/* A pair that hangs ends by its deadline, a node that stays away by this. */
#define STALL_S 900.0

/* Tasks start at the mapping events, as in a run: nodes are busy for the same share of the time. */
static bool measure(struct profile *profile, GError **error)
{
	double interval_s = profile->config->experiment->mapping_interval_s;
	double heard_s = backend_now_s(profile->backend);
	double next_s = heard_s;
	const double stall_s = config_patience(profile->config, STALL_S);

	while (left(profile)) {
		struct backend_event event;
		double now_s = backend_now_s(profile->backend);

		if (now_s >= next_s) {
			fill(profile);
			next_s = now_s + interval_s;
		}
		backend_wait(profile->backend, next_s, &event);
		if (!take_event(profile, &event, error))
			return false;
		if (event.kind == BACKEND_EVENT_ENDED)
			heard_s = event.time_s;
		if (backend_now_s(profile->backend) - heard_s > stall_s) {
			g_set_error(
				error, RUN_ERROR, RUN_ERROR_MEASURE,
				"no measurement has ended for %.0f s: %u are missing; are nodes "
				"down?",
				stall_s, left(profile));
			return false;
		}
	}
	return true;
}

/* Results. */

static void estimate(struct profile *profile)
{
	profile->estimates =
		run_estimate(profile->config,
			     (const struct run_measurement *)(void *)profile->measurements->data,
			     profile->measurements->len, &profile->estimates_count);
}

/* What preempting takes, where the experiment does; nothing else runs meanwhile. */
static bool measure_overheads(struct profile *profile, GError **error)
{
	struct run_session *session = profile->session;

	session->progress->refresh = NULL;
	session->progress->phase_left_s = (double)NAN;
	backend_destroy(profile->backend);
	profile->backend = NULL;
	if (!run_overhead_wanted(session))
		return true;
	if (!run_overhead_measure(session, profile->estimates, profile->estimates_count,
				  &profile->overheads, error))
		return false;
	run_progress_note(session->progress, "profiled", "suspended and resumed %u time%s",
			  profile->overheads.samples->len,
			  profile->overheads.samples->len == 1 ? "" : "s");
	return true;
}

static bool save(struct profile *profile, double load, double idle_w, GError **error)
{
	const struct run_profile_results results = {
		.measurements = profile->measurements,
		.estimates = profile->estimates,
		.estimates_count = profile->estimates_count,
		.overheads = &profile->overheads,
		.host_load = load,
		.idle_w = idle_w,
	};

	return run_profile_save(profile->session, &results, error);
}

/* Life. */

static void job_free(void *data)
{
	run_job_free(data);
}

static void note(double time_s, const char *kind, const char *text, void *data)
{
	run_session_note(data, time_s, kind, text);
}

static void profile_init(struct profile *profile, struct run_session *session, int64_t t0_ns)
{
	struct remote_run run = {
		.experiment = session->plan->experiment,
		.run = t0_ns /
		       INT64_C(1000000), /* a profile that is done again gets new task ids */
		.t0_ns = t0_ns,
		.note = note,
		.data = session,
	};

	profile->session = session;
	profile->config = session->config;
	profile->jobs = g_ptr_array_new_with_free_func(job_free);
	profile->measurements = g_array_new(FALSE, FALSE, sizeof(struct run_measurement));
	profile->lost =
		g_new0(uint32_t, session->config->types_count * session->config->clusters_count);
	profile->benches = g_new0(struct run_bench, session->config->clusters_count);
	for (uint32_t i = 0; i < session->config->clusters_count; i++) {
		run_bench_init(&profile->benches[i], session->config, i,
			       session->plan->profile_repeats);
		profile->total += profile->benches[i].left;
	}
	profile->backend = remote_backend_new(session->fleet, &run);
	session->progress->phase = RUN_PHASE_PROFILE;
	session->progress->refresh = show;
	session->progress->refresh_data = profile;
}

static void profile_clear(struct profile *profile)
{
	profile->session->progress->refresh = NULL;
	backend_destroy(profile->backend);
	for (uint32_t i = 0; i < profile->config->clusters_count; i++)
		run_bench_clear(&profile->benches[i]);
	run_overheads_clear(&profile->overheads);
	g_free(profile->estimates);
	g_free(profile->benches);
	g_free(profile->lost);
	g_array_unref(profile->measurements);
	g_ptr_array_unref(profile->jobs);
}

bool run_profile(struct run_session *session, GError **error)
{
	g_autofree char *unmetered = run_meters_missing(session->config);
	struct profile profile = {0};
	struct remote_baseline baseline = {0};
	struct host_load before = {0};
	struct host_load after = {0};
	int64_t t0_ns;
	double load;
	bool done;

	if (!run_session_settle(session, READY_S, error) ||
	    !run_session_baseline(session, &baseline, &t0_ns, error))
		return false;
	profile_init(&profile, session, t0_ns);
	if (unmetered)
		run_progress_note(session->progress, "unmetered",
				  "%s: estimates without a measured energy get an EEC of 0",
				  unmetered);
	run_progress_note(session->progress, "profile", "measuring %" PRIu32 " time%s, idle %.1f W",
			  profile.total, profile.total == 1 ? "" : "s", baseline.sum_w);
	host_load_read(NULL, &before);
	done = measure(&profile, error);
	host_load_read(NULL, &after);
	load = host_load_cores(&before, &after);
	if (done) {
		run_progress_note(session->progress, "profiled",
				  "%u measurements in %.0f s, %.2f cores of this machine busy",
				  profile.measurements->len, backend_now_s(profile.backend), load);
		estimate(&profile);
		done = measure_overheads(&profile, error) &&
		       save(&profile, load, baseline.sum_w, error);
	}
	profile_clear(&profile);
	remote_baseline_clear(&baseline);
	return done;
}
