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

static void assert_none_of_an_earlier_round(const struct run_profile_schedule *bench,
					    const struct run_job *job)
{
	for (guint i = 0; i < bench->wanted->len; i++)
		g_assert_cmpuint(g_array_index(bench->wanted, struct run_wanted, i).round, >=,
				 job->round);
}

/* Starts whatever has room, then ends the job that has run for longest, until nothing is left. */
static void measure_all(struct run_profile_schedule *bench, uint32_t *ret_counts)
{
	g_autoptr(GQueue) running = g_queue_new();

	while (bench->left) {
		struct run_job *job;

		while ((job = run_profile_schedule_start(bench))) {
			assert_none_of_an_earlier_round(bench, job);
			g_queue_push_tail(running, job);
		}
		job = g_queue_pop_head(running);
		g_assert_nonnull(job);
		ret_counts[job->type] += run_profile_schedule_end(bench, job, true);
		run_job_free(job);
	}
	g_assert_null(g_queue_peek_head(running));
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
	struct run_job *job = run_profile_schedule_start(bench);
	uint32_t type;

	g_assert_nonnull(job);
	g_assert_null(run_profile_schedule_start(bench));
	type = job->type;
	*ret_counts = run_profile_schedule_end(bench, job, completed);
	run_job_free(job);
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
	struct run_job *job;

	set_up(&setting, 1, 1);
	measure_all(&setting.bench, counts);
	job = run_profile_schedule_fill(&setting.bench);
	g_assert_nonnull(job);
	run_profile_schedule_end(&setting.bench, job, true);
	run_job_free(job);
	run_profile_schedule_node_down(&setting.bench, 0);
	g_assert_null(run_profile_schedule_fill(&setting.bench));
	run_profile_schedule_node_up(&setting.bench, 0);
	job = run_profile_schedule_fill(&setting.bench);
	g_assert_nonnull(job);
	g_assert_true(job->cold);
	g_assert_false(run_profile_schedule_end(&setting.bench, job, true));
	run_job_free(job);
	run_profile_schedule_clear(&setting.bench);
}

static void what_fills_comes_after_the_measurements_and_arrives_in_runs(void)
{
	struct setting setting;
	uint32_t counts[TYPES] = {0};

	set_up(&setting, 4, 2);
	g_assert_null(run_profile_schedule_fill(&setting.bench));
	measure_all(&setting.bench, counts);
	for (int i = 0; i < 50; i++) {
		struct run_job *job = run_profile_schedule_fill(&setting.bench);

		g_assert_nonnull(job);
		g_assert_true(job->filler);
		g_assert_cmpuint(job->type, !=, RARE);
		run_profile_schedule_end(&setting.bench, job, i % 2);
		run_job_free(job);
	}
	g_assert_cmpuint(setting.bench.left, ==, 0);
	g_assert_null(run_profile_schedule_start(&setting.bench));
	run_profile_schedule_clear(&setting.bench);
}

static void what_is_given_up_is_left_out(void)
{
	struct setting setting;
	struct run_profile_schedule *bench = &setting.bench;
	uint32_t counts[TYPES] = {0};
	struct run_job *job;

	set_up(&setting, 1, 4);
	while ((job = run_profile_schedule_start(bench))->type != NARROW) {
		run_profile_schedule_end(bench, job, true);
		run_job_free(job);
	}
	g_assert_cmpuint(run_profile_schedule_give_up(bench, NARROW), ==, 4);
	g_assert_cmpuint(bench->missing[NARROW], ==, 0);
	/* What is under way ends, does not count, and is not wanted again. */
	g_assert_false(run_profile_schedule_end(bench, job, true));
	run_job_free(job);
	measure_all(bench, counts);
	g_assert_cmpuint(counts[NARROW], ==, 0);
	g_assert_cmpuint(run_profile_schedule_give_up(bench, WIDE), ==, 0);
	g_assert_null(run_profile_schedule_fill(bench));
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
	struct run_job *job;

	set_up(&setting, 2, 1);
	g_assert_false(run_profile_schedule_is_stuck(bench));
	run_profile_schedule_node_down(bench, 1);
	g_assert_true(run_profile_schedule_lacks_nodes(bench, WIDE));
	g_assert_false(run_profile_schedule_lacks_nodes(bench, NARROW));
	/* Tasks that fit run meanwhile. */
	while ((job = run_profile_schedule_start(bench))) {
		g_assert_cmpuint(job->type, !=, WIDE);
		g_assert_false(run_profile_schedule_is_stuck(bench));
		run_profile_schedule_end(bench, job, true);
		run_job_free(job);
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
