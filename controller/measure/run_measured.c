/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/measure/run_measured.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/clock.h"
#include "common/error_fail.h"
#include "common/json.h"
#include "controller/backend/remote.h"
#include "controller/engine/engine.h"
#include "controller/journal/recorder_store.h"
#include "controller/experiment/run_overshoot.h"
#include "controller/measure/run_speed.h"
#include "controller/plugin/plugin_config.h"
#include "controller/session/host_load.h"
#include "controller/session/run_loop.h"
#include "controller/session/run_reattach.h"
#include "controller/session/run_record.h"
#include "controller/session/run_session_private.h"

/* One run. */
struct measured_run {
	struct run_series *series;
	struct store_run row;
	const struct policy *policy;
	bool continued;
	struct backend *backend;
	struct recorder_store *recorder;
	struct engine *engine;
	struct engine_setup setup;
	struct plugin *plugin; /* NULL: the policy is of the tree */
	struct host_load before, after;
	struct run_speed *speed; /* NULL: it is not measured */
};

static bool store_fault(GError **error, GError *reason)
{
	g_propagate_prefixed_error(error, reason, "the store cannot be written: ");
	return false;
}

/* Progress. */

static double guess_run_s(const struct run_series *series)
{
	return series->timed ? series->timed_s / series->timed : run_session_run_s(series->session);
}

/*
 * Updates the progress. The time left assumes the full duration; the energy limit may end a run
 * before.
 */
static void refresh_progress(struct run_progress *progress, void *data)
{
	struct measured_run *run = data;
	struct run_series *series = run->series;
	double left_s;

	run_progress_count(progress, run->engine, engine_tasks_count(run->engine));
	progress->time_s = backend_now_s(run->backend);
	progress->energy_j = backend_energy_j(run->backend);
	if (run->plugin) {
		json_decref(progress->program);
		progress->program = plugin_program_json(run->plugin);
	}
	left_s = fmax(0, progress->duration_s - progress->time_s);
	if (progress->energy_j > 0 && run->setup.limit_j > 0)
		left_s = fmin(left_s, fmax(0, run->setup.limit_j / progress->energy_j - 1) *
					      progress->time_s);
	progress->phase_left_s = left_s;
	progress->left_s = left_s + (series->total - series->done - 1) * guess_run_s(series);
}

static void show_run(struct measured_run *run)
{
	struct run_progress *progress = run->series->session->progress;

	progress->phase = RUN_PHASE_RUN;
	progress->run = run->series->done + 1;
	progress->runs = run->series->total;
	g_free(progress->policy);
	progress->policy = g_strdup(run->row.policy);
	g_clear_pointer(&progress->program, json_decref);
	progress->limit = run->row.limit;
	progress->limit_j = run->row.limit_j;
	progress->duration_s = run->setup.duration_s;
	run_progress_begin(progress);
	progress->refresh_data = run;
	progress->refresh = refresh_progress;
}

/* Life cycle of a run. */

/* Records why the run is made, with its beginning. */
static bool record_choice(void *data, GError **error)
{
	const struct measured_run *run = data;
	const struct run_series *series = run->series;

	return !series->chosen || store_add_event(series->session->store, run->row.run, 0, "chosen",
						  series->chosen, error);
}

static bool begin_new(struct measured_run *run, GError **error)
{
	struct run_session *session = run->series->session;

	session->progress->phase = RUN_PHASE_SETTLE;
	session->progress->phase_left_s = (double)NAN;
	session->progress->left_s =
		(run->series->total - run->series->done) * guess_run_s(run->series);
	if (!run_session_settle(session, error))
		return false;
	run->speed = run_speed_begin(session);
	return run_record_begin(session, &run->row, &run->before, record_choice, run, error);
}

static void continue_run(struct measured_run *run)
{
	struct run_session *session = run->series->session;
	g_autoptr(json_t) baseline = run_record_find_baseline(session->store, run->row.run);

	run->before.busy_s = json_number_value(json_object_get(baseline, "host_busy_s"));
	run->before.at_s = json_number_value(json_object_get(baseline, "host_at_s"));

	session->run = run->row.run;
	session->t0_ns = run->row.t0_ns;
	run->continued = true;
	run->speed = run_speed_begin(session);
}

static bool restore_run(struct measured_run *run, GError **error)
{
	struct run_session *session = run->series->session;
	const double continued_s = backend_now_s(run->backend);

	if (!recorder_store_restore(session->store, run->row.run, &run->setup, run->engine, NULL,
				    error))
		return false;
	run_session_note(session, "resumed",
			 "the controller was restarted; run %" PRId64 " continues at %.1f s",
			 run->row.run, continued_s);
	run_reattach(run->engine, run->backend, engine_tasks_count(run->engine));
	engine_queue_again(run->engine);
	remote_backend_wait_asked(run->backend, RUN_SESSION_READY_S);
	return true;
}

/*
 * Starts the program of a policy from outside. It decides on a thread of its own, and the run does
 * not stand still until a deadline; on shared hosts (placement_ops.decides_apart) it does. A run
 * that continues has the fallback at the worst.
 */
static bool open_plugin(struct measured_run *run, GError **error)
{
	struct run_session *session = run->series->session;
	g_autoptr(GError) reason = NULL;
	struct plugin_settings settings;

	if (!policy_is_outside(run->policy))
		return true;
	settings = plugin_config_run(session->config, run->setup.system);
	run->plugin = plugin_new(&settings, run->setup.system, run->setup.seed);
	run->setup.outside = plugin_outside(run->plugin);
	run->setup.apart = true;
	if (plugin_start(run->plugin, run->policy, &reason))
		return true;
	if (run->continued) {
		run_session_note(session, "policy-silent", "%s", reason->message);
		return true;
	}
	g_propagate_error(error, g_steal_pointer(&reason));
	return false;
}

static bool open_run(struct measured_run *run, GError **error)
{
	struct run_series *series = run->series;
	struct run_session *session = series->session;
	const struct remote_run remote = run_record_remote(session, run->row.run);

	run->backend = remote_backend_new(session->fleet, &remote);
	run->setup = experiment_trial_setup(series->experiment, &series->trial, run->policy,
					    run->row.limit_j);
	run->recorder =
		recorder_store_new(session->store, run->row.run, series->experiment->system, true);
	session->recorder = run->recorder;
	recorder_store_tell(run->recorder, run_record_log);
	run->setup.recorder = recorder_store_engine(run->recorder);
	run->setup.record_steps = true;
	run->setup.platform = session->platform;
	if (!open_plugin(run, error))
		return false;
	run->engine = engine_new(&run->setup, run->backend);
	show_run(run);
	return !run->continued || restore_run(run, error);
}

static void close_run(struct measured_run *run)
{
	struct run_session *session = run->series->session;

	session->progress->refresh = NULL;
	g_clear_pointer(&session->progress->program, json_decref);
	plugin_cancel(run->plugin); /* the engine waits for a decision under way */
	engine_free(run->engine);
	plugin_free(run->plugin);
	backend_destroy(run->backend);
	session->recorder = NULL;
	recorder_store_free(run->recorder);
	session->run = 0;
}

/*
 * Samples show with a delay that the limit was reached; what happened in between does not count. If
 * the last task ended in that time, the run seemed to be complete.
 */
static void correct_end(struct measured_run *run, struct engine_result *result)
{
	struct run_session *session = run->series->session;
	GPtrArray *meters = remote_fleet_meters(session->fleet);
	int64_t end_ns = session->t0_ns + (int64_t)(result->ended_s * 1e9);
	int64_t t_ns;

	if (result->ended_by == ENGINE_END_ABORTED)
		return;
	remote_fleet_wait_covered(session->fleet, end_ns, RUN_RECORD_COVER_S);
	if (result->ended_by != ENGINE_END_LIMIT && run->setup.limit_j > 0 &&
	    remote_meters_crossing(meters, run->row.limit_j, session->t0_ns, end_ns, &t_ns)) {
		result->ended_by = ENGINE_END_LIMIT;
		result->ended_s = clock_elapsed_s(session->t0_ns, t_ns);
	}
	result->tasks_arrived = 0;
	for (uint32_t i = 0; i < engine_tasks_count(run->engine); i++) {
		const struct engine_task *task = engine_task_at(run->engine, i);
		struct engine_task late;

		result->tasks_arrived += task->task->arrival_s <= result->ended_s;
		if (run_overshoot_correct(task, result, &late))
			run->setup.recorder->task(run->setup.recorder, &late);
	}
}

static void take_result(struct measured_run *run, const struct engine_result *result)
{
	run->row.host_load = host_load_cores(&run->before, &run->after);
	g_free(run->row.ended_by);
	run->row.ended_by = g_strdup(engine_end_name(result->ended_by));
	run->row.ended_s = result->ended_s;
	run->row.energy_j = result->energy_j;
	run_record_result(&run->row, result);
}

static void note_result(const struct measured_run *run)
{
	g_autofree char *energy =
		isnan(run->row.energy_j) ? g_strdup("energy not known")
		: run->setup.limit_j > 0
			? g_strdup_printf("%.1f J of %.1f J", run->row.energy_j, run->row.limit_j)
			: g_strdup_printf("%.1f J", run->row.energy_j);

	run_progress_note(run->series->session->progress, "run-ended",
			  "run %u of %u: %s at %.0f %%: utility %.2f, %s, %u of %u tasks "
			  "completed, ended by %s after %.1f s",
			  run->series->done + 1, run->series->total, run->row.policy,
			  100 * run->row.limit, run->row.utility, energy, run->row.tasks_completed,
			  run->row.tasks_arrived, run->row.ended_by, run->row.ended_s);
}

/* Adds one decision of a fallback to its reason in an account. */
static void count_fallback(const char *detail, void *data)
{
	json_t *account = data;
	g_autoptr(json_t) event =
		detail ? json_parse(detail, strlen(detail), "an event", NULL) : NULL;
	const char *reason = json_string_value(json_object_get(event, "reason"));
	const char *end = reason ? strchr(reason, ':') : NULL;
	g_autofree char *key = end ? g_strndup(reason, (gsize)(end - reason)) : NULL;

	if (key && g_strv_contains(plugin_failure_names, key))
		json_object_set_new(account, key,
				    json_integer(json_integer_value(json_object_get(account, key)) +
						 1));
}

/*
 * What a plug-in did before its controller was started again is in the store alone: the account is
 * made from there. Only the events of this controller were timed.
 */
static bool recount(const struct measured_run *run, json_t *account, GError **error)
{
	struct store *store = run->series->session->store;
	int64_t events, failed = 0;

	json_object_set(account, "timed", json_object_get(account, "used"));
	for (int i = 0; i < PLUGIN_FAILURES; i++)
		json_object_del(account, plugin_failure_names[i]);
	/* Of the same name as the count, and overwritten by it. */
	json_object_set_new(account, "disabled",
			    json_boolean(plugin_account(run->plugin).state == PROGRAM_DISABLED));
	if (!store_count_decisions(store, run->row.run, &events, error) ||
	    !store_each_event(store, run->row.run, "fallback", count_fallback, account, error))
		return false;
	for (int i = 0; i < PLUGIN_FAILURES; i++)
		failed += json_integer_value(json_object_get(account, plugin_failure_names[i]));
	json_object_set_new(account, "events", json_integer(events));
	json_object_set_new(account, "used", json_integer(MAX(events - failed, 0)));
	return true;
}

/* Keeps the last one. */
static void keep_fallback(const char *detail, void *data)
{
	json_t **last = data;

	json_decref(*last);
	*last = detail ? json_parse(detail, strlen(detail), "an event", NULL) : NULL;
}

/*
 * Says that the run's result is not that of its policy alone, where a fallback decided events.
 * `account` is NULL of a policy of the tree.
 */
static void note_fallbacks(const struct measured_run *run, const json_t *account)
{
	const struct run_session *session = run->series->session;
	const json_int_t events = json_integer_value(json_object_get(account, "events"));
	const json_int_t used = json_integer_value(json_object_get(account, "used"));
	g_autoptr(json_t) last = NULL;

	if (used == events)
		return;
	/* A store that cannot be read fails elsewhere. */
	store_each_event(session->store, run->row.run, "fallback", keep_fallback, &last, NULL);
	run_progress_note(
		session->progress, "fallback",
		"%s was used in %" PRId64 " of %" PRId64 " mapping events; %s decided "
		"the others, the last one as it was %s; all of them are in %s/logs/controller.log, "
		"and in its run.sqlite as events of kind fallback",
		run->row.policy, (int64_t)used, (int64_t)events,
		json_string_value(json_object_get(last, "fallback")) ?: "its fallback",
		json_string_value(json_object_get(last, "reason")) ?: "unknown", session->dir);
}

/*
 * Records in how many events a policy from outside was used, which is *ret_account, a new reference;
 * untouched for a policy of the tree.
 */
static bool record_plugin(const struct measured_run *run, json_t **ret_account, GError **error)
{
	g_autofree char *detail = NULL;
	json_t *account;

	if (!run->plugin)
		return true;
	*ret_account = account = plugin_account_json(run->plugin);
	if (run->continued && !recount(run, account, error))
		return false;
	detail = json_text(account);
	return store_add_event(run->series->session->store, run->row.run, run->row.ended_s,
			       "outside", detail, error);
}

/* Records an aborted run as far as it went; the error says what aborted it. */
static bool end_run(struct measured_run *run, const struct engine_result *result, GError **error)
{
	struct run_session *session = run->series->session;
	g_autoptr(GError) fault = NULL;
	g_autoptr(json_t) account = NULL;
	bool recorded = recorder_store_pack(run->recorder, &fault);
	const char *stopped = remote_fleet_stopped(session->fleet);

	take_result(run, result);
	if (recorded)
		recorded = record_plugin(run, &account, &fault) &&
			   run_record_energy(session, &run->row, &fault) &&
			   store_update_run(session->store, &run->row, &fault);
	if (!recorded)
		return store_fault(error, g_steal_pointer(&fault));
	if (result->ended_by != ENGINE_END_ABORTED) {
		note_result(run);
		note_fallbacks(run, account);
		return true;
	}
	return error_fail(error, RUN_ERROR, stopped ? RUN_ERROR_STOPPED : RUN_ERROR_MEASURE, "%s",
		    stopped ?: engine_reason(run->engine) ?: "the run was aborted");
}

/* `name` is as in the headings of reports. */
static void end_speed(struct measured_run *run, const struct engine_result *result)
{
	const bool done = result->ended_by != ENGINE_END_ABORTED;
	g_autofree char *name = g_strdup_printf("run %" PRId64 " (%s at %.0f %%)", run->row.run,
						run->row.policy, 100 * run->row.limit);

	run_speed_end(g_steal_pointer(&run->speed), done ? name : NULL);
}

/* Reports that show a run's energy need the sample after its end as well. */
static bool carry_out_run(struct measured_run *run, GError **error)
{
	struct engine_result result = {0};
	bool good;

	good = open_run(run, error);
	if (good) {
		run->series->session->engine = run->engine;
		run_loop(run->series->session->platform, run->engine, run->backend, &result);
		run->series->session->engine = NULL;
		correct_end(run, &result);
		/* before the probe of the machine's speed, which is a load itself */
		host_load_read(run->series->session->platform, NULL, &run->after);
		end_speed(run, &result);
		good = end_run(run, &result, error);
	}
	close_run(run);
	return good;
}

bool run_measured(struct run_series *series, const struct policy *policy, struct store_run *row,
		  GError **error)
{
	struct measured_run run = {.series = series, .policy = policy, .row = *row};
	bool good;

	if (row->run)
		continue_run(&run);
	good = (run.continued || begin_new(&run, error)) && carry_out_run(&run, error);
	run_speed_end(run.speed, NULL);
	*row = run.row;
	return good;
}
