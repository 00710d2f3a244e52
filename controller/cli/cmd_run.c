/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>

#include "common/json.h"
#include "controller/cli/commands.h"
#include "controller/cli/limit_list.h"
#include "controller/report/anytime_verdict.h"
#include "controller/report/resampling.h"
#include "controller/store/store.h"
#include "controller/supervise/run_results.h"
#include "controller/supervise/run_supervisor.h"

/* The limit of experiment.repeats of a configuration. */
#define REPEATS_MAX 10000

/* The runs, and the verdict that they were made until. */
static int print_json(const char *command, const char *dir)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(store_t) store = store_open(dir, false, &error);
	g_autoptr(json_t) document = store ? run_results_json(dir, &error) : NULL;
	g_autoptr(anytime_verdict_t) verdict =
		document ? anytime_verdict_load(store, &error) : NULL;

	if (error)
		return command_fail(COMMAND_FAILED, command, "%s", error->message);
	if (verdict)
		json_object_set_new(document, "verdict", anytime_verdict_json(verdict));
	command_print_json(document);
	return COMMAND_DONE;
}

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
		return print_json(request->command, dir);
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
		{"repeat", 0, COMMAND_COUNT, &request.repeats,
		 "How often the same workload is run (--until-verdict: at most)", "N", 1,
		 REPEATS_MAX},
		{"until-verdict", 0, COMMAND_FLAG, &request.until_verdict,
		 "Choose the next run, until each pair of section verdict is decided or too noisy"},
		{"most", 0, COMMAND_NUMBER, &request.most_h,
		 "--until-verdict: begin no run that would end after so many hours of them",
		 "HOURS", 0.001, 100000},
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
	if (request.most_h > 0 && !request.until_verdict)
		return command_fail(COMMAND_BAD, request.command,
				    "--most: only with --until-verdict, which stops earlier");
	policies = policies_given ? g_strsplit(policies_given, ",", -1) : NULL;
	request.config_path = argv[1];
	request.policies = policies;
	request.limits = limits ? (const double *)(const void *)limits->data : NULL;
	request.limits_count = limits ? limits->len : 0;
	return carry_out(&request, json);
}
