/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Errors in simulations, and how large they have to be until the winner changes. */
#include <gio/gio.h>
#include <math.h>

#include "controller/room/room.h"
#include "tests/unit/workload/testbed.h"

#define TRIALS 40

static const double limits_j[] = {0.7 * 2.8e6};
static const char *const policies[] = {"max-upr", "max-upe", NULL};

static struct room_setup setup_of(const struct experiment *experiment)
{
	return (struct room_setup){
		.experiment = experiment,
		.trials = TRIALS,
		.jobs = 2,
		.limits_j = limits_j,
		.limits_count = G_N_ELEMENTS(limits_j),
	};
}

static struct room_pair find(const struct room_setup *setup)
{
	g_autoptr(GError) error = NULL;
	struct room_pair pair = {.first = 0, .second = 1};
	uint64_t runs;

	g_assert_true(room_find(setup, &pair, 1, &runs, &error));
	g_assert_no_error(error);
	g_assert_cmpuint(runs, <=, room_most_runs(setup, 1));
	g_test_message("%" G_GUINT64_FORMAT " of at most %" G_GUINT64_FORMAT " runs", runs,
		       room_most_runs(setup, 1));
	return pair;
}

/* The mean difference of the two policies, simulated without the search. */
static double difference_at(const struct experiment *experiment,
			    const struct experiment_change *change)
{
	const struct trials trials = {
		.experiment = experiment,
		.trials = TRIALS,
		.jobs = 2,
		.limits_j = limits_j,
		.limits_count = 1,
		.change = change,
	};
	g_autoptr(GError) error = NULL;
	g_autofree struct engine_result *results = trials_run(&trials, &error);
	double sum = 0;

	g_assert_no_error(error);
	for (uint32_t i = 0; i < TRIALS; i++)
		sum += trials_result(&trials, results, i, 0, 0)->utility -
		       trials_result(&trials, results, i, 1, 0)->utility;
	return sum / TRIALS;
}

/* The least size at which the difference has another sign, in steps of 4 %; INFINITY: none. */
static double sweep(const struct experiment *experiment, enum room_kind kind)
{
	const struct experiment_change none = {.load = 1};
	const double exact = difference_at(experiment, &none);
	const double unit_s = room_overhead_unit_s(experiment);

	for (double size = 0.04; size <= ROOM_MOST; size *= 1.04) {
		const struct experiment_change change = {
			.load = kind == ROOM_LESS_LOAD ? 1 / (1 + size) : 1,
			.error = {.overhead_s = kind == ROOM_OVERHEAD ? size * unit_s : 0},
		};

		if (difference_at(experiment, &change) * exact < 0)
			return size;
	}
	return INFINITY;
}

static void test_sweep(void)
{
	static const enum room_kind kinds[] = {ROOM_LESS_LOAD, ROOM_OVERHEAD};
	struct config *config = testbed_config_new();
	struct experiment *experiment = experiment_new(config, policies, NULL);
	const struct room_setup setup = setup_of(experiment);
	const struct room_pair pair = find(&setup);

	for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++) {
		const struct flip *flip = &pair.flips[kinds[i]];
		const double at = sweep(experiment, kinds[i]);

		g_test_message("%s: %.4f, swept %.4f, %.3f .. %.3f", room_kind_names[kinds[i]],
			       flip->size, at, flip->low, flip->high);
		g_assert_true(isfinite(at));
		g_assert_cmpfloat(flip->size, >, 0.9 * at);
		g_assert_cmpfloat(flip->size, <, 1.1 * at);
		g_assert_cmpfloat(flip->low, <=, at);
		g_assert_cmpfloat(flip->high, >=, at);
	}
	experiment_free(experiment);
	testbed_config_free(config);
}

static void test_jobs(void)
{
	struct config *config = testbed_config_new();
	struct experiment *experiment = experiment_new(config, policies, NULL);
	struct room_setup setup = setup_of(experiment);
	struct room_pair one, three;

	setup.trials = 4;
	setup.jobs = 1;
	one = find(&setup);
	setup.jobs = 3;
	three = find(&setup);
	for (uint32_t kind = 0; kind < ROOM_KINDS; kind++) {
		g_assert_true(one.flips[kind].size == three.flips[kind].size);
		g_assert_true(one.flips[kind].low == three.flips[kind].low);
		g_assert_true(one.flips[kind].high == three.flips[kind].high);
	}
	experiment_free(experiment);
	testbed_config_free(config);
}

static bool cancel(uint64_t done, enum room_kind kind, void *data)
{
	bool *called = data;

	*called = true;
	return false;
}

static void test_cancel(void)
{
	struct config *config = testbed_config_new();
	struct experiment *experiment = experiment_new(config, policies, NULL);
	struct room_setup setup = setup_of(experiment);
	struct room_pair pair = {.first = 0, .second = 1};
	g_autoptr(GError) error = NULL;
	bool called = false;
	uint64_t runs;

	setup.progress = cancel;
	setup.data = &called;
	/* More than a second, after which progress is shown. */
	setup.trials = 100000;
	g_assert_false(room_find(&setup, &pair, 1, &runs, &error));
	g_assert_error(error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
	g_assert_true(called);
	experiment_free(experiment);
	testbed_config_free(config);
}

/* More load is the same tasks, earlier. */
static void test_load(void)
{
	struct config *config = testbed_config_new();
	struct experiment *experiment = experiment_new(config, policies, NULL);
	const struct experiment_change change = {.load = 2};
	struct experiment_trial plain, dense;

	g_assert_true(experiment_trial_init(experiment, 0, 1, &plain, NULL));
	g_assert_true(experiment_trial_init(experiment, 0, 1, &dense, NULL));
	experiment_trial_change(&dense, &change);
	g_assert_cmpuint(plain.workload->tasks_count, ==, dense.workload->tasks_count);
	for (uint32_t i = 0; i < plain.workload->tasks_count; i++) {
		g_assert_cmpfloat(dense.workload->tasks[i].arrival_s, ==,
				  plain.workload->tasks[i].arrival_s / 2);
		g_assert_cmpuint(dense.workload->tasks[i].row, ==, plain.workload->tasks[i].row);
	}
	experiment_trial_clear(&plain);
	experiment_trial_clear(&dense);
	experiment_free(experiment);
	testbed_config_free(config);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/room/flips of a simulation are where a fine sweep finds them",
			test_sweep);
	g_test_add_func("/room/results do not depend on the number of threads", test_jobs);
	g_test_add_func("/room/it can be cancelled", test_cancel);
	g_test_add_func("/room/more load is the same tasks in less time", test_load);
	return g_test_run();
}
