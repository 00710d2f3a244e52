/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/lab/lab_cli.h"

#include <float.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/config/config.h"
#include "common/json.h"
#include "common/lab_fit.h"
#include "common/lab_state.h"
#include "common/machine_room.h"
#include "common/read_number.h"
#include "common/visible.h"
#include "local-sched/cpu/cap_originals.h"
#include "local-sched/lab/lab.h"
#include "local-sched/lab/lab_paths.h"
#include "local-sched/lab/lab_record.h"
#include "local-sched/lab/lab_room.h"

enum { EXIT_USAGE = 2 };

/* The duration of a probe: default and maximum. */
#define PROBE_S 3.0
#define PROBE_MAX_S 60.0

static const char usage[] =
	"usage: virtbed lab up CONFIG [--name NAME] [--probe FILE] [--json]\n"
	"       virtbed lab down [CONFIG] [--name NAME]\n"
	"       virtbed lab status [CONFIG] [--name NAME] [--json]\n"
	"       virtbed lab check [CONFIG] [--name NAME]\n"
	"       virtbed lab probe [--seconds S] [--json]\n"
	"\n"
	"Emulated blades on this machine: each has a libvirtd, a bridge, a CPU budget and a BMC\n"
	"of its own. NAME is by default that of the configuration. `check` says whether this machine\n"
	"can have a lab, and if not, what is missing; with CONFIG\n"
	"also whether there is room for that one. `probe` measures what a lab gets of it: CPU time and\n"
	"the speed of emulated work, over S seconds (3). A lab that is to be fitted (lab.fit) is fitted to\n"
	"that, or to what FILE says.\n";

/* The arguments of the command line. */
struct arguments {
	const char *config; /* path, or NULL */
	const char *name;   /* or NULL */
	const char *probe;  /* path, or NULL */
	double seconds;     /* duration of a probe */
	bool json;
};

/* Set by SIGINT and SIGTERM; a signal handler has no other access. */
static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
	interrupted = 1;
}

static int print_error(const GError *error, int status)
{
	visible_complain("virtbed lab", error->message);
	return status;
}

static bool parse_arguments(int argc, char **argv, struct arguments *ret_arguments)
{
	struct arguments arguments = {.seconds = PROBE_S};
	double seconds;

	for (int i = 2; i < argc; i++) {
		if (strcmp(argv[i], "--json") == 0)
			arguments.json = true;
		else if (strcmp(argv[i], "--name") == 0 && i + 1 < argc)
			arguments.name = argv[++i];
		else if (g_str_has_prefix(argv[i], "--name="))
			arguments.name = argv[i] + strlen("--name=");
		else if (strcmp(argv[i], "--probe") == 0 && i + 1 < argc)
			arguments.probe = argv[++i];
		else if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc)
			arguments.seconds =
				read_number(argv[++i], 0, DBL_MAX, &seconds) ? seconds : 0;
		else if (argv[i][0] != '-' && !arguments.config)
			arguments.config = argv[i];
		else
			return false;
	}
	*ret_arguments = arguments;
	return true;
}

static void print_json(const json_t *document)
{
	g_autofree char *text = json_pretty(document);

	puts(text);
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "-";
}

static void print_blade(const json_t *blade)
{
	const json_t *bmc = json_object_get(blade, "bmc");
	g_autofree char *meter =
		g_strdup_printf("%s%s:%lld",
				strcmp(text_of(bmc, "kind"), "redfish") == 0 ? "https://" : "",
				text_of(bmc, "address"),
				(long long)json_integer_value(json_object_get(bmc, "port")));

	printf("%-12s %-9s %4lld %9.2f %9.1f  %-23s %s\n", text_of(blade, "name"),
	       json_is_true(json_object_get(blade, "libvirt")) ? "answers" : "silent",
	       (long long)json_integer_value(json_object_get(blade, "domains")),
	       json_number_value(json_object_get(blade, "cpu_cores")),
	       json_number_value(json_object_get(blade, "watts")), meter, text_of(blade, "uri"));
}

static void print_status(const json_t *status)
{
	const json_t *blades = json_object_get(status, "blades");
	const char *state = text_of(status, "state");
	const json_t *blade;
	size_t index;

	printf("lab %s: %s%s\n", text_of(status, "name"), state,
	       strcmp(state, "dead") == 0 ? " (parts are left; `down` removes them)" : "");
	if (json_array_size(blades) == 0)
		return;
	printf("%-12s %-9s %4s %9s %9s  %-23s %s\n", "BLADE", "LIBVIRT", "VMS", "CPU-CORES",
	       "WATTS", "BMC", "URI");
	json_array_foreach (blades, index, blade) {
		print_blade(blade);
	}
}

static bool is_up(const json_t *status)
{
	return strcmp(text_of(status, "state"), "up") == 0;
}

/* The lab's name by --name or the configuration; NULL with an error if there is neither. */
static char *lab_name(const struct arguments *arguments, GError **error)
{
	g_autoptr(config_t) config = NULL;
	char *name = NULL;

	if (arguments->name) {
		name = g_strdup(arguments->name);
	} else if (arguments->config) {
		config = config_load(arguments->config, error);
		if (!config)
			return NULL;
		name = g_strdup(config->name);
	}
	if (name && lab_state_name_ok(name))
		return name;
	g_set_error(error, LAB_ERROR, LAB_ERROR_INPUT, "%s",
		    name ? "this cannot name a lab: 1 to 40 letters, digits, dashes and "
			   "underscores, the first not a dash"
			 : "which lab? give a configuration or --name NAME");
	g_free(name);
	return NULL;
}

static void print_progress(const char *text, void *data)
{
	const int64_t *from_ns = data;

	fprintf(stderr, "lab: %6.2f s: %s\n", clock_elapsed_s(*from_ns, clock_now_ns()), text);
}

static void catch_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

/*
 * The measurement to which the lab is fitted: the given one, else that of an existing lab of this
 * name, else a new one. NULL with `error`.
 */
static struct machine_probe *find_probe(const struct arguments *arguments, const char *name,
					GError **error)
{
	g_autofree char *path = lab_paths_run(name, MACHINE_PROBE_FILE);

	if (arguments->probe)
		return machine_probe_load(arguments->probe, error);
	if (lab_state_is_up(name) && g_file_test(path, G_FILE_TEST_EXISTS))
		return machine_probe_load(path, error);
	return lab_probe(PROBE_S, error);
}

static bool fit(struct config *config, const struct machine_probe *probe, GError **error)
{
	g_autofree char *text = machine_probe_describe(probe);
	struct lab_fit fit;

	if (!lab_fit(config, probe, &fit, error) || !config_check(config, config->name, error) ||
	    !machine_room_check(config, config->name, error))
		return false;
	fprintf(stderr, "lab: machine: %s\n", text);
	for (gsize i = 0; fit.notices && fit.notices[i]; i++)
		fprintf(stderr, "lab: %s\n", fit.notices[i]);
	lab_fit_clear(&fit);
	return true;
}

/*
 * Fits the lab to the machine if it is configured so. The caller frees the probe; NULL where none
 * was needed.
 */
static bool fit_to_machine(const struct arguments *arguments, struct config *config,
			   struct machine_probe **ret_probe, GError **error)
{
	const char *name = arguments->name ? arguments->name : config->name;

	*ret_probe = NULL;
	if (!config_lab_is_to_fit(config) && !arguments->probe)
		return true;
	*ret_probe = find_probe(arguments, name, error);
	return *ret_probe && fit(config, *ret_probe, error);
}

/* Brings up the lab of `config`. Returns an exit status. */
static int bring_up(const struct arguments *arguments, struct config *config)
{
	int64_t from_ns = clock_now_ns();
	const struct lab_observer observer = {print_progress, &from_ns, &interrupted};
	g_autoptr(machine_probe_t) probe = NULL;
	g_autoptr(lab_spec_t) spec = NULL;
	g_autoptr(json_t) status = NULL;
	g_autoptr(GError) error = NULL;

	if (!fit_to_machine(arguments, config, &probe, &error))
		return print_error(error, EXIT_FAILURE);
	spec = lab_spec_new(config, arguments->name, &error);
	if (!spec) {
		g_prefix_error(&error, "%s: ", arguments->config);
		return print_error(error, EXIT_USAGE);
	}
	catch_signals();
	if (!lab_up(spec, probe, &observer, &error))
		return print_error(error, EXIT_FAILURE);
	status = lab_status(spec->name);
	if (arguments->json)
		print_json(status);
	else
		print_status(status);
	return EXIT_SUCCESS;
}

/* Why there is too little room for the lab of `config`, or NULL. A lab that is up has its room. */
static char *room_trouble(const struct config *config, const char *name)
{
	struct lab_room needed;
	struct lab_room left = lab_room_left();

	if (!config->lab || lab_record_supervisor(name ? name : config->name).pid > 0)
		return NULL;
	needed = lab_room_needed(config, lab_room_image_mib(config));
	return lab_room_trouble(&needed, &left);
}

static int run_up(const struct arguments *arguments)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) config = NULL;
	g_autoptr(lab_spec_t) tried = NULL;
	g_autofree char *missing = NULL;

	if (!arguments->config) {
		fputs(usage, stderr);
		return EXIT_USAGE;
	}
	config = config_load(arguments->config, &error);
	/* Bad input is reported before anything is measured. */
	if (!config || !machine_room_check(config, arguments->config, &error))
		return print_error(error, EXIT_USAGE);
	tried = lab_spec_new(config, arguments->name, &error);
	if (!tried) {
		g_prefix_error(&error, "%s: ", arguments->config);
		return print_error(error, EXIT_USAGE);
	}
	missing = lab_check();
	if (!missing)
		missing = room_trouble(config, arguments->name);
	if (missing) {
		fprintf(stderr, "virtbed lab: %s\n", missing);
		return EXIT_FAILURE;
	}
	return bring_up(arguments, config);
}

static int run_probe(const struct arguments *arguments)
{
	g_autofree char *missing = NULL;
	g_autoptr(machine_probe_t) probe = NULL;
	g_autoptr(GError) error = NULL;
	g_autofree char *text = NULL;

	if (!(arguments->seconds >= 1 && arguments->seconds <= PROBE_MAX_S)) {
		fprintf(stderr, "virtbed lab: --seconds: give a number from 1 to %.0f\n",
			PROBE_MAX_S);
		return EXIT_USAGE;
	}
	missing = lab_check();
	if (missing) {
		fprintf(stderr, "virtbed lab: %s\n", missing);
		return EXIT_FAILURE;
	}
	probe = lab_probe(arguments->seconds, &error);
	if (!probe)
		return print_error(error, EXIT_FAILURE);
	text = arguments->json ? machine_probe_text(probe) : machine_probe_describe(probe);
	puts(text);
	return EXIT_SUCCESS;
}

/* Restores CPU settings that a dead local scheduler of this machine has left. */
static bool recover_caps(GError **error)
{
	guint count;

	if (!cap_originals_recover(&platform_machine, CAP_ORIGINALS_MACHINE, &count, error))
		return false;
	if (count > 0)
		fprintf(stderr, "lab: %u CPU settings are as they were before\n", count);
	return true;
}

static int run_down(const struct arguments *arguments)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *name = lab_name(arguments, &error);
	bool was;

	if (!name)
		return print_error(error, EXIT_USAGE);
	if (!lab_down(name, &was, &error) || !recover_caps(&error))
		return print_error(error, EXIT_FAILURE);
	fprintf(stderr, was ? "lab: \"%s\" is down\n" : "lab: \"%s\" was not up\n", name);
	return EXIT_SUCCESS;
}

static int run_status_all(bool json)
{
	g_auto(GStrv) names = lab_list();
	g_autoptr(json_t) all = json_array();

	for (gsize i = 0; names[i]; i++) {
		json_array_append_new(all, lab_status(names[i]));
		if (!json)
			print_status(json_array_get(all, i));
	}
	if (json)
		print_json(all);
	else if (!names[0])
		puts("no labs");
	return EXIT_SUCCESS;
}

static int run_status(const struct arguments *arguments)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(json_t) status = NULL;
	g_autofree char *name = NULL;

	if (!arguments->config && !arguments->name)
		return run_status_all(arguments->json);
	name = lab_name(arguments, &error);
	if (!name)
		return print_error(error, EXIT_USAGE);
	status = lab_status(name);
	if (arguments->json)
		print_json(status);
	else
		print_status(status);
	return is_up(status) ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int run_check(const struct arguments *arguments)
{
	g_autofree char *missing = lab_check();
	g_autoptr(config_t) config = NULL;
	g_autoptr(GError) error = NULL;

	if (arguments->config && !(config = config_load(arguments->config, &error)))
		return print_error(error, EXIT_USAGE);
	if (config && !missing)
		missing = room_trouble(config, arguments->name);
	printf("%s\n", missing ? missing : "this machine can run a lab of emulated blades");
	return missing ? EXIT_FAILURE : EXIT_SUCCESS;
}

static const struct command {
	const char *name;
	int (*run)(const struct arguments *arguments);
	bool config; /* takes a configuration */
	const char *options[4];
} commands[] = {
	{"up", run_up, true, {"--name", "--probe", "--json"}},
	{"down", run_down, true, {"--name"}},
	{"status", run_status, true, {"--name", "--json"}},
	{"check", run_check, true, {"--name"}},
	{"probe", run_probe, false, {"--seconds", "--json"}},
};

/* A given argument that the command does not use; NULL: there is none. */
static const char *find_pointless(const struct command *command, const struct arguments *arguments,
				  int argc, char **argv)
{
	for (int i = 2; i < argc; i++) {
		g_autofree char *option = g_strndup(argv[i], strcspn(argv[i], "="));

		if (g_str_has_prefix(option, "--") && !g_strv_contains(command->options, option))
			return argv[i];
	}
	return command->config ? NULL : arguments->config;
}

static int run_command(const struct command *command, const struct arguments *arguments, int argc,
		       char **argv)
{
	const char *pointless = find_pointless(command, arguments, argc, argv);

	if (!pointless)
		return command->run(arguments);
	fprintf(stderr, "virtbed lab: %s does nothing with \"%s\"; leave it out\n", command->name,
		pointless);
	return EXIT_USAGE;
}

int lab_cli_main(int argc, char **argv)
{
	struct arguments arguments;

	g_set_prgname("virtbed lab");
	visible_check_at_exit();
	visible_plain_help();
	if (argc >= 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		fputs(usage, stdout);
		return EXIT_SUCCESS;
	}
	for (gsize i = 0; argc >= 2 && i < G_N_ELEMENTS(commands); i++)
		if (strcmp(argv[1], commands[i].name) == 0 &&
		    parse_arguments(argc, argv, &arguments))
			return run_command(&commands[i], &arguments, argc, argv);
	fputs(usage, stderr);
	return EXIT_USAGE;
}
