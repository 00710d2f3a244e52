/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>

#include "controller/measure/run_profile_schedule.h"

enum { NARROW, WIDE, RARE, TYPES };

/* What `bench` is to be freed with, and the configuration that it borrows. */
struct setting {
	struct config_type types[TYPES];
	struct config_cluster cluster;
	struct config_workload workload;
	struct config config;
	struct run_profile_schedule bench;
};

/* The most nodes of a cluster here. */
enum { NODES_MAX = 4 };

/* Nodes of one core; the rare type never arrives, and needs more memory than a node has. */
static void set_up(struct setting *setting, uint32_t nodes, uint32_t repeats)
{
	*setting = (struct setting){
		.types = {{.name = (char *)"narrow",
			   .benchmark = (char *)"is",
			   .cores = 1,
			   .memory_mib = 50,
			   .share = 0.5},
			  {.name = (char *)"wide",
			   .benchmark = (char *)"is",
			   .cores = nodes,
			   .memory_mib = 50,
			   .share = 0.5},
			  {.name = (char *)"rare",
			   .benchmark = (char *)"is_cg",
			   .cores = 1,
			   .memory_mib = 120}},
		.cluster = {.name = (char *)"c1",
			    .nodes = nodes,
			    .cores = 1,
			    .memory_mib = 100,
			    .swap_mib = 50},
		.workload = {.seed = 7},
	};
	setting->config = (struct config){
		.clusters = &setting->cluster,
		.clusters_count = 1,
		.types = setting->types,
		.types_count = TYPES,
		.workload = &setting->workload,
	};
	run_profile_schedule_init(&setting->bench, &setting->config, 0, repeats);
}

static void assert_none_of_an_earlier_round(const struct run_profile_schedule *bench, uint32_t task)
{
	const struct run_wanted made = run_profile_schedule_made(bench, task);

	for (guint i = 0; i < bench->wanted->len; i++)
		g_assert_cmpuint(g_array_index(bench->wanted, struct run_wanted, i).round, >=,
				 made.round);
}

/* Starts whatever has room, then ends the task that has run for longest, until nothing is left. */
static void measure_all(struct run_profile_schedule *bench, uint32_t *ret_counts)
{
	uint32_t nodes[NODES_MAX];
	uint32_t next = 0;
	uint32_t running = 0;

	for (; bench->left; running++) {
		uint32_t type;

		for (; run_profile_schedule_start(bench, next, nodes); next++)
			assert_none_of_an_earlier_round(bench, next);
		g_assert_cmpuint(running, <, next);
		type = run_profile_schedule_made(bench, running).type;
		ret_counts[type] += run_profile_schedule_end(bench, running, true);
	}
	g_assert_cmpuint(running, ==, next);
}

static void a_wide_task_waits_for_room_and_no_later_round_takes_it(void)
{
	static const uint32_t repeats[] = {1, 2, 3, 6};

	for (gsize i = 0; i < G_N_ELEMENTS(repeats); i++) {
		struct setting setting;
		uint32_t counts[TYPES] = {0};

		set_up(&setting, 4, repeats[i]);
		measure_all(&setting.bench, counts);
		g_assert_cmpuint(counts[NARROW], ==, repeats[i]);
		g_assert_cmpuint(counts[WIDE], ==, repeats[i]);
		run_profile_schedule_clear(&setting.bench);
	}
}

static void a_type_that_never_arrives_is_measured_twice(void)
{
	static const struct {
		uint32_t repeats, rare;
	} cases[] = {{1, 1}, {2, 2}, {3, 2}, {10, 2}};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct setting setting;
		uint32_t counts[TYPES] = {0};

		set_up(&setting, 1, cases[i].repeats);
		measure_all(&setting.bench, counts);
		g_assert_cmpuint(counts[RARE], ==, cases[i].rare);
		run_profile_schedule_clear(&setting.bench);
	}
}

/* Of a cluster of one node: starts the next measurement and ends it; returns its type. */
static uint32_t one(struct run_profile_schedule *bench, bool completed, bool *ret_counts)
{
	uint32_t node;
	uint32_t type;

	g_assert_cmpuint(run_profile_schedule_start(bench, 0, &node), ==, 1);
	g_assert_cmpuint(run_profile_schedule_start(bench, 1, &node), ==, 0);
	type = run_profile_schedule_made(bench, 0).type;
	*ret_counts = run_profile_schedule_end(bench, 0, completed);
	return type;
}

static void what_is_cold_does_not_count(void)
{
	struct setting setting;
	bool counts;

	set_up(&setting, 1, 2);
	g_assert_cmpuint(setting.bench.left, ==, 6);
	/* The node has run nothing: neither "is" nor, after the round's others, "is_cg". */
	g_assert_cmpuint(one(&setting.bench, true, &counts), !=, RARE);
	g_assert_false(counts);
	g_assert_cmpuint(one(&setting.bench, true, &counts), !=, RARE);
	g_assert_true(counts);
	g_assert_cmpuint(one(&setting.bench, true, &counts), ==, RARE);
	g_assert_false(counts);
	/* That made it swap: the one of the first round that is still owed pays for it. */
	g_assert_cmpuint(one(&setting.bench, true, &counts), !=, RARE);
	g_assert_false(counts);
	g_assert_cmpuint(setting.bench.left, ==, 5);
	g_assert_cmpuint(one(&setting.bench, true, &counts), ==, RARE);
	g_assert_true(counts);
	run_profile_schedule_clear(&setting.bench);
}

static void what_fails_is_wanted_again_in_its_round(void)
{
	struct setting setting;
	bool counts;

	set_up(&setting, 1, 2);
	for (int i = 0; i < 10; i++) {
		one(&setting.bench, false, &counts);
		g_assert_false(counts);
		g_assert_cmpuint(g_array_index(setting.bench.wanted, struct run_wanted, 0).round,
				 ==, 0);
	}
	g_assert_cmpuint(setting.bench.left, ==, 6);
	run_profile_schedule_clear(&setting.bench);
}

static void a_node_that_booted_anew_is_cold(void)
{
	struct setting setting;
	uint32_t counts[TYPES] = {0};
	uint32_t node;

	set_up(&setting, 1, 1);
	measure_all(&setting.bench, counts);
	g_assert_cmpuint(run_profile_schedule_fill(&setting.bench, 0, &node), ==, 1);
	run_profile_schedule_end(&setting.bench, 0, true);
	run_profile_schedule_node_down(&setting.bench, 0);
	g_assert_cmpuint(run_profile_schedule_fill(&setting.bench, 0, &node), ==, 0);
	run_profile_schedule_node_up(&setting.bench, 0);
	g_assert_cmpuint(run_profile_schedule_fill(&setting.bench, 0, &node), ==, 1);
	g_assert_true(setting.bench.cold[node]);
	g_assert_false(run_profile_schedule_end(&setting.bench, 0, true));
	run_profile_schedule_clear(&setting.bench);
}

static void what_fills_comes_after_the_measurements_and_arrives_in_runs(void)
{
	struct setting setting;
	uint32_t counts[TYPES] = {0};

	uint32_t nodes[NODES_MAX];

	set_up(&setting, 4, 2);
	g_assert_cmpuint(run_profile_schedule_fill(&setting.bench, 0, nodes), ==, 0);
	measure_all(&setting.bench, counts);
	for (int i = 0; i < 50; i++) {
		struct run_wanted made;

		g_assert_cmpuint(run_profile_schedule_fill(&setting.bench, 0, nodes), >, 0);
		made = run_profile_schedule_made(&setting.bench, 0);
		g_assert_cmpuint(made.round, ==, RUN_NO_ROUND);
		g_assert_cmpuint(made.type, !=, RARE);
		run_profile_schedule_end(&setting.bench, 0, i % 2);
	}
	g_assert_cmpuint(setting.bench.left, ==, 0);
	g_assert_cmpuint(run_profile_schedule_start(&setting.bench, 0, nodes), ==, 0);
	run_profile_schedule_clear(&setting.bench);
}

static void what_is_given_up_is_left_out(void)
{
	struct setting setting;
	struct run_profile_schedule *bench = &setting.bench;
	uint32_t counts[TYPES] = {0};
	uint32_t node;

	set_up(&setting, 1, 4);
	while (run_profile_schedule_start(bench, 0, &node) &&
	       run_profile_schedule_made(bench, 0).type != NARROW)
		run_profile_schedule_end(bench, 0, true);
	g_assert_cmpuint(run_profile_schedule_give_up(bench, NARROW), ==, 4);
	g_assert_cmpuint(bench->missing[NARROW], ==, 0);
	/* What is under way ends, does not count, and is not wanted again. */
	g_assert_false(run_profile_schedule_end(bench, 0, true));
	measure_all(bench, counts);
	g_assert_cmpuint(counts[NARROW], ==, 0);
	g_assert_cmpuint(run_profile_schedule_give_up(bench, WIDE), ==, 0);
	g_assert_cmpuint(run_profile_schedule_fill(bench, 0, &node), ==, 0);
	run_profile_schedule_clear(bench);
}

static void what_is_on_record_is_not_measured_again(void)
{
	struct setting setting;
	uint32_t counts[TYPES] = {0};

	set_up(&setting, 2, 3);
	run_profile_schedule_recall(&setting.bench, NARROW, 0);
	run_profile_schedule_recall(&setting.bench, NARROW, 2);
	run_profile_schedule_recall(&setting.bench, NARROW, 2);
	run_profile_schedule_recall(&setting.bench, RARE, 7); /* there is none */
	g_assert_cmpuint(setting.bench.left, ==, 6);
	measure_all(&setting.bench, counts);
	g_assert_cmpuint(counts[NARROW], ==, 1);
	g_assert_cmpuint(counts[WIDE], ==, 3);
	g_assert_cmpuint(counts[RARE], ==, 2);
	run_profile_schedule_clear(&setting.bench);
}

static void too_few_nodes_are_what_is_stuck(void)
{
	struct setting setting;
	struct run_profile_schedule *bench = &setting.bench;
	uint32_t nodes[NODES_MAX];

	set_up(&setting, 2, 1);
	g_assert_false(run_profile_schedule_is_stuck(bench));
	run_profile_schedule_node_down(bench, 1);
	g_assert_true(run_profile_schedule_lacks_nodes(bench, WIDE));
	g_assert_false(run_profile_schedule_lacks_nodes(bench, NARROW));
	/* Tasks that fit run meanwhile. */
	while (run_profile_schedule_start(bench, 0, nodes)) {
		g_assert_cmpuint(run_profile_schedule_made(bench, 0).type, !=, WIDE);
		g_assert_false(run_profile_schedule_is_stuck(bench));
		run_profile_schedule_end(bench, 0, true);
	}
	g_assert_true(run_profile_schedule_is_stuck(bench));
	g_assert_cmpuint(run_profile_schedule_give_up(bench, WIDE), ==, 1);
	g_assert_false(run_profile_schedule_is_stuck(bench));
	g_assert_cmpuint(bench->left, ==, 0);
	run_profile_schedule_clear(bench);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func(
		"/run/profile-schedule/a wide task waits for room, and no later round takes it",
		a_wide_task_waits_for_room_and_no_later_round_takes_it);
	g_test_add_func("/run/profile-schedule/a type that never arrives is measured twice",
			a_type_that_never_arrives_is_measured_twice);
	g_test_add_func("/run/profile-schedule/what is cold does not count",
			what_is_cold_does_not_count);
	g_test_add_func("/run/profile-schedule/what fails is wanted again in its round",
			what_fails_is_wanted_again_in_its_round);
	g_test_add_func("/run/profile-schedule/a node that rebooted is cold",
			a_node_that_booted_anew_is_cold);
	g_test_add_func(
		"/run/profile-schedule/what fills comes after the measurements and arrives in runs",
		what_fills_comes_after_the_measurements_and_arrives_in_runs);
	g_test_add_func("/run/profile-schedule/what is given up is left out",
			what_is_given_up_is_left_out);
	g_test_add_func("/run/profile-schedule/what is on record is not measured again",
			what_is_on_record_is_not_measured_again);
	g_test_add_func("/run/profile-schedule/too few nodes are what is stuck",
			too_few_nodes_are_what_is_stuck);
	return g_test_run();
}
