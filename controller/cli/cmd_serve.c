/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>

#include "controller/cli/commands.h"
#include "controller/run/run_supervisor.h"

static int serve(const struct run_request *request)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *dir = NULL;

	if (run_supervise(request, &dir, NULL, &error))
		return COMMAND_DONE;
	return command_fail(run_supervisor_is_input(error) ? COMMAND_BAD : COMMAND_FAILED,
			    request->command, "%s", error->message);
}

int cmd_serve(int argc, char **argv)
{
	g_autoptr(GOptionContext) context =
		g_option_context_new("CONFIG - run the tasks that people submit, until stopped");
	g_autoptr(GError) error = NULL;
	g_autofree char *estimates = NULL;
	g_autofree char *state = NULL;
	g_autofree char *listen = NULL;
	gboolean keep_lab = FALSE;
	struct run_request request = {.command = argv[0], .serve = true};
	const GOptionEntry entries[] = {
		{"state", 0, 0, G_OPTION_ARG_FILENAME, &state,
		 "State directory (default: /var/lib/virtbed, or virtbed in your own state)",
		 "DIR"},
		{"listen", 0, 0, G_OPTION_ARG_STRING, &listen,
		 "unix:/PATH of its socket, or a second address, e.g. http://127.0.0.1:8080",
		 "ADDRESS"},
		{"estimates", 0, 0, G_OPTION_ARG_FILENAME, &estimates,
		 "ETC and EEC from this file", "FILE"},
		{"keep-lab", 0, 0, G_OPTION_ARG_NONE, &keep_lab, "Leave the emulated blades up",
		 NULL},
		{NULL},
	};

	g_option_context_add_main_entries(context, entries, NULL);
	g_option_context_set_summary(
		context,
		"Brings up what the configuration names, and schedules the tasks that come. Started\n"
		"again on the same state directory, it continues where it stopped. SIGTERM stops it in\n"
		"order: tasks under way are killed, and start from the beginning the next time.");
	if (!g_option_context_parse(context, &argc, &argv, &error))
		return command_fail(COMMAND_BAD, request.command, "%s", error->message);
	if (argc != 2)
		return command_fail(COMMAND_BAD, request.command,
				    "one configuration is needed; try: virtbed serve --help");
	request.config_path = argv[1];
	request.estimates = estimates;
	request.out = state;
	request.listen = listen;
	request.keep_lab = keep_lab;
	return serve(&request);
}
