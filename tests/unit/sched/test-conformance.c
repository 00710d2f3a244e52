/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What holds for every policy, in every model for which it has a table, and any snapshot: a new
 * policy in the registry is tested at once.
 */
#include <glib.h>
#include <math.h>

#include "controller/sched/plan_rules.h"
#include "controller/sched/queueing.h"
#include "controller/check/preempt_snapshots.h"
#include "controller/check/queueing_snapshots.h"
#include "controller/check/sharing_snapshots.h"
#include "tests/oracle/snapshots.h"

#define SNAPSHOTS 2500

static void check_same(const struct sched_plan *a, const struct sched_plan *b)
{
	g_assert_cmpuint(a->actions_count, ==, b->actions_count);
	for (uint32_t i = 0; i < a->actions_count; i++) {
		const struct sched_action *x = &a->actions[i];
		const struct sched_action *y = &b->actions[i];

		g_assert_true(x->kind == y->kind && x->task == y->task &&
			      x->cluster == y->cluster && x->pstate == y->pstate &&
			      x->start_s == y->start_s && x->yield == y->yield &&
			      x->chance == y->chance && x->threshold == y->threshold &&
			      x->reason == y->reason);
		assert_same_nodes(x->nodes, x->nodes_count, y->nodes, y->nodes_count);
	}
}

/*
 * What plan_rules_broken() does not ask of policies from outside the tree, for each model: the
 * values are those of the estimates to the bit, a policy plans as its table says, and what it drops
 * is worth nothing.
 */

static const struct sched_task *find_waiting(const struct sched_snapshot *snapshot, uint32_t id)
{
	for (uint32_t i = 0; i < snapshot->waiting_count; i++)
		if (snapshot->waiting[i]->id == id)
			return snapshot->waiting[i];
	return NULL;
}

static void check_planning(const struct policy *policy, const struct sched_snapshot *snapshot,
			   const struct sched_plan *plan)
{
	for (uint32_t i = 0; i < plan->actions_count; i++) {
		const struct sched_action *action = &plan->actions[i];
		const struct sched_task *task = find_waiting(snapshot, action->task);
		const double best =
			sched_task_utility(task, snapshot->now_s +
							 snapshot->system->etc_min_s[task->row]);
		const struct sched_option *option;

		g_assert_true((action->kind == SCHED_ACTION_DROP) == (best <= 0));
		if (action->kind == SCHED_ACTION_DROP)
			continue;
		option = sched_system_option(snapshot->system, task->row, action->cluster,
					     action->pstate);
		g_assert_cmpfloat(action->end_s, ==, action->start_s + option->etc_s);
		g_assert_cmpfloat(action->energy_j, ==, option->eec_j);
		g_assert_cmpfloat(action->utility, ==, sched_task_utility(task, action->end_s));
		if (action->kind == SCHED_ACTION_PLACEHOLDER)
			g_assert_cmpint(policy->future, ==, POLICY_FUTURE_PLACEHOLDERS);
		if (action->kind == SCHED_ACTION_RESERVE)
			g_assert_cmpint(policy->future, ==, POLICY_FUTURE_RESERVATIONS);
	}
}

static void check_immediate(const struct policy *policy, const struct sched_snapshot *snapshot,
			    const struct sched_plan *plan)
{
	for (uint32_t i = 0; i < plan->actions_count; i++) {
		g_assert_cmpint(plan->actions[i].kind, !=, SCHED_ACTION_PLACEHOLDER);
		g_assert_cmpint(plan->actions[i].kind, !=, SCHED_ACTION_RESERVE);
	}
}

static void check_sharing(const struct policy *policy, const struct sched_snapshot *snapshot,
			  const struct sched_plan *plan)
{
}

/* A task that is queued can still be on time. */
static void check_queueing(const struct policy *policy, const struct sched_snapshot *snapshot,
			   const struct sched_plan *plan)
{
	const double least_s =
		snapshot->now_s - snapshot->system->queueing->bin_s * QUEUEING_TOLERANCE;

	for (uint32_t i = 0; i < plan->actions_count; i++)
		if (plan->actions[i].kind == SCHED_ACTION_ENQUEUE)
			g_assert_cmpfloat(find_waiting(snapshot, plan->actions[i].task)->deadline_s,
					  >=, least_s);
}

/*
 * The same snapshot gives the same plan, with fresh memory and while it explains itself. `plans`:
 * what is taken is not taken back in the same event.
 */
static void check_purity(const struct policy *policy, const struct sched_snapshot *snapshot,
			 const struct sched_plan *expected, bool plans)
{
	struct policy_context context = {.arena = arena_new(), .flags = POLICY_EXPLAIN};
	struct sched_plan plan;

	g_assert_cmpint(policy_decide(policy, snapshot, &context, &plan), ==, 0);
	check_same(expected, &plan);
	for (uint32_t i = 0; i < plan.considered_count; i++) {
		const struct sched_considered *considered = &plan.considered[i];

		if (considered->action != UINT32_MAX)
			g_assert_cmpuint(plan.actions[considered->action].task, ==,
					 considered->task);
		else if (plans)
			g_assert_cmpint(considered->refusal, !=, SCHED_REFUSAL_TAKEN);
	}
	arena_free(context.arena);
}

/* Nothing that can start before the next event is lost by trimming. */
static void check_trim(const struct policy *policy, const struct sched_snapshot *snapshot,
		       const struct sched_plan *whole)
{
	struct policy_context context = {.arena = arena_new(), .flags = POLICY_TRIM};
	struct sched_plan plan;
	uint32_t kept = 0;

	g_assert_cmpint(policy_decide(policy, snapshot, &context, &plan), ==, 0);
	for (uint32_t i = 0; i < whole->actions_count; i++) {
		const struct sched_action *action = &whole->actions[i];
		const bool soon = action->kind != SCHED_ACTION_PLACEHOLDER ||
				  action->start_s < snapshot->next_event_s;

		if (kept < plan.actions_count && plan.actions[kept].task == action->task)
			kept++;
		else
			g_assert_false(soon);
	}
	g_assert_cmpuint(kept, ==, plan.actions_count);
	arena_free(context.arena);
}

/* The same snapshot without a budget, whose options need other energies. */
static struct random_snapshot *other_energies(uint64_t seed)
{
	struct random_snapshot *other = random_snapshot_new(seed);
	const struct sched_system *system = other->system;

	for (uint32_t row = 0; row < system->rows_count; row++) {
		struct sched_row *span = &system->rows[row];

		span->eec_min_j = (double)INFINITY;
		span->eec_max_j = 0;
		for (uint32_t i = system->options_first[row]; i < system->options_first[row + 1];
		     i++) {
			struct sched_option *option = &system->options[i];

			option->eec_j *= 1 + (i * 7 + row * 3) % 5;
			span->eec_min_j = fmin(span->eec_min_j, option->eec_j);
			span->eec_max_j = fmax(span->eec_max_j, option->eec_j);
		}
	}
	other->snapshot.budget_j = (double)INFINITY;
	return other;
}

/* Whether two plans put the same tasks on the same nodes. */
static bool is_same_plan(const struct sched_plan *a, const struct sched_plan *b)
{
	bool same = a->actions_count == b->actions_count;

	for (uint32_t i = 0; same && i < a->actions_count; i++)
		same = a->actions[i].kind == b->actions[i].kind &&
		       a->actions[i].task == b->actions[i].task &&
		       a->actions[i].cluster == b->actions[i].cluster &&
		       a->actions[i].pstate == b->actions[i].pstate &&
		       a->actions[i].start_s == b->actions[i].start_s;
	return same;
}

/* Without a budget only a policy that says so goes by energies, and it does. */
static void test_energies(const void *data)
{
	const struct policy_ops *ops = data;
	struct policy_context context = {.arena = arena_new()};
	struct policy_context other_context = {.arena = arena_new()};
	struct policy policy;
	char message[256];
	bool same = true;

	g_assert_cmpint(policy_parse(ops->name, &policy, message, sizeof(message)), ==, 0);
	for (uint64_t seed = 0; seed < SNAPSHOTS; seed++) {
		struct random_snapshot *random = random_snapshot_new(seed);
		struct random_snapshot *other = other_energies(seed);
		struct sched_plan plan;
		struct sched_plan other_plan;

		random->snapshot.budget_j = (double)INFINITY;
		g_assert_cmpint(policy_decide(&policy, &random->snapshot, &context, &plan), ==, 0);
		g_assert_cmpint(policy_decide(&policy, &other->snapshot, &other_context,
					      &other_plan),
				==, 0);
		same &= is_same_plan(&plan, &other_plan);
		random_snapshot_free(random);
		random_snapshot_free(other);
	}
	g_assert_true(same == !(ops->planning && ops->planning->by_energy));
	arena_free(context.arena);
	arena_free(other_context.arena);
}

/* A policy with the modifiers of a snapshot; those it refuses are left out. */
static void make_policy(const struct policy_ops *ops, uint64_t seed, struct policy *ret_policy)
{
	static const char *const modifiers[] = {
		"", "", "+filter:resource:2", "+filter:task:1", "+reservations", "+easy", "+prune"};
	g_autofree char *name =
		g_strconcat(ops->name, modifiers[seed % G_N_ELEMENTS(modifiers)], NULL);
	char message[256];

	if (policy_parse(name, ret_policy, message, sizeof(message)) < 0)
		g_assert_cmpint(policy_parse(ops->name, ret_policy, message, sizeof(message)), ==,
				0);
}

/* A decision in a model: keeps its rules, and depends on the snapshot alone. */
static void check(const struct policy *policy, const struct sched_snapshot *snapshot,
		  void (*rules)(const struct policy *policy, const struct sched_snapshot *snapshot,
				const struct sched_plan *plan))
{
	const bool plans = rules == check_planning;
	struct policy_context context = {.arena = arena_new()};
	struct sched_plan plan;

	g_assert_null(policy_misfit(policy, snapshot->system));
	g_assert_cmpint(policy_decide(policy, snapshot, &context, &plan), ==, 0);
	g_assert_cmpstr(plan_rules_broken(snapshot, &plan, context.arena), ==, NULL);
	rules(policy, snapshot, &plan);
	check_purity(policy, snapshot, &plan, plans);
	if (plans)
		check_trim(policy, snapshot, &plan);
	arena_free(context.arena);
}

static void test_planning(const void *data)
{
	for (uint64_t seed = 0; seed < SNAPSHOTS; seed++) {
		struct random_snapshot *random = random_snapshot_new(G_MAXINT32 + seed);
		struct policy policy;

		make_policy(data, seed, &policy);
		check(&policy, &random->snapshot, check_planning);
		random_snapshot_free(random);
	}
}

static void test_immediate(const void *data)
{
	for (uint64_t seed = 0; seed < SNAPSHOTS; seed++) {
		struct preempt_snapshot *random =
			preempt_snapshot_new(G_MAXINT32 + seed, seed % 4 == 0,
					     (uint32_t)(seed % 3) * 50);
		struct policy policy;

		make_policy(data, seed, &policy);
		check(&policy, &random->snapshot, check_immediate);
		preempt_snapshot_free(random);
	}
}

static void test_sharing(const void *data)
{
	static const struct sharing_size sizes[] = {{4, 6, 4}, {12, 16, 10}};

	for (uint64_t seed = 0; seed < SNAPSHOTS; seed++) {
		struct sharing_snapshot *random =
			sharing_snapshot_new(G_MAXINT32 + seed, &sizes[seed % 2]);
		struct policy policy;

		make_policy(data, seed, &policy);
		check(&policy, &random->snapshot, check_sharing);
		sharing_snapshot_free(random);
	}
}

static void test_queueing(const void *data)
{
	const struct sched_node down = {.cluster = 0, .node = 0};

	for (uint64_t seed = 0; seed < SNAPSHOTS; seed++) {
		struct queueing_random *random = queueing_random_new(G_MAXINT32 + seed);
		struct policy policy;

		random->snapshot.down = &down;
		random->snapshot.down_count = seed % 4 == 0;
		make_policy(data, seed, &policy);
		check(&policy, &random->snapshot, check_queueing);
		queueing_random_free(random);
	}
}

static void test_tables(const void *data)
{
	const struct policy_ops *ops = data;

	g_assert_cmpstr(ops->name, !=, "");
	g_assert_cmpstr(ops->section, !=, "");
	g_assert_cmpstr(ops->summary, !=, "");
	g_assert_true(ops->planning || ops->immediate || ops->sharing || ops->queueing);
	g_assert_true(!ops->planning || ops->planning->decide);
	g_assert_true(!ops->immediate || ops->immediate->decide);
	g_assert_true(!ops->sharing || ops->sharing->decide);
	g_assert_true(!ops->queueing || ops->queueing->decide);
	if (ops->immediate) {
		g_assert_true(!ops->planning == !ops->immediate->section);
		g_assert_true(!ops->planning == !ops->immediate->summary);
	}
	g_assert_true(policy_find(ops->name) == ops);
}

static void test_reference(void)
{
	uint32_t count;
	const struct policy_ops *const *list = policy_list(&count);
	uint32_t references = 0;

	for (uint32_t i = 0; i < count; i++)
		references += list[i]->reference;
	g_assert_cmpuint(references, ==, 1);
	g_assert_true(policy_reference()->reference);
}

static void add(const struct policy_ops *ops, const char *what, GTestDataFunc test)
{
	g_autofree char *path = g_strdup_printf("/conformance/%s %s", ops->name, what);

	g_test_add_data_func(path, ops, test);
}

int main(int argc, char **argv)
{
	uint32_t count;
	const struct policy_ops *const *list = policy_list(&count);

	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/conformance/others are compared with one policy", test_reference);
	for (uint32_t i = 0; i < count; i++) {
		add(list[i], "has complete tables", test_tables);
		if (list[i]->planning)
			add(list[i], "keeps the rules of planned starts", test_planning);
		if (list[i]->immediate)
			add(list[i], "keeps the rules of immediate starts", test_immediate);
		if (list[i]->planning || list[i]->immediate)
			add(list[i], "says whether it goes by energies", test_energies);
		if (list[i]->sharing)
			add(list[i], "keeps the rules of shared hosts", test_sharing);
		if (list[i]->queueing)
			add(list[i], "keeps the rules of queues", test_queueing);
	}
	return g_test_run();
}
