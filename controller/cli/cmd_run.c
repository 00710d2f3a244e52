/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>

#include "common/number_option.h"
#include "controller/cli/commands.h"
#include "controller/cli/limit_list.h"
#include "controller/report/resampling.h"
#include "controller/run/run_results.h"
#include "controller/run/run_supervisor.h"

/* The limit of experiment.repeats of a configuration. */
#define REPEATS_MAX 10000

/* The command line. */
struct arguments {
	char *policies;
	char *limits;
	uint32_t repeats, profile_repeats; /* 0: as configured */
	char *estimates;
	char *probe;
	char *out;
	char *listen;
	gboolean resume, profile, keep_lab, json;
};

static void arguments_clear(struct arguments *arguments)
{
	g_free(arguments->policies);
	g_free(arguments->limits);
	g_free(arguments->estimates);
	g_free(arguments->probe);
	g_free(arguments->out);
	g_free(arguments->listen);
}

static bool parse(int *argc, char ***argv, struct arguments *arguments, GError **error)
{
	g_autofree char *repeats = NULL;
	g_autofree char *profile_repeats = NULL;
	const GOptionEntry entries[] = {
		{"policy", 0, 0, G_OPTION_ARG_STRING, &arguments->policies,
		 "Policies, instead of the configured ones", "P,..."},
		{"limit", 0, 0, G_OPTION_ARG_STRING, &arguments->limits,
		 "Limits as fractions of the budget", "F,..."},
		{"repeat", 0, 0, G_OPTION_ARG_STRING, &repeats,
		 "How often the same workload is run", "N"},
		{"estimates", 0, 0, G_OPTION_ARG_FILENAME, &arguments->estimates,
		 "ETC and EEC from this file", "FILE"},
		{"profile", 0, 0, G_OPTION_ARG_NONE, &arguments->profile,
		 "Measure ETC and EEC first, in the same session", NULL},
		{"profile-repeat", 0, 0, G_OPTION_ARG_STRING, &profile_repeats,
		 "Measurements per type and cluster", "N"},
		{"probe", 0, 0, G_OPTION_ARG_FILENAME, &arguments->probe,
		 "What the machine has, instead of measuring it (virtbed lab probe --json)", "FILE"},
		{"out", 0, 0, G_OPTION_ARG_FILENAME, &arguments->out,
		 "Run directory (default: runs/NAME-TIME)", "DIR"},
		{"resume", 0, 0, G_OPTION_ARG_NONE, &arguments->resume,
		 "Continue an interrupted experiment", NULL},
		{"listen", 0, 0, G_OPTION_ARG_STRING, &arguments->listen,
		 "Show the controller's page there, e.g. http://127.0.0.1:8080", "ADDRESS"},
		{"keep-lab", 0, 0, G_OPTION_ARG_NONE, &arguments->keep_lab,
		 "Leave the emulated blades up", NULL},
		{"json", 0, 0, G_OPTION_ARG_NONE, &arguments->json, "Print the runs as JSON", NULL},
		{NULL},
	};
	g_autoptr(GOptionContext) context =
		g_option_context_new("CONFIG - run the experiment on real VMs and record it");

	g_option_context_add_main_entries(context, entries, NULL);
	return g_option_context_parse(context, argc, argv, error) &&
	       number_option_unsigned("--repeat", repeats, 1, REPEATS_MAX, &arguments->repeats, error) &&
	       number_option_unsigned("--profile-repeat", profile_repeats, 1, REPEATS_MAX,
				      &arguments->profile_repeats, error);
}

static int status_of(const GError *error)
{
	return run_supervisor_is_input(error) ? COMMAND_BAD : COMMAND_FAILED;
}

static int carry_out(const struct run_request *request, bool json)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *dir = NULL;
	char *report[] = {(char *)"virtbed report", NULL, NULL};
	bool finished;
	bool done = run_supervise(request, &dir, &finished, &error);

	if (!done)
		return command_fail(status_of(error), request->command, "%s", error->message);
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

static int run_experiment(int argc, char **argv, struct arguments *arguments)
{
	struct run_request request = {.command = argv[0], .run = true};
	g_autoptr(GError) error = NULL;
	g_autoptr(GArray) limits = NULL;
	g_auto(GStrv) policies = NULL;

	if (!parse(&argc, &argv, arguments, &error) ||
	    (arguments->limits && !(limits = limit_list_parse(arguments->limits, &error))))
		return command_fail(COMMAND_BAD, request.command, "%s", error->message);
	if (argc != 2)
		return command_fail(COMMAND_BAD, request.command,
				    "one configuration is needed; try: virtbed run --help");
	policies = arguments->policies ? g_strsplit(arguments->policies, ",", -1) : NULL;
	request.config_path = argv[1];
	request.policies = policies;
	request.limits = limits ? (const double *)(const void *)limits->data : NULL;
	request.limits_count = limits ? limits->len : 0;
	request.repeats = arguments->repeats;
	request.profile_repeats = arguments->profile_repeats;
	request.estimates = arguments->estimates;
	request.probe = arguments->probe;
	request.out = arguments->out;
	request.listen = arguments->listen;
	request.resume = arguments->resume;
	request.profile = arguments->profile;
	request.keep_lab = arguments->keep_lab;
	return carry_out(&request, arguments->json);
}

int cmd_run(int argc, char **argv)
{
	struct arguments arguments = {0};
	int status = run_experiment(argc, argv, &arguments);

	arguments_clear(&arguments);
	return status;
}
