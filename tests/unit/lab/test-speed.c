/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/lab/lab_speed.h"

#include <glib.h>

enum { ROUNDS = 500, ROUND_NS = 100000 };

/* A machine on which a round takes `round_ns` in every second that passes. */
struct machine {
	struct lab_speed pace;
	struct lab_speed_reading at;
};

static double second(struct machine *machine, uint64_t round_ns, double busy_cores)
{
	machine->at.at_ns += INT64_C(1000000000);
	machine->at.rounds += ROUNDS;
	machine->at.cpu_ns += ROUNDS * round_ns;
	machine->at.vms_ns += (uint64_t)(busy_cores * 1e9);
	return lab_speed_update(&machine->pace, &machine->at);
}

static void refer(struct machine *machine)
{
	for (int i = 0; i <= (int)LAB_SPEED_REFERENCE_S; i++)
		second(machine, ROUND_NS, 1);
	g_assert_true(lab_speed_is_known(&machine->pace));
}

static void test_pace_follows_what_a_round_takes(void)
{
	static const struct {
		uint64_t round_ns;
		double pace;
	} cases[] = {
		{ROUND_NS, 1},
		{ROUND_NS * 11 / 10, 1.1},
		{ROUND_NS * 9 / 10, 0.9},
		{ROUND_NS * 3, LAB_SPEED_MAX},
		{ROUND_NS / 3, LAB_SPEED_MIN},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct machine machine = {0};
		double pace = 0;

		refer(&machine);
		for (int s = 0; s < LAB_SPEED_WINDOW; s++)
			pace = second(&machine, cases[i].round_ns, 1);
		g_assert_cmpfloat_with_epsilon(pace, cases[i].pace, 1e-9);
	}
}

static void test_an_idle_machine_is_no_reference(void)
{
	struct machine machine = {0};

	for (int i = 0; i < 100; i++)
		g_assert_cmpfloat_with_epsilon(second(&machine, ROUND_NS / 2, 0.1), 1, 1e-12);
	g_assert_false(lab_speed_is_known(&machine.pace));
	refer(&machine);
	second(&machine, ROUND_NS, 1);
	g_assert_cmpfloat_with_epsilon(second(&machine, ROUND_NS, 1), 1, 1e-9);
}

static void test_a_metronome_that_stands_still_changes_nothing(void)
{
	struct machine machine = {0};
	double pace = 0;

	refer(&machine);
	for (int s = 0; s < LAB_SPEED_WINDOW + 1; s++) {
		machine.at.at_ns += INT64_C(1000000000);
		pace = lab_speed_update(&machine.pace, &machine.at);
	}
	g_assert_cmpfloat_with_epsilon(pace, 1, 1e-12);
}

static void test_rounds_begin_anew_at_their_end(void)
{
	struct machine machine = {.at.rounds = UINT32_MAX - ROUNDS * 35};
	double pace = 0;

	refer(&machine);
	for (int s = 0; s < 10; s++) {
		pace = second(&machine, ROUND_NS * 11 / 10, 1);
		if (s >= LAB_SPEED_WINDOW)
			g_assert_cmpfloat_with_epsilon(pace, 1.1, 1e-9);
	}
	g_assert_cmpuint(machine.at.rounds, <, UINT32_MAX / 2);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/lab/speed/follows", test_pace_follows_what_a_round_takes);
	g_test_add_func("/lab/speed/idle", test_an_idle_machine_is_no_reference);
	g_test_add_func("/lab/speed/wraps", test_rounds_begin_anew_at_their_end);
	g_test_add_func("/lab/speed/still", test_a_metronome_that_stands_still_changes_nothing);
	return g_test_run();
}
