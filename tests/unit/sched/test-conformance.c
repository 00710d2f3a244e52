/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What holds for every policy and any snapshot: a new policy in the registry is tested at once. */
#include <glib.h>
#include <math.h>

#include "tests/oracle/oracle.h"
#include "tests/oracle/snapshots.h"

#define SNAPSHOTS 2500

/* A decision and what it was made from. */
struct decision {
	const struct policy *policy;
	const struct sched_snapshot *snapshot;
	const struct sched_plan *plan;
};

static const struct sched_task *find_waiting(const struct sched_snapshot *snapshot, uint32_t id)
{
	for (uint32_t i = 0; i < snapshot->waiting_count; i++)
		if (snapshot->waiting[i]->id == id)
			return snapshot->waiting[i];
	return NULL;
}

/* One action per task, of mappable tasks only. */
static void check_tasks(const struct decision *decision)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);

	for (uint32_t i = 0; i < decision->plan->actions_count; i++) {
		const uint32_t task = decision->plan->actions[i].task;

		g_assert_nonnull(find_waiting(decision->snapshot, task));
		g_assert_true(g_hash_table_add(seen, GUINT_TO_POINTER(task)));
	}
}

/* Each place is one the estimates know, in time, and what the numbers say. */
static void check_action(const struct decision *decision, const struct sched_action *action)
{
	const struct sched_snapshot *snapshot = decision->snapshot;
	const struct sched_task *task = find_waiting(snapshot, action->task);
	const struct sched_option *option =
		sched_system_option(snapshot->system, task->row, action->cluster, action->pstate);

	g_assert_nonnull(option);
	g_assert_cmpuint(action->nodes_count, ==, option->nodes);
	g_assert_cmpfloat(action->start_s, >=, snapshot->now_s);
	g_assert_cmpfloat(action->start_s, <, snapshot->end_s);
	g_assert_cmpfloat(action->end_s, ==, action->start_s + option->etc_s);
	g_assert_cmpfloat(action->energy_j, ==, option->eec_j);
	g_assert_cmpfloat(action->utility, ==, sched_task_utility(task, action->end_s));
	g_assert_true((action->kind == SCHED_ACTION_START) == (action->start_s == snapshot->now_s));
	g_assert_nonnull(sched_reason_text(action->reason));
	for (uint32_t i = 0; i < action->nodes_count; i++) {
		g_assert_cmpuint(action->nodes[i], <,
				 snapshot->system->clusters[action->cluster].nodes);
		g_assert_true(i == 0 || action->nodes[i - 1] < action->nodes[i]);
	}
}

static void check_future(const struct decision *decision, const struct sched_action *action)
{
	if (action->kind == SCHED_ACTION_PLACEHOLDER)
		g_assert_cmpint(decision->policy->future, ==, POLICY_FUTURE_PLACEHOLDERS);
	if (action->kind == SCHED_ACTION_RESERVE)
		g_assert_cmpint(decision->policy->future, ==, POLICY_FUTURE_RESERVATIONS);
}

/* Capacity is never exceeded, at any time, whatever else runs or is promised. */
static void check_capacity(const struct decision *decision)
{
	struct oracle_cluster *clusters = oracle_clusters_new(decision->snapshot);

	for (uint32_t i = 0; i < decision->plan->actions_count; i++) {
		const struct sched_action *action = &decision->plan->actions[i];

		if (action->kind == SCHED_ACTION_DROP)
			continue;
		check_action(decision, action);
		check_future(decision, action);
		g_assert_true(oracle_take(&clusters[action->cluster], action->nodes,
					  action->nodes_count, action->start_s, action->end_s));
	}
	oracle_clusters_free(clusters, decision->snapshot->system);
}

/* Tasks that can earn nothing leave, and no others without a threshold. */
static void check_drops(const struct decision *decision)
{
	const struct sched_snapshot *snapshot = decision->snapshot;

	for (uint32_t i = 0; i < decision->plan->actions_count; i++) {
		const struct sched_action *action = &decision->plan->actions[i];
		const struct sched_task *task = find_waiting(snapshot, action->task);
		const double best =
			sched_task_utility(task, snapshot->now_s +
							 snapshot->system->etc_min_s[task->row]);

		g_assert_true((action->kind == SCHED_ACTION_DROP) == (best <= 0));
	}
}

static void assert_same_plan(const struct sched_plan *a, const struct sched_plan *b)
{
	g_assert_cmpuint(a->actions_count, ==, b->actions_count);
	for (uint32_t i = 0; i < a->actions_count; i++) {
		const struct sched_action *x = &a->actions[i];
		const struct sched_action *y = &b->actions[i];

		g_assert_true(x->kind == y->kind && x->task == y->task &&
			      x->cluster == y->cluster && x->pstate == y->pstate &&
			      x->start_s == y->start_s && x->reason == y->reason);
		assert_same_nodes(x->nodes, x->nodes_count, y->nodes, y->nodes_count);
	}
}

/* The same seed gives the same plan, with fresh memory and while it explains itself. */
static void check_purity(const struct decision *decision)
{
	struct policy_context context = {.arena = arena_new(), .flags = POLICY_EXPLAIN};
	struct sched_plan plan;

	g_assert_cmpint(policy_decide(decision->policy, decision->snapshot, &context, &plan), ==,
			0);
	assert_same_plan(decision->plan, &plan);
	for (uint32_t i = 0; i < plan.considered_count; i++) {
		const struct sched_considered *considered = &plan.considered[i];

		if (considered->action != UINT32_MAX)
			g_assert_cmpuint(plan.actions[considered->action].task, ==,
					 considered->task);
		else
			g_assert_cmpint(considered->refusal, !=, SCHED_REFUSAL_TAKEN);
	}
	arena_free(context.arena);
}

/* Nothing that can start before the next event is lost by trimming. */
static void check_trim(const struct decision *decision)
{
	struct policy_context context = {.arena = arena_new(), .flags = POLICY_TRIM};
	struct sched_plan plan;
	uint32_t kept = 0;

	g_assert_cmpint(policy_decide(decision->policy, decision->snapshot, &context, &plan), ==,
			0);
	for (uint32_t i = 0; i < decision->plan->actions_count; i++) {
		const struct sched_action *action = &decision->plan->actions[i];
		const bool soon = action->kind != SCHED_ACTION_PLACEHOLDER ||
				  action->start_s < decision->snapshot->next_event_s;

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
	static const char *const modifiers[] = {"", "", "+filter:resource:2", "+filter:task:1",
						"+reservations"};
	g_autofree char *name =
		g_strconcat(ops->name, modifiers[seed % G_N_ELEMENTS(modifiers)], NULL);
	char message[256];

	if (policy_parse(name, ret_policy, message, sizeof(message)) < 0)
		g_assert_cmpint(policy_parse(ops->name, ret_policy, message, sizeof(message)), ==,
				0);
}

static void test_policy(const void *data)
{
	struct policy_context context = {.arena = arena_new()};
	struct policy policy;

	for (uint64_t seed = 0; seed < SNAPSHOTS; seed++) {
		struct random_snapshot *random = random_snapshot_new(G_MAXINT32 + seed);
		struct sched_plan plan;
		const struct decision decision = {&policy, &random->snapshot, &plan};

		make_policy(data, seed, &policy);
		g_assert_cmpint(policy_decide(&policy, &random->snapshot, &context, &plan), ==, 0);
		check_tasks(&decision);
		check_capacity(&decision);
		check_drops(&decision);
		check_purity(&decision);
		check_trim(&decision);
		random_snapshot_free(random);
	}
	arena_free(context.arena);
}

static void test_table(const void *data)
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

int main(int argc, char **argv)
{
	uint32_t count;
	const struct policy_ops *const *list = policy_list(&count);

	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/conformance/others are compared with one policy", test_reference);
	for (uint32_t i = 0; i < count; i++) {
		g_autofree char *table =
			g_strdup_printf("/conformance/%s has a complete table", list[i]->name);
		g_autofree char *path =
			g_strdup_printf("/conformance/%s keeps the rules of the seam",
					list[i]->name);

		g_test_add_data_func(table, list[i], test_table);
		/* Those: test-sharing.c and test-queueing.c. */
		if (!list[i]->planning && !list[i]->immediate)
			continue;

		g_autofree char *energies =
			g_strdup_printf("/conformance/%s says whether it goes by energies",
					list[i]->name);

		g_test_add_data_func(path, list[i], test_policy);
		g_test_add_data_func(energies, list[i], test_energies);
	}
	return g_test_run();
}
