/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/config/config_controller.h"
#include "common/program_path.h"
#include "controller/supervise/run_supervisor_private.h"

#include <errno.h>
#include <glib-unix.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/lab_state.h"
#include "common/notify.h"
#include "common/subprocess.h"
#include "controller/run/run_paths.h"
#include "controller/run/run_reload.h"
#include "controller/run/run_usage.h"
#include "controller/store/store.h"

#define LAB_DOWN_S 180.0
#define WORDS_MAX 4096

/* The longest time to take everything down, while our main loop does not turn. */
#define TAKE_DOWN_S (RUN_SUPERVISOR_SCHEDULER_GRACE_S + LAB_DOWN_S)

/* Exit statuses that virtbed-controller chooses; any other is a crash. */
enum { CONTROLLER_DONE = 0, CONTROLLER_FAILED = 1, CONTROLLER_INPUT = 2, CONTROLLER_STOPPED = 3 };

/* Signals. */

static gboolean on_signal(gpointer data)
{
	struct supervisor *supervisor = data;
	const bool serving = supervisor->request->serve && supervisor->controller;

	if (!serving) /* a service ends by being stopped */
		run_supervisor_give_up(supervisor, RUN_SUPERVISOR_ERROR_INTERRUPTED, "interrupted");
	if (++supervisor->signals == 1)
		run_watch_say(supervisor->watch,
			      "stopping: ending the %s and its VMs (once more to kill)",
			      serving ? "service" : "run");
	else if (supervisor->controller && run_child_pid(supervisor->controller) > 0)
		kill(run_child_pid(supervisor->controller), SIGKILL);
	run_supervisor_stop(supervisor);
	return G_SOURCE_CONTINUE;
}

/* The end of a terminal; for a service, which has none, a request to reload. */
static gboolean on_hangup(gpointer data)
{
	struct supervisor *supervisor = data;

	if (!supervisor->request->serve)
		return on_signal(data);
	if (supervisor->controller && !supervisor->stopping)
		run_supervisor_reload(supervisor);
	return G_SOURCE_CONTINUE;
}

/* The lab. */

static void on_lab_ended(struct run_child *child, int status, void *data)
{
	struct supervisor *supervisor = data;

	supervisor->lab_status = status;
	g_main_loop_quit(supervisor->loop);
}

static bool lab_up(struct supervisor *supervisor, GError **error)
{
	g_autofree char *program = program_path("virtbed-lab", error);
	g_autofree char *probe =
		g_build_filename(supervisor->prepared.dir, MACHINE_PROBE_FILE, NULL);
	const char *const argv[] = {program,
				    "up",
				    supervisor->request->config_path,
				    supervisor->prepared.fitted ? "--probe" : NULL,
				    probe,
				    NULL};
	g_autofree char *log = g_build_filename(supervisor->prepared.dir, "logs", "lab.log", NULL);
	g_autofree char *words = NULL;
	g_autofree char *ended = NULL;
	bool good;

	if (!program)
		return false;
	run_watch_say(NULL, "lab: bringing up the emulated blades of '%s'",
		      supervisor->prepared.config->name);
	supervisor->lab = run_child_new("virtbed-lab", argv, log, on_lab_ended, supervisor);
	supervisor->own_lab = true;
	run_prepared_set_owns_lab(&supervisor->prepared, true);
	good = run_child_start(supervisor->lab, error);
	if (good) {
		g_main_loop_run(supervisor->loop);
		words = run_child_last_words(supervisor->lab);
		ended = run_child_status_text(supervisor->lab_status);
	}
	g_clear_pointer(&supervisor->lab, run_child_free);
	if (!good || supervisor->error)
		return false;
	if (supervisor->lab_status == 0)
		return true;
	return error_fail(error, RUN_SUPERVISOR_ERROR, RUN_SUPERVISOR_ERROR_FAILED,
			  "the lab did not come up (%s): %s; see %s", ended,
			  words ?: "it printed nothing", log);
}

static void lab_down(struct supervisor *supervisor)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *program = program_path("virtbed-lab", NULL);
	const char *const argv[] = {program, "down", supervisor->request->config_path, NULL};

	run_watch_say(NULL, "lab: taking it down");
	if (!subprocess_run(argv, NULL, LAB_DOWN_S, NULL, &error))
		run_watch_say(NULL, "the lab did not go down: %s; try: virtbed lab down %s",
			      error->message, supervisor->request->config_path);
	else
		run_prepared_set_owns_lab(&supervisor->prepared, false);
}

/* Uses the lab of the configuration, brought up now unless it is up. */
static bool resolve_hosts(struct supervisor *supervisor, GError **error)
{
	struct config *config = supervisor->prepared.config;
	g_autoptr(GError) reason = NULL;

	if (lab_state_resolve(config, NULL, &reason)) {
		supervisor->own_lab = run_prepared_owns_lab(&supervisor->prepared);
		return true;
	}
	if (!config->lab || !g_error_matches(reason, LAB_STATE_ERROR, LAB_STATE_ERROR_DOWN)) {
		g_propagate_error(error, g_steal_pointer(&reason));
		return false;
	}
	return lab_up(supervisor, error) && lab_state_resolve(config, NULL, error);
}

/* The controller. */

/* The controller's final error, possibly that no file can be written; NULL: none. */
static char *read_words(const struct supervisor *supervisor)
{
	char text[WORDS_MAX];
	ssize_t length = pread(supervisor->words, text, sizeof(text) - 1, 0);

	return length > 0 ? g_strndup(text, (gsize)length) : NULL;
}

static char *controller_words(const struct supervisor *supervisor)
{
	g_autofree char *log = NULL;
	char *text = read_words(supervisor);

	if (text)
		return text;
	if (run_watch_error(supervisor->watch))
		return g_strdup(run_watch_error(supervisor->watch));
	log = run_paths_log(supervisor->prepared.dir, "controller");
	return g_strdup_printf("see %s", log ?: "the journal");
}

/* Stores the usage of the daemons; a profile alone has no store. */
static void keep_usage(const struct supervisor *supervisor, const char *text)
{
	const char *dir = supervisor->prepared.dir;
	g_autoptr(store_t) store = supervisor->request->serve
					   ? store_open_on(&platform_machine, dir, true, NULL)
					   : store_open(dir, false, NULL);
	g_autoptr(GError) error = NULL;

	if (store && !store_set_meta(store, "daemons", text, &error))
		run_watch_say(supervisor->watch, "not kept: %s", error->message);
}

/*
 * Reports the resources of the daemons, also of those that died: they share the machine with the
 * measurement.
 */
static void report_usage(struct supervisor *supervisor)
{
	g_autofree char *text = NULL;
	struct run_usage controller = run_child_usage(supervisor->controller);
	double wall_s = clock_elapsed_s(supervisor->began_ns, clock_now_ns());
	double cpu_s = 0;
	double rss_mib = 0;

	for (guint i = 0; i < supervisor->schedulers->len; i++) {
		struct run_usage usage =
			run_child_usage(g_ptr_array_index(supervisor->schedulers, i));

		cpu_s += usage.cpu_s;
		rss_mib = MAX(rss_mib, usage.rss_mib);
	}
	text = g_strdup_printf("controller %.2f %% of a core, %.0f MiB; local schedulers %.2f %% "
			       "together, %.0f MiB at most; over %.0f s",
			       100 * controller.cpu_s / wall_s, controller.rss_mib,
			       100 * cpu_s / wall_s, rss_mib, wall_s);
	run_watch_say(supervisor->watch, "daemons: %s", text);
	keep_usage(supervisor, text);
}

static void controller_exited(struct supervisor *supervisor, int status)
{
	g_autofree char *words = controller_words(supervisor);

	if (status == CONTROLLER_STOPPED && supervisor->request->serve)
		run_watch_say(supervisor->watch, "the service ends: %s", words);
	else if (status == CONTROLLER_FAILED || status == CONTROLLER_STOPPED)
		run_supervisor_give_up(supervisor, RUN_SUPERVISOR_ERROR_FAILED, "%s", words);
	else if (status == CONTROLLER_INPUT)
		run_supervisor_give_up(supervisor, RUN_SUPERVISOR_ERROR_INPUT, "%s", words);
	else
		report_usage(supervisor);
	supervisor->stopping = true;
	g_main_loop_quit(supervisor->loop);
}

static void on_controller_died(struct run_child *child, int status, void *data)
{
	struct supervisor *supervisor = data;
	g_autofree char *how = run_child_status_text(status);
	g_autofree char *log = run_paths_log(supervisor->prepared.dir, "controller");

	if (supervisor->stopping) {
		g_main_loop_quit(supervisor->loop);
		return;
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) <= CONTROLLER_STOPPED) {
		controller_exited(supervisor, WEXITSTATUS(status));
		return;
	}
	run_child_add_argument(child, "--continue");
	run_watch_restarted(supervisor->watch);
	run_supervisor_end_reload(supervisor);
	if (run_child_restart_soon(child)) {
		run_watch_say(supervisor->watch,
			      "the controller died (%s): starting it again; the run continues",
			      how);
		return;
	}
	run_supervisor_give_up(supervisor, RUN_SUPERVISOR_ERROR_FAILED,
			       "the controller died (%s) again and again; see %s", how,
			       log ?: "the journal");
	supervisor->stopping = true;
	g_main_loop_quit(supervisor->loop);
}

/* Passes a service's notices on to the service manager. */
static void on_notice(const char *kind, const char *text, void *data)
{
	const bool refused = g_str_equal(kind, "not-reloaded");

	if (refused)
		run_supervisor_undo_reload(data);
	if (refused || g_str_equal(kind, "serving") || g_str_equal(kind, "reloaded"))
		notify_ready(text);
	if (refused || g_str_equal(kind, "reloaded"))
		run_supervisor_end_reload(data);
}

/* As a service manager does when a watchdog expires: kills with a core dump. */
static void on_hung(void *data)
{
	struct supervisor *supervisor = data;

	if (supervisor->stopping || run_child_pid(supervisor->controller) <= 0)
		return;
	run_watch_say(supervisor->watch, "the controller does not answer: killing it");
	kill(run_child_pid(supervisor->controller), SIGABRT);
	/* a stopped process would not handle the signal */
	kill(run_child_pid(supervisor->controller), SIGCONT);
}

static bool watch_controller(struct supervisor *supervisor, GError **error)
{
	const struct run_watch_events events = {.notice = on_notice,
						.hung = on_hung,
						.data = supervisor};

	supervisor->watch =
		run_watch_new(supervisor->prepared.plan->api, !supervisor->request->serve, error);
	if (supervisor->watch && supervisor->request->serve)
		run_watch_listen(supervisor->watch, &events);
	return supervisor->watch != NULL;
}

static bool start_controller(struct supervisor *supervisor, GError **error)
{
	g_autofree char *program = program_path("virtbed-controller", error);
	g_autofree char *log = run_paths_log(supervisor->prepared.dir, "controller");
	g_autofree char *words = NULL;

	if (!program)
		return false;
	supervisor->words = memfd_create("controller-words", MFD_CLOEXEC);
	if (supervisor->words < 0)
		return error_fail(error, RUN_SUPERVISOR_ERROR, RUN_SUPERVISOR_ERROR_FAILED,
				  "no memory for the controller's last word: %s",
				  g_strerror(errno));
	words = g_strdup_printf("%d", supervisor->words);
	supervisor->began_ns = clock_now_ns();
	supervisor->controller =
		run_child_new("controller",
			      (const char *const[]){program, "--words", words, "--run",
						    supervisor->prepared.dir, NULL},
			      log, on_controller_died, supervisor);
	run_child_keep(supervisor->controller, supervisor->prepared.lock.fd);
	run_child_keep(supervisor->controller, supervisor->words);
	return watch_controller(supervisor, error) &&
	       run_child_start(supervisor->controller, error);
}

/* The sequence of steps. */

static bool is_interrupted(void *data)
{
	return ((struct supervisor *)data)->signals > 0;
}

/* Reads the file once more: preparing has changed the loaded configuration. */
static bool keep_fixed_keys(struct supervisor *supervisor, GError **error)
{
	g_autoptr(config_t) config = NULL;

	if (!supervisor->request->serve)
		return true;
	config = config_controller_load(supervisor->request->config_path, error);
	if (config)
		supervisor->fixed = run_reload_fixed(config);
	return config != NULL;
}

static bool bring_up_and_run(struct supervisor *supervisor, GError **error)
{
	if (!run_prepare(supervisor->request, is_interrupted, supervisor, &supervisor->prepared,
			 error))
		return false;
	if (supervisor->prepared.finished) {
		run_watch_say(NULL, "the experiment in %s is finished: nothing is left to do",
			      supervisor->prepared.dir);
		return true;
	}
	if (!keep_fixed_keys(supervisor, error) || !resolve_hosts(supervisor, error) ||
	    !run_prepare_write(&supervisor->prepared, error))
		return false;
	run_watch_say(NULL, "%s directory: %s", supervisor->request->serve ? "state" : "run",
		      supervisor->prepared.dir);
	if (!run_supervisor_start_schedulers(supervisor, error) ||
	    !start_controller(supervisor, error))
		return false;
	g_main_loop_run(supervisor->loop);
	return !supervisor->error;
}

static void take_down(struct supervisor *supervisor)
{
	g_clear_handle_id(&supervisor->stop_source, g_source_remove);
	g_clear_handle_id(&supervisor->reload_source, g_source_remove);
	if (supervisor->request->serve)
		notify_stopping(TAKE_DOWN_S);
	supervisor->stopping = true;
	g_clear_pointer(&supervisor->watch, run_watch_free);
	g_clear_pointer(&supervisor->controller, run_child_free);
	run_supervisor_stop_schedulers(supervisor);
	if (supervisor->own_lab && supervisor->request->keep_lab)
		run_prepared_set_owns_lab(&supervisor->prepared, false);
	else if (supervisor->own_lab)
		lab_down(supervisor);
}

static void say_how_to_resume(const struct supervisor *supervisor, GError *error)
{
	g_autofree char *message = g_strdup(error->message);

	if (run_supervisor_is_input(error) || supervisor->request->serve ||
	    !supervisor->prepared.written)
		return;
	g_free(error->message);
	error->message = g_strdup_printf("%s; to continue: virtbed %s %s %s %s --resume", message,
					 supervisor->request->run ? "run" : "profile",
					 supervisor->request->config_path,
					 supervisor->request->run ? "--out" : "--dir",
					 supervisor->prepared.dir);
}

bool run_supervise(const struct run_request *request, char **ret_dir, bool *ret_finished,
		   GError **error)
{
	struct supervisor supervisor = {
		.request = request,
		.prepared = {.lock = RUN_LOCK_INIT},
		.schedulers = g_ptr_array_new_with_free_func((GDestroyNotify)run_child_free),
		.told = g_hash_table_new_full(NULL, NULL, NULL, g_free),
		.words = -1,
		.loop = g_main_loop_new(NULL, FALSE),
	};
	guint sources[] = {
		g_unix_signal_add(SIGINT, on_signal, &supervisor),
		g_unix_signal_add(SIGTERM, on_signal, &supervisor),
		g_unix_signal_add(SIGHUP, on_hangup, &supervisor),
	};
	guint watchdog = request->serve ? notify_watchdog() : 0;
	g_autoptr(GError) reason = NULL;
	bool done = bring_up_and_run(&supervisor, &reason);

	if (supervisor.error) { /* it came first */
		g_clear_error(&reason);
		reason = supervisor.error;
	}
	take_down(&supervisor);
	if (!done) {
		say_how_to_resume(&supervisor, reason);
		g_propagate_error(error, g_steal_pointer(&reason));
	}
	for (gsize i = 0; i < G_N_ELEMENTS(sources); i++)
		g_source_remove(sources[i]);
	if (watchdog)
		g_source_remove(watchdog);
	*ret_dir = g_strdup(supervisor.prepared.dir);
	if (ret_finished)
		*ret_finished = supervisor.prepared.finished;
	run_prepared_clear(&supervisor.prepared);
	if (supervisor.words >= 0)
		close(supervisor.words);
	g_free(supervisor.fixed);
	config_free(supervisor.former);
	g_ptr_array_unref(supervisor.schedulers);
	g_hash_table_unref(supervisor.told);
	g_main_loop_unref(supervisor.loop);
	return done;
}
