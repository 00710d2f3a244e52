/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>

#include "controller/cli/commands.h"
#include "controller/cli/limit_list.h"
#include "controller/report/resampling.h"
#include "controller/supervise/run_results.h"
#include "controller/supervise/run_supervisor.h"

/* The limit of experiment.repeats of a configuration. */
#define REPEATS_MAX 10000

static int carry_out(const struct run_request *request, bool json)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *dir = NULL;
	char *report[] = {(char *)"virtbed report", NULL, NULL};
	bool finished;

	if (!run_supervise(request, &dir, &finished, &error))
		return command_fail(run_supervisor_is_input(error) ? COMMAND_BAD : COMMAND_FAILED,
				    request->command, "%s", error->message);
	if (!finished && !resampling_record(dir, &error))
		return command_fail(COMMAND_FAILED, request->command, "%s", error->message);
	if (json)
		return run_results_print_json(dir, &error)
			       ? COMMAND_DONE
			       : command_fail(COMMAND_FAILED, request->command, "%s",
					      error->message);
	report[1] = dir;
	return cmd_report(2, report);
}

int cmd_run(int argc, char **argv)
{
	struct run_request request = {.command = argv[0], .run = true};
	const char *policies_given = NULL;
	const char *limits_given = NULL;
	bool json = false;
	const struct command_option options[] = {
		{"policy", 0, COMMAND_TEXT, &policies_given,
		 "Policies, instead of the configured ones", "P,..."},
		{"limit", 0, COMMAND_TEXT, &limits_given, "Limits as fractions of the budget",
		 "F,..."},
		{"repeat", 0, COMMAND_COUNT, &request.repeats, "How often the same workload is run",
		 "N", 1, REPEATS_MAX},
		{"estimates", 0, COMMAND_FILE, &request.estimates, "ETC and EEC from this file",
		 "FILE"},
		{"profile", 0, COMMAND_FLAG, &request.profile,
		 "Measure ETC and EEC first, in the same session"},
		{"profile-repeat", 0, COMMAND_COUNT, &request.profile_repeats,
		 "Measurements per type and cluster", "N", 1, REPEATS_MAX},
		{"probe", 0, COMMAND_FILE, &request.probe,
		 "What the machine has, instead of measuring it (virtbed lab probe --json)",
		 "FILE"},
		{"out", 0, COMMAND_FILE, &request.out, "Run directory (default: runs/NAME-TIME)",
		 "DIR"},
		{"resume", 0, COMMAND_FLAG, &request.resume, "Continue an interrupted experiment"},
		{"listen", 0, COMMAND_TEXT, &request.listen,
		 "Show the controller's page there, e.g. http://127.0.0.1:8080", "ADDRESS"},
		{"keep-lab", 0, COMMAND_FLAG, &request.keep_lab, "Leave the emulated blades up"},
		{"json", 0, COMMAND_FLAG, &json, "Print the runs as JSON"},
		{NULL},
	};
	g_autoptr(GError) error = NULL;
	g_autoptr(GArray) limits = NULL;
	g_auto(GStrv) policies = NULL;

	if (!command_parse(&argc, &argv, "CONFIG - run the experiment on real VMs and record it",
			   NULL, options))
		return COMMAND_BAD;
	if (limits_given && !(limits = limit_list_parse(limits_given, &error)))
		return command_fail(COMMAND_BAD, request.command, "%s", error->message);
	if (argc != 2)
		return command_fail(COMMAND_BAD, request.command,
				    "one configuration is needed; try: virtbed run --help");
	policies = policies_given ? g_strsplit(policies_given, ",", -1) : NULL;
	request.config_path = argv[1];
	request.policies = policies;
	request.limits = limits ? (const double *)(const void *)limits->data : NULL;
	request.limits_count = limits ? limits->len : 0;
	return carry_out(&request, json);
}
