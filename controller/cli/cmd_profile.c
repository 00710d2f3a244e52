/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <stdio.h>

#include "common/config/config.h"
#include "common/error_fail.h"
#include "common/number_option.h"
#include "common/read_file.h"
#include "controller/cli/commands.h"
#include "controller/config/config_controller.h"
#include "controller/config/config_environment.h"
#include "controller/supervise/run_results.h"
#include "controller/supervise/run_supervisor.h"

/* The limit of experiment.profile_repeats of a configuration. */
#define REPEATS_MAX 10000

/* What the command line says beside the request. */
struct arguments {
	const char *out, *pet; /* files to write, or NULL */
	bool json;
	double target_s; /* 0: none */
	const char *on;  /* NULL: the first cluster */
};

/* Copies the file `name` of the run directory to the path that the user gave. */
static bool write_out(const char *dir, const char *name, const char *out, GError **error)
{
	g_autofree char *path = g_build_filename(dir, name, NULL);
	gsize length;
	g_autofree char *text = read_file(path, READ_FILE_SMALL_MAX, &length, error);

	if (!text)
		return false;
	if (g_file_set_contents(out, text, (gssize)length, error))
		return true;
	g_prefix_error(error, "what was measured is in %s, but: ", path);
	return false;
}

/* Checks the options for --pet: execution times are measured for tasks with deadlines only. */
static bool check_pet(const char *path, const struct arguments *arguments, GError **error)
{
	g_autoptr(config_t) config = arguments->pet ? config_controller_load(path, error) : NULL;

	if (!arguments->pet || (config && config_wants_pet(config)))
		return true;
	if (config)
		g_set_error(
			error, CONFIG_ERROR, CONFIG_ERROR_MEANING,
			"--pet: %s has no environment.pruning whose execution times are to be measured",
			path);
	return false;
}

/* Reads --target-s and --on before anything is measured; false with `error`. */
static bool find_target(const char *path, const struct arguments *arguments,
			struct run_results_target *ret_target, GError **error)
{
	g_autoptr(config_t) config = NULL;

	*ret_target = (struct run_results_target){.target_s = arguments->target_s};
	if (arguments->target_s == 0 && !arguments->on)
		return true;
	if (arguments->target_s == 0)
		return error_fail(error, CONFIG_ERROR, CONFIG_ERROR_MEANING,
				  "--on is for --target-s");
	config = config_controller_load(path, error);
	for (uint32_t i = 0; config && i < config->clusters_count; i++)
		if (!arguments->on || g_str_equal(arguments->on, config->clusters[i].name)) {
			ret_target->cluster = g_intern_string(config->clusters[i].name);
			return true;
		}
	if (config)
		g_set_error(error, CONFIG_ERROR, CONFIG_ERROR_MEANING,
			    "--on: %s has no cluster '%s'", path, arguments->on);
	return false;
}

static bool print_profile(const char *dir, const struct arguments *arguments,
			  const struct run_results_target *target, GError **error)
{
	if ((arguments->out && !write_out(dir, "estimates.yaml", arguments->out, error)) ||
	    (arguments->pet && !write_out(dir, "pet.yaml", arguments->pet, error)))
		return false;
	return arguments->json ? run_results_print_estimates_json(dir, target, error)
			       : run_results_print_estimates(dir, target, error);
}

static bool is_measured(const char *dir)
{
	g_autofree char *path = g_build_filename(dir, "estimates.yaml", NULL);

	return g_file_test(path, G_FILE_TEST_EXISTS);
}

static int profile(const struct run_request *request, const struct arguments *arguments,
		   const struct run_results_target *target)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *dir = NULL;

	if (!run_supervise(request, &dir, NULL, &error)) {
		g_autoptr(GError) unshown = NULL;

		/* Measurements are stored also where they do not suffice for an experiment. */
		if (g_error_matches(error, RUN_SUPERVISOR_ERROR, RUN_SUPERVISOR_ERROR_FAILED) &&
		    is_measured(dir) && !print_profile(dir, arguments, target, &unshown))
			command_fail(COMMAND_DONE, request->command, "%s", unshown->message);
		return command_fail(run_supervisor_is_input(error) ? COMMAND_BAD : COMMAND_FAILED,
				    request->command, "%s", error->message);
	}
	if (!print_profile(dir, arguments, target, &error))
		return command_fail(COMMAND_FAILED, request->command, "%s", error->message);
	return COMMAND_DONE;
}

int cmd_profile(int argc, char **argv)
{
	struct run_request request = {.command = argv[0], .profile = true};
	struct arguments arguments = {0};
	const struct command_option options[] = {
		{"repeat", 0, COMMAND_COUNT, &request.profile_repeats,
		 "Measurements per type and cluster", "N", 1, REPEATS_MAX},
		{"out", 0, COMMAND_FILE, &arguments.out, "Write the estimates to this file too",
		 "FILE"},
		{"probe", 0, COMMAND_FILE, &request.probe,
		 "What the machine has, instead of measuring it (virtbed lab probe --json)",
		 "FILE"},
		{"pet", 0, COMMAND_FILE, &arguments.pet,
		 "Write the single times to this file, for environment.pruning.pet", "FILE"},
		{"dir", 0, COMMAND_FILE, &request.out, "Run directory (default: runs/NAME-TIME)",
		 "DIR"},
		{"resume", 0, COMMAND_FLAG, &request.resume,
		 "Continue an interrupted profile: measure the rest"},
		{"target-s", 0, COMMAND_NUMBER, &arguments.target_s,
		 "Tell the repetitions with which each type takes so long", "SECONDS", 0.001,
		 NUMBER_OPTION_SECONDS_MAX},
		{"on", 0, COMMAND_TEXT, &arguments.on, "... on this cluster (default: the first)",
		 "CLUSTER"},
		{"keep-lab", 0, COMMAND_FLAG, &request.keep_lab, "Leave the emulated blades up"},
		{"json", 0, COMMAND_FLAG, &arguments.json, "Print the estimates as JSON"},
		{NULL},
	};
	struct run_results_target target;
	g_autoptr(GError) error = NULL;

	if (!command_parse(
		    &argc, &argv,
		    "CONFIG - measure ETC and EEC of every type on every cluster, with the other "
		    "nodes busy",
		    NULL, options))
		return COMMAND_BAD;
	if (argc != 2)
		return command_fail(COMMAND_BAD, request.command,
				    "one configuration is needed; try: virtbed profile --help");
	if (!check_pet(argv[1], &arguments, &error) ||
	    !find_target(argv[1], &arguments, &target, &error))
		return command_fail(COMMAND_BAD, request.command, "%s", error->message);
	request.config_path = argv[1];
	return profile(&request, &arguments, &target);
}
