/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Experiments with deadlines and queues (Gentry 2019): trials have the configured execution times
 * and tasks, runs end with all tasks done or dropped, and results hold what the paper shows.
 */
#include <glib/gstdio.h>
#include <string.h>

#include "controller/config/config_controller.h"
#include "controller/experiment/experiment.h"
#include "controller/experiment/trials.h"
#include "controller/workload/environment.h"
#include "controller/workload/environment_pruning.h"

#define MACHINE(name) "{name: " name ", nodes: 1, cores: 1, memory_mib: 512}"
#define TWO MACHINE("a") ", " MACHINE("b")
#define EIGHT                                                                                      \
	TWO ", " MACHINE("c") ", " MACHINE("d") ", " MACHINE("e") ", " MACHINE("f") ", " MACHINE(  \
		"g") ", " MACHINE("h")

static struct config *load(const char *machines, const char *pruning, const char *policies)
{
	g_autofree char *text = g_strdup_printf(
		"name: tasks\nclusters: [%s]\nenvironment: {pruning: {%s}}\n"
		"experiment: {policies: [%s], limits: [1], mapping_interval_s: 1e6, "
		"duration_s: 1e9}\n",
		machines, pruning, policies);
	g_autofree char *path = NULL;
	g_autoptr(GError) error = NULL;
	struct config *config;
	int fd = g_file_open_tmp("virtbed-pruning-XXXXXX.yaml", &path, NULL);

	g_assert_true(g_close(fd, NULL));
	g_assert_true(g_file_set_contents(path, text, -1, NULL));
	config = config_controller_load(path, &error);
	g_assert_no_error(error);
	g_unlink(path);
	return config;
}

/*
 * x takes 10 s on a and 20 s on b, y 30 s and 40 s. Under MM the first x goes to a, the second,
 * with 20 s on either, to a as well; y, due at 25, is late everywhere and leaves at its deadline.
 */
#define LISTED                                                                                     \
	"prices: [3600, 7200], entries: [{type: x, machine: a, samples: [10]}, "                   \
	"{type: x, machine: b, first: 20, masses: [1]}, "                                          \
	"{type: y, machine: a, samples: [30]}, {type: y, machine: b, samples: [40]}], "            \
	"list: [{type: x, arrival_s: 0, deadline_s: 10}, "                                         \
	"{type: x, arrival_s: 0, deadline_s: 30}, {type: y, arrival_s: 0, deadline_s: 25}]"

static void test_list_by_hand(void)
{
	g_autoptr(config_t) config = load(TWO, LISTED, "mm");
	g_autoptr(GError) error = NULL;
	g_autoptr(experiment_t) experiment = experiment_new(config, NULL, &error);
	struct experiment_trial trial;
	struct engine_setup setup;
	struct engine_result result;

	g_assert_no_error(error);
	g_assert_true(experiment_trial_init(experiment, 0, 1, &trial, &error));
	g_assert_cmpstr(trial.system->row_names[1], ==, "y");
	setup = experiment_trial_setup(experiment, &trial, &experiment->policies[0], 1);
	g_assert_true(experiment_simulate_run(experiment, &trial, &setup, &result, NULL));
	g_assert_cmpint(result.ended_by, ==, ENGINE_END_DONE);
	g_assert_cmpuint(result.tasks_counted, ==, 3);
	g_assert_cmpuint(result.tasks_on_time, ==, 2);
	g_assert_cmpfloat(result.utility, ==, 2);
	/* x all, y none. */
	g_assert_cmpfloat_with_epsilon(result.type_variance, 0.25, 1e-12);
	g_assert_cmpfloat_with_epsilon(result.busy_s, 10 + 10 + 25, 1e-9);
	g_assert_cmpfloat_with_epsilon(result.cost, 20 + 2 * 25, 1e-9);
	experiment_trial_clear(&trial);
}

/* The matrix is that of its seed in every trial; the tasks are others. */
/*
 * A task takes 50 s on one machine, the mean of both types, and 25 s on the other: 0.06 tasks a
 * second in all. A hundred that come three times as fast are there after 100 / 0.18 s, give or take
 * the phases of the types.
 */
static void test_demand_is_of_what_machines_can_do(void)
{
	g_autoptr(config_t) config = load(
		TWO,
		"tasks: 100, left_out: 0, demand: 3, level: 1, "
		"entries: [{type: x, machine: a, samples: [20]}, {type: x, machine: b, samples: [30]}, "
		"{type: y, machine: a, samples: [80]}, {type: y, machine: b, samples: [20]}]",
		"mm");
	g_autoptr(GError) error = NULL;
	g_autoptr(experiment_t) experiment = experiment_new(config, NULL, &error);
	struct experiment_trial trial;

	g_assert_no_error(error);
	g_assert_true(experiment_trial_init(experiment, 0, 1, &trial, &error));
	g_assert_cmpuint(trial.workload->tasks_count, ==, 100);
	g_assert_cmpfloat_with_epsilon(trial.workload->tasks[99].arrival_s, 100 / (3 * 0.06), 20);
	experiment_trial_clear(&trial);
}

static void test_trials_share_their_matrix(void)
{
	g_autoptr(config_t) config = load(EIGHT, "tasks: 300, left_out: 50", "pam");
	g_autoptr(GError) error = NULL;
	g_autoptr(environment_trial_t) one = environment_trial_new(config, NULL, 7, 1, &error);
	g_autoptr(environment_trial_t) two = environment_trial_new(config, NULL, 7, 2, &error);
	bool differ = false;

	g_assert_no_error(error);
	g_assert_cmpuint(one->workload->tasks_count, ==, 300);
	g_assert_cmpuint(one->system->rows_count, ==, PRUNING_TYPES);
	for (uint32_t i = 0; i < PRUNING_TYPES * PRUNING_MACHINES; i++)
		g_assert_true(pmf_equal(&one->machines->pet->entries[i].pmf,
					&two->machines->pet->entries[i].pmf));
	for (uint32_t i = 0; i < 300; i++)
		differ |= one->workload->tasks[i].arrival_s != two->workload->tasks[i].arrival_s;
	g_assert_true(differ);
}

/* The matrix of pet_seed 4 as the shipped file has it. */
static char *matrix_text(void)
{
	struct pet *pet = pruning_pet_new(4, 1);
	GString *text = g_string_new(
		"# The execution times of pet_seed 4, in time units: histograms of 500 gamma variates\n"
		"# each, in bins of one unit from the first to the last that is not empty.\n"
		"type,machine,mean,first,last\n");

	for (uint32_t type = 0; type < PRUNING_TYPES; type++)
		for (uint32_t m = 0; m < PRUNING_MACHINES; m++) {
			const struct pet_entry *entry = pet_at(pet, type, m);

			g_string_append_printf(text, "%s,m%u,%.3f,%d,%d\n", pruning_types[type],
					       m + 1, entry->mean, (int)entry->pmf.first,
					       (int)entry->pmf.first + (int)entry->pmf.count - 1);
		}
	pet_free(pet);
	return g_string_free(text, FALSE);
}

/* VIRTBED_REWRITE_GOLDEN=1 rewrites the file, for review. */
static void test_shipped_matrix(void)
{
	g_autofree char *path = g_test_build_filename(G_TEST_DIST, "..", "..", "..", "configs",
						      "papers", "pruning-pet.csv", NULL);
	g_autofree char *expected = matrix_text();
	g_autofree char *shipped = NULL;
	g_autoptr(GError) error = NULL;

	if (g_getenv("VIRTBED_REWRITE_GOLDEN"))
		g_file_set_contents(path, expected, -1, &error);
	g_assert_no_error(error);
	g_file_get_contents(path, &shipped, NULL, &error);
	g_assert_no_error(error);
	g_assert_cmpstr(shipped, ==, expected);
}

/* Bins that are too small for the queues, or for the matrix of ours, are named. */
static void test_bins_are_looked_at(void)
{
	static const struct {
		const char *machines;
		const char *pruning;
		const char *says;
	} cases[] = {
		{EIGHT, "bin_s: 1e-6", "environment.pruning.bin_s"},
		{EIGHT, "queue_length: 1000, bin_s: 0.1", "larger bins or shorter queues"},
		{TWO,
		 "bin_s: 0.001, queue_length: 1000, "
		 "entries: [{type: x, machine: a, samples: [1, 9]}, "
		 "{type: x, machine: b, samples: [1]}]",
		 "larger bins or shorter queues"},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(config_t) config = load(cases[i].machines, cases[i].pruning, "mm");
		g_autoptr(GError) error = NULL;
		g_autoptr(environment_trial_t) trial =
			environment_trial_new(config, NULL, 1, 1, &error);

		g_assert_null(trial);
		g_assert_nonnull(error);
		g_assert_nonnull(strstr(error->message, cases[i].says));
	}
}

static void test_threads_do_not_matter(void)
{
	g_autoptr(config_t) config = load(EIGHT, "tasks: 300, left_out: 50", "pam, pamf, mm");
	g_autoptr(GError) error = NULL;
	g_autoptr(experiment_t) experiment = experiment_new(config, NULL, &error);
	const double limit_j = 1;
	struct trials trials = {
		.experiment = experiment,
		.trials = 3,
		.jobs = 1,
		.limits_j = &limit_j,
		.limits_count = 1,
	};
	g_autofree struct engine_result *one = trials_run(&trials, &error);

	g_assert_no_error(error);
	trials.jobs = 3;

	g_autofree struct engine_result *three = trials_run(&trials, &error);

	g_assert_no_error(error);
	for (uint32_t i = 0; i < 3 * 3; i++) {
		g_assert_cmpuint(one[i].tasks_counted, ==, 200);
		g_assert_cmpuint(one[i].tasks_on_time, >, 0);
		g_assert_cmpuint(one[i].tasks_on_time, ==, three[i].tasks_on_time);
		g_assert_cmpfloat(one[i].type_variance, ==, three[i].type_variance);
		g_assert_cmpfloat(one[i].cost, ==, three[i].cost);
	}
}

/* Other policies have no queues to put tasks into. */
static void test_policies_that_do_not_fit_are_refused(void)
{
	g_autoptr(config_t) config = load(TWO, LISTED, "mm");
	const char *const names[] = {"easy", NULL};
	g_autoptr(GError) error = NULL;

	g_assert_null(experiment_new(config, names, &error));
	g_assert_true(g_error_matches(error, EXPERIMENT_ERROR, EXPERIMENT_ERROR_POLICY));
	g_assert_nonnull(strstr(error->message, "environment.pruning"));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/environment-pruning/list-by-hand", test_list_by_hand);
	g_test_add_func("/environment-pruning/demand-is-of-what-machines-can-do",
			test_demand_is_of_what_machines_can_do);
	g_test_add_func("/environment-pruning/trials-share-their-matrix",
			test_trials_share_their_matrix);
	g_test_add_func("/environment-pruning/matrix-is-the-shipped-one", test_shipped_matrix);
	g_test_add_func("/environment-pruning/bins-are-looked-at", test_bins_are_looked_at);
	g_test_add_func("/environment-pruning/threads-do-not-matter", test_threads_do_not_matter);
	g_test_add_func("/environment-pruning/policies-that-do-not-fit-are-refused",
			test_policies_that_do_not_fit_are_refused);
	return g_test_run();
}
