/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/run/run_session.h"

#include <glib/gstdio.h>
#include <math.h>

#define LOG_SUBSYSTEM "run"
#include "common/clock.h"
#include "common/error_fail.h"
#include "common/json.h"
#include "common/log.h"
#include "controller/config/config_controller.h"
#include "controller/config/config_environment.h"
#include "controller/config/config_holes.h"
#include "controller/engine/recorder_store.h"
#include "controller/run/run_driver.h"
#include "controller/run/run_finished.h"
#include "controller/run/run_meta.h"
#include "controller/run/run_paths.h"
#include "controller/run/run_profile.h"
#include "controller/run/run_profiled.h"
#include "controller/run/run_record.h"
#include "controller/run/run_service.h"
#include "controller/run/run_utc.h"

/*
 * What nodes need to get ready beside their boots: connecting to hosts, setting caps, waiting for
 * other boots.
 */
#define BESIDE_BOOTS_S 120.0

/* The first sample after the end of a task still shows its power. */
#define QUIET_S 1.5

/* A guess of how long nodes take to be ready again. */
#define SETTLE_GUESS_S 3.0

G_DEFINE_QUARK(virtbed_run, run_error)

static bool read_files(struct run_session *session, GError **error)
{
	g_autofree char *path = NULL;

	session->plan = run_plan_load(session->dir, error);
	if (!session->plan)
		return false;
	path = run_paths_config(session->dir, session->plan->serve);
	session->config = config_controller_load(path, error);
	if (!session->config)
		return false;
	if (g_strv_length(session->plan->schedulers) != session->config->clusters_count)
		return error_fail(
			error, RUN_ERROR, RUN_ERROR_INPUT,
			"%s/plan.json: schedulers: %u addresses for %u clusters; start the run "
			"with `virtbed run`",
			session->dir, g_strv_length(session->plan->schedulers),
			session->config->clusters_count);
	return true;
}

struct run_session *run_session_open(const char *dir, GError **error)
{
	struct run_session *session = g_new0(struct run_session, 1);

	session->dir = g_strdup(dir);
	session->progress = run_progress_new();
	session->utc = run_utc_new();
	if (!read_files(session, error))
		goto fail;
	session->store = session->plan->serve ? store_open_to_serve(dir, error)
					      : store_open(dir, true, error);
	if (!session->store)
		goto fail;
	session->fleet = remote_fleet_new(session->config,
					  (const char *const *)session->plan->schedulers, error);
	if (!session->fleet)
		goto fail;
	return session;
fail:
	run_session_close(session);
	return NULL;
}

void run_session_close(struct run_session *session)
{
	if (!session)
		return;
	remote_fleet_free(session->fleet);
	store_close(session->store);
	config_free(session->config);
	run_plan_free(session->plan);
	run_progress_free(session->progress);
	run_utc_free(session->utc);
	g_free(session->dir);
	g_free(session);
}

void run_session_store_failed(struct run_session *session, GError *error)
{
	g_autofree char *reason =
		g_strdup_printf("the store cannot be written: %s", error->message);

	log_error("%s", reason); /* also if it was stopped for another reason before */
	session->store_failed = true;
	if (session->recorder)
		recorder_store_fail(session->recorder, error);
	remote_fleet_stop(session->fleet, reason);
	g_error_free(error);
}

bool run_session_commit(struct run_session *session, GError **error)
{
	return !session->recorder || recorder_store_finish(session->recorder, error);
}

double run_session_now_s(const struct run_session *session)
{
	return clock_elapsed_s(session->t0_ns, clock_now_ns());
}

void run_session_note_at(struct run_session *session, double time_s, const char *kind,
			 const char *text)
{
	g_autoptr(json_t) detail = json_pack("{s:s}", "text", text);
	g_autofree char *event = detail ? json_text(detail) : NULL;
	GError *error = NULL;

	if (isnan(time_s))
		time_s = run_session_now_s(session);
	if (session->run &&
	    !store_add_event(session->store, session->run, time_s, kind, event, &error))
		run_session_store_failed(session, error);
	run_progress_note(session->progress, kind, "%s", text);
}

void run_session_note(struct run_session *session, const char *kind, const char *format, ...)
{
	g_autofree char *text = NULL;
	va_list arguments;

	va_start(arguments, format);
	text = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	run_session_note_at(session, (double)NAN, kind, text);
}

const struct http_tls *run_session_tls(const char *address, const struct config *config,
				       struct http_tls *ret_tls)
{
	const struct config_service service = config_service_of(config);

	if (!g_str_has_prefix(address, "https:") || !service.key)
		return NULL;
	*ret_tls = (struct http_tls){.certificate = service.certificate, .key = service.key};
	return ret_tls;
}

double run_session_run_s(const struct run_session *session)
{
	const struct config_experiment *experiment = session->config->experiment;

	if (!(experiment->duration_s > 0))
		return (double)NAN;
	return experiment->duration_s + experiment->baseline_s + QUIET_S + SETTLE_GUESS_S;
}

uint32_t run_session_runs(const struct run_session *session)
{
	const struct run_plan *plan = session->plan;

	return plan->run ? g_strv_length(plan->policies) * plan->limits_count * plan->repeats : 0;
}

static void show_missing(struct run_progress *progress, void *data)
{
	struct run_session *session = data;

	g_free(progress->missing);
	progress->missing = remote_fleet_missing(session->fleet);
}

/* Calls `wait`, while the progress shows what is missing. */
static bool wait_shown(struct run_session *session,
		       bool (*wait)(struct remote_fleet *fleet, double timeout_s, GError **error),
		       double timeout_s, GError **error)
{
	bool good;

	session->progress->refresh_data = session;
	session->progress->refresh = show_missing;
	good = wait(session->fleet, timeout_s, error);
	session->progress->refresh = NULL;
	g_clear_pointer(&session->progress->missing, g_free);
	return good;
}

bool run_session_settle(struct run_session *session, GError **error)
{
	/* The boot timeouts that are configured for local schedulers are respected. */
	const double timeout_s = fmax(RUN_SESSION_READY_S,
				      remote_fleet_boot_timeout_s(session->fleet) + BESIDE_BOOTS_S);

	remote_fleet_kill_all(session->fleet);
	return wait_shown(session, remote_fleet_wait_ready, timeout_s, error);
}

bool run_session_settle_some(struct run_session *session, GError **error)
{
	g_autoptr(GError) reason = NULL;

	if (run_session_settle(session, &reason))
		return true;
	if (!g_error_matches(reason, REMOTE_ERROR, REMOTE_ERROR_NOT_READY) ||
	    !remote_fleet_excuse_unready(session->fleet)) {
		g_propagate_error(error, g_steal_pointer(&reason));
		return false;
	}
	run_progress_note(session->progress, "not-ready", "%s; continuing with the nodes that are",
			  reason->message);
	return true;
}

bool run_session_baseline(struct run_session *session, struct remote_baseline *ret_baseline,
			  int64_t *ret_t0_ns, GError **error)
{
	GPtrArray *meters = remote_fleet_meters(session->fleet);

	session->progress->phase = RUN_PHASE_BASELINE;
	if (!remote_fleet_wait(session->fleet, QUIET_S, error))
		return false;
	if (!remote_fleet_baseline(session->fleet, session->config->experiment->baseline_s,
				   ret_baseline, error))
		return false;
	*ret_t0_ns = clock_now_ns();
	for (guint i = 0; i < meters->len; i++)
		remote_meter_start(g_ptr_array_index(meters, i), *ret_t0_ns,
				   ret_baseline->idle_w[i]);
	return true;
}

json_t *run_session_baseline_json(const struct run_session *session,
				  const struct remote_baseline *baseline)
{
	GPtrArray *meters = remote_fleet_meters(session->fleet);
	json_t *hosts = json_array();

	for (guint i = 0; i < meters->len; i++) {
		const struct remote_meter *meter = g_ptr_array_index(meters, i);

		json_array_append_new(hosts, json_pack("{s:s, s:f}", "host", meter->host, "idle_w",
						       baseline->idle_w[i]));
	}
	return json_pack("{s:f, s:f, s:o}", "sum_w", baseline->sum_w, "duration_s",
			 baseline->duration_s, "hosts", hosts);
}

bool run_session_wait_known(struct run_session *session, GError **error)
{
	return wait_shown(session, remote_fleet_wait_known, RUN_SESSION_READY_S, error);
}

bool run_session_wait_heard(struct run_session *session, double timeout_s, GError **error)
{
	return wait_shown(session, remote_fleet_wait_heard, timeout_s, error);
}

static void note_times(struct run_session *session)
{
	const struct config_workload *workload = session->config->workload;
	const struct config_experiment *experiment = session->config->experiment;

	run_progress_note(
		session->progress, "times",
		"times that follow from the estimates: about %.0f tasks in a run, one every %g s "
		"for %g s; a mapping event every %g s; a run ends after %g s",
		workload->duration_s / workload->arrival_mean_s, workload->arrival_mean_s,
		workload->duration_s, experiment->mapping_interval_s, experiment->duration_s);
}

static bool load_estimates(struct run_session *session, const char *path, GError **error)
{
	g_autofree char *config_path = g_build_filename(session->dir, "config.yaml", NULL);

	if (!config_load_estimates(session->config, path, error) ||
	    !config_save(session->config, config_path, error))
		return false;
	if (config_times_follow(session->config))
		note_times(session);
	return true;
}

/* Loads the single execution times, if the runs need them. */
static bool load_pet(struct run_session *session, GError **error)
{
	const struct config_environment *environment = config_environment(session->config);
	g_autofree char *path = g_build_filename(session->dir, "pet.yaml", NULL);
	g_autofree char *config_path = g_build_filename(session->dir, "config.yaml", NULL);

	if (!environment || !environment->pruning)
		return true;
	return config_load_pet(session->config, path, error) &&
	       config_save(session->config, config_path, error);
}

/* Whether a run has ended with the present estimates, which must then be kept. */
static bool has_runs(struct run_session *session)
{
	g_autoptr(GPtrArray) rows = store_runs(session->store, NULL);

	for (guint i = 0; rows && i < rows->len; i++)
		if (run_has_ended(rows->pdata[i]))
			return true;
	return false;
}

/* Whether the experiment needs estimates that `path` lacks. */
static bool lacks_some(const struct run_session *session, const char *path)
{
	g_autofree char *config_path = run_paths_config(session->dir, session->plan->serve);
	g_autoptr(config_t) config = config_controller_load(config_path, NULL);
	g_autofree char *lacks =
		config && config_load_estimates(config, path, NULL) ? config_lacks(config) : NULL;

	return lacks != NULL;
}

/*
 * Whether a profile is due: of all pairs, or of pairs that were given up: under another deadline,
 * or, if the experiment needs them, as stalled or lost. Estimates in `path` that lack these are
 * then replaced.
 */
static bool is_profile_due(struct run_session *session, const char *path)
{
	const bool complete = g_file_test(path, G_FILE_TEST_EXISTS);

	if (!complete)
		return true;
	if (!has_runs(session) && run_profiled_has_lost(session) && lacks_some(session, path))
		session->retries = true;
	else if (!run_profiled_has_more(session))
		return false;
	if (!has_runs(session))
		return true;
	run_progress_note(
		session->progress, "profile",
		"experiment.task_deadline_s has changed, but runs have ended without the pairs "
		"that were given up: these stay so; start another --out to measure them");
	return false;
}

/*
 * Whether pairs that could not be measured are needed; all others are measured and stored by then.
 */
static bool check_needs(const struct run_session *session, GError **error)
{
	g_autofree char *lacks = config_lacks(session->config);

	if (!lacks)
		return true;
	return error_fail(
		error, RUN_ERROR, RUN_ERROR_MEASURE,
		"%s; what could be measured is in %s/estimates.yaml and profile.json; --resume "
		"tries what stalled or was lost once more; or give another "
		"experiment.task_deadline_s, or the type a share of 0, and --resume",
		lacks, session->dir);
}

static bool profile_once(struct run_session *session, GError **error)
{
	g_autofree char *path = g_build_filename(session->dir, "estimates.yaml", NULL);

	if (!session->plan->profile)
		return true;
	if (is_profile_due(session, path)) {
		g_unlink(path); /* an interrupted profile is not complete */
		if (!run_profile(session, error))
			return false;
	}
	return load_estimates(session, path, error) && check_needs(session, error) &&
	       load_pet(session, error);
}

/* A cluster without any estimate gets no task, so its nodes need not be ready. */
static void excuse_unused(struct run_session *session)
{
	const struct config *config = session->config;

	for (uint32_t c = 0; c < config->clusters_count; c++) {
		bool used = config->estimates_count == 0;

		for (uint32_t t = 0; t < config->types_count && !used; t++)
			used = config_type_fits(&config->types[t], &config->clusters[c]) &&
			       !config_is_hole(config, &config->types[t], &config->clusters[c]);
		remote_link_excuse(remote_fleet_link(session->fleet, c), !used);
	}
}

bool run_session_record_estimates(struct run_session *session, GError **error)
{
	const struct config *config = session->config;
	g_autofree char *holes = config_holes(config, true);

	return store_put_estimates(session->store, config->estimates, config->estimates_count,
				   error) &&
	       store_set_meta(session->store, "unmeasured", holes, error);
}

/* Before a profile some nodes are enough. */
static bool settle_first(struct run_session *session, GError **error)
{
	if (session->go_on)
		return true;
	return session->plan->profile ? run_session_settle_some(session, error)
				      : run_session_settle(session, error);
}

static bool work_in_order(struct run_session *session, GError **error)
{
	if (session->plan->serve)
		return run_service(session, error);
	if (session->go_on)
		run_record_recall(session);
	if (!run_session_wait_known(session, error))
		return false;
	if (!session->plan->profile)
		excuse_unused(session);
	if (!settle_first(session, error) || !run_meta_write(session, error) ||
	    !profile_once(session, error))
		return false;
	excuse_unused(session);
	if (!session->plan->run)
		return run_session_record_estimates(session, error) && run_meta_end(session, error);
	return run_session_record_estimates(session, error) && run_driver(session, error) &&
	       run_meta_end(session, error);
}

bool run_session_work(struct run_session *session, GError **error)
{
	g_autoptr(GError) reason = NULL;

	if (work_in_order(session, &reason)) {
		session->progress->phase = RUN_PHASE_DONE;
		session->progress->left_s = 0;
		return true;
	}
	session->progress->phase = RUN_PHASE_FAILED;
	session->progress->error = g_strdup(reason->message);
	g_propagate_error(error, g_steal_pointer(&reason));
	return false;
}
