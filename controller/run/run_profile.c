/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/run/run_profile.h"

#include <inttypes.h>
#include <math.h>

#include "common/clock.h"
#include "common/json.h"
#include "common/random.h"
#include "controller/backend/remote.h"
#include "controller/run/host_load.h"
#include "controller/run/run_estimate.h"
#include "controller/run/run_meters.h"
#include "controller/run/run_overhead.h"

#define READY_S 300.0

/* Streams of the seed that nothing else uses. */
#define SHUFFLE_STREAM 1000000

/* A pair that failed or was lost so often in a row cannot be measured. */
#define LOST_MAX 3

/* One task under way or done. */
struct job {
	uint32_t type, cluster, nodes_count;
	uint32_t *nodes;
	bool filler; /* keeps nodes busy; counts if it completes in time */
	bool cold;   /* pays for what no other task of a run does: does not count */
};

/* A cluster being measured. */
struct bench {
	const struct config_cluster *cluster;
	uint32_t index;
	GArray *wanted; /* uint32_t types still to be started */
	bool *busy;     /* per node */
	bool *down;
	bool *evicted;  /* its last task had its VM's pages pushed out */
	bool *warm;     /* nodes x types: has completed a task of its benchmark since it booted */
	uint32_t left;  /* measurements that have not completed */
	struct random_stream random;
};

struct profile {
	struct run_session *session;
	const struct config *config;
	struct backend *backend;
	struct bench *benches; /* one per cluster */
	GPtrArray *jobs;       /* struct job; the index is the task's number */
	GArray *measurements;  /* struct run_measurement */
	uint32_t *lost;        /* types x clusters: losses in a row */
	uint32_t total;
	double started_s;
	double baseline_w;
	struct config_estimate *estimates; /* estimates_count of them, from the measurements */
	uint32_t estimates_count;
	struct run_overheads overheads;
};

static void job_free(void *data)
{
	struct job *job = data;

	g_free(job->nodes);
	g_free(job);
}

static bool fits(const struct profile *profile, uint32_t type, const struct bench *bench)
{
	return config_type_fits(&profile->config->types[type], bench->cluster);
}

static uint32_t width(const struct profile *profile, uint32_t type, const struct bench *bench)
{
	return config_type_nodes(&profile->config->types[type], bench->cluster);
}

/* Fisher and Yates, for the items from `first` on. */
static void shuffle(GArray *list, guint first, struct random_stream *random)
{
	uint32_t *items = (uint32_t *)(void *)list->data + first;

	for (guint i = list->len - first; i > 1; i--) {
		guint j = (guint)random_stream_below(random, i);
		uint32_t kept = items[i - 1];

		items[i - 1] = items[j];
		items[j] = kept;
	}
}

/*
 * One measurement of each type after the other, in random order, and again: the speed of a machine
 * changes from minute to minute, and no estimate shall be that of one minute.
 */
static void want(const struct profile *profile, struct bench *bench)
{
	for (uint32_t i = 0; i < profile->session->plan->profile_repeats; i++) {
		const guint first = bench->wanted->len;

		for (uint32_t type = 0; type < profile->config->types_count; type++)
			if (fits(profile, type, bench))
				g_array_append_val(bench->wanted, type);
		shuffle(bench->wanted, first, &bench->random);
	}
}

static void bench_init(struct profile *profile, struct bench *bench, uint32_t index)
{
	bench->index = index;
	bench->cluster = &profile->config->clusters[index];
	bench->wanted = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	bench->busy = g_new0(bool, bench->cluster->nodes);
	bench->down = g_new0(bool, bench->cluster->nodes);
	bench->evicted = g_new0(bool, bench->cluster->nodes);
	bench->warm = g_new0(bool, bench->cluster->nodes * profile->config->types_count);
	random_stream_init(&bench->random, profile->config->workload->seed, SHUFFLE_STREAM + index);
	want(profile, bench);
	bench->left = bench->wanted->len;
	profile->total += bench->left;
}

static uint32_t free_nodes(const struct bench *bench)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < bench->cluster->nodes; i++)
		count += !bench->busy[i] && !bench->down[i];
	return count;
}

static bool *warm(const struct profile *profile, const struct bench *bench, uint32_t node,
		  uint32_t type)
{
	return &bench->warm[node * profile->config->types_count + type];
}

/* Whether it makes its VMs swap, for which the next task pays, and no run has such a task. */
static bool evicts(const struct profile *profile, uint32_t type, const struct bench *bench)
{
	const struct config_type *one = &profile->config->types[type];

	return !(one->share > 0) &&
	       one->memory_mib > width(profile, type, bench) * bench->cluster->memory_mib;
}

static bool is_cold(const struct profile *profile, const struct bench *bench, uint32_t node,
		    uint32_t type)
{
	return !*warm(profile, bench, node, type) ||
	       (bench->evicted[node] && !evicts(profile, type, bench));
}

/* What a node is after a task that completed. */
static void set_warm(const struct profile *profile, const struct bench *bench, uint32_t node,
		     uint32_t type)
{
	const struct config_type *types = profile->config->types;

	bench->evicted[node] = evicts(profile, type, bench);
	for (uint32_t i = 0; i < profile->config->types_count; i++)
		if (g_str_equal(types[i].benchmark, types[type].benchmark))
			*warm(profile, bench, node, i) = true;
}

/* What a node is that went down. */
static void set_cold(const struct profile *profile, const struct bench *bench, uint32_t node)
{
	for (uint32_t i = 0; i < profile->config->types_count; i++)
		*warm(profile, bench, node, i) = false;
}

static void start_job(struct profile *profile, struct bench *bench, uint32_t type, bool filler)
{
	struct job *job = g_new0(struct job, 1);
	struct backend_start start = {.attempt = 1, .type = type, .cluster = bench->index};

	job->type = type;
	job->cluster = bench->index;
	job->filler = filler;
	job->nodes = g_new0(uint32_t, width(profile, type, bench));
	for (uint32_t i = 0; job->nodes_count < width(profile, type, bench); i++) {
		if (bench->busy[i] || bench->down[i])
			continue;
		bench->busy[i] = true;
		job->cold = job->cold || is_cold(profile, bench, i, type);
		job->nodes[job->nodes_count++] = i;
	}
	start.task = profile->jobs->len;
	start.nodes = job->nodes;
	start.nodes_count = job->nodes_count;
	g_ptr_array_add(profile->jobs, job);
	backend_start(profile->backend, &start);
}

/* The first wanted type that has room. */
static bool start_wanted(struct profile *profile, struct bench *bench)
{
	uint32_t room = free_nodes(bench);

	for (guint i = 0; i < bench->wanted->len; i++) {
		uint32_t type = g_array_index(bench->wanted, uint32_t, i);

		if (width(profile, type, bench) > room)
			continue;
		g_array_remove_index(bench->wanted, i);
		start_job(profile, bench, type, false);
		return true;
	}
	return false;
}

/* What a run would have there: one of the types that have room, by their shares of the arrivals. */
static bool start_filler(struct profile *profile, struct bench *bench)
{
	uint32_t room = free_nodes(bench);
	uint32_t chosen = 0;
	double sum = 0;

	for (uint32_t type = 0; type < profile->config->types_count; type++) {
		double share = profile->config->types[type].share;

		if (!(share > 0) || !fits(profile, type, bench) ||
		    width(profile, type, bench) > room)
			continue;
		sum += share;
		if (random_stream_uniform(&bench->random) * sum < share)
			chosen = type;
	}
	if (!(sum > 0))
		return false;
	start_job(profile, bench, chosen, true);
	return true;
}

/* While a wide task waits for room, nothing else takes it. */
static void fill(struct profile *profile)
{
	for (uint32_t i = 0; i < profile->config->clusters_count; i++) {
		struct bench *bench = &profile->benches[i];

		while (start_wanted(profile, bench))
			;
		while (!bench->wanted->len && start_filler(profile, bench))
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

static void measured(struct profile *profile, const struct job *job,
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
	if (!job->filler)
		profile->benches[job->cluster].left--;
}

static bool refuse(const struct profile *profile, const struct job *job, const char *how,
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
	struct job *job = g_ptr_array_index(profile->jobs, event->task);
	struct bench *bench = &profile->benches[job->cluster];
	uint32_t *lost = &profile->lost[job->type * profile->config->clusters_count + job->cluster];

	for (uint32_t i = 0; i < job->nodes_count; i++) {
		bench->busy[job->nodes[i]] = false;
		if (event->outcome == BACKEND_OUTCOME_COMPLETED)
			set_warm(profile, bench, job->nodes[i], job->type);
	}
	if (event->outcome == BACKEND_OUTCOME_COMPLETED) {
		if (!job->cold)
			measured(profile, job, event);
		else if (!job->filler)
			g_array_append_val(bench->wanted, job->type);
		return true;
	}
	if (++*lost >= LOST_MAX)
		return refuse(profile, job, "it failed or was lost again and again", event->reason,
			      error);
	if (!job->filler)
		g_array_append_val(bench->wanted, job->type);
	return true;
}

static bool take_event(struct profile *profile, const struct backend_event *event, GError **error)
{
	switch (event->kind) {
	case BACKEND_EVENT_ENDED:
		return take_end(profile, event, error);
	case BACKEND_EVENT_NODE_DOWN:
		profile->benches[event->cluster].down[event->node] = true;
		set_cold(profile, &profile->benches[event->cluster], event->node);
		return true;
	case BACKEND_EVENT_NODE_UP:
		profile->benches[event->cluster].down[event->node] = false;
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
		if (backend_now_s(profile->backend) - heard_s > STALL_S) {
			g_set_error(
				error, RUN_ERROR, RUN_ERROR_MEASURE,
				"no measurement has ended for %.0f s: %u are missing; are nodes "
				"down?",
				STALL_S, left(profile));
			return false;
		}
	}
	return true;
}

/* Results. */

/* JSON has no NaN: what is not known is null. */
static json_t *number(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static bool write_json(const struct profile *profile, double load, GError **error)
{
	g_autofree char *path = g_build_filename(profile->session->dir, "profile.json", NULL);
	g_autofree char *text = NULL;
	g_autoptr(json_t) document = NULL;
	json_t *list = json_array();

	for (guint i = 0; i < profile->measurements->len; i++) {
		const struct run_measurement *one =
			&g_array_index(profile->measurements, struct run_measurement, i);

		json_array_append_new(list,
				      json_pack("{s:s, s:s, s:f, s:o}", "type",
						profile->config->types[one->type].name, "cluster",
						profile->config->clusters[one->cluster].name,
						"exec_s", one->exec_s, "energy_j",
						number(one->energy_j)));
	}
	document = json_pack("{s:o, s:o, s:f, s:O*}", "measurements", list, "host_load",
			     number(load), "idle_w", profile->baseline_w, "overheads",
			     profile->overheads.list);
	text = json_pretty(document);
	return g_file_set_contents(path, text, -1, error);
}

static void estimate(struct profile *profile)
{
	profile->estimates =
		run_estimate(profile->config,
			     (const struct run_measurement *)(void *)profile->measurements->data,
			     profile->measurements->len, &profile->estimates_count);
}

static bool write_estimates(const struct profile *profile, GError **error)
{
	g_autofree char *path = g_build_filename(profile->session->dir, "estimates.yaml", NULL);
	const GArray *samples = profile->overheads.samples;

	return config_save_measured(
		profile->estimates, profile->estimates_count,
		samples ? (const struct config_overhead *)(void *)samples->data : NULL,
		samples ? samples->len : 0, path, error);
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
	run_progress_note(session->progress, "profiled", "suspended and resumed %u times",
			  profile->overheads.samples->len);
	return true;
}

static bool record_load(const struct profile *profile, double load, GError **error)
{
	char text[G_ASCII_DTOSTR_BUF_SIZE];

	g_ascii_dtostr(text, sizeof(text), load);
	return store_set_meta(profile->session->store, "profile_host_load", text, error);
}

/* Life. */

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
	profile->benches = g_new0(struct bench, session->config->clusters_count);
	for (uint32_t i = 0; i < session->config->clusters_count; i++)
		bench_init(profile, &profile->benches[i], i);
	profile->backend = remote_backend_new(session->fleet, &run);
	session->progress->phase = RUN_PHASE_PROFILE;
	session->progress->refresh = show;
	session->progress->refresh_data = profile;
}

static void profile_clear(struct profile *profile)
{
	profile->session->progress->refresh = NULL;
	backend_destroy(profile->backend);
	for (uint32_t i = 0; i < profile->config->clusters_count; i++) {
		g_array_unref(profile->benches[i].wanted);
		g_free(profile->benches[i].busy);
		g_free(profile->benches[i].down);
		g_free(profile->benches[i].evicted);
		g_free(profile->benches[i].warm);
	}
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
	profile.baseline_w = baseline.sum_w;
	if (unmetered)
		run_progress_note(session->progress, "unmetered",
				  "%s: estimates without a measured energy get an EEC of 0",
				  unmetered);
	run_progress_note(session->progress, "profile", "measuring %" PRIu32 " times, idle %.1f W",
			  profile.total, baseline.sum_w);
	host_load_read(NULL, &before);
	done = measure(&profile, error);
	host_load_read(NULL, &after);
	load = host_load_cores(&before, &after);
	if (done) {
		run_progress_note(session->progress, "profiled",
				  "%u measurements in %.0f s, %.2f cores of this machine busy",
				  profile.measurements->len, backend_now_s(profile.backend), load);
		estimate(&profile);
		done = measure_overheads(&profile, error) && write_json(&profile, load, error) &&
		       record_load(&profile, load, error) && write_estimates(&profile, error);
	}
	profile_clear(&profile);
	remote_baseline_clear(&baseline);
	return done;
}
