/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/config/config.h"
#include "controller/config/config_controller.h"
#include "controller/config/config_environment.h"
#include "controller/config/config_study.h"
#include "controller/config/config_sweep.h"

#include <glib/gstdio.h>
#include <string.h>

/*
 * Environments of tasks with deadlines and the sweeps of their studies: the shipped ones load,
 * defaults are the paper's, execution times come from a file, and what makes no sense is refused
 * with its key.
 */

static const char *source_root;
static char *folder;

/* Writes a text to a file in the test's folder; the caller frees the path. */
static char *write_text(const char *name, const char *text)
{
	char *path = g_build_filename(folder, name, NULL);

	g_assert_true(g_file_set_contents(path, text, -1, NULL));
	return path;
}

static struct config *load_text(const char *text, GError **error)
{
	g_autofree char *path = write_text("config.yaml", text);

	return config_controller_load(path, error);
}

#define PET                                                                                        \
	"entries:\n"                                                                               \
	"  - {type: x, machine: a, samples: [1, 2, 3]}\n"                                          \
	"  - {type: x, machine: b, first: 2, masses: [0.25, 0.75]}\n"                              \
	"  - {type: y, machine: a, masses: [0.5, 0.5]}\n"                                          \
	"  - {type: y, machine: b, samples: [4]}\n"

static const char good[] = "name: tasks\n"
			   "clusters:\n"
			   "  - {name: a, nodes: 1, cores: 1, memory_mib: 512}\n"
			   "  - {name: b, nodes: 1, cores: 1, memory_mib: 512}\n"
			   "environment:\n"
			   "  seed: 3\n"
			   "  pruning:\n"
			   "    slack: 1\n"
			   "    pet: pet.yaml\n"
			   "    prices: [0.5, 2]\n"
			   "    list:\n"
			   "      - {type: x, arrival_s: 0, deadline_s: 5}\n"
			   "      - {type: y, arrival_s: 1, deadline_s: 4}\n"
			   "experiment:\n"
			   "  policies: [pam, mm]\n"
			   "  limits: [1]\n"
			   "  mapping_interval_s: 1e6\n"
			   "  duration_s: 1e9\n"
			   "study: {trials: 2}\n";

/* A text with the first `from` replaced by `to`; the caller frees. */
static char *replaced(const char *text, const char *from, const char *to)
{
	const char *place = strstr(text, from);

	g_assert_nonnull(place);
	return g_strdup_printf("%.*s%s%s", (int)(place - text), text, to, place + strlen(from));
}

static const struct {
	const char *from, *to;
	const char *message; /* must be part of the error */
} bad_cases[] = {
	{"type: y, a", "type: z, a", "environment.pruning.list[1].type: no type 'z' in the exec"},
	{"deadline_s: 4", "deadline_s: 1", "list[1].deadline_s: 1 is not after the arrival at 1"},
	{"deadline_s: 5", "deadline_s: -2", "list[0].deadline_s: -2 is not after the arrival"},
	{"arrival_s: 0,", "arrival_s: 2,", "list[1].arrival_s: 1 is below 0 or before"},
	{"slack: 1", "queue_length: 0", "environment.pruning.queue_length: 0 makes no sense"},
	{"slack: 1", "queue_length: 1001", "queue_length: 1001 is outside [1, 1000]"},
	{"slack: 1", "slack: -1", "environment.pruning.slack: -1 is outside [0,"},
	{"slack: 1", "demand: -2", "environment.pruning.demand: -2 is outside [0,"},
	{"slack: 1", "drop_threshold: 1.1", "drop_threshold: 1.1 is outside [0, 1]"},
	{"slack: 1", "recency: -0.1", "environment.pruning.recency: -0.1 is outside [0, 1]"},
	{"slack: 1", "toggle: -1", "environment.pruning.toggle: -1 is outside (0,"},
	{"slack: 1", "left_out: 1", "environment.pruning.left_out: 1 of 2 tasks at either end"},
	{"    list:\n      - {type: x, arrival_s: 0, deadline_s: 5}\n"
	 "      - {type: y, arrival_s: 1, deadline_s: 4}\n",
	 "    tasks: 200\n",
	 "environment.pruning.tasks: of 200 tasks the first and last 100 do not count"},
	{"slack: 1", "fair: 1", "unknown key 'fair'"},
	{"prices: [0.5, 2]", "prices: [1]", "environment.pruning.prices: 1 for 2 clusters"},
	{"prices: [0.5, 2]", "prices: [1, -1]", "environment.pruning.prices[1]: -1 is outside"},
	{"prices: [0.5, 2]", "entries: [{type: x, machine: a, samples: [1]}]",
	 "environment.pruning.pet: 'pet.yaml', but there are entries as well"},
	{"pet: pet.yaml", "pet: none.yaml", "none.yaml' cannot be read"},
	{"    pet: pet.yaml\n", "", "clusters: 2, but the drawn execution times are those of 8"},
	{"seed: 3", "serial: {}", "environment.pruning: tasks have deadlines and queues"},
	{"seed: 3", "lead_s: 600", "environment: special, pstates and lead_s are of no use"},
	{"limits: [1]", "limits: [0.5, 1]", "experiment.limits: tasks of environment.pruning"},
	{"trials: 2", "sizes: [0.5, 1]", "study.sizes: a machine of environment.pruning executes"},
	{"trials: 2", "x: level, values: [1]", "study.x: 'level' needs environment.pruning"},
	{"trials: 2", "x: load, values: [1]", "study.x: 'load' needs environment.sharing"},
};

/* The same for the file of execution times. */
static const struct {
	const char *from, *to;
	const char *message;
} bad_pets[] = {
	{"0.25, 0.75", "0.25, 0.7", "entries[1].masses: they sum to 0.95, not to 1"},
	{"0.25, 0.75", "-0.25, 1.25", "entries[1].masses[0]: -0.25 is a negative mass"},
	{"samples: [4]", "samples: []", "entries[3]: type 'y' on machine 'b' has no samples"},
	{"samples: [4]", "samples: [0]", "entries[3].samples[0]: 0 is not an execution time"},
	{"samples: [4]", "samples: [4], masses: [1]", "entries[3]: give samples or masses"},
	{"samples: [4]", "samples: [.inf]", "pet.yaml:5:"},
	{"machine: b, first: 2", "machine: c, first: 2", "entries[1].machine: no cluster 'c'"},
	{"machine: b, first: 2", "machine: b, first: 0", "first: 0 makes no sense"},
	{"machine: b, first: 2", "machine: a", "entries[1]: type 'x' on machine 'a' appears twice"},
	{"  - {type: y, machine: b, samples: [4]}\n", "",
	 "entries: type 'y' has no execution times on machine 'b'"},
};

static void expect(const char *text, size_t number, const char *message)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) config = load_text(text, &error);

	if (config)
		g_error("case %zu is taken", number);
	g_assert_cmpint(error->domain, ==, CONFIG_ERROR);
	if (!strstr(error->message, message))
		g_error("case %zu: \"%s\" lacks \"%s\"", number, error->message, message);
}

static void test_bad_input_is_named(void)
{
	g_autofree char *pet = write_text("pet.yaml", PET);

	for (size_t i = 0; i < G_N_ELEMENTS(bad_cases); i++) {
		g_autofree char *text = replaced(good, bad_cases[i].from, bad_cases[i].to);

		expect(text, i, bad_cases[i].message);
	}
	for (size_t i = 0; i < G_N_ELEMENTS(bad_pets); i++) {
		g_autofree char *text = replaced(PET, bad_pets[i].from, bad_pets[i].to);
		g_autofree char *path = write_text("pet.yaml", text);

		expect(good, i, bad_pets[i].message);
	}
	g_unlink(pet);
}

static void test_execution_times_are_read_into_the_configuration(void)
{
	g_autofree char *pet = write_text("pet.yaml", PET);
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) config = load_text(good, &error);
	const struct config_pruning *pruning;

	g_assert_no_error(error);
	g_unlink(pet);
	pruning = config_environment(config)->pruning;
	g_assert_null(pruning->pet);
	g_assert_cmpuint(pruning->entries_count, ==, 4);
	g_assert_cmpuint(pruning->entries[0].samples_count, ==, 3);
	g_assert_cmpuint(pruning->entries[1].first, ==, 2);
	g_assert_cmpuint(pruning->entries[2].first, ==, 1);
	g_assert_cmpfloat(pruning->entries[1].masses[1], ==, 0.75);
	/* All of a short list counts unless it is said that it does not. */
	g_assert_cmpuint(pruning->left_out, ==, 0);
}

#define MACHINE(name) "{name: " name ", nodes: 1, cores: 1, memory_mib: 512}"
#define DRAWN                                                                                                                                                               \
	"name: tasks\nclusters: [" MACHINE("a") ", " MACHINE("b") ", " MACHINE("c") ", " MACHINE(                                                                           \
		"d") ", " MACHINE("e") ", " MACHINE("f") ", " MACHINE("g") ", " MACHINE("h") "]\nenvironment: {pruning: {%s}}\nexperiment: {policies: [pam], limits: [1], " \
											     "mapping_interval_s: 1e6, duration_s: 1e9}\n"

static struct config *load_drawn(const char *pruning)
{
	g_autofree char *text = g_strdup_printf(DRAWN, pruning);
	g_autoptr(GError) error = NULL;
	struct config *config = load_text(text, &error);

	g_assert_no_error(error);
	return config;
}

static void test_defaults_are_the_papers(void)
{
	g_autoptr(config_t) config = load_drawn("");
	g_autoptr(config_t) other = load_drawn("drop_threshold: 0.25, separation: 0, evict: false");
	const struct config_pruning *pruning = config_environment(config)->pruning;

	g_assert_cmpuint(pruning->tasks, ==, 800);
	g_assert_cmpuint(pruning->left_out, ==, 100);
	g_assert_cmpuint(pruning->queue_length, ==, 6);
	g_assert_cmpfloat(pruning->drop_threshold, ==, 0.5);
	g_assert_cmpfloat(pruning->defer_threshold, ==, 0.9);
	g_assert_cmpfloat(pruning->recency, ==, 0.9);
	g_assert_cmpfloat(pruning->toggle, ==, 1);
	g_assert_cmpfloat(pruning->separation, ==, 0.2);
	g_assert_cmpfloat(pruning->fairness, ==, 0.05);
	g_assert_cmpfloat(pruning->cull_threshold, ==, 0.3);
	g_assert_true(pruning->evict);
	pruning = config_environment(other)->pruning;
	g_assert_cmpfloat(pruning->adjustment, ==, 0.25);
	g_assert_cmpfloat(pruning->separation, ==, 0);
	g_assert_false(pruning->evict);
}

/* A configuration that was loaded, as a study stores it: it reads back equal. */
static void assert_reads_back(const struct config *config)
{
	g_autofree char *copy = g_build_filename(folder, "copy.yaml", NULL);
	g_autofree char *first = NULL;
	g_autofree char *second = NULL;
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) again = NULL;

	g_assert_true(config_save(config, copy, &error));
	again = config_controller_load(copy, &error);
	g_assert_no_error(error);
	g_assert_true(g_file_get_contents(copy, &first, NULL, NULL));
	g_assert_true(config_save(again, copy, &error));
	g_assert_true(g_file_get_contents(copy, &second, NULL, NULL));
	g_unlink(copy);
	g_assert_cmpstr(first, ==, second);
}

static void test_saved_configuration_reads_back_equal(void)
{
	static const char *const names[] = {
		"pruning-fig4",        "pruning-fig4-single", "pruning-fig4-toggle",
		"pruning-fig5-drop25", "pruning-fig5-drop50", "pruning-fig5-drop75",
		"pruning-fig6",        "pruning-fig7",        "pruning-fig7-lower",
		"pruning-fig8",        "pruning-fig9",
	};
	g_autofree char *pet = write_text("pet.yaml", PET);
	g_autoptr(config_t) zeros = load_drawn(
		"separation: 0, fairness: 0, drop_threshold: 0, adjustment: 0, slack: 0, "
		"left_out: 0, recency: 0, evict: false");
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) listed = load_text(good, &error);

	g_assert_no_error(error);
	g_unlink(pet);
	assert_reads_back(zeros);
	assert_reads_back(listed);
	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree char *file = g_strdup_printf("configs/papers/%s.yaml", names[i]);
		g_autofree char *path = g_build_filename(source_root, file, NULL);
		g_autoptr(config_t) config = config_controller_load(path, &error);

		g_assert_no_error(error);
		g_assert_cmpuint(config_study(config)->trials, ==, 30);
		assert_reads_back(config);
	}
}

/* Types that hosts can run, and whose execution times are not measured yet. */
static void test_execution_times_can_be_measured_later(void)
{
	static const char types[] =
		"types: [{name: x, benchmark: is, class: S, cores: 1, memory_mib: 64, share: 0.5,\n"
		"  utility_max: 1, constant_until: 3, zero_at: 3},\n"
		"  {name: y, benchmark: cg, class: S, cores: 1, memory_mib: 64, share: 0.5,\n"
		"  utility_max: 1, constant_until: 3, zero_at: 3}]\nenvironment:";
	g_autofree char *unmeasured = replaced(good, "    pet: pet.yaml\n", "");
	g_autofree char *hostless = replaced(unmeasured, "environment:", types);
	g_autofree char *one =
		replaced(hostless, "name: a, ", "name: a, hosts: [{uri: 'test:///default'}], ");
	g_autofree char *text =
		replaced(one, "name: b, ", "name: b, hosts: [{uri: 'test:///default'}], ");
	g_autofree char *pet = NULL;
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) config = load_text(text, &error);

	g_assert_no_error(error);
	expect(hostless, 0, "environment.pruning.pet: none, but types are given");
	g_assert_true(config_wants_pet(config));
	assert_reads_back(config);
	pet = write_text("pet.yaml", "entries: [{type: x, machine: a, samples: [1]}]");
	g_assert_false(config_load_pet(config, pet, &error));
	g_assert_error(error, CONFIG_ERROR, CONFIG_ERROR_MEANING);
	g_clear_error(&error);
	g_assert_true(config_wants_pet(config));
	g_assert_true(g_file_set_contents(pet, PET, -1, NULL));
	g_assert_true(config_load_pet(config, pet, &error));
	g_assert_true(config_load_pet(config, pet, &error));
	g_unlink(pet);
	g_assert_false(config_wants_pet(config));
	g_assert_cmpuint(config_environment(config)->pruning->entries_count, ==, 4);
	g_assert_cmpfloat(config_environment(config)->pruning->entries[3].samples[0], ==, 4);
	assert_reads_back(config);
}

static void test_sweeps_set_their_key(void)
{
	g_autoptr(config_t) config = load_drawn("");
	const struct config_pruning *pruning = config_environment(config)->pruning;

	g_assert_true(config_sweep_fits(config_sweep_find("level"), config));
	g_assert_false(config_sweep_fits(config_sweep_find("burst"), config));
	g_assert_false(config_sweep_fits(config_sweep_find("load"), config));
	config_sweep_apply(config_sweep_find("level"), config, 19000);
	config_sweep_apply(config_sweep_find("recency"), config, 0.3);
	config_sweep_apply(config_sweep_find("defer_threshold"), config, 0.6);
	config_sweep_apply(config_sweep_find("fairness"), config, 0.25);
	g_assert_cmpfloat(pruning->level, ==, 19000);
	g_assert_cmpfloat(pruning->recency, ==, 0.3);
	g_assert_cmpfloat(pruning->defer_threshold, ==, 0.6);
	g_assert_cmpfloat(pruning->fairness, ==, 0.25);
}

int main(int argc, char **argv)
{
	int result;

	g_test_init(&argc, &argv, NULL);
	g_assert_cmpint(argc, ==, 2);
	source_root = argv[1];
	folder = g_dir_make_tmp("virtbed-pruning-XXXXXX", NULL);
	g_assert_nonnull(folder);
	g_test_add_func("/config-pruning/bad-input-is-named", test_bad_input_is_named);
	g_test_add_func("/config-pruning/execution-times-are-read-into-the-configuration",
			test_execution_times_are_read_into_the_configuration);
	g_test_add_func("/config-pruning/defaults-are-the-papers", test_defaults_are_the_papers);
	g_test_add_func("/config-pruning/saved-configuration-reads-back-equal",
			test_saved_configuration_reads_back_equal);
	g_test_add_func("/config-pruning/execution-times-can-be-measured-later",
			test_execution_times_can_be_measured_later);
	g_test_add_func("/config-pruning/sweeps-set-their-key", test_sweeps_set_their_key);
	result = g_test_run();
	g_autofree char *left = g_build_filename(folder, "config.yaml", NULL);

	g_unlink(left);
	g_rmdir(folder);
	g_free(folder);
	return result;
}
