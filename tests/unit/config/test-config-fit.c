/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/lab_fit.h"
#include "controller/config/config_controller.h"

#include <math.h>
#include <string.h>

/*
 * A lab is fitted to machines that are smaller, larger, slower and faster than the one it was
 * chosen on.
 */

static const char *source_root;

static const char *const shipped[] = {"one-machine", "one-machine-preemption",
				      "one-machine-pruning", "one-machine-sharing"};
static const double speeds[] = {0.3, 1, 3};
static const double cores[] = {0.6, 1, 2, 8};

static struct config *load(const char *name)
{
	g_autofree char *file = g_strconcat(name, ".yaml", NULL);
	g_autofree char *path = g_build_filename(source_root, "configs", file, NULL);
	g_autoptr(GError) error = NULL;
	struct config *config = config_controller_load(path, &error);

	g_assert_no_error(error);
	return config;
}

static double room(const struct config *config, double of)
{
	return CONFIG_LAB_HOST_SHARE * of -
	       (config_lab_is_steady(config) ? CONFIG_LAB_STEADY_CORES : 0);
}

static void assert_near(double is, double wanted, double unit)
{
	g_assert_cmpfloat(fabs(is - wanted), <=, unit);
}

static void check_quotas(const struct config *was, const struct config *is,
			 const struct machine_probe *probe, const struct lab_fit *fit)
{
	const double a = fmin(1, room(was, probe->cores) / config_lab_cores(was));

	assert_near(fit->quotas, a, 1e-12);
	g_assert_cmpfloat(config_lab_cores(is), <=, room(is, probe->cores) + 1e-9);
	for (uint32_t c = 0; c < was->clusters_count; c++) {
		assert_near(is->clusters[c].max_mhz, was->clusters[c].max_mhz * a, 1);
		g_assert_cmpuint(is->clusters[c].memory_mib, ==, was->clusters[c].memory_mib);
		g_assert_cmpuint(is->clusters[c].swap_mib, ==, was->clusters[c].swap_mib);
	}
	for (uint32_t b = 0; b < was->lab->blades_count; b++) {
		g_assert_cmpfloat(is->lab->blades[b].cpu_cores, <=, probe->cores);
		g_assert_cmpfloat(is->lab->blades[b].cpu_cores, >=,
				  config_lab_blade_quotas(is, b) - 1e-9);
	}
}

static void check_work(const struct config *was, const struct config *is,
		       const struct machine_probe *probe, const struct lab_fit *fit)
{
	assert_near(fit->work, fit->quotas * probe->speed, 1e-12);
	for (uint32_t t = 0; t < was->types_count; t++)
		g_assert_cmpfloat(is->types[t].repetitions, ==,
				  fmax(1, round(was->types[t].repetitions * fit->work)));
	g_assert_cmpfloat(config_patience(is, 10), >=, 10 / fit->work - 1e-9);
	g_assert_cmpfloat(config_patience(is, 10), >=, 10);
	g_assert_cmpfloat(config_patience(is, 10), <=, fmax(10, 10 / fit->work + 0.1));
}

/* Runs have enough tasks, and no more where tasks cannot be made to last as long as elsewhere. */
static void check_experiment(const struct config *was, const struct config *is)
{
	if (!was->workload || !(was->workload->tasks > 0))
		return;
	g_assert_cmpfloat(is->workload->tasks, <=, was->workload->tasks);
	g_assert_cmpfloat(is->workload->tasks, >=, fmin(LAB_FIT_TASKS, was->workload->tasks));
	g_assert_cmpuint(is->experiment->profile_repeats, <=, was->experiment->profile_repeats);
	g_assert_cmpuint(is->experiment->profile_repeats, >=,
			 MIN(LAB_FIT_REPEATS, was->experiment->profile_repeats));
}

static void fit_one(const char *name, const struct machine_probe *probe)
{
	g_autoptr(config_t) was = load(name);
	g_autoptr(config_t) is = load(name);
	g_autoptr(GError) error = NULL;
	struct lab_fit fit;

	g_assert_true(config_lab_is_to_fit(was));
	g_assert_true(lab_fit(is, probe, &fit, &error));
	g_assert_no_error(error);
	g_assert_false(config_lab_is_to_fit(is));
	check_quotas(was, is, probe, &fit);
	check_work(was, is, probe, &fit);
	check_experiment(was, is);
	lab_fit_clear(&fit);
	/* Once is enough. */
	g_assert_true(lab_fit(is, probe, &fit, &error));
	g_assert_null(fit.notices);
}

static void test_shipped_labs_fit_every_machine(void)
{
	for (gsize n = 0; n < G_N_ELEMENTS(shipped); n++)
		for (gsize s = 0; s < G_N_ELEMENTS(speeds); s++)
			for (gsize c = 0; c < G_N_ELEMENTS(cores); c++)
				fit_one(shipped[n], &(struct machine_probe){.cores = cores[c],
									    .speed = speeds[s]});
}

/* What a run saves is what its daemons load. */
static void test_what_was_fitted_is_a_configuration(void)
{
	for (gsize n = 0; n < G_N_ELEMENTS(shipped); n++) {
		g_autoptr(config_t) config = load(shipped[n]);
		g_autoptr(GError) error = NULL;
		struct lab_fit fit;

		/* The sum is checked against this machine, whatever it has. */
		g_assert_true(lab_fit(config, &(struct machine_probe){.cores = 0.3, .speed = 1},
				      &fit, &error));
		g_assert_true(config_check(config, shipped[n], &error));
		g_assert_no_error(error);
		lab_fit_clear(&fit);
	}
}

static bool says(char *const *notices, const char *text)
{
	for (gsize i = 0; notices && notices[i]; i++)
		if (strstr(notices[i], text))
			return true;
	return false;
}

static void test_what_shrinks_and_what_cannot_is_told(void)
{
	g_autoptr(config_t) config = load("one-machine");
	struct lab_fit fit;

	g_assert_true(
		lab_fit(config, &(struct machine_probe){.cores = 0.6, .speed = 1}, &fit, NULL));
	g_assert_true(says(fit.notices, "CPU quotas and budgets are 0.2"));
	g_assert_true(says(fit.notices, "IS.S.2 "));
	g_assert_true(says(fit.notices, "type 'IS_CG.S.2': 1 repetition is the least"));
	g_assert_true(
		says(fit.notices, "4 measurements of each type on each cluster instead of 5"));
	g_assert_cmpfloat(config->workload->tasks, ==, 45);
	g_assert_cmpuint(config->experiment->profile_repeats, ==, 4);
	lab_fit_clear(&fit);
	config_free(config);
	config = load("one-machine");
	g_assert_true(
		lab_fit(config, &(struct machine_probe){.cores = 0.3, .speed = 0.5}, &fit, NULL));
	g_assert_true(says(
		fit.notices,
		"3 measurements of each type on each cluster instead of 5, and 36 tasks in a run "
		"instead of 45"));
	g_assert_cmpfloat(config->workload->tasks, ==, 36);
	lab_fit_clear(&fit);
	config_free(config);
	config = load("one-machine");
	g_assert_true(lab_fit(config, &(struct machine_probe){.cores = 2, .speed = 1}, &fit, NULL));
	g_assert_null(fit.notices[0]);
	g_assert_cmpfloat(config->workload->tasks, ==, 45);
	g_assert_cmpuint(config->experiment->profile_repeats, ==, 5);
	lab_fit_clear(&fit);
	config_free(config);
	config = load("one-machine");
	g_assert_true(lab_fit(config, &(struct machine_probe){.cores = 2, .speed = (double)NAN},
			      &fit, NULL));
	g_assert_true(says(fit.notices, "speed of emulated work is not known"));
	lab_fit_clear(&fit);
}

static void test_a_machine_that_is_too_small_is_refused(void)
{
	static const struct {
		double cores;
		const char *message;
	} cases[] = {
		{0.05, "lab.fit: a lab gets 0.05 cores of this machine, too few"},
		{0.08, "lab.fit: VMs of this lab need "},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(config_t) config = load("one-machine");
		g_autoptr(GError) error = NULL;
		struct lab_fit fit;

		g_assert_false(lab_fit(config,
				       &(struct machine_probe){.cores = cases[i].cores, .speed = 1},
				       &fit, &error));
		g_assert_error(error, CONFIG_ERROR, CONFIG_ERROR_MEANING);
		g_assert_true(g_str_has_prefix(error->message, cases[i].message));
	}
}

static void test_probes_are_checked(void)
{
	static const struct {
		const char *text, *message; /* NULL: good */
	} cases[] = {
		{"{\"cores\": 2, \"speed\": 0.3}", NULL},
		{"{\"cores\": 2, \"speed\": null, \"memory_mib\": 1, \"disk_mib\": 2, \"utc\": \"now\"}",
		 NULL},
		{"[]", "p.json: a probe is an object"},
		{"{\"cores\": 2", "p.json: "},
		{"{\"cores\": 0, \"speed\": 1}",
		 "p.json: 'cores' is not a number above 0 and up to 4096"},
		{"{\"cores\": 1}", "p.json: 'speed' is not a number above 0 and up to 1000"},
		{"{\"cores\": 1, \"speed\": -1}", "p.json: 'speed' is not a number"},
		{"{\"cores\": 1, \"speed\": 1, \"sped\": 1}",
		 "p.json: 'sped' is not a key of a probe"},
		{"{\"cores\": 1, \"speed\": 1, \"disk_mib\": \"much\"}",
		 "p.json: 'disk_mib' is not a whole number of MiB"},
		{"{\"cores\": 1, \"speed\": 1, \"utc\": 7}", "p.json: 'utc' is not a text"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(machine_probe_t) probe =
			machine_probe_parse(cases[i].text, strlen(cases[i].text), "p.json", &error);

		g_assert_true((probe != NULL) == (cases[i].message == NULL));
		if (cases[i].message && !g_str_has_prefix(error->message, cases[i].message))
			g_error("case %zu: %s", i, error->message);
	}
}

static void test_a_probe_reads_back(void)
{
	const struct machine_probe probe = {1.9704, 0.25, 2048, 4096,
					    (char *)"2024-05-01T12:00:00Z"};
	g_autofree char *text = machine_probe_text(&probe);
	g_autofree char *people = machine_probe_describe(&probe);
	g_autoptr(machine_probe_t) again = machine_probe_parse(text, strlen(text), "text", NULL);

	g_assert_nonnull(again);
	assert_near(again->cores, 1.9704, 1e-12);
	assert_near(again->speed, 0.25, 1e-12);
	g_assert_cmpuint(again->memory_mib, ==, 2048);
	g_assert_cmpuint(again->disk_mib, ==, 4096);
	g_assert_cmpstr(again->utc, ==, probe.utc);
	g_assert_cmpstr(people, ==,
			"1.97 cores for the lab, speed 0.25, 2.0 GiB of memory, 4.0 GiB of disk");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_assert_cmpint(argc, ==, 2);
	source_root = argv[1];
	g_test_add_func("/config/fit/shipped labs fit every machine",
			test_shipped_labs_fit_every_machine);
	g_test_add_func("/config/fit/what was fitted is a configuration",
			test_what_was_fitted_is_a_configuration);
	g_test_add_func("/config/fit/what shrinks and what cannot is told",
			test_what_shrinks_and_what_cannot_is_told);
	g_test_add_func("/config/fit/a machine that is too small is refused",
			test_a_machine_that_is_too_small_is_refused);
	g_test_add_func("/config/fit/probes are checked", test_probes_are_checked);
	g_test_add_func("/config/fit/a probe reads back", test_a_probe_reads_back);
	return g_test_run();
}
