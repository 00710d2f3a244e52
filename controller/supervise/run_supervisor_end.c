/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a supervised run ends: with which error, and its processes in order. */
#include "controller/supervise/run_supervisor_private.h"

#define CONTROLLER_GRACE_S 90

G_DEFINE_QUARK(virtbed_run_supervisor, run_supervisor_error)

bool run_supervisor_is_input(const GError *error)
{
	return error->domain == CONFIG_ERROR || error->domain == RUN_PLAN_ERROR ||
	       error->domain == MACHINE_PROBE_ERROR ||
	       g_error_matches(error, RUN_SUPERVISOR_ERROR, RUN_SUPERVISOR_ERROR_INPUT);
}

void run_supervisor_give_up(struct supervisor *supervisor, enum run_supervisor_error code,
			    const char *format, ...)
{
	va_list arguments;

	if (supervisor->error)
		return;
	va_start(arguments, format);
	supervisor->error = g_error_new_valist(RUN_SUPERVISOR_ERROR, code, format, arguments);
	va_end(arguments);
}

static gboolean kill_controller(gpointer data)
{
	struct supervisor *supervisor = data;

	supervisor->stop_source = 0;
	run_watch_say(supervisor->watch, "the controller does not stop: killing it");
	run_child_stop(supervisor->controller, 0);
	g_main_loop_quit(supervisor->loop);
	return G_SOURCE_REMOVE;
}

/* The controller ends its run in order; its death then quits the loop. */
void run_supervisor_stop(struct supervisor *supervisor)
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
