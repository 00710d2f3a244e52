/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <signal.h>

#include "common/notify.h"
#include "controller/config/config_controller.h"
#include "controller/run/run_paths.h"
#include "controller/run/run_reload.h"
#include "controller/supervise/run_supervisor_private.h"

/*
 * Longest time until a controller reports the result of a reload; its notice can get lost among
 * others.
 */
#define RELOAD_S 60

static gboolean reload_is_unanswered(gpointer data);

void run_supervisor_reload(struct supervisor *supervisor)
{
	g_autofree char *path = run_paths_config(supervisor->prepared.dir, true);
	g_autofree char *text = NULL;
	g_autoptr(config_t) former = NULL;
	g_autoptr(GError) error = NULL;

	supervisor->reload_again = supervisor->former != NULL;
	if (supervisor->former)
		return;
	notify_reloading();
	former = config_controller_load(path, &error);
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

void run_supervisor_undo_reload(struct supervisor *supervisor)
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

void run_supervisor_end_reload(struct supervisor *supervisor)
{
	g_clear_pointer(&supervisor->former, config_free);
	g_clear_handle_id(&supervisor->reload_source, g_source_remove);
	if (supervisor->reload_again && !supervisor->stopping)
		run_supervisor_reload(supervisor);
}

static gboolean reload_is_unanswered(gpointer data)
{
	static const char text[] =
		"the controller has not said what became of the reload: see `virtbed events`, "
		"and reload again";
	struct supervisor *supervisor = data;

	supervisor->reload_source = 0;
	run_watch_say(supervisor->watch, "%s", text);
	notify_ready(text);
	run_supervisor_end_reload(supervisor);
	return G_SOURCE_REMOVE;
}
