/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The search for the least flip, on functions whose flips are known. */
#include <gio/gio.h>
#include <math.h>

#include "controller/room/flip.h"

static const double sizes[] = {0.02, 0.04, 0.08, 0.12, 0.16, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7, 1};

#define TOLERANCE 0.05

/* A difference that is known, with an interval of +- width. */
struct known {
	double (*value)(double at, double size);
	double at;
	double width;
	double fails_from; /* 0: never */
	uint32_t calls;
};

static bool difference(void *data, double size, struct stats_interval *ret_difference,
		       GError **error)
{
	struct known *known = data;
	const double value = known->value(known->at, size);

	known->calls++;
	if (known->fails_from > 0 && size >= known->fails_from) {
		g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_FAILED, "broken");
		return false;
	}
	*ret_difference = (struct stats_interval){.value = value,
						  .low = value - known->width,
						  .high = value + known->width};
	return true;
}

static bool find(struct known *known, struct flip *ret_flip, GError **error)
{
	const struct flip_search search = {
		.sizes = sizes,
		.sizes_count = G_N_ELEMENTS(sizes),
		.tolerance = TOLERANCE,
		.difference = difference,
		.data = known,
	};

	return flip_find(&search, ret_flip, error);
}

static struct flip found(struct known known)
{
	struct flip flip;

	g_assert_true(find(&known, &flip, NULL));
	/* The grid three times, and three halvings. */
	g_assert_cmpuint(known.calls, <=, 1 + 3 * (G_N_ELEMENTS(sizes) + FLIP_HALVINGS));
	return flip;
}

/* Straight down through 0. */
static double falling(double at, double size)
{
	return 1 - size / at;
}

static double rising(double at, double size)
{
	return -falling(at, size);
}

/* Flips at `at`, back at 3 x `at`, and again at 5 x `at`. */
static double wave(double at, double size)
{
	return cos(size / at * G_PI_2);
}

/* 0 from `at` on: no policy wins. */
static double dying(double at, double size)
{
	return fmax(0, 1 - size / at);
}

/* A jump, as of one task that misses its deadline. */
static double jump(double at, double size)
{
	return size < at ? 3 : -2;
}

static void assert_near(double value, double expected)
{
	g_assert_cmpfloat(value, >=, 0.9 * expected);
	g_assert_cmpfloat(value, <=, 1.1 * expected);
}

static void test_planted(void)
{
	static const double at[] = {0.005, 0.013, 0.0199, 0.021, 0.05, 0.137,
				    0.25,  0.26,  0.37,   0.62,  0.93, 0.999};
	double (*const functions[])(double, double) = {falling, rising, wave, jump};

	for (gsize i = 0; i < G_N_ELEMENTS(at); i++) {
		for (gsize f = 0; f < G_N_ELEMENTS(functions); f++) {
			/* The grid does not see what turns back between two of its sizes. */
			const bool hidden = functions[f] == wave && at[i] < 0.02;
			const struct flip flip = found((struct known){functions[f], at[i], 0.01});

			if (hidden)
				continue;
			g_test_message("%g: %g, %g .. %g", at[i], flip.size, flip.low, flip.high);
			assert_near(flip.size, at[i]);
			g_assert_cmpfloat(flip.low, <=, at[i]);
			g_assert_cmpfloat(flip.high, >=, at[i]);
			g_assert_cmpint(flip.winner, ==,
					functions[f] == rising ? STATS_SIGN_NEGATIVE
							       : STATS_SIGN_POSITIVE);
		}
	}
}

static void test_interval(void)
{
	/* The interval +- 0.3 includes 0 from 0.7 x 0.4 to 1.3 x 0.4. */
	const struct flip flip = found((struct known){falling, 0.4, 0.3});
	const struct flip open = found((struct known){falling, 0.9, 0.3});

	assert_near(flip.low, 0.28);
	assert_near(flip.size, 0.4);
	assert_near(flip.high, 0.52);
	assert_near(open.low, 0.63);
	assert_near(open.size, 0.9);
	g_assert_true(isinf(open.high));
}

static void test_none(void)
{
	const struct flip far = found((struct known){falling, 3, 0.01});
	const struct flip dies = found((struct known){dying, 0.3, 0.01});

	g_assert_cmpint(far.winner, ==, STATS_SIGN_POSITIVE);
	g_assert_true(isinf(far.size) && isinf(far.low) && isinf(far.high));
	/* A winner that is none any more has not become the other one. */
	g_assert_true(isinf(dies.size) && isinf(dies.high));
	assert_near(dies.low, 0.3);
}

static void test_no_winner(void)
{
	struct known known = {falling, 0.4, 2};
	struct flip flip;

	g_assert_true(find(&known, &flip, NULL));
	g_assert_cmpint(flip.winner, ==, STATS_SIGN_UNCLEAR);
	g_assert_true(isinf(flip.size));
	g_assert_cmpuint(known.calls, ==, 1);
}

static void test_error(void)
{
	struct known known = {falling, 0.4, 0.01, .fails_from = 0.3};
	g_autoptr(GError) error = NULL;
	struct flip flip;

	g_assert_false(find(&known, &flip, &error));
	g_assert_error(error, G_IO_ERROR, G_IO_ERROR_FAILED);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/flip/planted flips are found within 10 %", test_planted);
	g_test_add_func("/flip/the interval is that of the sizes at which 0 is possible",
			test_interval);
	g_test_add_func("/flip/a winner that stays is said to stay", test_none);
	g_test_add_func("/flip/without a winner nothing is searched", test_no_winner);
	g_test_add_func("/flip/an error ends the search", test_error);
	return g_test_run();
}
