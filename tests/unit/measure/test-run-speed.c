/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/measure/run_speed.h"

static void test_the_farthest_from_the_first_counts(void)
{
	static const struct {
		double speeds[4];
		guint count;
		double change;
	} cases[] = {
		{{1}, 0, 0},
		{{0.7}, 1, 0},
		{{1, 1.05, 0.95, 1}, 4, -0.05},
		{{0.8, 0.9, 0.6, 0.8}, 4, -0.25},
		{{0.5, 0.5, 1, 0.4}, 4, 1},
		/* Half is farther than by half as much more. */
		{{1, 1.5, 0.5}, 3, -0.5},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
		g_assert_cmpfloat_with_epsilon(run_speed_change(cases[i].speeds, cases[i].count),
					       cases[i].change, 1e-9);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/run/speed/the farthest from the first counts",
			test_the_farthest_from_the_first_counts);
	return g_test_run();
}
