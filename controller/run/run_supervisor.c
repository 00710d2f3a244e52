/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/run/run_supervisor.h"

#include <errno.h>
#include <glib-unix.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/lab_state.h"
#include "common/log.h"
#include "common/notify.h"
#include "common/subprocess.h"
#include "controller/run/run_child.h"
#include "controller/run/run_paths.h"
#include "controller/run/run_prepare.h"
#include "controller/run/run_reload.h"
#include "controller/run/run_usage.h"
#include "controller/run/run_watch.h"
#include "controller/store/store.h"

#define CONTROLLER_GRACE_S 90
#define SCHEDULER_GRACE_S 60.0
#define LAB_DOWN_S 180.0
#define WORDS_MAX 4096

/* What taking all down takes at most, while our own main loop stands still. */
#define TAKE_DOWN_S (SCHEDULER_GRACE_S + LAB_DOWN_S)

/* Longest time until a controller has said what became of a reload; what it notes can get lost among other notices. */
#define RELOAD_S 60

/* Between attempts to start a local scheduler of a service that does not stay: sooner than it is given up. */
#define LATER_S 10

/* What is told of one that does not stay is told again so long after: it is on record each time. */
#define LATER_TOLD_S 3600

/* Exit statuses of virtbed-controller that mean what they say; everything else is a crash. */
enum { CONTROLLER_DONE = 0, CONTROLLER_FAILED = 1, CONTROLLER_INPUT = 2, CONTROLLER_STOPPED = 3 };

/* Exit status of virtbed-local-sched that no second try can change. */
enum { SCHEDULER_INPUT = 2 };

G_DEFINE_QUARK(virtbed - run - supervisor, run_supervisor_error)

struct supervisor {
	const struct run_request *request;
	struct run_prepared prepared;
	bool own_lab;
	GPtrArray *schedulers; /* struct run_child */
	GHashTable *told;      /* those that do not stay -> int64_t, when that was told last, ns */
	struct run_child *controller;
	int words; /* memory that the controller's last word goes to; -1: none yet */
	struct run_child *lab; /* `virtbed-lab up`, while it runs */
	struct run_watch *watch;
	GMainLoop *loop;
	GError *error;    /* why it ends, unless done */
	int64_t began_ns; /* the controller was started */
	bool stopping;
	guint signals;
	guint stop_source;
	char *fixed; /* of a service's configuration: what a reload must not change */
	struct config *former; /* by which the controller works that is told to reload, until it says what became of that */
	guint reload_source;   /* gives up waiting for that */
	bool reload_again;
	int lab_status;
};

static void G_GNUC_PRINTF(3, 4) give_up(struct supervisor *supervisor,
					enum run_supervisor_error code, const char *format, ...)
{
	va_list arguments;

	if (supervisor->error)
		return;
	va_start(arguments, format);
	supervisor->error = g_error_new_valist(RUN_SUPERVISOR_ERROR, code, format, arguments);
	va_end(arguments);
}

/* The file that a daemon logs to; NULL: the journal, which our own errors go to. */
static char *log_path(const struct supervisor *supervisor, const char *daemon)
{
	return log_is_journal()
		       ? NULL
		       : g_strdup_printf("%s/logs/%s.log", supervisor->prepared.dir, daemon);
}

/* Stopping. */

static gboolean kill_controller(gpointer data)
{
	struct supervisor *supervisor = data;

	supervisor->stop_source = 0;
	run_watch_say(supervisor->watch, "the controller does not stop: killing it");
	run_child_stop(supervisor->controller, 0);
	g_main_loop_quit(supervisor->loop);
	return G_SOURCE_REMOVE;
}

/* The controller ends its run in order; on_controller_died() then quits the loop. */
static void stop(struct supervisor *supervisor)
{
	if (supervisor->stopping)
		return;
	supervisor->stopping = true;
	if (supervisor->lab)
		run_child_ask_to_stop(supervisor->lab);
	if (!supervisor->controller || !run_child_running(supervisor->controller)) {
		g_main_loop_quit(supervisor->loop);
		return;
	}
	run_child_ask_to_stop(supervisor->controller);
	supervisor->stop_source =
		g_timeout_add_seconds(CONTROLLER_GRACE_S, kill_controller, supervisor);
}

static gboolean on_signal(gpointer data)
{
	struct supervisor *supervisor = data;
	const bool serving = supervisor->request->serve && supervisor->controller;

	if (!serving) /* to be stopped is how a service ends */
		give_up(supervisor, RUN_SUPERVISOR_ERROR_INTERRUPTED, "interrupted");
	if (++supervisor->signals == 1)
		run_watch_say(supervisor->watch,
			      "stopping: ending the %s and its VMs (once more to kill)",
			      serving ? "service" : "run");
	else if (supervisor->controller && run_child_pid(supervisor->controller) > 0)
		kill(run_child_pid(supervisor->controller), SIGKILL);
	stop(supervisor);
	return G_SOURCE_CONTINUE;
}

static gboolean reload_is_unanswered(gpointer data);

/*
 * Reloading: the controller's notice of it ends it, or a word of ours where it comes to nothing. One that is started again
 * meanwhile has read the new configuration.
 */
static void reload(struct supervisor *supervisor)
{
	g_autofree char *path = run_paths_config(supervisor->prepared.dir, true);
	g_autofree char *text = NULL;
	g_autoptr(config_t) former = NULL;
	g_autoptr(GError) error = NULL;

	supervisor->reload_again = supervisor->former != NULL;
	if (supervisor->former)
		return;
	notify_reloading();
	former = config_load(path, &error);
	if (former && run_reload(supervisor->request->config_path, supervisor->fixed,
				 supervisor->prepared.config, path, &error)) {
		run_watch_say(supervisor->watch, "reloading '%s'",
			      supervisor->request->config_path);
		if (run_child_pid(supervisor->controller) <= 0)
			return;
		supervisor->former = g_steal_pointer(&former);
		supervisor->reload_source =
			g_timeout_add_seconds(RELOAD_S, reload_is_unanswered, supervisor);
		kill(run_child_pid(supervisor->controller), SIGHUP);
		return;
	}
	text = g_strdup_printf("not reloaded, all is as before: %s", error->message);
	run_watch_say(supervisor->watch, "%s", text);
	notify_ready(text);
}

/* The controller goes by what it went by, and so does one that is started again. */
static void undo_reload(struct supervisor *supervisor)
{
	g_autofree char *path = run_paths_config(supervisor->prepared.dir, true);
	g_autoptr(GError) error = NULL;

	if (!supervisor->former)
		return;
	run_reload_take(supervisor->prepared.config, supervisor->former);
	if (!config_save(supervisor->former, path, &error))
		run_watch_say(supervisor->watch, "what was refused stays in '%s': %s", path,
			      error->message);
}

static void end_reload(struct supervisor *supervisor)
{
	g_clear_pointer(&supervisor->former, config_free);
	g_clear_handle_id(&supervisor->reload_source, g_source_remove);
	if (supervisor->reload_again && !supervisor->stopping)
		reload(supervisor);
}

static gboolean reload_is_unanswered(gpointer data)
{
	static const char text[] = "the controller has not said what became of the reload: see `virtbed events`, and reload again";
	struct supervisor *supervisor = data;

	supervisor->reload_source = 0;
	run_watch_say(supervisor->watch, "%s", text);
	notify_ready(text);
	end_reload(supervisor);
	return G_SOURCE_REMOVE;
}

/* The end of a terminal, but for a service, which has none and may be told so to reload. */
static gboolean on_hangup(gpointer data)
{
	struct supervisor *supervisor = data;

	if (!supervisor->request->serve)
		return on_signal(data);
	if (supervisor->controller && !supervisor->stopping)
		reload(supervisor);
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
	g_autofree char *program = run_paths_program("virtbed-lab", error);
	const char *const argv[] = {program, "up", supervisor->request->config_path, NULL};
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
	g_set_error(error, RUN_SUPERVISOR_ERROR, RUN_SUPERVISOR_ERROR_FAILED,
		    "the lab did not come up (%s): %s; see %s", ended, words ?: "it said nothing",
		    log);
	return false;
}

static void lab_down(struct supervisor *supervisor)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *program = run_paths_program("virtbed-lab", NULL);
	const char *const argv[] = {program, "down", supervisor->request->config_path, NULL};

	run_watch_say(NULL, "lab: taking it down");
	if (!subprocess_run(argv, NULL, LAB_DOWN_S, NULL, &error))
		run_watch_say(NULL, "the lab did not go down: %s; try: virtbed lab down %s",
			      error->message, supervisor->request->config_path);
	else
		run_prepared_set_owns_lab(&supervisor->prepared, false);
}

/* Whether the lab of the resolved configuration is wanted, up already, or to be brought up by us.
 */
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

/* Local schedulers. */

/* Whether it is time to tell that one does not stay; then that is noted. */
static bool is_news(struct supervisor *supervisor, struct run_child *child)
{
	const int64_t *told_ns = g_hash_table_lookup(supervisor->told, child);
	const int64_t now_ns = clock_now_ns();

	if (told_ns && clock_elapsed_s(*told_ns, now_ns) < LATER_TOLD_S)
		return false;
	g_hash_table_insert(supervisor->told, child, g_memdup2(&now_ns, sizeof(now_ns)));
	return true;
}

/* Of a service the other clusters go on; this one is away, and comes in when what ails it is mended. */
static void try_later(struct supervisor *supervisor, struct run_child *child, const char *text,
		      const char *words)
{
	g_autofree char *note =
		g_strdup_printf("%s again and again; its cluster is away, and it is started again "
				"every %d s; its last words: %s",
				text, LATER_S, words ?: "none, or in the journal");

	if (is_news(supervisor, child)) {
		run_watch_say(supervisor->watch, "%s", note);
		run_watch_tell(supervisor->watch, note);
	}
	run_child_restart_in(child, LATER_S);
}

static void on_scheduler_died(struct run_child *child, int status, void *data)
{
	struct supervisor *supervisor = data;
	g_autofree char *how = run_child_status_text(status);
	g_autofree char *text = g_strdup_printf("%s died (%s)", run_child_name(child), how);
	g_autofree char *words = run_child_last_words(child);

	if (supervisor->stopping)
		return;
	/* What has run once, of a service, is not the configuration's fault. */
	if (WIFEXITED(status) && WEXITSTATUS(status) == SCHEDULER_INPUT &&
	    !(supervisor->request->serve && run_child_deaths(child) > 1)) {
		give_up(supervisor, RUN_SUPERVISOR_ERROR_INPUT, "%s: %s", run_child_name(child),
			words ?: "bad input; see the journal");
		stop(supervisor);
		return;
	}
	if (run_child_restart_soon(child)) {
		run_watch_say(supervisor->watch, "%s: starting it again", text);
		run_watch_tell(supervisor->watch, text);
		return;
	}
	if (supervisor->request->serve) {
		try_later(supervisor, child, text, words);
		return;
	}
	give_up(supervisor, RUN_SUPERVISOR_ERROR_FAILED, "%s again and again; its last words: %s",
		text, words ?: "none, or in the journal");
	stop(supervisor);
}

static struct run_child *new_scheduler(struct supervisor *supervisor, uint32_t cluster,
				       GError **error)
{
	const struct run_prepared *prepared = &supervisor->prepared;
	const char *name = prepared->config->clusters[cluster].name;
	g_autofree char *program = run_paths_program("virtbed-local-sched", error);
	g_autofree char *config = run_paths_config(prepared->dir, supervisor->request->serve);
	g_autofree char *state = g_build_filename(prepared->dir, "state", name, NULL);
	g_autofree char *title = g_strdup_printf("local scheduler of cluster '%s'", name);
	g_autofree char *daemon = g_strconcat("local-sched-", name, NULL);
	g_autofree char *log = log_path(supervisor, daemon);
	const char *const argv[] = {
		program,     "--config", config,
		"--cluster", name,       "--state",
		state,       "--listen", prepared->plan->schedulers[cluster],
		NULL,
	};

	if (!program)
		return NULL;
	return run_child_new(title, argv, log, on_scheduler_died, supervisor);
}

static bool start_schedulers(struct supervisor *supervisor, GError **error)
{
	const struct config *config = supervisor->prepared.config;

	for (uint32_t i = 0; i < config->clusters_count; i++) {
		struct run_child *child;

		if (config->clusters[i].local_scheduler)
			continue;
		child = new_scheduler(supervisor, i, error);
		if (!child)
			return false;
		g_ptr_array_add(supervisor->schedulers, child);
		run_child_keep(child, supervisor->prepared.lock.fd);
		if (!run_child_start(child, error))
			return false;
	}
	return true;
}

/* All at once, since each takes its VMs down. */
static void stop_schedulers(struct supervisor *supervisor)
{
	for (guint i = 0; i < supervisor->schedulers->len; i++)
		run_child_ask_to_stop(g_ptr_array_index(supervisor->schedulers, i));
	for (guint i = 0; i < supervisor->schedulers->len; i++)
		run_child_stop(g_ptr_array_index(supervisor->schedulers, i), SCHEDULER_GRACE_S);
	g_ptr_array_set_size(supervisor->schedulers, 0);
}

/* The controller. */

/* The controller's last word, which may be that no disk can be written; NULL: it said none. */
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
	log = log_path(supervisor, "controller");
	return g_strdup_printf("see %s", log ?: "the journal");
}

/* A profile alone has no store. */
static void keep_usage(const struct supervisor *supervisor, const char *text)
{
	const char *dir = supervisor->prepared.dir;
	g_autoptr(store_t) store = supervisor->request->serve ? store_open_to_serve(dir, NULL) :
								store_open(dir, false, NULL);
	g_autoptr(GError) error = NULL;

	if (store && !store_set_meta(store, "daemons", text, &error))
		run_watch_say(supervisor->watch, "not kept: %s", error->message);
}

/*
 * What the daemons took, those that died meanwhile included: the least that can be said of a
 * measurement on the machine that they share.
 */
static void tell_usage(struct supervisor *supervisor)
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
		give_up(supervisor, RUN_SUPERVISOR_ERROR_FAILED, "%s", words);
	else if (status == CONTROLLER_INPUT)
		give_up(supervisor, RUN_SUPERVISOR_ERROR_INPUT, "%s", words);
	else
		tell_usage(supervisor);
	supervisor->stopping = true;
	g_main_loop_quit(supervisor->loop);
}

static void on_controller_died(struct run_child *child, int status, void *data)
{
	struct supervisor *supervisor = data;
	g_autofree char *how = run_child_status_text(status);
	g_autofree char *log = log_path(supervisor, "controller");

	if (supervisor->stopping) {
		g_main_loop_quit(supervisor->loop);
		return;
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) <= CONTROLLER_STOPPED) {
		controller_exited(supervisor, WEXITSTATUS(status));
		return;
	}
	run_child_add_argument(child, "--continue");
	run_watch_anew(supervisor->watch);
	end_reload(supervisor);
	if (run_child_restart_soon(child)) {
		run_watch_say(supervisor->watch,
			      "the controller died (%s): starting it again; the run goes on", how);
		return;
	}
	give_up(supervisor, RUN_SUPERVISOR_ERROR_FAILED,
		"the controller died (%s) again and again; see %s", how, log ?: "the journal");
	supervisor->stopping = true;
	g_main_loop_quit(supervisor->loop);
}

/* What a service's controller says is passed on to the service manager. */
static void on_notice(const char *kind, const char *text, void *data)
{
	const bool refused = g_str_equal(kind, "not-reloaded");

	if (refused)
		undo_reload(data);
	if (refused || g_str_equal(kind, "serving") || g_str_equal(kind, "reloaded"))
		notify_ready(text);
	if (refused || g_str_equal(kind, "reloaded"))
		end_reload(data);
}

/* As a service manager does it with one that does not feed its watchdog: with a core to look at. */
static void on_hung(void *data)
{
	struct supervisor *supervisor = data;

	if (supervisor->stopping || run_child_pid(supervisor->controller) <= 0)
		return;
	run_watch_say(supervisor->watch, "the controller does not answer: killing it");
	kill(run_child_pid(supervisor->controller), SIGABRT);
	kill(run_child_pid(supervisor->controller), SIGCONT); /* or it would not come to it */
}

static bool watch_controller(struct supervisor *supervisor, GError **error)
{
	const struct run_watch_events events = {
		.notice = on_notice, .hung = on_hung, .data = supervisor};

	supervisor->watch =
		run_watch_new(supervisor->prepared.plan->api, !supervisor->request->serve, error);
	if (supervisor->watch && supervisor->request->serve)
		run_watch_listen(supervisor->watch, &events);
	return supervisor->watch != NULL;
}

static bool start_controller(struct supervisor *supervisor, GError **error)
{
	g_autofree char *program = run_paths_program("virtbed-controller", error);
	g_autofree char *log = log_path(supervisor, "controller");
	g_autofree char *words = NULL;

	if (!program)
		return false;
	supervisor->words = memfd_create("controller-words", MFD_CLOEXEC);
	if (supervisor->words < 0) {
		g_set_error(error, RUN_SUPERVISOR_ERROR, RUN_SUPERVISOR_ERROR_FAILED,
			    "no memory for the controller's last word: %s", g_strerror(errno));
		return false;
	}
	words = g_strdup_printf("%d", supervisor->words);
	supervisor->began_ns = clock_now_ns();
	supervisor->controller = run_child_new(
		"controller",
		(const char *const[]){program, "--words", words, "--run", supervisor->prepared.dir,
				      NULL},
		log, on_controller_died, supervisor);
	run_child_keep(supervisor->controller, supervisor->prepared.lock.fd);
	run_child_keep(supervisor->controller, supervisor->words);
	return watch_controller(supervisor, error) &&
	       run_child_start(supervisor->controller, error);
}

/* From beginning to end. */

static bool is_interrupted(void *data)
{
	return ((struct supervisor *)data)->signals > 0;
}

/* As the file is: preparing has added to what was read from it. */
static bool remember(struct supervisor *supervisor, GError **error)
{
	g_autoptr(config_t) config = NULL;

	if (!supervisor->request->serve)
		return true;
	config = config_load(supervisor->request->config_path, error);
	if (config)
		supervisor->fixed = run_reload_fixed(config);
	return config != NULL;
}

static bool work(struct supervisor *supervisor, GError **error)
{
	if (!run_prepare(supervisor->request, is_interrupted, supervisor, &supervisor->prepared,
			 error) ||
	    !remember(supervisor, error) || !resolve_hosts(supervisor, error) ||
	    !run_prepare_write(&supervisor->prepared, error))
		return false;
	run_watch_say(NULL, "%s directory: %s", supervisor->request->serve ? "state" : "run",
		      supervisor->prepared.dir);
	if (!start_schedulers(supervisor, error) || !start_controller(supervisor, error))
		return false;
	g_main_loop_run(supervisor->loop);
	return !supervisor->error;
}

static void take_down(struct supervisor *supervisor)
{
	if (supervisor->stop_source)
		g_source_remove(supervisor->stop_source);
	g_clear_handle_id(&supervisor->reload_source, g_source_remove);
	if (supervisor->request->serve)
		notify_stopping(TAKE_DOWN_S);
	supervisor->stopping = true;
	g_clear_pointer(&supervisor->watch, run_watch_free);
	g_clear_pointer(&supervisor->controller, run_child_free);
	stop_schedulers(supervisor);
	if (supervisor->own_lab && supervisor->request->keep_lab)
		run_prepared_set_owns_lab(&supervisor->prepared, false);
	else if (supervisor->own_lab)
		lab_down(supervisor);
}

bool run_supervisor_is_input(const GError *error)
{
	return error->domain == CONFIG_ERROR || error->domain == RUN_PLAN_ERROR ||
	       g_error_matches(error, RUN_SUPERVISOR_ERROR, RUN_SUPERVISOR_ERROR_INPUT);
}

static void say_how_to_resume(const struct supervisor *supervisor, GError *error)
{
	g_autofree char *message = g_strdup(error->message);

	if (run_supervisor_is_input(error) || !supervisor->request->run ||
	    !supervisor->prepared.written)
		return;
	g_free(error->message);
	error->message =
		g_strdup_printf("%s; to go on: virtbed run %s --out %s --resume", message,
				supervisor->request->config_path, supervisor->prepared.dir);
}

bool run_supervise(const struct run_request *request, char **ret_dir, GError **error)
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
	bool done = work(&supervisor, &reason);

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
