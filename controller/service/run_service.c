/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/service/run_service.h"

#include <inttypes.h>
#include <math.h>

#define LOG_SUBSYSTEM "service"
#include "common/error_fail.h"
#include "common/log.h"
#include "common/platform.h"
#include "controller/backend/remote.h"
#include "controller/config/config_controller.h"
#include "controller/engine/full_state.h"
#include "controller/run/run_paths.h"
#include "controller/run/run_reload.h"
#include "controller/service/run_service_private.h"
#include "controller/service/run_service_scripts.h"
#include "controller/session/run_loop.h"
#include "controller/session/run_meta.h"
#include "controller/session/run_reattach.h"
#include "controller/session/run_record.h"
#include "controller/store/store_records.h"

/*
 * How long a continued service waits for the first answers, seconds: available local schedulers
 * answer at once, and the others must not delay the rest.
 */
#define ANSWERS_S 5.0

/* The duration of a run that never ends: 31 years. */
#define FOREVER_S 1e9

/* The policy is called at most so often for submitted tasks, however fast they arrive. */
#define CHANGES_APART_S 1.0

/*
 * The number of actions between which users' requests are served: on a machine with two slow
 * processors each action takes the main loop 6 to 8 us, and requests must not wait for 20 ms. A
 * smaller number makes plans slower, since requests are served in between.
 */
#define ACTIONS_AT_ONCE 800

/*
 * Decisions on more tasks are stored without a snapshot, which would take more than 200 KB every
 * second.
 */
#define SNAPSHOT_TASKS_MAX 1000

/*
 * More tasks than this are counted at most every COUNT_APART_S, however often the state is
 * requested.
 */
#define COUNT_AT_ONCE 2000
#define COUNT_APART_S 0.5

/*
 * Intervals, in seconds, of storing the account, of removing old records and of removing unneeded
 * scripts.
 */
#define KEEP_S 60
#define PRUNE_S 60
#define SCRIPTS_S 3600

/*
 * How often a full state of the engine is stored, seconds; and the most tasks that it has then, so
 * that storing it takes milliseconds: with more it is tried again after STATE_AGAIN_S, since
 * counting them takes time, too. At a start it has all tasks.
 */
#define STATE_S 3600.0
#define STATE_AGAIN_S 60.0
#define STATE_TASKS_MAX 2000

G_DEFINE_QUARK(virtbed_run_service, run_service_error)

/* The progress. */

/*
 * Whether counting is too expensive for each request: many tasks have not ended, or come after a
 * task that has not. Then counts are refreshed every COUNT_APART_S.
 */
static bool is_long(const struct run_service *service)
{
	return service->submissions->len - service->session->progress->settled > COUNT_AT_ONCE &&
	       backend_now_s(service->backend) < service->counted_s + COUNT_APART_S;
}

static void refresh_progress(struct run_progress *progress, void *data)
{
	struct run_service *service = data;

	progress->tasks = service->submissions->len;
	if (!is_long(service)) {
		run_progress_count(progress, service->engine, progress->tasks);
		service->counted_s = backend_now_s(service->backend);
	}
	progress->time_s = backend_now_s(service->backend);
	progress->energy_j = run_service_energy_j(service);
	json_decref(progress->program);
	progress->program = plugin_program_json(service->plugin);
}

static void show_service(struct run_service *service)
{
	struct run_progress *progress = service->session->progress;

	progress->phase = RUN_PHASE_RUN;
	progress->run = progress->runs = 1;
	g_free(progress->policy);
	progress->policy = g_strdup(service->row.policy);
	progress->limit = 1;
	progress->limit_j = (double)NAN;
	progress->duration_s = (double)NAN;
	progress->phase_left_s = progress->left_s = (double)NAN;
	run_progress_begin(progress);
	progress->refresh_data = service;
	progress->refresh = refresh_progress;
}

/* Beginning. */

static bool make_experiment(struct run_service *service, GError **error)
{
	const struct config *config = service->session->config;
	const char *const names[] = {service->config.policy, NULL};

	if (!run_service_check(config, error))
		return false;
	service->experiment = experiment_new(config, names, error);
	return service->experiment != NULL;
}

/* Finds the run that never ends: the first one of the store, if there is one. */
static bool find_row(struct run_service *service, GError **error)
{
	g_autoptr(GPtrArray) rows = store_runs(service->session->store, error);

	if (!rows)
		return false;
	if (rows->len == 0)
		return true;
	record_copy_to(&store_run_record, rows->pdata[0], &service->row);
	g_clear_pointer(&service->row.ended_by, g_free);
	g_free(service->row.policy);
	service->row.policy = g_strdup(service->experiment->policies[0].name);
	return true;
}

static bool write_beginning(void *data, GError **error)
{
	struct run_service *service = data;

	return store_note_policy(service->session->store, service->row.policy, 0,
				 service->row.started_utc, error) &&
	       run_service_account_keep(service, error);
}

static bool begin_new(struct run_service *service, GError **error)
{
	struct run_session *session = service->session;
	struct host_load before;

	service->row = (struct store_run){
		.policy = g_strdup(service->experiment->policies[0].name),
		.limit = 1,
		.repeat = 1,
		.measured = true,
		.ended_s = (double)NAN,
		.energy_j = 0,
		.gap_s = (double)NAN,
		.host_load = (double)NAN,
	};
	session->progress->phase = RUN_PHASE_SETTLE;
	return run_session_settle(session, error) &&
	       run_record_begin(session, &service->row, &before, write_beginning, service, error);
}

/* Drains of nodes that the configuration no longer has are ignored. */
static bool restore_drains(struct run_service *service, GError **error)
{
	const struct config *config = service->session->config;
	g_autoptr(GPtrArray) drains =
		store_drains(service->session->store, service->row.run, error);

	if (!drains)
		return false;
	for (guint i = 0; i < drains->len; i++) {
		const struct store_drain *drain = g_ptr_array_index(drains, i);
		const struct config_cluster *cluster = config_cluster_find(config, drain->cluster);

		if (cluster && drain->node < cluster->nodes)
			engine_restore_drained(service->engine,
					       (uint32_t)(cluster - config->clusters), drain->node,
					       drain->reason);
	}
	return true;
}

/* Makes a note of hosts that were added to the configuration after the service first began. */
static void note_unknown_idle(struct run_service *service)
{
	g_autofree char *hosts = run_service_unknown_idle(service);

	if (hosts)
		run_session_note(
			service->session, "unmetered",
			"idle watts were never measured of %s: all that it draws counts as "
			"the service's energy; to measure it, use a new state directory",
			hosts);
}

/*
 * Makes a note of clusters that have not answered; they join when they do, and are away until then.
 */
static void note_silent(struct run_service *service)
{
	struct run_session *session = service->session;

	for (uint32_t i = 0; i < session->config->clusters_count; i++) {
		const struct remote_link *link = remote_fleet_link(session->fleet, i);

		if (!remote_link_known(link))
			run_session_note(session, "scheduler-silent",
					 "continuing without cluster '%s', whose local scheduler "
					 "does not answer; it joins when it does",
					 remote_link_cluster(link)->name);
	}
}

static bool restore_service(struct run_service *service, GError **error)
{
	struct run_session *session = service->session;
	const guint count = service->submissions->len;
	const double continued_s = backend_now_s(service->backend);

	if (!run_service_restore(service, error) || !restore_drains(service, error))
		return false;
	run_session_note(session, "resumed", "the service continues at %.1f s with %u task%s",
			 continued_s, count, count == 1 ? "" : "s");
	run_record_known_samples(session);
	note_silent(service);
	run_service_note_quarantined(service);
	note_unknown_idle(service);
	run_reattach(service->engine, service->backend, service->submissions->len);
	remote_backend_wait_asked(service->backend, ANSWERS_S);
	remote_backend_kill_orphans(service->backend);
	return true;
}

/*
 * Starts the program of a policy from outside. A service that continues does so with the fallback
 * at the worst.
 */
static bool open_plugin(struct run_service *service, bool continued, GError **error)
{
	const struct engine_setup *setup = &service->setup;
	const struct plugin_settings settings =
		plugin_config_run(service->session->config, setup->system);
	g_autoptr(GError) reason = NULL;

	service->plugin = plugin_new(&settings, setup->system, setup->seed);
	service->setup.outside = plugin_outside(service->plugin);
	if (plugin_start(service->plugin, &setup->policy, &reason))
		return true;
	if (continued) {
		run_session_note(service->session, "policy-silent", "%s", reason->message);
		return true;
	}
	g_propagate_error(error, g_steal_pointer(&reason));
	return false;
}

static void make_setup(struct run_service *service)
{
	struct experiment *experiment = service->experiment;

	service->setup =
		experiment_setup(experiment, service->workload, &experiment->policies[0], 0);
	service->setup.open = service->workload;
	service->setup.mapping_interval_s = service->config.mapping_interval_s;
	service->setup.moments = POLICY_AT_BOTH;
	service->setup.changes_apart_s = CHANGES_APART_S;
	/* not INFINITY: JSON snapshots cannot represent it */
	service->setup.duration_s = FOREVER_S;
	service->setup.record_changes = true;
	service->setup.record_steps = true;
	service->setup.platform = service->session->platform;
	service->setup.apart = true;
	service->setup.at_once = ACTIONS_AT_ONCE;
	service->setup.recorder = recorder_store_engine(service->recorder);
	service->setup.task_ended_j = run_service_energy_ended;
	service->setup.task_ended_data = service;
}

static bool open_run(struct run_service *service, bool continued, GError **error)
{
	struct run_session *session = service->session;
	struct remote_run remote = run_record_remote(session, service->row.run);

	remote.sample = run_service_energy_sample;
	remote.usage = run_service_energy_take;
	remote.describe = run_service_describe;
	remote.describe_data = service;
	service->backend = remote_backend_new(session->fleet, &remote);
	service->recorder = recorder_store_new(session->store, service->row.run,
					       service->experiment->system, true);
	session->recorder = service->recorder;
	recorder_store_limit(service->recorder, SNAPSHOT_TASKS_MAX);
	recorder_store_await_state(service->recorder);
	recorder_store_tell(service->recorder, run_record_log);
	make_setup(service);
	if (!open_plugin(service, continued, error))
		return false;
	service->engine = engine_new(&service->setup, service->backend);
	show_service(service);
	if (!run_service_energy_load(service, error))
		return false;
	return !continued || restore_service(service, error);
}

/* While serving. */

static bool find_policy(const struct config_service *wanted, struct policy *ret_policy,
			GError **error)
{
	char message[512];

	if (policy_parse(wanted->policy, ret_policy, message, sizeof(message)) >= 0)
		return true;
	return error_fail(error, CONFIG_ERROR, CONFIG_ERROR_MEANING, "service.policy: %s", message);
}

static bool store_policy(struct run_service *service, const char *policy, GError **error)
{
	struct store_run row = service->row;

	row.policy = (char *)policy;
	if (!store_update_run(service->session->store, &row, error))
		return false;
	g_free(service->row.policy);
	service->row.policy = g_strdup(policy);
	return true;
}

/* Stores which policy decides from now on, for reports. */
static void note_policy(struct run_service *service)
{
	g_autofree char *utc = platform_utc(service->session->platform);
	GError *error = NULL;

	if (!store_note_policy(service->session->store, service->row.policy,
			       backend_now_s(service->backend), utc, &error))
		run_session_store_failed(service->session, error);
}

static char *reloaded_text(const struct config_service *config, const struct policy *policy)
{
	g_autofree char *limit =
		config->energy_limit_j > 0
			? g_strdup_printf("%.0f J in %.0f s", config->energy_limit_j,
					  config->energy_window_s)
			: NULL;

	return g_strdup_printf(
		"policy %s, mapping interval %g s, records kept for %g day%s, %s%s, up to %u tasks",
		policy->name, config->mapping_interval_s, config->retention_days,
		config->retention_days == 1 ? "" : "s", limit ? "at most " : "any energy",
		limit ?: "", config->tasks_max);
}

/* Stores the configuration that the state is made with. */
static bool keep_config(const struct run_service *service, const struct config *config,
			GError **error)
{
	g_autofree char *path = g_build_filename(service->session->dir, "config.yaml", NULL);

	return config_save(config, path, error);
}

/* Stores the policy and the configuration, or neither. */
static bool keep_reloaded(struct run_service *service, const struct config *config,
			  const char *policy, GError **error)
{
	g_autofree char *before = g_strdup(service->row.policy);
	g_autoptr(GError) reason = NULL;

	if (!store_policy(service, policy, error))
		return false;
	if (keep_config(service, config, error))
		return true;
	if (!store_policy(service, before, &reason))
		log_warning("policy '%s' stays on record: %s", policy, reason->message);
	return false;
}

/* Applies a changed configuration. All steps that can fail come before any change, storing last. */
static bool apply_reload(struct run_service *service, char **ret_text, GError **error)
{
	struct run_session *session = service->session;
	g_autofree char *path = run_paths_config(session->dir, true);
	g_autoptr(config_t) config = config_controller_load(path, error);
	const struct config_service before = service->config;
	struct config_service wanted;
	struct engine_window window;
	struct policy policy;
	bool limit_changes;

	if (!config || !run_service_check(config, error) || !run_service_find(config, error))
		return false;
	wanted = config_service_of(config);
	/* An unchanged limit continues: the energy measured in its window must not be lost. */
	limit_changes = wanted.energy_limit_j != before.energy_limit_j ||
			wanted.energy_window_s != before.energy_window_s;
	if (!find_policy(&wanted, &policy, error) ||
	    (limit_changes && !run_service_limit_find(service, &wanted, &window, error)) ||
	    !keep_reloaded(service, config, policy.name, error))
		return false;
	const struct plugin_settings settings = plugin_config_run(config, service->setup.system);

	plugin_reload(service->plugin, &settings, &policy);
	engine_request_policy(service->engine, &policy, wanted.mapping_interval_s);
	run_reload_take(session->config, config);
	service->config = config_service_of(session->config);
	show_service(service);
	note_policy(service);
	if (limit_changes)
		run_service_limit_set(service, &window);
	*ret_text = reloaded_text(&service->config, &policy);
	return true;
}

void run_service_reload(struct run_session *session)
{
	g_autofree char *text = NULL;
	g_autoptr(GError) error = NULL;

	session->reload_wanted = !session->service;
	if (!session->service)
		return;
	if (apply_reload(session->service, &text, &error))
		run_session_note(session, "reloaded", "%s", text);
	else
		run_session_note(session, "not-reloaded", "%s", error->message);
}

static void synced(const GError *error, void *data)
{
	struct run_service *service = data;

	if (error && service->session->service)
		run_session_store_failed(service->session, g_error_copy(error));
}

/* The events read so far are on disk, so the local schedulers may forget them. */
static void on_events_safe(const GError *error, void *data)
{
	struct run_service *service = data;

	service->telling = false;
	synced(error, data);
	if (error || !service->session->service)
		return;
	for (uint32_t i = 0; i < service->session->config->clusters_count; i++)
		remote_link_acknowledge(remote_fleet_link(service->session->fleet, i));
}

/* Syncs the store to disk, and acknowledges the events that the engine has processed. */
static void sync_all(struct run_service *service)
{
	if (service->telling || !remote_backend_is_drained(service->backend) ||
	    !recorder_store_finish(service->recorder, NULL)) {
		store_sync_ask(service->sync, synced, service);
		return;
	}
	service->telling = true;
	for (uint32_t i = 0; i < service->session->config->clusters_count; i++)
		remote_link_note_read(remote_fleet_link(service->session->fleet, i));
	store_sync_ask(service->sync, on_events_safe, service);
}

/*
 * Stores a full state of the engine, from which `virtbed rerun` can begin; where it cannot be saved
 * now, or has too many tasks, that is tried again later.
 */
static bool keep_state(struct run_service *service, bool start, GError **error)
{
	struct engine *engine = service->engine;
	const bool keeps =
		engine_can_save(engine) && (start || engine_saved_count(engine) <= STATE_TASKS_MAX);
	g_autofree char *config = keeps ? config_to_text(service->session->config) : NULL;

	if (keeps && !recorder_store_keep_state(service->recorder, engine, config, start, error))
		return false;
	/* Usually one is younger than what retention removes, which leaves the newest anyway. */
	service->state_due_s = backend_now_s(service->backend) +
			       fmin(keeps ? STATE_S : STATE_AGAIN_S,
				    service->config.retention_days * SECONDS_PER_DAY / 2);
	return true;
}

static bool keep_due_state(struct run_service *service, GError **error)
{
	return backend_now_s(service->backend) < service->state_due_s ||
	       keep_state(service, false, error);
}

/*
 * Once a second: flushes the engine's records, so that they are safe and other readers of the store
 * see them.
 */
static gboolean on_tick(gpointer data)
{
	struct run_service *service = data;
	GError *error = NULL;

	service->ticks++;
	engine_flush(service->engine);
	if (service->ticks % SCRIPTS_S == 1)
		run_service_drop_scripts(service);
	if (service->ticks % PRUNE_S == 1)
		service->pruning = true;
	sync_all(service);
	if (!run_service_limit_tick(service, &error) || !keep_due_state(service, &error) ||
	    (service->ticks % KEEP_S == 0 && !run_service_account_keep(service, &error)) ||
	    (service->pruning && !run_service_prune(service, &error)))
		run_session_store_failed(service->session, error);
	return G_SOURCE_CONTINUE;
}

/*
 * Reports the result of the check of the whole file; what the service continues from was checked
 * before, so it continues even if older records are damaged.
 */
static void checked(const GError *error, void *data)
{
	struct run_service *service = data;

	if (error)
		run_session_note(service->session, "store-damaged", "%s", error->message);
}

/* Serves until the end. Tasks that ran then are killed; their records wait for the next start. */
static bool serve_until_end(struct run_service *service, GError **error)
{
	struct run_session *session = service->session;
	struct engine_result result = {0};
	GError *fault = NULL;
	const char *stopped;

	session->engine = service->engine;
	session->service = service;
	if (!keep_state(service, true, error) || !run_service_energy_begin(service, error) ||
	    !run_service_limit_begin(service, error) ||
	    !keep_config(service, session->config, error)) {
		session->service = NULL;
		session->engine = NULL;
		return false;
	}
	run_session_note(session, "serving", "serving at %s with policy %s", session->plan->api,
			 service->row.policy);
	note_policy(service);
	service->check = store_check_new(session->store, checked, service);
	if (session->reload_wanted)
		run_service_reload(session);
	service->tick = platform_after_s(service->session->platform, 1, on_tick, service);
	run_loop(service->session->platform, service->engine, service->backend, &result);
	g_clear_pointer(&service->check, store_check_free);
	g_source_remove(service->tick);
	run_service_energy_end(service);
	run_service_record(service);
	session->service = NULL;
	session->engine = NULL;
	run_record_result(&service->row, &result);
	if (!recorder_store_pack(service->recorder, &fault) ||
	    !run_service_account_keep(service, &fault) ||
	    !store_sync_free(g_steal_pointer(&service->sync), &fault)) {
		g_propagate_prefixed_error(error, fault, "the store cannot be written: ");
		return false;
	}
	stopped = remote_fleet_stopped(session->fleet);
	return error_fail(error, RUN_ERROR, stopped ? RUN_ERROR_STOPPED : RUN_ERROR_MEASURE, "%s",
		    stopped ?: engine_reason(service->engine) ?: "the service was aborted");
}

static bool begin_and_serve(struct run_service *service, GError **error)
{
	struct run_session *session = service->session;
	bool continued;

	/* Room for all that a reload can allow; unused room costs no memory. */
	service->workload = workload_open_new(CONFIG_SERVICE_TASKS_MAX);
	if (!make_experiment(service, error) ||
	    !(service->sync = store_sync_new(session->store, error)) || !find_row(service, error))
		return false;
	continued = service->row.run != 0;
	if (continued &&
	    (!run_service_account_resume(service, error) || !run_service_recall(service, error)))
		return false;
	if (!(continued ? run_session_wait_heard(session, ANSWERS_S, error)
			: run_session_wait_known(session, error)) ||
	    !run_meta_write(session, error) || !run_session_record_estimates(session, error))
		return false;
	if (!continued &&
	    (!begin_new(service, error) || !keep_config(service, session->config, error)))
		return false;
	session->run = service->row.run;
	return open_run(service, continued, error) && serve_until_end(service, error);
}

static void clear_service(struct run_service *service)
{
	service->session->progress->refresh = NULL;
	g_clear_pointer(&service->session->progress->program, json_decref);
	store_sync_free(service->sync, NULL);
	plugin_cancel(service->plugin); /* the engine waits for a decision under way */
	engine_free(service->engine);
	plugin_free(service->plugin);
	if (service->backend)
		/* samples still arrive while the last tasks end */
		backend_destroy(service->backend);
	service->session->run = 0;
	service->session->recorder = NULL;
	recorder_store_free(service->recorder);
	experiment_free(service->experiment);
	workload_free(service->workload);
	g_ptr_array_unref(service->submissions);
	g_hash_table_unref(service->keys);
	run_service_energy_clear(service);
	g_clear_pointer(&service->expected, g_ptr_array_unref);
	g_hash_table_unref(service->bad);
	record_clear(&store_run_record, &service->row);
}

bool run_service_work(struct run_session *session, GError **error)
{
	struct run_service service = {
		.session = session,
		.older_spent_j = (double)NAN,
		.config = config_service_of(session->config),
		.submissions =
			g_ptr_array_new_with_free_func((GDestroyNotify)store_submission_free),
		.keys = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
		.bad = g_hash_table_new_full(NULL, NULL, NULL, g_free),
	};
	bool good;

	run_service_energy_init(&service);
	good = begin_and_serve(&service, error);
	clear_service(&service);
	return good;
}
