/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/config/config.h"
#include "controller/config/config_controller.h"
#include "controller/config/config_environment.h"
#include "controller/config/config_sweep.h"

#include <glib/gstdio.h>
#include <string.h>

/*
 * Environments of shared hosts and the sweeps of their studies: the shipped ones load, defaults are
 * the paper's, and what makes no sense is refused with its key.
 */

static const char *source_root;

/* Writes a text to a file of its own and loads it. */
static struct config *load_text(const char *text, GError **error)
{
	g_autofree char *path = NULL;
	struct config *config;
	int fd = g_file_open_tmp("virtbed-sharing-XXXXXX.yaml", &path, NULL);

	g_assert_true(g_close(fd, NULL));
	g_assert_true(g_file_set_contents(path, text, -1, NULL));
	config = config_controller_load(path, error);
	g_unlink(path);
	return config;
}

static const char good[] = "name: jobs\n"
			   "clusters:\n"
			   "  - {name: hosts, nodes: 4, cores: 4, memory_mib: 8192}\n"
			   "environment:\n"
			   "  seed: 3\n"
			   "  sharing:\n"
			   "    penalty_s: 60\n"
			   "    list:\n"
			   "      - {arrival_s: 0, run_s: 100, vms: 4, cpu: 1, memory: 0.3}\n"
			   "      - {arrival_s: 10, run_s: 50, vms: 12, cpu: 0.25, memory: 0.33}\n"
			   "experiment:\n"
			   "  policies: [easy, dynmcb8]\n"
			   "  limits: [1]\n"
			   "  mapping_interval_s: 600\n"
			   "  duration_s: 1e9\n"
			   "study: {trials: 2}\n";

/* The same with the first `from` replaced by `to`. */
static struct config *load_variant(const char *from, const char *to, GError **error)
{
	const char *place = strstr(good, from);
	g_autoptr(GString) variant = g_string_new(NULL);

	g_assert_nonnull(place);
	g_string_append_len(variant, good, place - good);
	g_string_append(variant, to);
	g_string_append(variant, place + strlen(from));
	return load_text(variant->str, error);
}

static const struct {
	const char *from, *to;
	const char *message; /* must be part of the error */
} bad_cases[] = {
	{"memory: 0.3}", "memory: 1.2}",
	 "environment.sharing.list[0].memory: 1.2 is outside [0.0001, 1]"},
	{"memory: 0.3}", "memory: 0}",
	 "environment.sharing.list[0].memory: 0 is outside [0.0001, 1]"},
	{"cpu: 0.25", "cpu: 0", "environment.sharing.list[1].cpu: 0 is outside [0.0001, 1]"},
	{"cpu: 0.25", "cpu: 1e-300",
	 "environment.sharing.list[1].cpu: 1e-300 is outside [0.0001, 1]"},
	{"cpu: 0.25", "cpu: -1", "environment.sharing.list[1].cpu: -1 is outside [0.0001, 1]"},
	{"vms: 4", "vms: 0", "environment.sharing.list[0].vms: 0"},
	{"vms: 4", "vms: 5", "environment.sharing.list[0]: 5 VMs that need 1 of a host's CPU"},
	{"vms: 12", "vms: 13", "environment.sharing.list[1]: 13 VMs that need 0.25 of a host's"},
	{"run_s: 100", "run_s: 0", "environment.sharing.list[0].run_s: 0 is outside"},
	{"arrival_s: 0,", "arrival_s: 11,", "environment.sharing.list[1].arrival_s: 10 is below"},
	{"arrival_s: 0,", "arrival_s: -1,", "environment.sharing.list[0].arrival_s: -1 is below"},
	{"penalty_s: 60", "penalty_s: -1", "environment.sharing.penalty_s: -1 is outside 0 to"},
	{"penalty_s: 60", "virtual_time_in_penalty: 2",
	 "environment.sharing.virtual_time_in_penalty: '2' is neither true nor false"},
	{"penalty_s: 60", "virtual_time_is_progress: true",
	 "key 'virtual_time_is_progress' is gone: leave it out where it is true"},
	{"penalty_s: 60", "memory_tenths: 9",
	 "environment.sharing.memory_tenths: 9, but only the model"},
	{"penalty_s: 60", "memory_tenths: 11",
	 "environment.sharing.memory_tenths: 11 is outside 2 to 10"},
	{"penalty_s: 60", "memory_tenths: 0",
	 "environment.sharing.memory_tenths: 0 makes no sense"},
	{"penalty_s: 60", "memory_tenths: 1",
	 "environment.sharing.memory_tenths: 1 is outside 2 to 10"},
	{"penalty_s: 60", "load: 0.5", "environment.sharing.load: 0.5, but only jobs of the model"},
	{"penalty_s: 60", "jobs: 1", "environment.sharing.jobs: 1 is outside 2 to"},
	{"penalty_s: 60", "week: 0", "environment.sharing.week: 0 makes no sense"},
	{"penalty_s: 60", "week: 10001", "environment.sharing.week: 10001 is above 10000"},
	{"penalty_s: 60", "weeks: 1", "unknown key 'weeks'; known here: jobs, load, penalty_s"},
	{"seed: 3", "trace: x.swf", "environment.trace: the jobs are those of the trace or those"},
	{"seed: 3", "pstates: 2", "environment: special, pstates and lead_s are of no use"},
	{"seed: 3", "lead_s: 600", "environment: special, pstates and lead_s are of no use"},
	{"seed: 3", "serial: {}", "environment.sharing: tasks are serial or share hosts"},
	{"environment:", "  - {name: more, nodes: 4, cores: 4, memory_mib: 8192}\nenvironment:",
	 "clusters: 2, but environment.sharing"},
	{"limits: [1]", "limits: [0.5, 1]", "experiment.limits: the jobs of environment.sharing"},
	{"trials: 2", "x: load, values: [0.1]", "study.x: 'load', but only jobs of the model"},
	{"trials: 2", "x: penalty_s, values: [1, -1]", "study.values[1]: -1 is outside 0 to"},
	{"trials: 2", "x: burst, values: [1]", "study.x: 'burst' needs environment.serial"},
};

static void test_bad_input_is_named(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(bad_cases); i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(config_t) config =
			load_variant(bad_cases[i].from, bad_cases[i].to, &error);

		if (config)
			g_error("case %zu is taken", i);
		if (!strstr(error->message, bad_cases[i].message))
			g_error("case %zu: \"%s\" lacks \"%s\"", i, error->message,
				bad_cases[i].message);
	}
}

/* Where the list ends; without it the jobs are the model's. */
static struct config *load_model(const char *sharing, const char *nodes, GError **error)
{
	g_autofree char *text = g_strdup_printf(
		"name: jobs\nclusters: [{name: hosts, nodes: %s, cores: 4, memory_mib: 8192}]\n"
		"environment: {sharing: {%s}}\n"
		"experiment: {policies: [greedy], limits: [1], mapping_interval_s: 600, "
		"duration_s: 1e9}\n",
		nodes, sharing);

	return load_text(text, error);
}

static void test_defaults_are_the_papers(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) config = load_model("", "128", &error);
	const struct config_sharing *sharing;

	g_assert_no_error(error);
	sharing = config_environment(config)->sharing;
	g_assert_cmpuint(sharing->jobs, ==, 1000);
	g_assert_cmpfloat(sharing->penalty_s, ==, 300);
	g_assert_false(sharing->virtual_time_in_penalty);
	g_assert_cmpfloat(sharing->load, ==, 0);
	g_assert_cmpuint(sharing->week, ==, 1);
	g_assert_cmpfloat(config_environment(config)->lead_s, ==, 0);

	g_autoptr(config_t) none = load_model("penalty_s: 0", "128", &error);

	g_assert_no_error(error);
	g_assert_cmpfloat(config_environment(none)->sharing->penalty_s, ==, 0);
	g_assert_null(load_model("", "127", &error));
	g_assert_nonnull(
		strstr(error->message, "clusters[0].nodes: 127, but the jobs of the model"));
}

/* What a study stores of its configuration reads back equal. */
static void test_saved_configuration_reads_back_equal(void)
{
	static const char *const names[] = {"dfrs-fig1a",
					    "dfrs-fig1b",
					    "dfrs-fig1b-90",
					    "dfrs-table1-unscaled",
					    "dfrs-table1-unscaled-90",
					    "dfrs-table1-hpc2n",
					    "dfrs-table2",
					    NULL};

	for (int i = 0; i < (int)G_N_ELEMENTS(names); i++) {
		g_autofree char *file = g_strdup_printf("configs/papers/%s.yaml", names[i]);
		g_autofree char *path = g_build_filename(source_root, file, NULL);
		g_autofree char *copy = NULL;
		g_autofree char *first = NULL;
		g_autofree char *second = NULL;
		g_autoptr(GError) error = NULL;
		g_autoptr(config_t) config =
			names[i] ? config_controller_load(path, &error) : load_text(good, &error);
		g_autoptr(config_t) again = NULL;
		int fd = g_file_open_tmp("virtbed-sharing-XXXXXX.yaml", &copy, NULL);

		g_assert_true(g_close(fd, NULL));
		g_assert_no_error(error);
		g_assert_true(config_save(config, copy, &error));
		again = config_controller_load(copy, &error);
		g_assert_no_error(error);
		g_assert_true(g_file_get_contents(copy, &first, NULL, NULL));
		g_assert_true(config_save(again, copy, &error));
		g_assert_true(g_file_get_contents(copy, &second, NULL, NULL));
		g_unlink(copy);
		g_assert_cmpstr(first, ==, second);
		g_assert_cmpuint(config_environment(config)->sharing->list_count, ==,
				 config_environment(again)->sharing->list_count);
	}
}

static void test_sweeps_set_their_key(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) config = load_model("load: 0.5", "128", &error);
	const struct config_sweep *sweep = config_sweep_find("load");

	g_assert_no_error(error);
	g_assert_true(config_sweep_fits(sweep, config));
	g_assert_false(config_sweep_fits(config_sweep_find("burst"), config));
	config_sweep_apply(sweep, config, 0.7);
	g_assert_cmpfloat(config_environment(config)->sharing->load, ==, 0.7);
	config_sweep_apply(config_sweep_find("penalty_s"), config, 30);
	g_assert_cmpfloat(config_environment(config)->sharing->penalty_s, ==, 30);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_assert_cmpint(argc, ==, 2);
	source_root = argv[1];
	g_test_add_func("/config-sharing/bad-input-is-named", test_bad_input_is_named);
	g_test_add_func("/config-sharing/defaults-are-the-papers", test_defaults_are_the_papers);
	g_test_add_func("/config-sharing/saved-configuration-reads-back-equal",
			test_saved_configuration_reads_back_equal);
	g_test_add_func("/config-sharing/sweeps-set-their-key", test_sweeps_set_their_key);
	return g_test_run();
}
