/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The heuristics of Machovec 2017 decide as its Algorithms 1 to 3 do, taken literally. */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "controller/sched/policy.h"
#include "tests/oracle/preempt_oracle.h"
#include "controller/check/preempt_snapshots.h"
#include "tests/oracle/snapshots.h"

#define SNAPSHOTS 700

/* A policy of an immediate system, and how the oracle is to decide. */
static const struct heuristic {
	const char *name;
	const char *plain; /* its twin without preemption */
	enum oracle_preempt preempt;
	bool upt;
	bool algorithm_3;
} heuristics[] = {
	{"fcfs", NULL, ORACLE_FCFS, false},
	{"random", NULL, ORACLE_RANDOM, false},
	{"max-util", NULL, ORACLE_NEVER, false},
	{"max-upt", NULL, ORACLE_NEVER, true},
	{"max-util-preempt-greedy", "max-util", ORACLE_GREEDY, false},
	{"max-util-preempt-diff", "max-util", ORACLE_DIFF, false},
	{"max-util-preempt-pair", "max-util", ORACLE_PAIR, false},
	{"max-upt-preempt-greedy", "max-upt", ORACLE_GREEDY, true},
	{"max-upt-preempt-diff", "max-upt", ORACLE_DIFF, true},
	{"max-upt-preempt-pair", "max-upt", ORACLE_PAIR, true},
	{"max-util-preempt-pair+algorithm-3", "max-util", ORACLE_PAIR, false, true},
	{"max-upt-preempt-pair+algorithm-3", "max-upt", ORACLE_PAIR, true, true},
	{"max-util-preempt-pair+no-wait", "max-util", ORACLE_PAIR, false},
	{"max-upt-preempt-pair+no-wait", "max-upt", ORACLE_PAIR, true},
};

static void decide(const char *name, const struct sched_snapshot *snapshot, struct arena *arena,
		   unsigned int flags, struct sched_plan *ret_plan)
{
	struct policy_context context = {.arena = arena, .flags = flags};
	struct policy policy;
	char message[256];

	g_assert_cmpint(policy_parse(name, &policy, message, sizeof(message)), ==, 0);
	g_assert_cmpint(policy_decide(&policy, snapshot, &context, ret_plan), ==, 0);
}

static void assert_same_action(const struct sched_action *a, const struct sched_action *b)
{
	g_assert_cmpint(a->kind, ==, b->kind);
	g_assert_cmpuint(a->task, ==, b->task);
	g_assert_cmpuint(a->cluster, ==, b->cluster);
	g_assert_cmpuint(a->pstate, ==, b->pstate);
	g_assert_cmpfloat(a->start_s, ==, b->start_s);
	g_assert_cmpfloat(a->end_s, ==, b->end_s);
	g_assert_cmpfloat(a->energy_j, ==, b->energy_j);
	g_assert_cmpfloat(a->utility, ==, b->utility);
	g_assert_true(a->objective == b->objective); /* infinite now and then */
	g_assert_cmpint(a->reason, ==, b->reason);
	assert_same_nodes(a->nodes, a->nodes_count, b->nodes, b->nodes_count);
}

static void assert_same_actions(const struct sched_plan *plan, const struct sched_action *expected,
				uint32_t count)
{
	g_assert_cmpuint(plan->actions_count, ==, count);
	for (uint32_t i = 0; i < count; i++)
		assert_same_action(&plan->actions[i], &expected[i]);
}

/* What the snapshots made the policies do. */
struct tally {
	uint32_t starts;
	uint32_t suspends;
	uint32_t resumes;
	uint32_t moves; /* suspended and resumed elsewhere in one event */
};

static void count(struct tally *tally, const struct sched_plan *plan)
{
	g_autoptr(GHashTable) suspended = g_hash_table_new(NULL, NULL);

	for (uint32_t i = 0; i < plan->actions_count; i++) {
		const struct sched_action *action = &plan->actions[i];
		gpointer task = GUINT_TO_POINTER(action->task);

		tally->starts += action->kind == SCHED_ACTION_START;
		tally->resumes += action->kind == SCHED_ACTION_RESUME;
		tally->suspends += action->kind == SCHED_ACTION_SUSPEND;
		if (action->kind == SCHED_ACTION_SUSPEND)
			g_hash_table_add(suspended, task);
		tally->moves += action->kind == SCHED_ACTION_RESUME &&
				g_hash_table_contains(suspended, task);
	}
}

/* One snapshot; on a serial one both forms of the oracle agree. */
static void compare(const struct heuristic *heuristic, uint64_t seed, bool serial, uint32_t flags,
		    struct arena *arena, struct tally *tally)
{
	struct preempt_snapshot *made = preempt_snapshot_new(seed, serial, flags);
	struct sched_plan plan;

	for (int cores = 0; cores <= serial; cores++) {
		const struct preempt_oracle oracle = {&made->snapshot, heuristic->preempt,
						      heuristic->upt, heuristic->algorithm_3,
						      cores};
		GArray *expected = preempt_oracle_decide(&oracle);

		decide(heuristic->name, &made->snapshot, arena, POLICY_PLAIN, &plan);
		assert_same_actions(&plan, (const struct sched_action *)expected->data,
				    expected->len);
		preempt_oracle_free(expected);
	}
	count(tally, &plan);
	preempt_snapshot_free(made);
}

static void test_oracle(const void *data)
{
	const struct heuristic *heuristic = data;
	struct arena *arena = arena_new();
	struct tally tally = {0};

	for (uint64_t seed = 0; seed < SNAPSHOTS; seed++)
		for (int serial = 0; serial < 2; serial++)
			for (uint32_t flags = 0; flags <= 100; flags += 50)
				compare(heuristic, seed, serial, flags, arena, &tally);
	g_test_message("%u starts, %u suspensions, %u resumptions, %u moves", tally.starts,
		       tally.suspends, tally.resumes, tally.moves);
	g_assert_cmpuint(tally.starts, >, SNAPSHOTS);
	g_assert_cmpuint(tally.resumes, >, SNAPSHOTS / 4);
	if (heuristic->plain)
		g_assert_cmpuint(tally.suspends, >, SNAPSHOTS);
	else
		g_assert_cmpuint(tally.suspends, ==, 0);
	arena_free(arena);
}

/* Acceptance: with all flags false a policy decides what its plain twin does. */
static void test_no_flags(const void *data)
{
	const struct heuristic *heuristic = data;
	struct arena *arena = arena_new();
	struct arena *other = arena_new();

	for (uint64_t seed = 0; seed < 2 * SNAPSHOTS; seed++) {
		struct preempt_snapshot *made = preempt_snapshot_new(seed, seed % 2, 0);
		struct sched_plan plan;
		struct sched_plan plain;

		decide(heuristic->name, &made->snapshot, arena, POLICY_PLAIN, &plan);
		decide(heuristic->plain, &made->snapshot, other, POLICY_PLAIN, &plain);
		assert_same_actions(&plan, plain.actions, plain.actions_count);
		preempt_snapshot_free(made);
	}
	arena_free(arena);
	arena_free(other);
}

/* While it explains itself a policy decides the same, and every placement has its way. */
static void test_explain(const void *data)
{
	const struct heuristic *heuristic = data;
	struct arena *arena = arena_new();
	struct arena *other = arena_new();

	for (uint64_t seed = 0; seed < SNAPSHOTS / 2; seed++) {
		struct preempt_snapshot *made = preempt_snapshot_new(seed, seed % 2, 50);
		struct sched_plan plan;
		struct sched_plan explained;
		uint32_t taken = 0;
		uint32_t placed = 0;

		decide(heuristic->name, &made->snapshot, arena, POLICY_PLAIN, &plan);
		decide(heuristic->name, &made->snapshot, other, POLICY_EXPLAIN, &explained);
		assert_same_actions(&explained, plan.actions, plan.actions_count);
		for (uint32_t i = 0; i < explained.considered_count; i++) {
			const struct sched_considered *c = &explained.considered[i];

			taken += c->refusal == SCHED_REFUSAL_TAKEN;
			g_assert_true(c->action != UINT32_MAX || c->refusal != SCHED_REFUSAL_TAKEN);
			if (c->action != UINT32_MAX)
				g_assert_cmpuint(explained.actions[c->action].task, ==, c->task);
			g_assert_nonnull(sched_refusal_text(c->refusal));
		}
		for (uint32_t i = 0; i < plan.actions_count; i++)
			placed += plan.actions[i].nodes_count > 0;
		g_assert_cmpuint(taken, ==, placed);
		preempt_snapshot_free(made);
	}
	arena_free(arena);
	arena_free(other);
}

/*
 * Scenes: clusters of one or more nodes, tasks that take 10 s times what the table says on each of
 * them, at 100 s; utility functions are flat for 1000 s.
 */
struct scene {
	const char *name;
	const char *policy;
	uint32_t clusters;
	uint32_t nodes[2]; /* of each */
	struct {
		double max;
		double etc[2];  /* 10 s; 0: cannot run */
		uint32_t width; /* 0: 1 */
		bool may_preempt;
		bool preemptible;
		int on;         /* cluster where it runs since 95 s; -1: it waits */
		uint32_t first; /* its first node */
		double zero_s;  /* age at which the function ends; 0: 1000 */
		/* suspended in its cluster with so much; on is then -2 - cluster */
		double executed_s;
	} tasks[5];
	const char *plan;
	const char *verdicts; /* on task 0's options, by cluster; NULL: not looked at */
};

/*
 * III.E.3: t1 runs on c1 and will earn 2.0. t2 would earn 2.5 there, or 1.0 on the idle c2, where
 * it takes longer.
 */
static void test_example(void)
{
	const struct sched_cluster clusters[] = {
		{.name = "c1", .nodes = 1, .cores = 1, .pstates = 1},
		{.name = "c2", .nodes = 1, .cores = 1, .pstates = 1},
	};
	const struct {
		const char *policy;
		uint32_t actions;
		uint32_t cluster;
		double objective;
	} cases[] = {
		{"max-util-preempt-diff", 1, 1, 1.0},
		{"max-util-preempt-greedy", 2, 0, 2.5},
		{"max-util", 1, 1, 1.0},
	};
	struct sched_system *system = sched_system_new(clusters, 2, 1);
	const struct utility falls = {
		.max = 2.5,
		.segments_count = 2,
		.segments = {{UTILITY_CONSTANT, 50, 1, 1, 0}, {UTILITY_CONSTANT, 50, 0.4, 0.4, 0}},
	};
	const struct sched_task tasks[] = {
		{0, 0, 100, utility_testbed(2, 500, 500), true, true},
		{1, 0, 160, falls, true, true},
	};
	const struct sched_task *waiting[] = {&tasks[1]};
	const uint32_t node = 0;
	const struct sched_allocation running = {&tasks[0], 0, 0, 1, &node, 150, 0, 190};
	const struct sched_snapshot snapshot = {
		.system = system,
		.now_s = 160,
		.next_event_s = 220,
		.end_s = 1000,
		.budget_j = (double)INFINITY,
		.waiting_count = 1,
		.waiting = waiting,
		.running_count = 1,
		.running = &running,
	};
	struct arena *arena = arena_new();

	system->row_names[0] = "t";
	system->nodes[0] = system->nodes[1] = 1;
	system->etc_s[0] = 40;
	system->etc_s[1] = 80;
	system->immediate = true;
	g_assert_cmpint(sched_system_finish(system, NULL), ==, SCHED_SYSTEM_OK);
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct sched_plan plan;
		const struct sched_action *start;

		decide(cases[i].policy, &snapshot, arena, POLICY_PLAIN, &plan);
		g_assert_cmpuint(plan.actions_count, ==, cases[i].actions);
		start = &plan.actions[plan.actions_count - 1];
		g_assert_cmpint(start->kind, ==, SCHED_ACTION_START);
		g_assert_cmpuint(start->task, ==, 1);
		g_assert_cmpuint(start->cluster, ==, cases[i].cluster);
		g_assert_cmpfloat(start->objective, ==, cases[i].objective);
		if (cases[i].actions == 2) {
			g_assert_cmpint(plan.actions[0].kind, ==, SCHED_ACTION_SUSPEND);
			g_assert_cmpuint(plan.actions[0].task, ==, 0);
			g_assert_cmpfloat(plan.actions[0].objective, ==, 2.0);
		}
	}
	arena_free(arena);
	sched_system_free(system);
}

#define FLAT(worth) .max = worth, .etc = {1, 1}, .on = -1
#define BOTH .may_preempt = true, .preemptible = true

static const struct scene scenes[] = {
	{"an idle node wins over a task of equal worth for the preempting one",
	 "max-util-preempt-greedy",
	 2,
	 {1, 1},
	 {{FLAT(8), .may_preempt = true}, {.max = 1, .etc = {1, 1}, .on = 0, BOTH}},
	 "start 0 on 1:0\n"},
	{"of victims the one worth least gives way, in whatever cluster",
	 "max-util-preempt-greedy",
	 2,
	 {1, 1},
	 {{FLAT(8), .may_preempt = true},
	  {.max = 2, .etc = {1, 1}, .on = 0, BOTH},
	  {.max = 1, .etc = {1, 1}, .on = 1, BOTH}},
	 "suspend 2\nstart 0 on 1:0\n"},
	{"equal worth does not preempt",
	 "max-util-preempt-greedy",
	 1,
	 {1},
	 {{FLAT(1), BOTH}, {.max = 1, .etc = {1, 1}, .on = 0, BOTH}},
	 ""},
	{"a task that may not preempt waits",
	 "max-util-preempt-greedy",
	 1,
	 {1},
	 {{FLAT(8)}, {.max = 1, .etc = {1, 1}, .on = 0, BOTH}},
	 ""},
	{"a task that is not preemptible stays",
	 "max-util-preempt-greedy",
	 1,
	 {1},
	 {{FLAT(8), BOTH}, {.max = 1, .etc = {1, 1}, .on = 0, .may_preempt = true}},
	 ""},
	{"UPT spares what is almost done",
	 "max-upt-preempt-greedy",
	 2,
	 {1, 1},
	 {{FLAT(3), .may_preempt = true},
	  {.max = 1, .etc = {0.6, 0.6}, .on = 0, BOTH},
	  {.max = 1, .etc = {3, 3}, .on = 1, BOTH}},
	 "suspend 2\nstart 0 on 1:0\n"},
	{"a suspended task resumes in its cluster alone",
	 "max-util-preempt-greedy",
	 2,
	 {1, 1},
	 {{.max = 1, .etc = {2, 1}, .on = -2, .executed_s = 5},
	  {.max = 2, .etc = {1, 1}, .on = 0, .may_preempt = true}},
	 ""},
	{"and with what is left of it",
	 "max-upt-preempt-greedy",
	 2,
	 {1, 1},
	 {{.max = 1, .etc = {2, 1}, .on = -2, .executed_s = 15}, {FLAT(1)}},
	 "resume 0 on 0:0\nstart 1 on 1:0\n"},
	{"a suspended task that can earn no more in its cluster leaves",
	 "max-util-preempt-greedy",
	 2,
	 {1, 1},
	 {{.max = 1, .etc = {5, 0.5}, .on = -2, .zero_s = 130, .executed_s = 1}},
	 "drop 0\n"},
	{"a wide task takes idle nodes first, then whole tasks of least worth",
	 "max-util-preempt-greedy",
	 1,
	 {4},
	 {{FLAT(8), .width = 3, .may_preempt = true},
	  {.max = 2, .etc = {1}, .on = 0, .first = 0, BOTH},
	  {.max = 1, .etc = {1}, .on = 0, .first = 1, .width = 2, BOTH}},
	 "suspend 2\nstart 0 on 0:1,2,3\n"},
	{"and has to be worth more than all of them together",
	 "max-util-preempt-greedy",
	 1,
	 {2},
	 {{FLAT(3), .width = 2, .may_preempt = true},
	  {.max = 2, .etc = {1}, .on = 0, .first = 0, BOTH},
	  {.max = 1, .etc = {1}, .on = 0, .first = 1, BOTH}},
	 ""},
	{"what a wide victim leaves idle goes to others in the same event",
	 "max-util-preempt-greedy",
	 1,
	 {3},
	 {{FLAT(8), .may_preempt = true},
	  {.max = 1, .etc = {1}, .on = 0, .width = 3, BOTH},
	  {.max = 0.5, .etc = {1}, .on = -1}},
	 "suspend 1\nstart 0 on 0:0\nstart 2 on 0:1\n"},
	{"Algorithm 3: what loses nothing by waiting goes second",
	 "max-util-preempt-pair+algorithm-3",
	 1,
	 {1},
	 {{FLAT(8), BOTH}, {.max = 1, .etc = {1}, .on = 0, BOTH}},
	 "",
	 "goes-second"},
	{"Pair: a tie is the preempting one's",
	 "max-util-preempt-pair",
	 1,
	 {1},
	 {{FLAT(8), BOTH}, {.max = 1, .etc = {1}, .on = 0, BOTH}},
	 "suspend 1\nstart 0 on 0:0\n"},
	{"Pair: where the other one loses more it is left alone",
	 "max-util-preempt-pair",
	 1,
	 {2},
	 {{FLAT(8), BOTH},
	  {.max = 2, .etc = {1}, .on = 0, .zero_s = 112, BOTH},
	  {.max = 1, .etc = {1}, .on = 0, .first = 1, .preemptible = true}},
	 "suspend 2\nstart 0 on 0:1\n"},
	{"Pair: what earns as much alone is left alone, even where t loses all by waiting",
	 "max-util-preempt-pair",
	 1,
	 {1},
	 {{.max = 1, .etc = {1}, .on = -1, .zero_s = 112, .may_preempt = true},
	  {.max = 1, .etc = {1}, .on = 0, BOTH}},
	 "",
	 "not-worth"},
	{"Pair: a wide task earns more than all tasks that give way",
	 "max-util-preempt-pair",
	 1,
	 {2},
	 {{FLAT(4), .width = 2, .may_preempt = true},
	  {.max = 2, .etc = {1}, .on = 0, .first = 0, BOTH},
	  {.max = 1, .etc = {1}, .on = 0, .first = 1, BOTH}},
	 "suspend 1\nsuspend 2\nstart 0 on 0:0,1\n"},
	{"Pair: a task that earns as much as all of them is not placed",
	 "max-util-preempt-pair",
	 1,
	 {2},
	 {{FLAT(3), .width = 2, .may_preempt = true},
	  {.max = 2, .etc = {1}, .on = 0, .first = 0, BOTH},
	  {.max = 1, .etc = {1}, .on = 0, .first = 1, BOTH}},
	 "",
	 "not-worth"},
	{"Pair: it is the r of the best pair that counts, not a task that earns less",
	 "max-util-preempt-pair",
	 1,
	 {2},
	 {{FLAT(2), .may_preempt = true},
	  {.max = 3, .etc = {1}, .on = 0, .first = 0, BOTH},
	  {.max = 1, .etc = {1}, .on = 0, .first = 1, BOTH}},
	 "",
	 "not-worth"},
	{"Pair: utility counts for Max UPT, too, not that r is nearly finished",
	 "max-upt-preempt-pair",
	 1,
	 {1},
	 {{.max = 3, .etc = {10}, .on = -1, .may_preempt = true},
	  {.max = 1, .etc = {1}, .on = 0, BOTH}},
	 "suspend 1\nstart 0 on 0:0\n"},
	{"Pair: a task that may not take the better node takes the idle one",
	 "max-upt-preempt-pair",
	 2,
	 {1, 1},
	 {{.max = 2, .etc = {1, 2}, .on = -1, .may_preempt = true},
	  {.max = 3, .etc = {1, 1}, .on = 0, BOTH}},
	 "start 0 on 1:0\n",
	 "not-worth taken"},
	{"Pair: of two clusters that have none of its pairs the best is named",
	 "max-util-preempt-pair",
	 2,
	 {1, 1},
	 {{FLAT(2), .may_preempt = true},
	  {.max = 3, .etc = {1, 1}, .on = 0, BOTH},
	  {.max = 2, .etc = {1, 1}, .on = 1, BOTH}},
	 "",
	 "not-worth lower"},
	{"Pair: once the r of its best pair is gone a task takes another",
	 "max-upt-preempt-pair",
	 1,
	 {2},
	 {{.max = 2, .etc = {1}, .on = -1, .may_preempt = true},
	  {.max = 4, .etc = {4}, .on = -1, .may_preempt = true},
	  {.max = 3, .etc = {3}, .on = 0, .first = 0, .preemptible = true},
	  {.max = 1, .etc = {10}, .on = 0, .first = 1, .preemptible = true}},
	 "suspend 2\nstart 1 on 0:0\nsuspend 3\nstart 0 on 0:1\n"},
	{"Pair: a task that may takes the better node",
	 "max-upt-preempt-pair",
	 2,
	 {1, 1},
	 {{.max = 4, .etc = {1, 2}, .on = -1, .may_preempt = true},
	  {.max = 3, .etc = {1, 1}, .on = 0, BOTH}},
	 "suspend 1\nstart 0 on 0:0\n"},
	{"Pair: what loses more than it brings is left alone, though worth less",
	 "max-util-preempt-pair",
	 1,
	 {1},
	 {{FLAT(3), .may_preempt = true}, {.max = 2, .etc = {1}, .on = 0, .zero_s = 112, BOTH}},
	 "",
	 "goes-second"},
	{"Algorithm 3: without a loss a task waits for that one",
	 "max-util-preempt-pair+algorithm-3",
	 1,
	 {2},
	 {{FLAT(8), BOTH},
	  {.max = 2, .etc = {1}, .on = 0, .zero_s = 112, BOTH},
	  {.max = 1, .etc = {1}, .on = 0, .first = 1, .preemptible = true}},
	 ""},
	{"Algorithm 3: what loses by waiting goes first",
	 "max-util-preempt-pair+algorithm-3",
	 1,
	 {1},
	 {{.max = 0.5, .etc = {1}, .on = -1, .zero_s = 112, .may_preempt = true},
	  {.max = 1, .etc = {1}, .on = 0, BOTH}},
	 "suspend 1\nstart 0 on 0:0\n"},
	{"Algorithm 3: an idle node is taken unless the pair is worth more",
	 "max-util-preempt-pair+algorithm-3",
	 2,
	 {1, 1},
	 {{.max = 1, .etc = {1, 1}, .on = -1, .zero_s = 112, .may_preempt = true},
	  {.max = 1, .etc = {1, 1}, .on = 0, BOTH}},
	 "start 0 on 1:0\n"},
};

static char *plan_text(const struct sched_plan *plan)
{
	GString *text = g_string_new(NULL);

	for (uint32_t i = 0; i < plan->actions_count; i++) {
		const struct sched_action *action = &plan->actions[i];

		g_string_append_printf(text, "%s %u", sched_action_kind_name(action->kind),
				       action->task);
		for (uint32_t n = 0; n < action->nodes_count; n++) {
			if (n == 0)
				g_string_append_printf(text, " on %u:", action->cluster);
			g_string_append_printf(text, "%s%u", n > 0 ? "," : "", action->nodes[n]);
		}
		g_string_append_c(text, '\n');
	}
	return g_string_free(text, FALSE);
}

/* The verdicts on the options of task 0, in the order of the clusters. */
static char *verdicts_text(const struct sched_plan *plan)
{
	GString *text = g_string_new(NULL);

	for (uint32_t i = 0; i < plan->considered_count; i++)
		if (plan->considered[i].task == 0)
			g_string_append_printf(text, "%s%s", text->len > 0 ? " " : "",
					       sched_refusal_names[plan->considered[i].refusal]);
	return g_string_free(text, FALSE);
}

static struct sched_system *scene_system(const struct scene *scene)
{
	static const char *const names[] = {"0", "1", "2", "3", "4"};
	struct sched_cluster clusters[2];
	struct sched_system *system;
	uint32_t rows = 0;

	for (uint32_t c = 0; c < scene->clusters; c++)
		clusters[c] = (struct sched_cluster){.name = names[c],
						     .nodes = scene->nodes[c],
						     .cores = 1,
						     .pstates = 1};
	while (rows < 5 && scene->tasks[rows].max > 0)
		rows++;
	system = sched_system_new(clusters, scene->clusters, rows);
	system->immediate = true;
	for (uint32_t row = 0; row < rows; row++) {
		system->row_names[row] = names[row];
		for (uint32_t c = 0; c < scene->clusters; c++) {
			const double etc = scene->tasks[row].etc[c];

			system->nodes[row * scene->clusters + c] =
				etc > 0 ? MAX(1, scene->tasks[row].width) : 0;
			if (etc > 0)
				system->etc_s[row * scene->clusters + c] = 10 * etc;
		}
	}
	g_assert_cmpint(sched_system_finish(system, NULL), ==, SCHED_SYSTEM_OK);
	return system;
}

static void test_scene(const void *data)
{
	const struct scene *scene = data;
	static const uint32_t nodes[] = {0, 1, 2, 3, 4, 5};
	struct sched_system *system = scene_system(scene);
	struct sched_task tasks[5];
	const struct sched_task *waiting[5];
	struct sched_allocation running[5];
	struct sched_allocation suspended[5];
	struct sched_snapshot snapshot = {
		.system = system,
		.now_s = 100,
		.next_event_s = 160,
		.end_s = 1000,
		.budget_j = (double)INFINITY,
		.waiting = waiting,
		.running = running,
		.suspended = suspended,
	};
	struct arena *arena = arena_new();
	struct sched_plan plan;
	g_autofree char *text = NULL;

	for (uint32_t i = 0; i < system->rows_count; i++) {
		const double zero_s = scene->tasks[i].zero_s > 0 ? scene->tasks[i].zero_s : 1000;
		const uint32_t width = MAX(1, scene->tasks[i].width);

		tasks[i] = (struct sched_task){
			.id = i,
			.row = i,
			.utility = utility_testbed(scene->tasks[i].max, zero_s, zero_s),
			.may_preempt = scene->tasks[i].may_preempt,
			.preemptible = scene->tasks[i].preemptible,
		};
		if (scene->tasks[i].on == -1)
			waiting[snapshot.waiting_count++] = &tasks[i];
		else if (scene->tasks[i].on < 0)
			suspended[snapshot.suspended_count++] = (struct sched_allocation){
				.task = &tasks[i],
				.cluster = (uint32_t)(-2 - scene->tasks[i].on),
				.nodes_count = width,
				.executed_s = scene->tasks[i].executed_s,
			};
		else
			running[snapshot.running_count++] =
				(struct sched_allocation){&tasks[i],
							  (uint32_t)scene->tasks[i].on,
							  0,
							  width,
							  nodes + scene->tasks[i].first,
							  95,
							  0,
							  160};
	}
	decide(scene->policy, &snapshot, arena, scene->verdicts ? POLICY_EXPLAIN : POLICY_PLAIN,
	       &plan);
	text = plan_text(&plan);
	g_assert_cmpstr(text, ==, scene->plan);
	if (scene->verdicts) {
		g_autofree char *verdicts = verdicts_text(&plan);

		g_assert_cmpstr(verdicts, ==, scene->verdicts);
	}
	arena_free(arena);
	sched_system_free(system);
}

static void add(const char *format, const char *name, const void *data, GTestDataFunc function)
{
	g_autofree char *path = g_strdup_printf(format, name);

	g_test_add_data_func(path, data, function);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/preempt/the paper's example (III.E.3)", test_example);
	for (size_t i = 0; i < G_N_ELEMENTS(scenes); i++)
		add("/preempt/%s", scenes[i].name, &scenes[i], test_scene);
	for (size_t i = 0; i < G_N_ELEMENTS(heuristics); i++) {
		const struct heuristic *heuristic = &heuristics[i];

		add("/preempt/%s decides as the algorithm does", heuristic->name, heuristic,
		    test_oracle);
		add("/preempt/%s explains itself", heuristic->name, heuristic, test_explain);
		if (heuristic->plain)
			add("/preempt/%s without flags is its plain twin", heuristic->name,
			    heuristic, test_no_flags);
	}
	return g_test_run();
}
