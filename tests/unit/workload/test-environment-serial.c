/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "controller/config/config_controller.h"
#include "controller/config/config_environment.h"
#include "controller/experiment/experiment.h"
#include "controller/workload/environment_serial.h"
#include "controller/workload/environment_types.h"

/* The serial environment of Machovec 2017, section IV: what is drawn is what the section says. */

static struct config *load(void)
{
	g_autofree char *path = g_test_build_filename(G_TEST_DIST, "..", "..", "..", "configs",
						      "papers", "preemption-fig4.yaml", NULL);
	g_autoptr(GError) error = NULL;
	struct config *config = config_controller_load(path, &error);

	g_assert_no_error(error);
	return config;
}

static struct environment_trial *draw(const struct config *config, uint64_t seed, uint32_t number)
{
	g_autoptr(GError) error = NULL;
	struct environment_trial *trial = environment_trial_new(config, NULL, seed, number, &error);

	g_assert_no_error(error);
	return trial;
}

static bool same_task(const struct sched_task *a, const struct sched_task *b)
{
	return a->arrival_s == b->arrival_s && a->row == b->row &&
	       memcmp(&a->utility, &b->utility, sizeof(a->utility)) == 0;
}

static void test_equal(void)
{
	g_autoptr(config_t) config = load();
	g_autoptr(environment_trial_t) a = draw(config, 0, 2);
	g_autoptr(environment_trial_t) b = draw(config, config_environment(config)->seed, 2);
	g_autoptr(environment_trial_t) other = draw(config, 0, 3);

	g_assert_cmpuint(a->workload->tasks_count, ==, b->workload->tasks_count);
	for (uint32_t i = 0; i < a->workload->tasks_count; i++)
		g_assert_true(same_task(&a->workload->tasks[i], &b->workload->tasks[i]));
	g_assert_cmpfloat(a->utility_max, ==, b->utility_max);
	g_assert_cmpfloat(a->utility_max, !=, other->utility_max);
	g_assert_cmpmem(a->system->etc_s, 500 * sizeof(double), b->system->etc_s,
			500 * sizeof(double));
}

/* Five clusters of 80 to 240 cores, 160 on average over many trials. */
static void test_clusters(void)
{
	g_autoptr(config_t) config = load();
	double sum = 0;

	config_environment(config)->tasks_per_day = 1000;
	for (uint32_t number = 1; number <= 200; number++) {
		g_autoptr(environment_trial_t) trial = draw(config, 5, number);

		g_assert_cmpuint(trial->system->clusters_count, ==, 5);
		for (uint32_t c = 0; c < 5; c++) {
			const struct sched_cluster *cluster = &trial->system->clusters[c];

			g_assert_cmpuint(cluster->nodes, >=, 80);
			g_assert_cmpuint(cluster->nodes, <=, 240);
			g_assert_cmpuint(cluster->cores, ==, 1);
			sum += cluster->nodes;
		}
	}
	/* The standard deviation of a mean of 1,000 is 1.5. */
	g_assert_cmpfloat(fabs(sum / 1000 - 160), <, 8);
}

/* Mean and coefficient of variation of `count` numbers. */
static double find_cov(const double *values, uint32_t count, double *ret_mean)
{
	double sum = 0;
	double squares = 0;

	for (uint32_t i = 0; i < count; i++) {
		sum += values[i];
		squares += values[i] * values[i];
	}
	*ret_mean = sum / count;
	return sqrt(squares / count - *ret_mean * *ret_mean) / *ret_mean;
}

/* 20 critical types of 10 minutes and 80 ordinary ones of 50; COV 0.1 once, then 0.3 (IV.C). */
static void test_times(void)
{
	g_autoptr(config_t) config = load();
	g_autofree double *first = g_new(double, 40 * 100);
	g_autofree double *others = g_new(double, 40 * 100 * 4);
	double mean;

	config_environment(config)->tasks_per_day = 1000;
	for (uint32_t number = 1; number <= 40; number++) {
		g_autoptr(environment_trial_t) trial = draw(config, 9, number);

		g_assert_cmpuint(trial->system->rows_count, ==, 100);
		for (uint32_t row = 0; row < 100; row++) {
			const double *etc_s = trial->system->etc_s + row * 5;
			const uint32_t at = (number - 1) * 100 + row;

			g_assert_true(g_str_has_prefix(trial->system->row_names[row],
						       row < 20 ? "critical-" : "ordinary-"));
			first[at] = etc_s[0] / (row < 20 ? 600 : 3000);
			for (uint32_t c = 1; c < 5; c++)
				others[at * 4 + c - 1] = etc_s[c] / etc_s[0];
		}
	}
	g_assert_cmpfloat_with_epsilon(find_cov(first, 4000, &mean), 0.1, 0.01);
	g_assert_cmpfloat_with_epsilon(mean, 1, 0.01);
	g_assert_cmpfloat_with_epsilon(find_cov(others, 16000, &mean), 0.3, 0.02);
	g_assert_cmpfloat_with_epsilon(mean, 1, 0.015);
}

/* Bursts of 32 to 96 equal tasks, 70,000 of them in 28 h, a fifth of them critical. */
static void test_bursts(void)
{
	g_autoptr(config_t) config = load();
	const double bursts = 70000 / 64.0;
	/* Of a sum of as many bursts as a Poisson variate says. */
	const double deviation = sqrt(bursts * (64 * 64 + 65 * 65 / 12.0));

	for (uint32_t number = 1; number <= 3; number++) {
		g_autoptr(environment_trial_t) trial = draw(config, 7, number);
		const struct workload *workload = trial->workload;
		uint32_t critical = 0;
		uint32_t length = 0;

		g_assert_cmpfloat(fabs(workload->tasks_count - 70000.0), <, 5 * deviation);
		for (uint32_t i = 0; i < workload->tasks_count; i++) {
			const struct sched_task *task = &workload->tasks[i];

			critical += task->row < 20;
			g_assert_cmpfloat(task->utility.max, ==, task->row < 20 ? 8 : 1);
			length++;
			if (i + 1 < workload->tasks_count && same_task(task, task + 1))
				continue;
			g_assert_cmpuint(length, >=, 32);
			g_assert_cmpuint(length, <=, 96);
			length = 0;
		}
		g_assert_cmpfloat(fabs(critical - 14000.0), <, 5 * deviation * sqrt(0.2));
	}
}

/* A burst size of 1 means that there are none. */
static void test_no_bursts(void)
{
	g_autoptr(config_t) config = load();

	config_environment(config)->serial->burst = 1;

	g_autoptr(environment_trial_t) trial = draw(config, 7, 1);

	g_assert_cmpfloat(fabs(trial->workload->tasks_count - 70000.0), <, 5 * sqrt(70000));
	for (uint32_t i = 1; i < trial->workload->tasks_count; i++)
		g_assert_cmpfloat(trial->workload->tasks[i].arrival_s, >,
				  trial->workload->tasks[i - 1].arrival_s);
}

/* Around 1 over a day, highest a quarter of a day after the phase is 0. */
static void test_sine(void)
{
	struct config_environment environment = {.sine_amplitude = 0.5};
	double sum = 0;

	for (int i = 0; i < 1000; i++)
		sum += environment_sine(&environment, 1.3, ENVIRONMENT_DAY_S * i / 1000);
	g_assert_cmpfloat_with_epsilon(sum / 1000, 1, 1e-9);
	g_assert_cmpfloat_with_epsilon(environment_sine(&environment, 0, 6 * 3600), 1.5, 1e-9);
	g_assert_cmpfloat_with_epsilon(environment_sine(&environment, 0, 18 * 3600), 0.5, 1e-9);
	g_assert_cmpfloat_with_epsilon(environment_sine(&environment, 0, -6 * 3600), 0.5, 1e-9);
}

static void test_utilities(void)
{
	const struct utility critical = environment_step(8, true, 600);
	const struct utility ordinary = environment_step(1, false, 3000);
	const struct utility decay = environment_decay(8, 600);

	g_assert_cmpint(utility_check(&critical, NULL), ==, UTILITY_FAULT_NONE);
	g_assert_cmpint(utility_check(&decay, NULL), ==, UTILITY_FAULT_NONE);
	/* A step earns at exactly its width, also where times have been added up. */
	g_assert_cmpfloat(utility_value(&critical, 600), ==, 8);
	g_assert_cmpfloat(utility_value(&critical, (86400.1 + 600) - 86400.1), ==, 8);
	g_assert_cmpfloat(utility_value(&critical, 600.000001), ==, 0);
	g_assert_cmpfloat(utility_value(&ordinary, 30000), ==, 1);
	g_assert_cmpfloat(utility_value(&ordinary, 30000.0001), ==, 0);
	g_assert_cmpfloat(utility_value(&decay, 599), ==, 8);
	g_assert_cmpfloat_with_epsilon(utility_value(&decay, 660), 8 * exp(-0.3), 1e-12);
	g_assert_cmpfloat_with_epsilon(utility_value(&decay, 1200), 8 * exp(-3), 1e-12);
	g_assert_cmpfloat_with_epsilon(utility_value(&decay, 600 + 200 * 60), 8 * exp(-60), 1e-30);
	g_assert_cmpfloat(utility_value(&decay, 600 + 200 * 60 + 0.001), ==, 0);
}

/* Widths follow from the mean of a type over its clusters. */
static void test_steps_are_as_wide_as_their_type(void)
{
	g_autoptr(config_t) config = load();

	config_environment(config)->tasks_per_day = 5000;
	config_environment(config)->serial->utility = CONFIG_UTILITY_STEP;

	g_autoptr(environment_trial_t) trial = draw(config, 3, 1);

	for (uint32_t i = 0; i < trial->workload->tasks_count; i++) {
		const struct sched_task *task = &trial->workload->tasks[i];
		double mean_s = 0;

		for (uint32_t c = 0; c < 5; c++)
			mean_s += trial->system->etc_s[task->row * 5 + c] / 5;
		g_assert_cmpfloat_with_epsilon(utility_end_s(&task->utility) / mean_s,
					       task->row < 20 ? 1 : 10, 1e-9);
	}
}

static bool same_burst(const struct sched_task *a, const struct sched_task *b)
{
	return a->arrival_s == b->arrival_s && a->row == b->row;
}

/* Each flag of a burst with its probability, on its own, and nothing else changes with it. */
static void test_flags(void)
{
	g_autoptr(config_t) config = load();
	double count = 0;
	uint32_t may = 0;
	uint32_t can = 0;
	uint32_t both = 0;

	config_environment(config)->serial->burst = 8;

	g_autoptr(environment_trial_t) all = draw(config, 3, 1);

	config_environment(config)->serial->may_preempt_share = 0.6;
	config_environment(config)->serial->preemptible_share = 0.2;

	g_autoptr(environment_trial_t) some = draw(config, 3, 1);

	config_environment(config)->serial->may_preempt_share = 0;
	config_environment(config)->serial->preemptible_share = 0;

	g_autoptr(environment_trial_t) none = draw(config, 3, 1);

	g_assert_cmpuint(some->workload->tasks_count, ==, all->workload->tasks_count);
	for (uint32_t i = 0; i < all->workload->tasks_count; i++) {
		const struct sched_task *task = &some->workload->tasks[i];

		g_assert_true(same_task(task, &all->workload->tasks[i]));
		g_assert_true(same_task(task, &none->workload->tasks[i]));
		g_assert_true(all->workload->tasks[i].may_preempt);
		g_assert_true(all->workload->tasks[i].preemptible);
		g_assert_false(none->workload->tasks[i].may_preempt);
		g_assert_false(none->workload->tasks[i].preemptible);
		if (i > 0 && same_burst(task, task - 1)) {
			g_assert_true(task->may_preempt == task[-1].may_preempt);
			g_assert_true(task->preemptible == task[-1].preemptible);
			continue;
		}
		count++;
		may += task->may_preempt;
		can += task->preemptible;
		both += task->may_preempt && task->preemptible;
	}
	/* The standard deviation of a share of 8,000 bursts is 0.006. */
	g_assert_cmpfloat(count, >, 8000);
	g_assert_cmpfloat_with_epsilon(may / count, 0.6, 0.02);
	g_assert_cmpfloat_with_epsilon(can / count, 0.2, 0.02);
	g_assert_cmpfloat_with_epsilon(both / count, 0.12, 0.02);
}

/* Longer critical tasks come as often as shorter ones. */
static void test_longer_tasks(void)
{
	g_autoptr(config_t) config = load();
	g_autoptr(environment_trial_t) brief = draw(config, 3, 1);

	config_environment(config)->serial->critical_mean_s = 1800;

	g_autoptr(environment_trial_t) longer = draw(config, 3, 1);

	g_assert_cmpuint(brief->workload->tasks_count, ==, longer->workload->tasks_count);
	for (uint32_t i = 0; i < 500; i++)
		g_assert_cmpfloat_with_epsilon(longer->system->etc_s[i] / brief->system->etc_s[i],
					       i < 100 ? 3 : 1, 1e-9);
	for (uint32_t i = 0; i < brief->workload->tasks_count; i++)
		g_assert_cmpfloat(brief->workload->tasks[i].arrival_s, ==,
				  longer->workload->tasks[i].arrival_s);
}

/* The most that can be earned: starting utilities, by the share of the day (section V). */
static void test_utility_max(void)
{
	g_autoptr(config_t) config = load();
	g_autoptr(environment_trial_t) trial = draw(config, 3, 1);
	double inside = 0;
	double touching = 0;

	for (uint32_t i = 0; i < trial->workload->tasks_count; i++) {
		const struct sched_task *task = &trial->workload->tasks[i];
		double slowest_s = 0;

		for (uint32_t c = 0; c < 5; c++)
			slowest_s = fmax(slowest_s, trial->system->etc_s[task->row * 5 + c]);
		if (task->arrival_s >= 14400 && task->arrival_s + slowest_s <= 100800)
			inside += task->utility.max;
		if (task->arrival_s + slowest_s >= 14400)
			touching += task->utility.max;
	}
	g_assert_cmpfloat(trial->utility_max, >, inside);
	g_assert_cmpfloat(trial->utility_max, <, touching);
}

/* A day with few tasks: it earns about what there is, and uses no energy. */
static void test_day(void)
{
	g_autoptr(config_t) config = load();
	g_autoptr(GError) error = NULL;
	const char *const names[] = {"max-util", NULL};

	config_environment(config)->tasks_per_day = 2000;

	g_autoptr(experiment_t) experiment = experiment_new(config, names, &error);
	struct experiment_trial trial;
	struct engine_result result;

	g_assert_no_error(error);
	g_assert_true(experiment_trial_init(experiment, 0, 1, &trial, &error));

	struct engine_setup setup =
		experiment_trial_setup(experiment, &trial, &experiment->policies[0], 1);

	experiment_simulate(&setup, &result);
	g_assert_cmpint(result.ended_by, ==, ENGINE_END_TIME);
	g_assert_cmpfloat(result.energy_j, ==, 0);
	/* There are cores enough for nearly all of them. */
	g_assert_cmpfloat(result.utility, >, 0.5 * trial.utility_max);
	/* What waited at the beginning of the day, or runs where it is slow, may count for more. */
	g_assert_cmpfloat(result.utility, <, 1.05 * trial.utility_max);
	experiment_trial_clear(&trial);
}

/* A day of two policies on an oversubscribed system, with that probability of each flag. */
static void simulate_two(const char *const *names, double share, struct engine_result *ret_results)
{
	g_autoptr(config_t) config = load();
	g_autoptr(GError) error = NULL;
	struct experiment_trial trial;

	config_environment(config)->tasks_per_day = 3000;
	config_environment(config)->serial->burst = 16;
	config_environment(config)->serial->utility = CONFIG_UTILITY_STEP;
	config_environment(config)->serial->may_preempt_share = share;
	config_environment(config)->serial->preemptible_share = share;
	for (uint32_t c = 0; c < config->clusters_count; c++)
		config->clusters[c].nodes = 8;

	g_autoptr(experiment_t) experiment = experiment_new(config, names, &error);

	g_assert_no_error(error);
	g_assert_true(experiment_trial_init(experiment, 0, 1, &trial, &error));
	for (uint32_t i = 0; i < 2; i++) {
		struct engine_setup setup =
			experiment_trial_setup(experiment, &trial, &experiment->policies[i], 1);

		experiment_simulate(&setup, &ret_results[i]);
	}
	experiment_trial_clear(&trial);
}

/* No task may preempt: a day goes as without preemption, to the last task. */
static void test_no_flags(const void *data)
{
	const char *name = data;
	const char *const names[] = {g_str_has_prefix(name, "max-util") ? "max-util" : "max-upt",
				     name, NULL};
	struct engine_result results[2];

	simulate_two(names, 0, results);
	g_assert_cmpfloat(results[0].utility, ==, results[1].utility);
	g_assert_cmpuint(results[0].tasks_completed, ==, results[1].tasks_completed);
	g_assert_cmpuint(results[0].tasks_dropped, ==, results[1].tasks_dropped);
	simulate_two(names, 1, results);
	g_assert_cmpfloat(results[0].utility, <, results[1].utility);
}

/* What goes by energy has nothing to go by. */
static void test_energy_is_refused(void)
{
	static const char *const refused[] = {"max-upe", "event-based", "task-based",
					      "max-upr+filter:task:2.0"};
	g_autoptr(config_t) config = load();

	for (size_t i = 0; i < G_N_ELEMENTS(refused); i++) {
		const char *const names[] = {refused[i], NULL};
		g_autoptr(GError) error = NULL;

		g_assert_false(experiment_check_policies(config, names, &error));
		g_assert_nonnull(strstr(error->message, "depends on energies"));
		g_assert_nonnull(strstr(error->message, refused[i]));
	}
}

int main(int argc, char **argv)
{
	static const char *const preemptive[] = {
		"max-util-preempt-greedy", "max-util-preempt-diff", "max-util-preempt-pair",
		"max-upt-preempt-greedy",  "max-upt-preempt-diff",  "max-upt-preempt-pair",
	};

	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/serial/equal seeds draw equal trials", test_equal);
	g_test_add_func("/serial/clusters have 80 to 240 cores", test_clusters);
	g_test_add_func("/serial/execution times have their means and variations", test_times);
	g_test_add_func("/serial/bursts are of equal tasks", test_bursts);
	g_test_add_func("/serial/bursts of one are none", test_no_bursts);
	g_test_add_func("/serial/rates are sinusoidal", test_sine);
	g_test_add_func("/serial/utility functions are those of the paper", test_utilities);
	g_test_add_func("/serial/steps are as wide as their type is long",
			test_steps_are_as_wide_as_their_type);
	g_test_add_func("/serial/flags are drawn apart from all else", test_flags);
	g_test_add_func("/serial/longer critical tasks change nothing else", test_longer_tasks);
	g_test_add_func("/serial/the maximum is what the day holds", test_utility_max);
	g_test_add_func("/serial/a day with few tasks earns nearly all there is", test_day);
	g_test_add_func("/serial/policies that go by energy are refused", test_energy_is_refused);
	for (size_t i = 0; i < G_N_ELEMENTS(preemptive); i++) {
		g_autofree char *path =
			g_strdup_printf("/serial/without flags %s does not preempt", preemptive[i]);

		g_test_add_data_func(path, preemptive[i], test_no_flags);
	}
	return g_test_run();
}
