/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>

#include "controller/cli/commands.h"
#include "controller/supervise/run_supervisor.h"

int cmd_serve(int argc, char **argv)
{
	struct run_request request = {.command = argv[0], .serve = true};
	g_autoptr(GError) error = NULL;
	g_autofree char *dir = NULL;
	const struct command_option options[] = {
		{"state", 0, COMMAND_FILE, &request.out,
		 "State directory (default: /var/lib/virtbed, or virtbed in your own state)",
		 "DIR"},
		{"listen", 0, COMMAND_TEXT, &request.listen,
		 "unix:/PATH of its socket, or a second address, e.g. http://127.0.0.1:8080",
		 "ADDRESS"},
		{"estimates", 0, COMMAND_FILE, &request.estimates, "ETC and EEC from this file",
		 "FILE"},
		{"keep-lab", 0, COMMAND_FLAG, &request.keep_lab, "Leave the emulated blades up"},
		{NULL},
	};

	if (!command_parse(
		    &argc, &argv, "CONFIG - run the tasks that people submit, until stopped",
		    "Brings up what the configuration names, and schedules the tasks that come. Started\n"
		    "again on the same state directory, it continues where it stopped. SIGTERM stops it in\n"
		    "order: tasks under way are killed, and start from the beginning the next time.",
		    options))
		return COMMAND_BAD;
	if (argc != 2)
		return command_fail(COMMAND_BAD, request.command,
				    "one configuration is needed; try: virtbed serve --help");
	request.config_path = argv[1];
	if (run_supervise(&request, &dir, NULL, &error))
		return COMMAND_DONE;
	return command_fail(run_supervisor_is_input(error) ? COMMAND_BAD : COMMAND_FAILED,
			    request.command, "%s", error->message);
}
