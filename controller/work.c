/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/work.h"

#include <glib/gstdio.h>

#include "common/error_fail.h"
#include "controller/config/config_controller.h"
#include "controller/config/config_environment.h"
#include "controller/config/config_holes.h"
#include "controller/measure/run_driver.h"
#include "controller/measure/run_profile.h"
#include "controller/measure/run_profiled.h"
#include "controller/run/run_finished.h"
#include "controller/run/run_paths.h"
#include "controller/service/run_service.h"
#include "controller/session/run_meta.h"
#include "controller/session/run_record.h"
#include "controller/session/run_session_private.h"

static void note_times(struct run_session *session)
{
	const struct config_workload *workload = session->config->workload;
	const struct config_experiment *experiment = session->config->experiment;

	if (config_workload_is_given(workload) || workload->users > 0) {
		run_progress_note(
			session->progress, "times",
			"times that follow from the estimates: a mapping event every %g s; "
			"a run ends after %g s",
			experiment->mapping_interval_s, experiment->duration_s);
		return;
	}
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
		platform_remove(session->platform,
				path); /* an interrupted profile is not complete */
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
		return run_service_work(session, error);
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

bool controller_work(struct run_session *session, GError **error)
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
