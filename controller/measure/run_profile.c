/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/measure/run_profile.h"

#include <inttypes.h>
#include <math.h>

#include "common/error_fail.h"
#include "controller/backend/remote.h"
#include "controller/measure/run_profile_results.h"
#include "controller/measure/run_profile_schedule.h"
#include "controller/run/run_meters.h"
#include "controller/session/host_load.h"
#include "controller/session/run_record.h"
#include "controller/session/run_session_private.h"
#include "controller/store/store_profile.h"

/*
 * Shortest time between two mapping events while no measurement gives the interval of a run,
 * seconds.
 */
#define INTERVAL_MIN_S 0.25

/* A pair with so many failures or losses in a row cannot be measured. */
#define LOST_MAX 3

/*
 * How long to wait for nodes that are down where a local scheduler does not say how long a boot may
 * take.
 */
#define DOWN_S 120.0

/*
 * Losses of a pair in a row. Tasks that ran at the same time are lost together and count once: a
 * task counts only if it was started after the last loss.
 */
struct losses {
	uint32_t count;
	uint32_t next; /* the number of the first task that was started after the last loss */
};

struct profile {
	struct run_session *session;
	const struct config *config;
	struct backend *backend;
	struct run_profile_schedule *benches; /* one per cluster */
	GArray *clusters;                     /* uint32_t: of each task, by its number */
	struct run_profile_results results;
	struct run_profiled *done; /* of the results: the measurements in the store */
	struct losses *lost;       /* types x clusters */
	double *stuck_s;           /* per cluster: since when it lacks nodes; NAN: it does not */
	uint32_t total;
	double idle_w;
	struct host_load load; /* at the start */
	double started_s;
	uint32_t recalled; /* measurements that were in the store at the start */
};

/* Starts a task on a cluster, by one of the two functions of its schedule; false: there is none. */
static bool start_task(struct profile *profile, uint32_t cluster,
		       uint32_t (*choose)(struct run_profile_schedule *bench, uint32_t task,
					  uint32_t *ret_nodes))
{
	struct run_profile_schedule *bench = &profile->benches[cluster];
	g_autofree uint32_t *nodes = g_new(uint32_t, workload_cluster_nodes(bench->cluster));
	struct sched_task task = {.id = profile->clusters->len};
	struct sched_allocation placed = {.task = &task, .cluster = cluster, .nodes = nodes};

	placed.nodes_count = choose(bench, task.id, nodes);
	if (placed.nodes_count == 0)
		return false;
	task.row = run_profile_schedule_made(bench, task.id).type;
	g_array_append_val(profile->clusters, cluster);
	backend_start(profile->backend, &placed, 1);
	return true;
}

/* Fillers start only when no measurement waits for room. */
static void fill(struct profile *profile)
{
	for (uint32_t i = 0; i < profile->config->clusters_count; i++) {
		while (start_task(profile, i, run_profile_schedule_start))
			;
		while (start_task(profile, i, run_profile_schedule_fill))
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

static bool record_measurement(struct profile *profile, uint32_t cluster, struct run_wanted made,
			       const struct backend_event *event, GError **error)
{
	const struct run_measurement measurement = {
		.type = made.type,
		.cluster = cluster,
		.round = made.round == RUN_NO_ROUND ? STORE_NO_ROUND : (int64_t)made.round,
		.exec_s = event->exec_s,
		.energy_j = event->energy_j,
	};
	const double span_s = backend_now_s(profile->backend) - profile->started_s;
	struct host_load now = {0};
	const bool known = host_load_read(profile->session->platform, NULL, &now);
	const struct run_profiled_sums sums = {
		.span_s = span_s,
		.busy_s = known ? now.busy_s - profile->load.busy_s : (double)NAN,
		.idle_j = profile->idle_w * span_s,
	};

	return run_profiled_add(profile->done, &measurement, &sums, error);
}

/* Pairs that cannot be measured. */

/* Kills tasks of a pair that was given up; they would only keep nodes busy. */
static void kill_tasks(struct profile *profile, uint32_t type, uint32_t cluster)
{
	const struct run_profile_schedule *bench = &profile->benches[cluster];

	for (uint32_t i = 0; i < workload_cluster_nodes(bench->cluster); i++) {
		const uint32_t task = bench->tasks[i];
		uint32_t first = 0;

		while (bench->tasks[first] != task)
			first++;
		if (task != RUN_NO_TASK && bench->made[i].type == type && first == i)
			backend_kill(profile->backend, task, 1);
	}
}

/*
 * Gives a pair up and records it; a pair with all of its measurements only stops keeping nodes
 * busy.
 */
static bool give_up(struct profile *profile, uint32_t type, uint32_t cluster, const char *reason,
		    GError **error)
{
	const char *type_name = profile->config->types[type].name;
	const char *cluster_name = profile->config->clusters[cluster].name;
	const uint32_t count = run_profile_schedule_give_up(&profile->benches[cluster], type);

	kill_tasks(profile, type, cluster);
	profile->total -= count;
	if (count == 0) {
		run_progress_note(
			profile->session->progress, "profile",
			"type '%s' is measured on cluster '%s', and keeps no nodes busy there "
			"any more: %s",
			type_name, cluster_name, reason);
		return true;
	}
	if (!run_profiled_give_up(profile->done, type, cluster, reason, error))
		return false;
	run_progress_note(profile->session->progress, "cell-failed",
			  "type '%s' on cluster '%s': %s", type_name, cluster_name, reason);
	return true;
}

/* How far the task came, as the beginning of a reason (the caller frees). */
static char *how_far(const struct backend_event *event)
{
	if (event->total == 0)
		return g_strdup_printf("it reported no progress in %.0f s", event->exec_s);
	return g_strdup_printf("reached %" PRId64 " of %" PRId64 " steps in %.0f s", event->done,
			       event->total, event->exec_s);
}

static char *deadline_reason(const struct profile *profile, const struct backend_event *event)
{
	g_autofree char *far = how_far(event);
	g_autofree char *needs =
		event->done > 0 ? g_strdup_printf("; about %.0f s are needed",
						  ceil(event->exec_s * (double)event->total /
						       (double)event->done))
				: g_strdup("");

	if (profile->config->experiment->task_deadline_s > 0)
		return g_strdup_printf("%s, " RUN_PROFILED_DEADLINE "%s: raise "
				       "task_deadline_s, or leave the type out there",
				       far, needs);
	return g_strdup_printf("%s, " RUN_PROFILED_LONGEST "%s: give the type fewer "
			       "repetitions",
			       far, needs);
}

static char *stall_reason(const struct backend_event *event)
{
	g_autofree char *far = how_far(event);

	return g_strdup_printf("%s and then hung (%s); see the log of its local scheduler", far,
			       event->reason ?: "no more progress");
}

/* Why a pair is given up after the end of a task (the caller frees); NULL: it is not yet. */
static char *why_give_up(const struct profile *profile, const struct backend_event *event,
			 uint32_t losses)
{
	if (event->cause == TASK_CAUSE_DEADLINE)
		return deadline_reason(profile, event);
	if (event->cause == TASK_CAUSE_STALLED)
		return stall_reason(event);
	if (losses < LOST_MAX)
		return NULL;
	return g_strdup_printf("failed or was lost %u times in a row: %s; see the log of its local "
			       "scheduler",
			       losses, event->reason ?: "no reason given");
}

static void note_end(const struct profile *profile, struct losses *losses, uint32_t task,
		     bool completed)
{
	if (completed) {
		losses->count = 0;
	} else if (task >= losses->next) {
		losses->count++;
		losses->next = profile->clusters->len;
	}
}

static bool on_end(struct profile *profile, const struct backend_event *event, GError **error)
{
	const uint32_t cluster = g_array_index(profile->clusters, uint32_t, event->task);
	struct run_profile_schedule *bench = &profile->benches[cluster];
	const struct run_wanted made = run_profile_schedule_made(bench, event->task);
	const bool completed = event->outcome == BACKEND_OUTCOME_COMPLETED;
	struct losses *lost = &profile->lost[made.type * profile->config->clusters_count + cluster];
	g_autofree char *why = NULL;

	if (run_profile_schedule_end(bench, event->task, completed) &&
	    !record_measurement(profile, cluster, made, event, error))
		return false;
	note_end(profile, lost, event->task, completed);
	if (completed || bench->given_up[made.type])
		return true;
	why = why_give_up(profile, event, lost->count);
	return !why || give_up(profile, made.type, cluster, why, error);
}

static bool on_event(struct profile *profile, const struct backend_event *event, GError **error)
{
	switch (event->kind) {
	case BACKEND_EVENT_ENDED:
		return on_end(profile, event, error);
	case BACKEND_EVENT_NODE_DOWN:
		run_profile_schedule_node_down(&profile->benches[event->cluster], event->node);
		return true;
	case BACKEND_EVENT_NODE_UP:
		run_profile_schedule_node_up(&profile->benches[event->cluster], event->node);
		profile->stuck_s[event->cluster] = (double)NAN;
		return true;
	case BACKEND_EVENT_ABORTED:
		return error_fail(error, RUN_ERROR, RUN_ERROR_STOPPED, "%s", event->reason);
	default:
		return true;
	}
}

/* Nodes that stay down. */

/* How long a node of the cluster may take to come up again, seconds. */
static double patience_s(const struct profile *profile, uint32_t cluster)
{
	const struct remote_link *link = remote_fleet_link(profile->session->fleet, cluster);
	const double boot_s = json_number_value(
		json_object_get(remote_link_capabilities(link), "boot_timeout_s"));

	return boot_s > 0 ? boot_s : DOWN_S;
}

/* The first node that is down, and why (the caller frees). */
static char *down_reason(const struct profile *profile, uint32_t cluster, double waited_s)
{
	const struct remote_link *link = remote_fleet_link(profile->session->fleet, cluster);
	const struct run_profile_schedule *bench = &profile->benches[cluster];
	const struct wire_node *words;
	uint32_t node = 0;

	while (node + 1 < bench->cluster->nodes && remote_link_node_up(link, node))
		node++;
	words = remote_link_node(link, node);
	return g_strdup_printf(
		"too few nodes were up for %.0f s (node %u is %s%s%s); see the log of its "
		"local scheduler",
		waited_s, node, words->state ?: "not known", words->reason ? ": " : "",
		words->reason ?: "");
}

static bool give_up_wide(struct profile *profile, uint32_t cluster, double waited_s, GError **error)
{
	g_autofree char *why = down_reason(profile, cluster, waited_s);

	for (uint32_t type = 0; type < profile->config->types_count; type++)
		if (run_profile_schedule_lacks_nodes(&profile->benches[cluster], type) &&
		    !give_up(profile, type, cluster, why, error))
			return false;
	return true;
}

/*
 * Updates since when clusters are stuck. Returns whether any other cluster has measurements left.
 */
static bool others_continue(struct profile *profile, double now_s)
{
	bool any = false;

	for (uint32_t i = 0; i < profile->config->clusters_count; i++) {
		const bool stuck = run_profile_schedule_is_stuck(&profile->benches[i]);

		if (!stuck)
			profile->stuck_s[i] = (double)NAN;
		else if (isnan(profile->stuck_s[i]))
			profile->stuck_s[i] = now_s;
		any = any || (!stuck && profile->benches[i].left > 0);
	}
	return any;
}

/* While other clusters are measured, nodes that are down have time to come back. */
static bool give_up_stuck(struct profile *profile, double now_s, GError **error)
{
	if (others_continue(profile, now_s))
		return true;
	for (uint32_t i = 0; i < profile->config->clusters_count; i++) {
		const double waited_s = now_s - profile->stuck_s[i];

		if (waited_s >= patience_s(profile, i) &&
		    !give_up_wide(profile, i, waited_s, error))
			return false;
	}
	return true;
}

static void refresh_progress(struct run_progress *progress, void *data)
{
	struct profile *profile = data;
	double spent_s = backend_now_s(profile->backend) - profile->started_s;
	uint32_t done = profile->total - left(profile);
	uint32_t made = done > profile->recalled ? done - profile->recalled : 0;

	progress->profile_done = done;
	progress->profile_total = profile->total;
	progress->time_s = spent_s;
	progress->energy_j = backend_energy_j(profile->backend);
	progress->phase_left_s = made >= 2 ? spent_s / made * (profile->total - done) : (double)NAN;
	progress->left_s = progress->phase_left_s;
	if (run_session_runs(profile->session) > 0)
		progress->left_s +=
			run_session_runs(profile->session) * run_session_run_s(profile->session);
}

/*
 * Time between two mapping events. If the interval follows from estimates, the mean of the
 * measurements so far is used.
 */
static double interval_s(const struct profile *profile)
{
	const struct config_experiment *experiment = profile->config->experiment;
	double sum_s = 0;

	if (!(experiment->mapping_interval > 0))
		return experiment->mapping_interval_s;
	for (guint i = 0; i < profile->done->measurements->len; i++)
		sum_s += g_array_index(profile->done->measurements, struct run_measurement, i)
				 .exec_s;
	return fmax(INTERVAL_MIN_S, experiment->mapping_interval * sum_s /
					    MAX(profile->done->measurements->len, 1));
}

/*
 * Tasks start at mapping events, as in a run, so that nodes are busy for the same fraction of the
 * time. Each pair ends: by its deadline, by its local scheduler, which ends tasks without progress,
 * or, if a node stays down, by its cluster's patience.
 */
static bool measure(struct profile *profile, GError **error)
{
	double next_s = backend_now_s(profile->backend);

	while (left(profile)) {
		struct backend_event event;
		double now_s = backend_now_s(profile->backend);

		if (now_s >= next_s) {
			fill(profile);
			if (!give_up_stuck(profile, now_s, error))
				return false;
			next_s = now_s + interval_s(profile);
		}
		remote_backend_wait(profile->backend, next_s, &event);
		if (!on_event(profile, &event, error))
			return false;
	}
	return true;
}

/* Results. */

static void estimate(const struct config *config, struct run_profile_results *results)
{
	results->counting = run_profiled_counting(&results->profiled);
	results->estimates =
		run_estimate(config,
			     (const struct run_measurement *)(void *)results->counting->data,
			     results->counting->len, &results->estimates_count);
}

/* Measures the overheads of preempting if the experiment preempts; no other task runs meanwhile. */
static bool measure_overheads(struct profile *profile, GError **error)
{
	struct run_session *session = profile->session;
	struct run_profile_results *results = &profile->results;

	session->progress->refresh = NULL;
	session->progress->phase_left_s = (double)NAN;
	g_clear_pointer(&profile->backend, backend_destroy);
	if (!run_overhead_wanted(session))
		return true;
	if (!run_overhead_measure(session, results->estimates, results->estimates_count,
				  &results->overheads, error))
		return false;
	run_progress_note(session->progress, "profiled", "suspended and resumed %u time%s",
			  results->overheads.samples->len,
			  results->overheads.samples->len == 1 ? "" : "s");
	return true;
}

/* Life cycle. */

/* Marks the measurements in the store as made. */
static void recall_stored(struct profile *profile)
{
	const uint32_t clusters = profile->config->clusters_count;

	for (guint i = 0; i < profile->done->measurements->len; i++) {
		const struct run_measurement *one =
			&g_array_index(profile->done->measurements, struct run_measurement, i);

		if (one->round != STORE_NO_ROUND)
			run_profile_schedule_recall(&profile->benches[one->cluster], one->type,
						    (uint32_t)one->round);
	}
	for (uint32_t i = 0; i < profile->config->types_count * clusters; i++)
		if (profile->done->holes[i])
			profile->total -=
				run_profile_schedule_give_up(&profile->benches[i % clusters],
							     i / clusters);
	profile->recalled = profile->total - left(profile);
}

static bool profile_init(struct profile *profile, struct run_session *session, GError **error)
{
	const uint32_t clusters = session->config->clusters_count;

	profile->session = session;
	profile->config = session->config;
	profile->clusters = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	profile->lost = g_new0(struct losses, session->config->types_count * clusters);
	profile->stuck_s = g_new(double, clusters);
	profile->benches = g_new0(struct run_profile_schedule, clusters);
	for (uint32_t i = 0; i < clusters; i++) {
		profile->stuck_s[i] = (double)NAN;
		run_profile_schedule_init(&profile->benches[i], session->config, i,
					  session->plan->profile_repeats);
		profile->total += profile->benches[i].left;
	}
	profile->done = &profile->results.profiled;
	if (!run_profiled_init(profile->done, session, error))
		return false;
	recall_stored(profile);
	return true;
}

static void profile_clear(struct profile *profile)
{
	profile->session->progress->refresh = NULL;
	backend_destroy(profile->backend);
	for (uint32_t i = 0; i < profile->config->clusters_count; i++)
		run_profile_schedule_clear(&profile->benches[i]);
	run_profiled_clear(&profile->results.profiled);
	run_overheads_clear(&profile->results.overheads);
	g_clear_pointer(&profile->results.counting, g_array_unref);
	g_free(profile->results.estimates);
	g_free(profile->benches);
	g_free(profile->stuck_s);
	g_free(profile->lost);
	g_array_unref(profile->clusters);
}

static void open_backend(struct profile *profile, int64_t t0_ns)
{
	struct run_session *session = profile->session;

	profile->backend = run_record_profile_backend(session, t0_ns, true);
	profile->started_s = backend_now_s(profile->backend);
	session->progress->phase = RUN_PHASE_PROFILE;
	session->progress->refresh = refresh_progress;
	session->progress->refresh_data = profile;
}

static void note_begin(const struct profile *profile)
{
	g_autofree char *unmetered = run_meters_missing(profile->config);
	struct run_progress *progress = profile->session->progress;
	const uint32_t count = left(profile);

	if (unmetered)
		run_progress_note(progress, "unmetered",
				  "%s: estimates without a measured energy get an EEC of 0",
				  unmetered);
	if (profile->recalled > 0)
		run_progress_note(progress, "profile", "%u of %u measurements are on record",
				  profile->recalled, profile->total);
	run_progress_note(progress, "profile", "measuring %" PRIu32 " time%s, idle %.1f W", count,
			  count == 1 ? "" : "s", profile->idle_w);
}

static void note_result(const struct profile *profile)
{
	const uint32_t holes = profile->done->holes_count;
	g_autofree char *without =
		holes ? g_strdup_printf(", without %u pair%s of type and cluster", holes,
					holes == 1 ? "" : "s")
		      : g_strdup("");

	run_progress_note(profile->session->progress, "profiled",
			  "%u measurements in %.0f s, %.2f cores of this machine busy%s",
			  profile->done->measurements->len, profile->done->sums.span_s,
			  run_profiled_host_load(profile->done), without);
}

/* Makes the measurements that are left. */
static bool measure_rest(struct profile *profile, GError **error)
{
	struct run_session *session = profile->session;
	struct remote_baseline baseline = {0};
	int64_t t0_ns;
	bool done;

	if (!left(profile))
		return true;
	if (!run_session_settle_some(session, error) ||
	    !run_session_baseline(session, &baseline, &t0_ns, error))
		return false;
	profile->idle_w = baseline.sum_w;
	remote_baseline_clear(&baseline);
	open_backend(profile, t0_ns);
	note_begin(profile);
	host_load_read(session->platform, NULL, &profile->load);
	done = store_set_durable(session->store, true, error) && measure(profile, error);
	return store_set_durable(session->store, false, done ? error : NULL) && done;
}

bool run_profile(struct run_session *session, GError **error)
{
	struct profile profile = {0};
	bool done = profile_init(&profile, session, error) && measure_rest(&profile, error);

	if (done) {
		note_result(&profile);
		estimate(profile.config, &profile.results);
		done = measure_overheads(&profile, error) &&
		       run_profile_save(session, &profile.results, error);
	}
	profile_clear(&profile);
	return done;
}
