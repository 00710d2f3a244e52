/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * virtbed-controller: carries out the plan of a run directory (profile, runs), writes the store,
 * and serves its state by an API. `virtbed run` starts it, and restarts it with --continue when it
 * died; everything that it needs to continue is in the run directory.
 */
#include <errno.h>
#include <fcntl.h>
#include <glib-unix.h>
#include <glib.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOG_SUBSYSTEM "controller"
#include "common/log.h"
#include "common/number_option.h"
#include "common/visible.h"
#include "controller/api/status_api.h"
#include "controller/service/run_service.h"
#include "controller/session/run_session_private.h"
#include "controller/work.h"

/* Exit statuses beside 0, which `virtbed run` distinguishes. */
enum { EXIT_FAILED = 1, EXIT_INPUT = 2, EXIT_STOPPED = 3 };

/* How long it waits at the end for a client to read the result, seconds. */
#define LINGER_S 2.5

/*
 * How long a local scheduler may be silent once the run is to end, seconds: if `virtbed run` was
 * killed, its local schedulers end as well, and take their tasks and VMs with them.
 */
#define STOP_PATIENCE_S 8.0

/* What the command line says. */
struct options {
	char *run_dir;
	int words_fd; /* where the final error is written; -1: nowhere */
	gboolean go_on;
};

static gboolean stop(gpointer data)
{
	struct run_session *session = data;

	for (uint32_t i = 0; i < remote_fleet_config(session->fleet)->clusters_count; i++)
		remote_link_set_patience(remote_fleet_link(session->fleet, i), STOP_PATIENCE_S);
	run_session_stop(session, "stopped by a signal");
	return G_SOURCE_CONTINUE;
}

/* The supervisor has written a changed configuration. */
static gboolean reload(gpointer data)
{
	run_service_reload(data);
	return G_SOURCE_CONTINUE;
}

/*
 * Blocks SIGHUP until the session can reload, which happens when it is unblocked; `how` is
 * SIG_BLOCK or SIG_UNBLOCK. The configuration may have been read already, and by default the signal
 * would end the process.
 */
static void hold_hangup(int how)
{
	sigset_t hangup;

	sigemptyset(&hangup);
	sigaddset(&hangup, SIGHUP);
	pthread_sigmask(how, &hangup, NULL);
}

static int status_of(const GError *error)
{
	if (g_error_matches(error, RUN_ERROR, RUN_ERROR_STOPPED) ||
	    g_error_matches(error, REMOTE_ERROR, REMOTE_ERROR_STOPPED))
		return EXIT_STOPPED;
	if (error->domain == CONFIG_ERROR || error->domain == RUN_PLAN_ERROR ||
	    g_error_matches(error, RUN_ERROR, RUN_ERROR_INPUT) ||
	    g_error_matches(error, REMOTE_ERROR, REMOTE_ERROR_ADDRESS) ||
	    store_error_is_input(error))
		return EXIT_INPUT;
	return EXIT_FAILED;
}

/*
 * Hands the final error to `virtbed run` through words_fd, since its last poll of the API may be
 * too early.
 */
static int hand_over_error(const GError *error, int words_fd)
{
	const size_t length = strlen(error->message);

	log_error("%s", error->message);
	if (words_fd >= 0 && pwrite(words_fd, error->message, length, 0) != (ssize_t)length)
		log_warning("cannot hand it over: %s", g_strerror(errno));
	return status_of(error);
}

static bool end_seen(void *data)
{
	struct run_session *session = data;

	return session->progress->end_seen;
}

static int serve_and_work(struct run_session *session, GError **error)
{
	struct status_api *api = status_api_new(session->plan->api, session, error);
	bool done;

	if (!api)
		return EXIT_FAILED;
	if (session->plan->listen && !status_api_listen(api, session->plan->listen, error)) {
		status_api_free(api);
		return EXIT_FAILED;
	}
	g_unix_signal_add(SIGTERM, stop, session);
	g_unix_signal_add(SIGINT, stop, session);
	if (session->plan->serve)
		g_unix_signal_add(SIGHUP, reload, session);
	hold_hangup(SIG_UNBLOCK);
	done = controller_work(session, error);
	remote_fleet_until(session->fleet, end_seen, session, LINGER_S, !session->store_failed);
	status_api_free(api);
	return done ? EXIT_SUCCESS : EXIT_FAILED;
}

static bool parse_options(int argc, char **argv, struct options *ret_options, GError **error)
{
	g_autoptr(GOptionContext) context =
		g_option_context_new("- do the measured runs of a run directory");
	g_autofree char *words = NULL;
	int64_t descriptor = -1;
	const GOptionEntry entries[] = {
		{"run", 0, 0, G_OPTION_ARG_FILENAME, &ret_options->run_dir,
		 "Run directory with plan.json and config.yaml, or wanted.yaml of a service",
		 "DIR"},
		{"words", 0, 0, G_OPTION_ARG_STRING, &words, "Open file for why it ends early",
		 "DESCRIPTOR"},
		{"continue", 0, 0, G_OPTION_ARG_NONE, &ret_options->go_on,
		 "Continue a run that was interrupted", NULL},
		{NULL},
	};

	g_option_context_add_main_entries(context, entries, NULL);
	if (!g_option_context_parse(context, &argc, &argv, error) ||
	    !number_option_integer("--words", words, 0, INT32_MAX, &descriptor, error))
		return false;
	ret_options->words_fd = (int)descriptor;
	return ret_options->run_dir && argc == 1;
}

int main(int argc, char **argv)
{
	struct options options = {.words_fd = -1};
	g_autoptr(GError) error = NULL;
	struct run_session *session;
	int status;

	log_take_glib();
	hold_hangup(SIG_BLOCK);
	visible_plain_help();
	if (!parse_options(argc, argv, &options, &error)) {
		visible_complain("virtbed-controller",
				 error ? error->message : "--run DIR is needed, nothing else");
		g_free(options.run_dir);
		return EXIT_INPUT;
	}
	session = run_session_open(&platform_machine, options.run_dir, &error);
	g_free(options.run_dir);
	if (!session)
		return hand_over_error(error, options.words_fd);
	session->go_on = options.go_on;
	status = serve_and_work(session, &error);
	if (status != EXIT_SUCCESS)
		status = hand_over_error(error, options.words_fd);
	if (status == EXIT_STOPPED && session->store_failed) /* no user requested this end */
		status = EXIT_FAILED;
	run_session_close(session);
	return status;
}
