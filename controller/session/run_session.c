/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/session/run_session.h"

#include <math.h>

#define LOG_SUBSYSTEM "run"
#include "common/clock.h"
#include "common/error_fail.h"
#include "common/json.h"
#include "common/log.h"
#include "common/platform.h"
#include "controller/config/config_controller.h"
#include "controller/config/config_holes.h"
#include "controller/journal/recorder_store.h"
#include "controller/run/run_paths.h"
#include "controller/run/run_utc.h"
#include "controller/session/run_session_private.h"

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

struct run_session *run_session_open(const struct platform *platform, const char *dir,
				     GError **error)
{
	struct run_session *session = g_new0(struct run_session, 1);

	session->platform = platform;
	session->dir = g_strdup(dir);
	session->progress = run_progress_new(platform);
	session->utc = run_utc_new(platform);
	if (!read_files(session, error))
		goto fail;
	session->store = store_open_on(platform, dir, session->plan->serve, error);
	if (!session->store)
		goto fail;
	session->fleet = remote_fleet_new(platform, session->config,
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

void run_session_stop(struct run_session *session, const char *reason)
{
	remote_fleet_stop(session->fleet, reason);
}

void run_session_store_failed(struct run_session *session, GError *error)
{
	g_autofree char *reason =
		g_strdup_printf("the store cannot be written: %s", error->message);

	log_error("%s", reason); /* also if it was stopped for another reason before */
	session->store_failed = true;
	if (session->recorder)
		recorder_store_fail(session->recorder, error);
	run_session_stop(session, reason);
	g_error_free(error);
}

bool run_session_commit(struct run_session *session, GError **error)
{
	return !session->recorder || recorder_store_finish(session->recorder, error);
}

double run_session_now_s(const struct run_session *session)
{
	return session->t0_ns ? clock_elapsed_s(session->t0_ns, platform_now_ns(session->platform))
			      : 0;
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
	*ret_t0_ns = platform_now_ns(session->platform);
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

bool run_session_record_estimates(struct run_session *session, GError **error)
{
	const struct config *config = session->config;
	g_autofree char *holes = config_holes(config, true);

	return store_put_estimates(session->store, config->estimates, config->estimates_count,
				   error) &&
	       store_set_meta(session->store, "unmeasured", holes, error);
}
