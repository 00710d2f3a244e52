/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Policies that share hosts in time (Stillwell 2010) against a plain implementation and brute
 * force.
 */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "controller/sched/mcb8.h"
#include "controller/sched/policy.h"
#include "controller/sched/sharing.h"
#include "controller/sched/sharing_yield.h"
#include "tests/oracle/sharing_oracle.h"
#include "tests/oracle/sharing_snapshots.h"
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

static struct oracle_job *find_job(const struct oracle_state *state, uint32_t id)
{
	for (uint32_t i = 0; i < state->jobs_count; i++)
		if (state->jobs[i].task->id == id)
			return &state->jobs[i];
	g_assert_not_reached();
}

/* Whether the job's state allows the action. */
static void check_kind(const struct oracle_job *job, enum sched_action_kind kind)
{
	const bool paused = !job->ran && !job->waited;

	switch (kind) {
	case SCHED_ACTION_PLACE:
	case SCHED_ACTION_DEFER:
		g_assert_true(job->waited);
		break;
	case SCHED_ACTION_RESUME:
		g_assert_true(paused);
		break;
	case SCHED_ACTION_PAUSE:
	case SCHED_ACTION_MIGRATE:
	case SCHED_ACTION_SHARE:
		g_assert_true(job->ran);
		break;
	default:
		g_assert_not_reached();
	}
}

/* The VMs that stay keep their places, and no VM moves that need not. */
static void check_migration(const struct oracle_state *state, const struct oracle_job *job,
			    const struct sched_action *action)
{
	g_autofree int *balance = g_new0(int, state->hosts_count);
	uint32_t moved = 0;
	uint32_t needed = 0;

	for (uint32_t v = 0; v < action->nodes_count; v++) {
		moved += action->nodes[v] != job->hosts[v];
		balance[action->nodes[v]]++;
		balance[job->hosts[v]]--;
	}
	for (uint32_t h = 0; h < state->hosts_count; h++)
		needed += (uint32_t)MAX(0, balance[h]);
	g_assert_cmpuint(moved, >, 0);
	g_assert_cmpuint(moved, ==, needed);
}

/* Carries out a plan on the state. */
static void carry_out(struct oracle_state *state, const struct sched_plan *plan)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);

	for (uint32_t i = 0; i < plan->actions_count; i++) {
		const struct sched_action *action = &plan->actions[i];
		struct oracle_job *job = find_job(state, action->task);

		g_assert_true(g_hash_table_add(seen, GUINT_TO_POINTER(action->task)));
		g_assert_nonnull(sched_reason_text(action->reason));
		check_kind(job, action->kind);
		if (action->kind == SCHED_ACTION_DEFER) {
			job->put_off_s = action->start_s;
			continue;
		}
		if (action->kind == SCHED_ACTION_PAUSE) {
			job->placed = false;
			continue;
		}
		g_assert_cmpuint(action->nodes_count, ==, job->task->demand.vms);
		if (action->kind == SCHED_ACTION_MIGRATE)
			check_migration(state, job, action);
		if (action->kind == SCHED_ACTION_SHARE)
			assert_same_nodes(action->nodes, action->nodes_count, job->hosts,
					  job->task->demand.vms);
		job->placed = true;
		job->yield = action->yield;
		memcpy(job->hosts, action->nodes, action->nodes_count * sizeof(uint32_t));
	}
}

/* No host has more VMs than memory, or gives more than its CPU, or is down. */
static void check_hosts(const struct oracle_state *state)
{
	g_autofree double *memory = g_new0(double, state->hosts_count);
	g_autofree double *shares = g_new0(double, state->hosts_count);

	for (uint32_t i = 0; i < state->jobs_count; i++) {
		const struct oracle_job *job = &state->jobs[i];

		if (!job->placed)
			continue;
		g_assert_cmpfloat(job->yield, >, 0);
		g_assert_cmpfloat(job->yield, <=, 1 + 1e-9);
		for (uint32_t v = 0; v < job->task->demand.vms; v++) {
			g_assert_false(state->down[job->hosts[v]]);
			memory[job->hosts[v]] += job->task->demand.memory;
			shares[job->hosts[v]] += job->task->demand.cpu * job->yield;
		}
	}
	for (uint32_t h = 0; h < state->hosts_count; h++) {
		g_assert_cmpfloat(memory[h], <=, 1 + 1e-8);
		g_assert_cmpfloat(shares[h], <=, 1 + 1e-8);
	}
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
		carry_out(state, &plan);
		check_hosts(state);
		oracle_share(expected, &random->snapshot, ops->name);
		check_same(state, expected);
		oracle_state_free(state);
		oracle_state_free(expected);
		sharing_snapshot_free(random);
	}
	arena_free(context.arena);
}

static void assert_same_plan(const struct sched_plan *a, const struct sched_plan *b)
{
	g_assert_cmpuint(a->actions_count, ==, b->actions_count);
	for (uint32_t i = 0; i < a->actions_count; i++) {
		const struct sched_action *x = &a->actions[i];
		const struct sched_action *y = &b->actions[i];

		g_assert_true(x->kind == y->kind && x->task == y->task && x->yield == y->yield &&
			      x->start_s == y->start_s && x->reason == y->reason);
		assert_same_nodes(x->nodes, x->nodes_count, y->nodes, y->nodes_count);
	}
}

/* The same with fresh memory, and while it explains what became of every job. */
static void test_purity(const void *data)
{
	const struct policy_ops *ops = data;
	struct policy policy;

	make_policy(ops->name, &policy);
	for (uint64_t seed = 0; seed < 300; seed++) {
		struct sharing_snapshot *random = sharing_snapshot_new(seed, &sizes[1]);
		struct policy_context one = {.arena = arena_new()};
		struct policy_context two = {.arena = arena_new(), .flags = POLICY_EXPLAIN};
		struct sched_plan plan;
		struct sched_plan explained;

		g_assert_cmpint(policy_decide(&policy, &random->snapshot, &one, &plan), ==, 0);
		g_assert_cmpint(policy_decide(&policy, &random->snapshot, &two, &explained), ==, 0);
		assert_same_plan(&plan, &explained);
		g_assert_cmpuint(explained.considered_count, ==,
				 random->snapshot.waiting_count + random->snapshot.suspended_count +
					 random->snapshot.running_count);
		for (uint32_t i = 0; i < explained.considered_count; i++)
			if (explained.considered[i].action != UINT32_MAX)
				g_assert_cmpuint(
					explained.actions[explained.considered[i].action].task, ==,
					explained.considered[i].task);
		arena_free(one.arena);
		arena_free(two.arena);
		sharing_snapshot_free(random);
	}
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
		carry_out(state, &plan);
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
		g_autofree char *pure =
			g_strdup_printf("/sharing/%s is a function of the snapshot", list[i]->name);

		g_test_add_data_func(same, list[i], test_oracle);
		g_test_add_data_func(pure, list[i], test_purity);
	}
	return g_test_run();
}
