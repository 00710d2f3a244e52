/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib/gstdio.h>
#include <math.h>

#include "common/config/config.h"
#include "controller/config/config_controller.h"

/*
 * Times that follow from the estimates (workload.load, workload.tasks, experiment.mapping_interval,
 * experiment.duration): worked out by hand for one system, scaled with its execution times, given
 * in seconds instead, and refused where they make no sense.
 */

/*
 * Two nodes of a run one task of two cores, the one node of b another: 1/10 + 1/5 tasks per second,
 * 6.67 s each.
 */
static const char head[] =
	"name: t\n"
	"clusters:\n"
	"  - {name: a, nodes: 2, cores: 1, memory_mib: 100}\n"
	"  - {name: b, nodes: 1, cores: 2, memory_mib: 200}\n"
	"types:\n"
	"  - {name: x, benchmark: is, class: S, cores: 2, memory_mib: 200, share: 1}\n"
	"  - {name: y, benchmark: cg, class: S, cores: 2, memory_mib: 200, share: 0}\n";

static const char relative[] =
	"workload: {load: 1.5, tasks: 45, utility_max: [1]}\n"
	"experiment: {policies: [easy], limits: [1], mapping_interval: 0.15, "
	"duration: 1.25}\n";

/*
 * Estimates of type x on both clusters; what type y takes counts for nothing, since none arrives.
 */
static char *estimates(double a_s, double b_s)
{
	return g_strdup_printf("estimates:\n"
			       "  - {type: x, cluster: a, etc_s: %g, eec_j: 3}\n"
			       "  - {type: x, cluster: b, etc_s: %g, eec_j: 3}\n"
			       "  - {type: y, cluster: a, etc_s: 1000, eec_j: 3}\n"
			       "  - {type: y, cluster: b, etc_s: 1000, eec_j: 3}\n",
			       a_s, b_s);
}

static char *write_file(const char *first, const char *second, const char *third)
{
	g_autofree char *path = NULL;
	g_autofree char *text = g_strconcat(first, second, third, NULL);
	int fd = g_file_open_tmp("virtbed-times-XXXXXX.yaml", &path, NULL);

	g_assert_true(g_close(fd, NULL));
	g_assert_true(g_file_set_contents(path, text, -1, NULL));
	return g_steal_pointer(&path);
}

static struct config *load(const char *second, const char *third, GError **error)
{
	g_autofree char *path = write_file(head, second, third);
	struct config *config = config_controller_load(path, error);

	g_unlink(path);
	return config;
}

static void assert_near(double value, double expected)
{
	g_assert_cmpfloat_with_epsilon(value, expected, 1e-9 * fabs(expected));
}

static void assert_times(const struct config *config, double scale)
{
	g_assert_true(config_times_known(config));
	assert_near(config->workload->arrival_mean_s, 2.22 * scale); /* 1 / (1.5 x 0.3) */
	assert_near(config->workload->duration_s, 99.9 * scale);
	assert_near(config->experiment->mapping_interval_s, 1 * scale); /* 0.15 x 6.67 */
	assert_near(config->experiment->duration_s, 125 * scale);
}

static void test_follow_from_estimates(void)
{
	g_autofree char *measured = estimates(10, 5);
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) config = load(measured, relative, &error);

	g_assert_no_error(error);
	g_assert_true(config_times_follow(config));
	assert_times(config, 1);
}

/* The same experiment on hosts that take ten times as long lasts ten times as long. */
static void test_scale_with_execution_times(void)
{
	g_autofree char *measured = estimates(100, 50);
	g_autoptr(config_t) config = load(measured, relative, NULL);

	g_assert_nonnull(config);
	assert_times(config, 10);
}

static void test_unknown_until_measured(void)
{
	g_autofree char *measured = estimates(10, 5);
	g_autofree char *path = write_file(measured, "", "");
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) config = load("", relative, &error);

	g_assert_no_error(error);
	g_assert_false(config_times_known(config));
	g_assert_true(config_load_estimates(config, path, &error));
	g_assert_no_error(error);
	assert_times(config, 1);
	g_unlink(path);
}

/*
 * A configuration that was saved with its times has those of the estimates that it is given next.
 */
static void test_follow_again_after_saving(void)
{
	g_autofree char *slow = estimates(100, 50);
	g_autofree char *measured = estimates(10, 5);
	g_autofree char *saved = write_file("", "", "");
	g_autofree char *path = write_file(measured, "", "");
	g_autoptr(config_t) first = load(slow, relative, NULL);
	g_autoptr(config_t) second = NULL;

	g_assert_nonnull(first);
	g_assert_true(config_save(first, saved, NULL));
	second = config_controller_load(saved, NULL);
	g_assert_nonnull(second);
	assert_times(second, 10);
	g_assert_true(config_load_estimates(second, path, NULL));
	assert_times(second, 1);
	g_unlink(saved);
	g_unlink(path);
}

static void test_service_takes_the_interval(void)
{
	g_autofree char *measured = estimates(10, 5);
	g_autofree char *text = g_strconcat(measured, "service: {policy: easy}\n", NULL);
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) config = load(text, relative, &error);

	g_assert_no_error(error);
	assert_near(config->service->mapping_interval_s, 1);
}

/* A 0 is the same as leaving it out, also where times are given in seconds. */
static void test_service_takes_the_interval_for_0(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) config =
		load("service: {mapping_interval_s: 0}\n",
		     "workload: {arrival_mean_s: 1, duration_s: 9, utility_max: [1]}\n"
		     "experiment: {policies: [easy], limits: [1], mapping_interval_s: 7, "
		     "duration_s: 10}\n",
		     &error);

	g_assert_no_error(error);
	assert_near(config->service->mapping_interval_s, 7);
}

/*
 * An interval that the service is not given is that of the experiment, whatever is measured later.
 */
static void test_service_follows_new_estimates(void)
{
	static const struct {
		const char *service;
		double before_s, after_s;
	} cases[] = {
		{"service: {policy: easy}\n", 1, 2},
		{"service: {mapping_interval_s: 0}\n", 1, 2},
		{"service: {mapping_interval_s: 3}\n", 3, 3},
		/* Equal by chance. */
		{"service: {mapping_interval_s: 1}\n", 1, 1},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *measured = estimates(10, 5);
		g_autofree char *slower = estimates(20, 10);
		g_autofree char *later = write_file(slower, "", "");
		g_autofree char *text = g_strconcat(measured, cases[i].service, NULL);
		g_autoptr(GError) error = NULL;
		g_autoptr(config_t) config = load(text, relative, &error);

		g_assert_no_error(error);
		assert_near(config->service->mapping_interval_s, cases[i].before_s);
		g_assert_true(config_load_estimates(config, later, &error));
		assert_near(config->experiment->mapping_interval_s, 2);
		assert_near(config->service->mapping_interval_s, cases[i].after_s);
		g_unlink(later);
	}
}

#define MEASURED                                                                                   \
	"estimates:\n"                                                                             \
	"  - {type: x, cluster: a, etc_s: 10, eec_j: 3}\n"                                         \
	"  - {type: x, cluster: b, etc_s: 5, eec_j: 3}\n"

static const struct {
	const char *text;
	const char *message;
} bad[] = {
	/* The error names the key that the file has, not what follows from it. */
	{MEASURED
	 "workload: {arrival_mean_s: 1, duration_s: 9, utility_max: [1]}\n"
	 "experiment: {policies: [easy], limits: [1], mapping_interval: 100, duration_s: 10}\n",
	 ": experiment.mapping_interval: experiment.mapping_interval_s follows from it: 667 s is longer than"},
	{MEASURED
	 "workload: {arrival_mean_s: 1, duration_s: 9, utility_max: [1]}\n"
	 "experiment: {policies: [easy], limits: [1], mapping_interval: 1e-6, duration: 1000}\n",
	 ": experiment.mapping_interval: experiment.mapping_interval_s follows from it: 1.34933e+09 mapping events in "
	 "all are more than 10000000; raise it, or lower experiment.duration"},
	{"workload: {arrival_mean_s: 1e4, duration_s: 1e6, utility_max: [1]}\n"
	 "experiment: {policies: [easy], limits: [1], mapping_interval_s: 1, duration: 1e6}\n",
	 ": experiment.duration: experiment.duration_s follows from it: 1e+12 is more than 1e+09"},
	{MEASURED
	 "workload: {load: 1e-6, tasks: 1e6, utility_max: [1]}\n"
	 "experiment: {policies: [easy], limits: [1], mapping_interval_s: 1, duration_s: 10}\n",
	 ": workload.tasks: workload.duration_s follows from it: 3.33e+12 is more than 1e+09"},
	{"workload: {arrival_mean_s: 1, duration_s: 9, utility_max: [1]}\n"
	 "experiment: {policies: [easy], limits: [1], mapping_interval_s: 100000, duration_s: 1e6}\n"
	 "service: {policy: easy}\n",
	 ": experiment.mapping_interval_s: service.mapping_interval_s follows from it: 100000 is outside (0, 86400]"},
	{"workload: {arrival_mean_s: 1, duration_s: 9, utility_max: [1]}\n"
	 "experiment: {policies: [easy], limits: [1], mapping_interval_s: 100000, duration_s: 1e6}\n"
	 "service: {mapping_interval_s: 90000}\n",
	 ": service.mapping_interval_s: 90000 is outside (0, 86400]"},
	{"workload: {load: 1.5, utility_max: [1]}\n"
	 "experiment: {policies: [easy], limits: [1], mapping_interval_s: 1, duration_s: 10}\n",
	 "workload.duration_s: missing; give it in seconds, or give workload.tasks"},
	{"workload: {load: 1.5, duration_s: 10, utility_max: [1]}\n"
	 "experiment: {policies: [easy], limits: [1], mapping_interval_s: 1, duration_s: 10}\n",
	 "workload.load: goes with tasks"},
	{"workload: {tasks: 40, duration_s: 10, arrival_mean_s: 1, utility_max: [1]}\n"
	 "experiment: {policies: [easy], limits: [1], mapping_interval_s: 1, duration_s: 10}\n",
	 "workload.tasks: goes with load"},
	{"workload: {load: -1, tasks: 40, utility_max: [1]}\n"
	 "experiment: {policies: [easy], limits: [1], mapping_interval_s: 1, duration_s: 10}\n",
	 "workload.load: -1 is outside"},
	{"workload: {load: 1, tasks: 1e7, utility_max: [1]}\n"
	 "experiment: {policies: [easy], limits: [1], mapping_interval_s: 1, duration_s: 10}\n",
	 "workload.tasks: 1e+07 is outside"},
	{"workload: {arrival_mean_s: 1, duration_s: 9, utility_max: [1]}\n"
	 "experiment: {policies: [easy], limits: [1], duration_s: 10}\n",
	 "experiment.mapping_interval_s: missing; give it in seconds, or give experiment.mapping_interval"},
	{"workload: {arrival_mean_s: 1, duration_s: 9, utility_max: [1]}\n"
	 "experiment: {policies: [easy], limits: [1], mapping_interval_s: 1}\n",
	 "experiment.duration_s: missing; give it in seconds, or give experiment.duration"},
	{MEASURED
	 "workload: {list: [{type: x, arrival_s: 0, utility: 1}, {type: x, arrival_s: 0, utility: 1}]}\n"
	 "experiment: {policies: [easy], limits: [1], mapping_interval_s: 1, duration: 2}\n",
	 ": experiment.duration: a multiple of the time until the last task arrives, which is 0; give "
	 "duration_s instead"},
};

/* An environment has times of its own; the error names the key that is there. */
static void test_environments_have_their_own(void)
{
	static const struct {
		const char *workload;
		const char *times;
		const char *message;
	} cases[] = {
		{"", "mapping_interval_s: 600, duration: 2",
		 ": experiment.duration: an environment has"},
		{"", "mapping_interval: 2, duration_s: 86400",
		 ": experiment.mapping_interval: an environment has"},
		{"workload: {load: 1, tasks: 9, utility_max: [1]}\n",
		 "mapping_interval_s: 600, duration_s: 86400",
		 ": workload.load: an environment has"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *text = g_strdup_printf(
			"name: t\n"
			"clusters: [{name: a, nodes: 8, cores: 2, memory_mib: 100}]\n"
			"environment: {tasks_per_day: 100}\n"
			"%sexperiment: {policies: [easy], limits: [1], budget_j: 1, %s}\n",
			cases[i].workload, cases[i].times);
		g_autofree char *path = write_file(text, "", "");
		g_autoptr(GError) error = NULL;
		g_autoptr(config_t) config = config_controller_load(path, &error);

		g_assert_null(config);
		if (!strstr(error->message, cases[i].message))
			g_error("case %zu: '%s'", i, error->message);
		g_unlink(path);
	}
}

static void test_refused(void)
{
	for (gsize i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(config_t) config = load("", bad[i].text, &error);

		g_assert_null(config);
		if (!strstr(error->message, bad[i].message))
			g_error("case %zu: '%s'", i, error->message);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/config-times/follow-from-estimates", test_follow_from_estimates);
	g_test_add_func("/config-times/scale-with-execution-times",
			test_scale_with_execution_times);
	g_test_add_func("/config-times/unknown-until-measured", test_unknown_until_measured);
	g_test_add_func("/config-times/follow-again-after-saving", test_follow_again_after_saving);
	g_test_add_func("/config-times/service-takes-the-interval",
			test_service_takes_the_interval);
	g_test_add_func("/config-times/service-takes-the-interval-for-0",
			test_service_takes_the_interval_for_0);
	g_test_add_func("/config-times/service-follows-new-estimates",
			test_service_follows_new_estimates);
	g_test_add_func("/config-times/environments-have-their-own",
			test_environments_have_their_own);
	g_test_add_func("/config-times/refused", test_refused);
	return g_test_run();
}
