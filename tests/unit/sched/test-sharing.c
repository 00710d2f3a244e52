/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Policies that share hosts in time (Stillwell 2010) against a plain implementation and brute
 * force.
 */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "controller/sched/mcb8.h"
#include "controller/sched/plan_rules.h"
#include "controller/sched/policy.h"
#include "controller/sched/sharing.h"
#include "controller/sched/sharing_yield.h"
#include "tests/oracle/sharing_oracle.h"
#include "controller/check/sharing_snapshots.h"
#include "tests/oracle/snapshots.h"

#define SNAPSHOTS 3000

static const struct sharing_size sizes[] = {
	{4, 6, 4},
	{12, 16, 10},
	{40, 24, 40},
};

static void make_policy(const char *name, struct policy *ret_policy)
{
	char message[256];

	g_assert_cmpint(policy_parse(name, ret_policy, message, sizeof(message)), ==, 0);
}

static int compare_hosts(const void *left, const void *right)
{
	const uint32_t a = *(const uint32_t *)left;
	const uint32_t b = *(const uint32_t *)right;

	return (a > b) - (a < b);
}

/* The same jobs are placed on the same hosts with the same yields. */
static void check_same(const struct oracle_state *state, const struct oracle_state *expected)
{
	for (uint32_t i = 0; i < state->jobs_count; i++) {
		struct oracle_job *a = &state->jobs[i];
		struct oracle_job *b = &expected->jobs[i];
		const uint32_t vms = a->task->demand.vms;

		g_assert_true(a->placed == b->placed);
		if (!a->placed) {
			g_assert_cmpfloat(a->put_off_s, ==, b->put_off_s);
			continue;
		}
		g_assert_cmpfloat_with_epsilon(a->yield, b->yield, 1e-6);
		qsort(a->hosts, vms, sizeof(uint32_t), compare_hosts);
		qsort(b->hosts, vms, sizeof(uint32_t), compare_hosts);
		assert_same_nodes(a->hosts, vms, b->hosts, vms);
	}
}

static void test_oracle(const void *data)
{
	const struct policy_ops *ops = data;
	struct policy_context context;
	struct policy policy;

	if (!oracle_shares(ops->name)) {
		g_autofree char *reason =
			g_strdup_printf("the oracle does not know \"%s\"", ops->name);

		g_test_skip(reason);
		return;
	}
	context = (struct policy_context){.arena = arena_new()};
	make_policy(ops->name, &policy);
	for (uint64_t seed = 0; seed < SNAPSHOTS; seed++) {
		/* The plain implementation is slow where there is much to pack. */
		const struct sharing_size *size = &sizes[seed % 16 == 0 ? 2 : seed % 2];
		struct sharing_snapshot *random = sharing_snapshot_new(seed, size);
		struct oracle_state *state = oracle_state_new(&random->snapshot);
		struct oracle_state *expected = oracle_state_new(&random->snapshot);
		struct sched_plan plan;

		g_assert_cmpint(policy_decide(&policy, &random->snapshot, &context, &plan), ==, 0);
		g_assert_cmpstr(plan_rules_broken(&random->snapshot, &plan, context.arena), ==,
				NULL);
		oracle_carry_out(state, &plan);
		oracle_share(expected, &random->snapshot, ops->name);
		check_same(state, expected);
		oracle_state_free(state);
		oracle_state_free(expected);
		sharing_snapshot_free(random);
	}
	arena_free(context.arena);
}

/* The yield that all get is never above the best of all placements. */
static void test_brute_force(void)
{
	static const struct sharing_size small = {3, 4, 3};
	struct policy_context context = {.arena = arena_new()};
	struct policy policy;
	uint32_t all = 0;

	make_policy("dynmcb8", &policy);
	for (uint64_t seed = 0; seed < 3000; seed++) {
		struct sharing_snapshot *random = sharing_snapshot_new(seed, &small);
		struct oracle_state *state = oracle_state_new(&random->snapshot);
		struct sched_plan plan;
		bool placed = true;
		double least = 1;
		double best;

		g_assert_cmpint(policy_decide(&policy, &random->snapshot, &context, &plan), ==, 0);
		best = oracle_best_yield(state);
		g_assert_cmpstr(plan_rules_broken(&random->snapshot, &plan, context.arena), ==,
				NULL);
		oracle_carry_out(state, &plan);
		for (uint32_t i = 0; i < state->jobs_count; i++) {
			placed = placed && state->jobs[i].placed;
			least = fmin(least, state->jobs[i].yield);
		}
		if (placed && state->jobs_count > 0) {
			g_assert_cmpfloat(least, <=, best + 1e-9);
			g_assert_cmpfloat(1 / fmax(1, oracle_load(state)), <=, best + 1e-9);
			all++;
		}
		oracle_state_free(state);
		sharing_snapshot_free(random);
	}
	g_assert_cmpuint(all, >, 300);
	arena_free(context.arena);
}

/*
 * The example of Stillwell 2010, III.A: 10 s at 1, a pause, 30 s at 0.5 are 25 s of virtual time.
 */
static void test_priority(void)
{
	g_assert_true(isinf(sharing_priority(100, 0)));
	g_assert_cmpfloat(sharing_priority(160, 25), ==, 160.0 / 625);
	g_assert_cmpfloat(sharing_priority(10, 5), ==, 30.0 / 25);
	g_assert_cmpfloat(sharing_priority(0, 1e-9), >, 1e18);
}

static void test_stretch(void)
{
	const struct sharing_job job = {.flow_s = 1200, .virtual_s = 300};

	g_assert_cmpfloat(sharing_stretch(&job, 0.5, 600), ==, 3);
	g_assert_cmpfloat_with_epsilon(sharing_stretch_yield(&job, 3, 600), 0.5, 1e-12);
	g_assert_cmpfloat(sharing_stretch_yield(&job, 1, 600), ==, 1);
	g_assert_cmpfloat(sharing_stretch_yield(&job, 10, 600), ==, 0.01);
}

/* A packing by hand: the host's imbalance decides which list is next. */
static void test_packing(void)
{
	static const struct mcb8_job jobs[] = {
		{1, 0.6, 0.1},
		{1, 0.5, 0.2},
		{1, 0.1, 0.7},
		{1, 0.2, 0.5},
	};
	struct arena *arena = arena_new();
	struct mcb8_packing packing;
	struct mcb8 mcb8;

	g_assert_cmpint(mcb8_init(&mcb8, arena, 4, 2), ==, 0);
	g_assert_cmpint(mcb8_packing_init(&mcb8, arena, 4, &packing), ==, 0);
	g_assert_true(mcb8_pack(&mcb8, jobs, 4, &packing));
	g_assert_cmpuint(packing.fills_count, ==, 2);
	g_assert_cmpuint(packing.entries_count, ==, 4);
	g_assert_cmpuint(packing.entries[0].job, ==, 0);
	g_assert_cmpuint(packing.entries[1].job, ==, 2);
	g_assert_cmpuint(packing.entries[2].job, ==, 1);
	g_assert_cmpuint(packing.entries[3].job, ==, 3);
	g_assert_cmpfloat_with_epsilon(packing.load, 0.7, 1e-12);
	g_assert_true(mcb8_pack(&mcb8, jobs, 0, &packing));
	g_assert_cmpuint(packing.fills_count, ==, 0);
	arena_free(arena);
}

/* Ten tasks of a tenth each fill a host exactly, and an eleventh does not fit. */
static void test_tenths(void)
{
	const struct mcb8_job full = {20, 0.1, 0.1};
	const struct mcb8_job over = {21, 0.1, 0.1};
	struct arena *arena = arena_new();
	struct mcb8_packing packing;
	struct mcb8 mcb8;

	g_assert_cmpint(mcb8_init(&mcb8, arena, 1, 2), ==, 0);
	g_assert_cmpint(mcb8_packing_init(&mcb8, arena, 21, &packing), ==, 0);
	g_assert_true(mcb8_pack(&mcb8, &full, 1, &packing));
	g_assert_cmpuint(packing.fills_count, ==, 1);
	g_assert_cmpuint(packing.fills[0].hosts, ==, 2);
	g_assert_cmpuint(packing.entries[0].tasks, ==, 10);
	g_assert_false(mcb8_pack(&mcb8, &over, 1, &packing));
	arena_free(arena);
}

int main(int argc, char **argv)
{
	uint32_t count;
	const struct policy_ops *const *list = policy_list(&count);

	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/sharing/priority is that of the paper", test_priority);
	g_test_add_func("/sharing/estimated stretch and its yield", test_stretch);
	g_test_add_func("/sharing/a packing by hand", test_packing);
	g_test_add_func("/sharing/ten tenths are one", test_tenths);
	g_test_add_func("/sharing/no yield is above what brute force finds", test_brute_force);
	for (uint32_t i = 0; i < count; i++) {
		if (!list[i]->sharing)
			continue;

		g_autofree char *same =
			g_strdup_printf("/sharing/%s decides like the plain implementation",
					list[i]->name);

		g_test_add_data_func(same, list[i], test_oracle);
	}
	return g_test_run();
}
