/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/config/config.h"
#include "controller/config/config_controller.h"
#include "controller/config/config_environment.h"
#include "controller/config/config_study.h"
#include "controller/config/config_sweep.h"

#include <glib/gstdio.h>
#include <string.h>

/*
 * Serial environments and the sweeps of their studies: the shipped ones load, defaults are the
 * paper's, and what makes no sense is refused with its key.
 */

static const char *source_root;

static char *read_shipped(void)
{
	g_autofree char *path =
		g_build_filename(source_root, "configs/papers/preemption-fig4.yaml", NULL);
	char *text = NULL;

	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	return text;
}

/* Loads the shipped configuration of Fig. 4 with the first `from` replaced by `to`. */
static struct config *load_variant(const char *from, const char *to, GError **error)
{
	g_autofree char *text = read_shipped();
	g_autofree char *path = NULL;
	const char *place = strstr(text, from);
	g_autoptr(GString) variant = g_string_new(NULL);
	struct config *config;
	int fd = g_file_open_tmp("virtbed-serial-XXXXXX.yaml", &path, NULL);

	g_assert_nonnull(place);
	g_string_append_len(variant, text, place - text);
	g_string_append(variant, to);
	g_string_append(variant, place + strlen(from));
	g_assert_true(g_close(fd, NULL));
	g_assert_true(g_file_set_contents(path, variant->str, -1, NULL));
	config = config_controller_load(path, error);
	g_unlink(path);
	return config;
}

static const struct {
	const char *from, *to;
	const char *message; /* must be part of the error */
} bad_cases[] = {
	{"burst: 64", "burst: 0", "environment.serial.burst: 0 makes no sense"},
	{"burst: 64", "burst: 0.5", "environment.serial.burst: 0.5 is outside 1 to 10000"},
	{"burst: 64", "bursts: 64", "unknown key 'bursts'; known here: spread, burst"},
	{"utility: classes", "utility: stairs", "stairs"},
	{"spread: 0.5", "spread: 1", "environment.serial.spread: 1 is outside [0, 1)"},
	{"critical_share: 0.2", "critical_share: 1.2",
	 "environment.serial.critical_share: 1.2 is outside 0 to 1"},
	{"critical_utility: 8", "critical_utility: -8",
	 "environment.serial.critical_utility: -8 is outside"},
	{"critical_mean_s: 600", "critical_mean_s: 0.5",
	 "environment.serial.critical_mean_s: 0.5 is outside"},
	{"ordinary_mean_s: 3000", "ordinary_mean_s: 1e9",
	 "environment.serial.ordinary_mean_s: 1e+09 is outside"},
	{"may_preempt_share: 1", "may_preempt_share: 1.5",
	 "environment.serial.may_preempt_share: 1.5 is outside 0 to 1"},
	{"preemptible_share: 1", "preemptible_share: -1",
	 "environment.serial.preemptible_share: -1 is outside 0 to 1"},
	{"lead_s: 14400", "lead_s: 14400\n  trace: x.swf", "environment.trace: "},
	{"lead_s: 14400", "lead_s: 14400\n  special: [a]", "environment.special: serial tasks run"},
	{"lead_s: 14400", "lead_s: 14400\n  pstates: 3", "environment.pstates: 3, but serial"},
	{"cores: 1", "cores: 2", "clusters[0].cores: 2, but with environment.serial"},
	{"limits: [1]", "limits: [0.5, 1]", "study.x: 'burst' with several experiment.limits"},
	{"  limits: [1]\n  mapping_interval_s: 60\n  duration_s: 100800\n\nstudy:\n  trials: 64\n"
	 "  x: burst\n  values: [1, 16, 32, 64, 128]\n",
	 "  limits: [0.5, 1]\n  mapping_interval_s: 60\n  duration_s: 100800\n",
	 "experiment.limits: the tasks of environment.serial use no energy"},
	{"x: burst", "x: weight",
	 "study.x: 'weight' is none of policy, limit, leniency, drop, size, burst"},
	{"x: burst", "x: policy", "study.values: nothing to sweep"},
	{"  x: burst\n", "", "study.values: nothing to sweep; give study.x as one of burst"},
	{"  values: [1, 16, 32, 64, 128]", "", "study.x: 'burst' without study.values"},
	{"[1, 16,", "[1, many,", "study.values[1]: 'many' is not a number"},
	{"[1, 16,", "[1, 0.2,", "study.values[1]: 0.2 is outside 1 to 10000"},
	{"[1, 16,", "[1, 16, 1.0,", "study.values[2]: 1.0 appears twice"},
	{"x: burst", "x: flags", "study.values[1]: 16 is outside 0 to 1"},
	{"x: burst", "x: utility", "study.values[0]: '1' is none of classes, step, decay"},
	{"x: burst", "x: burst\n  sizes: [0.5, 1]", "study.x: 'burst' with several study.sizes"},
};

static void test_bad_input_is_named(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(bad_cases); i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(config_t) config =
			load_variant(bad_cases[i].from, bad_cases[i].to, &error);

		g_assert_null(config);
		g_assert_nonnull(error);
		if (!strstr(error->message, bad_cases[i].message))
			g_error("case %zu: \"%s\" lacks \"%s\"", i, error->message,
				bad_cases[i].message);
	}
}

static void test_sweeps_need_serial_tasks(void)
{
	g_autofree char *path =
		g_build_filename(source_root, "configs/papers/energy-5000.yaml", NULL);
	g_autofree char *other = NULL;
	g_autofree char *text = NULL;
	g_autofree char *swept = NULL;
	g_autoptr(GError) error = NULL;
	int fd = g_file_open_tmp("virtbed-serial-XXXXXX.yaml", &other, NULL);

	g_assert_true(g_close(fd, NULL));
	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	swept = g_strconcat(text, "study: {x: burst, values: [1, 2]}\n", NULL);
	g_assert_true(g_file_set_contents(other, swept, -1, NULL));
	g_assert_null(config_controller_load(other, &error));
	g_unlink(other);
	g_assert_nonnull(strstr(error->message, "study.x: 'burst' needs environment.serial"));
}

/* An empty `serial` is the paper's environment, and zeros that are written stay. */
static void test_defaults_are_the_papers(void)
{
	g_autofree char *text = read_shipped();
	const char *serial = strstr(text, "  serial:");
	g_autofree char *from =
		g_strndup(serial, (gsize)(strstr(serial, "\nexperiment:") - serial));
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) shipped = load_variant(from, from, &error);
	g_autoptr(config_t) empty = load_variant(from, "  serial: {}\n", &error);
	g_autoptr(config_t) zeros =
		load_variant(from,
			     "  serial: {spread: 0, critical_share: 0, may_preempt_share: 0, "
			     "preemptible_share: 0}\n",
			     &error);

	g_assert_no_error(error);
	g_assert_cmpmem(config_environment(shipped)->serial, sizeof(struct config_serial),
			config_environment(empty)->serial, sizeof(struct config_serial));
	g_assert_cmpuint(config_environment(shipped)->pstates, ==, 1);
	g_assert_cmpfloat(shipped->experiment->budget_j, >, 0);
	g_assert_cmpfloat(config_environment(zeros)->serial->spread, ==, 0);
	g_assert_cmpfloat(config_environment(zeros)->serial->critical_share, ==, 0);
	g_assert_cmpfloat(config_environment(zeros)->serial->may_preempt_share, ==, 0);
	g_assert_cmpfloat(config_environment(zeros)->serial->preemptible_share, ==, 0);
}

/* What a study stores of its configuration reads back equal. */
static void test_saved_configuration_reads_back_equal(void)
{
	for (int figure = 3; figure <= 7; figure++) {
		g_autofree char *name =
			g_strdup_printf("configs/papers/preemption-fig%d.yaml", figure);
		g_autofree char *path = g_build_filename(source_root, name, NULL);
		g_autofree char *copy = NULL;
		g_autofree char *first = NULL;
		g_autofree char *second = NULL;
		g_autoptr(GError) error = NULL;
		g_autoptr(config_t) config = config_controller_load(path, &error);
		g_autoptr(config_t) again = NULL;
		int fd = g_file_open_tmp("virtbed-serial-XXXXXX.yaml", &copy, NULL);

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
		g_assert_cmpuint(config_study(config)->trials, ==, 64);
	}
}

/* Each sweep changes what it is called after. */
static void test_sweeps_set_their_key(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) config = load_variant("name:", "name:", &error);
	const struct config_serial *serial = config_environment(config)->serial;
	const struct {
		const char *name, *text;
		const double *field;
		double value;
	} cases[] = {
		{"burst", "128", &serial->burst, 128},
		{"critical_mean_s", "1.8e3", &serial->critical_mean_s, 1800},
		{"critical_utility", "4", &serial->critical_utility, 4},
		{"flags", "0.6", &serial->may_preempt_share, 0.6},
		{"flags", "0.2", &serial->preemptible_share, 0.2},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct config_sweep *sweep = config_sweep_find(cases[i].name);
		double value = 0;

		g_assert_null(config_sweep_read(sweep, cases[i].text, &value));
		config_sweep_apply(sweep, config, value);
		g_assert_cmpfloat(*cases[i].field, ==, cases[i].value);
	}
	for (int utility = CONFIG_UTILITY_CLASSES; utility <= CONFIG_UTILITY_DECAY; utility++) {
		static const char *const words[] = {"classes", "step", "decay"};
		const struct config_sweep *sweep = config_sweep_find("utility");
		double value = -1;

		g_assert_null(config_sweep_read(sweep, words[utility], &value));
		config_sweep_apply(sweep, config, value);
		g_assert_cmpint(serial->utility, ==, utility);
	}
	g_assert_null(config_sweep_find("size"));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_assert_cmpint(argc, ==, 2);
	source_root = argv[1];
	g_test_add_func("/config-serial/bad-input-is-named", test_bad_input_is_named);
	g_test_add_func("/config-serial/sweeps-need-serial-tasks", test_sweeps_need_serial_tasks);
	g_test_add_func("/config-serial/defaults-are-the-papers", test_defaults_are_the_papers);
	g_test_add_func("/config-serial/saved-configuration-reads-back-equal",
			test_saved_configuration_reads_back_equal);
	g_test_add_func("/config-serial/sweeps-set-their-key", test_sweeps_set_their_key);
	return g_test_run();
}
