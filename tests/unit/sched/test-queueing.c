/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The mappers of Gentry 2019 against a literal implementation, and what their parts are to do. */
#include <glib.h>
#include <math.h>

#include "controller/sched/queueing.h"
#include "tests/oracle/queueing_oracle.h"
#include "controller/check/queueing_snapshots.h"

#define SNAPSHOTS 3000

static const char *const names[] = {"pam", "pamf",     "mm",        "msd",       "mmu",
				    "moc", "mm+prune", "msd+prune", "mmu+prune", "moc+prune"};

static struct policy policy_named(const char *name)
{
	struct policy policy;
	char message[256];

	g_assert_cmpint(policy_parse(name, &policy, message, sizeof(message)), ==, 0);
	return policy;
}

static void assert_plan(const struct sched_plan *plan, const struct queueing_plan *oracle)
{
	g_assert_cmpuint(plan->actions_count, ==, oracle->count);
	for (uint32_t i = 0; i < oracle->count; i++) {
		const struct sched_action *action = &plan->actions[i];

		g_assert_cmpint(action->kind, ==, oracle->actions[i].kind);
		g_assert_cmpuint(action->task, ==, oracle->actions[i].task);
		g_assert_cmpuint(action->cluster, ==, oracle->actions[i].machine);
		g_assert_cmpstr(sched_reason_names[action->reason], ==,
				sched_reason_names[oracle->actions[i].reason]);
		g_assert_cmpfloat_with_epsilon(action->chance, oracle->actions[i].chance, 1e-9);
		g_assert_cmpfloat_with_epsilon(action->threshold, oracle->actions[i].threshold,
					       1e-8);
	}
	g_assert_cmpfloat_with_epsilon(plan->pruner.level, oracle->level, 1e-12);
	g_assert_cmpint(plan->pruner.dropping, ==, oracle->dropping);
}

static void test_oracle(gconstpointer name)
{
	const struct policy policy = policy_named(name);
	struct policy_context context = {.arena = arena_new()};
	uint32_t kinds[SCHED_ACTION_ENQUEUE + 1] = {0};
	const uint32_t snapshots = policy.prunes ? SNAPSHOTS / 4 : SNAPSHOTS;
	uint32_t pruned = 0;

	for (uint64_t seed = 1; seed <= snapshots; seed++) {
		struct queueing_random *random = queueing_random_new(seed);
		g_autofree struct queueing_plan *oracle = g_new(struct queueing_plan, 1);
		struct sched_plan plan;

		g_test_message("snapshot %u", (unsigned int)seed);
		queueing_oracle(name, &random->snapshot, oracle);
		g_assert_cmpint(policy_decide(&policy, &random->snapshot, &context, &plan), ==, 0);
		assert_plan(&plan, oracle);
		for (uint32_t i = 0; i < plan.actions_count; i++) {
			kinds[plan.actions[i].kind]++;
			pruned += plan.actions[i].reason == SCHED_REASON_PRUNED;
		}
		queueing_random_free(random);
	}
	g_assert_cmpuint(kinds[SCHED_ACTION_ENQUEUE], >, snapshots);
	g_assert_cmpuint(kinds[SCHED_ACTION_DROP], >, snapshots);
	g_assert_true((pruned > snapshots / 4) == (policy.ops->queueing->prunes || policy.prunes));
	arena_free(context.arena);
}

/* What a memory holds, and being asked to explain, change no plan. */
static void test_memory(gconstpointer name)
{
	const struct policy policy = policy_named(name);
	struct policy_context plain = {.arena = arena_new()};
	struct policy_context other = {.arena = arena_new()};

	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct queueing_random *random = queueing_random_new(seed);

		other.memory = queueing_memory_new();
		for (uint32_t step = 0; step < 20; step++) {
			struct sched_plan plan, again;

			random->snapshot.now_s += random->settings.bin_s * (step % 3);
			other.flags = step % 2 ? POLICY_EXPLAIN : POLICY_PLAIN;
			if (random->snapshot.waiting_count > 1 && step % 4 == 3)
				random->snapshot.waiting_count--;
			g_assert_cmpint(policy_decide(&policy, &random->snapshot, &plain, &plan),
					==, 0);
			g_assert_cmpint(policy_decide(&policy, &random->snapshot, &other, &again),
					==, 0);
			g_assert_cmpuint(plan.actions_count, ==, again.actions_count);
			for (uint32_t i = 0; i < plan.actions_count; i++) {
				const struct sched_action *a = &plan.actions[i];
				const struct sched_action *b = &again.actions[i];

				g_assert_true(a->kind == b->kind && a->task == b->task &&
					      a->cluster == b->cluster && a->chance == b->chance &&
					      a->end_s == b->end_s && a->threshold == b->threshold);
			}
		}
		queueing_memory_free(other.memory);
		queueing_random_free(random);
	}
	arena_free(plain.arena);
	arena_free(other.arena);
}

/* Refusals as too unlikely by a machine that was given another task after that. */
static uint32_t refused_early(const struct sched_plan *plan)
{
	uint32_t early = 0;

	for (uint32_t i = 0; i < plan->considered_count; i++)
		for (uint32_t j = i + 1; j < plan->considered_count; j++)
			early += plan->considered[i].refusal == SCHED_REFUSAL_UNLIKELY &&
				 plan->considered[j].refusal == SCHED_REFUSAL_TAKEN &&
				 plan->considered[i].cluster == plan->considered[j].cluster;
	return early;
}

/*
 * A task that is given up is explained by the machines as they were then, not as they were filled.
 */
static void test_explains_when_given_up(void)
{
	const struct policy policy = policy_named("pam");
	struct policy_context context = {.arena = arena_new(), .flags = POLICY_EXPLAIN};
	uint32_t early = 0;

	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct queueing_random *random = queueing_random_new(seed);
		struct sched_plan plan;

		g_assert_cmpint(policy_decide(&policy, &random->snapshot, &context, &plan), ==, 0);
		early += refused_early(&plan);
		queueing_random_free(random);
	}
	g_assert_cmpuint(early, >, 0);
	arena_free(context.arena);
}

/* Every queued task is judged, and every waiting one has its machines looked at. */
static void test_explain(gconstpointer name)
{
	const struct policy policy = policy_named(name);
	struct policy_context context = {.arena = arena_new(), .flags = POLICY_EXPLAIN};

	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct queueing_random *random = queueing_random_new(seed);
		uint32_t late_queued = 0, late = 0, queued = 0;
		struct sched_plan plan;

		g_assert_cmpint(policy_decide(&policy, &random->snapshot, &context, &plan), ==, 0);
		for (uint32_t m = 0; m < random->system->clusters_count; m++)
			queued += random->queues[m].count;
		for (uint32_t i = 0; i < plan.actions_count; i++) {
			if (plan.actions[i].reason != SCHED_REASON_DEADLINE)
				continue;
			late++;
			late_queued += plan.actions[i].task < queued;
		}
		g_assert_cmpuint(plan.judged_count, ==, queued - late_queued);
		g_assert_cmpuint(plan.considered_count, ==,
				 (random->snapshot.waiting_count - (late - late_queued)) *
					 random->system->clusters_count);
		for (uint32_t i = 0; i < plan.judged_count; i++) {
			const struct sched_judged *judged = &plan.judged[i];

			g_assert_cmpfloat(judged->chance, >=, 0);
			g_assert_cmpfloat(judged->chance, <=, 1);
			g_assert_cmpfloat(fabs(judged->skewness), <=, 1);
			g_assert_cmpfloat(judged->mean_s, >=, random->snapshot.now_s);
			g_assert_true(!judged->dropped || judged->chance <= judged->threshold);
		}
		for (uint32_t i = 0; i < plan.considered_count; i++)
			if (plan.considered[i].refusal == SCHED_REFUSAL_TAKEN)
				g_assert_cmpuint(plan.actions[plan.considered[i].action].cluster,
						 ==, plan.considered[i].cluster);
		queueing_random_free(random);
	}
	arena_free(context.arena);
}

/* The Schmitt trigger: on at 1, off at 0.8, in between as it was (V.C). */
static void test_trigger(void)
{
	const struct {
		double level;
		bool dropping;
		uint32_t missed;
		double separation;
		double level_after;
		bool dropping_after;
	} cases[] = {
		{0, false, 0, 0.2, 0, false},      {0, false, 1, 0.2, 0.9, false},
		{0.9, false, 1, 0.2, 0.99, false}, {0, false, 2, 0.2, 1.8, true},
		{0, true, 1, 0.2, 0.9, true},      {0, true, 1, 0, 0.9, false},
		{9, true, 0, 0.2, 0.9, true},      {8, true, 0, 0.2, 0.8, false},
	};
	const struct policy policy = policy_named("pam");
	struct policy_context context = {.arena = arena_new()};
	struct queueing_random *random = queueing_random_new(1);

	random->snapshot.waiting_count = 0;
	for (uint32_t m = 0; m < random->system->clusters_count; m++)
		random->queues[m].count = 0;
	random->settings.pruning.recency = 0.9;
	random->settings.pruning.toggle = 1;
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct sched_plan plan;

		random->settings.pruning.separation = cases[i].separation;
		random->snapshot.pruner.level = cases[i].level;
		random->snapshot.pruner.dropping = cases[i].dropping;
		random->snapshot.missed = cases[i].missed;
		g_assert_cmpint(policy_decide(&policy, &random->snapshot, &context, &plan), ==, 0);
		g_assert_cmpfloat_with_epsilon(plan.pruner.level, cases[i].level_after, 1e-12);
		g_assert_cmpint(plan.pruner.dropping, ==, cases[i].dropping_after);
	}
	queueing_random_free(random);
	arena_free(context.arena);
}

/* Policies of other systems are not asked here, and these not elsewhere. */
static void test_misfit(void)
{
	const struct policy pam = policy_named("pam"), easy = policy_named("easy");
	struct queueing_random *random = queueing_random_new(1);
	struct policy policy;
	char message[256];

	g_assert_null(policy_misfit(&pam, random->system));
	g_assert_nonnull(policy_misfit(&easy, random->system));
	random->system->queueing = NULL;
	g_assert_nonnull(policy_misfit(&pam, random->system));
	g_assert_null(policy_misfit(&easy, random->system));
	g_assert_cmpint(policy_parse("moc+drop:1", &policy, message, sizeof(message)), <, 0);
	g_assert_cmpstr(message, ==, "policy \"moc\" takes no modifiers but \"+prune\"");
	queueing_random_free(random);
}

/*
 * A deadline within the present bin has not passed before its instant (and a hair before it has).
 */
static void test_deadline_to_the_instant(void)
{
	const struct {
		double now; /* bins */
		bool dropped;
	} cases[] = {{100.2, false}, {100.49, false}, {100.5 - 1e-7, true}, {100.5, true}};
	const struct policy policy = policy_named("mm");
	struct policy_context context = {.arena = arena_new()};
	struct queueing_random *random = queueing_random_new(1);

	random->snapshot.waiting_count = 1;
	for (uint32_t m = 0; m < random->system->clusters_count; m++)
		random->queues[m].count = 0;
	random->tasks[0].row = 0;
	random->tasks[0].deadline_s = 100.5 * random->settings.bin_s;
	random->pointers[0] = &random->tasks[0];
	random->snapshot.waiting = random->pointers;
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct sched_plan plan;

		random->snapshot.now_s = cases[i].now * random->settings.bin_s;
		g_assert_cmpint(policy_decide(&policy, &random->snapshot, &context, &plan), ==, 0);
		g_assert_cmpuint(plan.actions_count, ==, 1);
		g_assert_cmpint(plan.actions[0].kind == SCHED_ACTION_DROP, ==, cases[i].dropped);
	}
	queueing_random_free(random);
	arena_free(context.arena);
}

/* Nothing is mapped to a machine that lacks a node; its queue stays. */
static void test_machine_down(gconstpointer name)
{
	const struct policy policy = policy_named(name);
	struct policy_context context = {.arena = arena_new()};
	const struct sched_node down = {.cluster = 0, .node = 0};
	uint32_t without = 0;

	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct queueing_random *random = queueing_random_new(seed);

		for (uint32_t i = 0; i < 2; i++) {
			struct sched_plan plan;

			random->snapshot.down = &down;
			random->snapshot.down_count = i;
			g_assert_cmpint(policy_decide(&policy, &random->snapshot, &context, &plan),
					==, 0);
			for (uint32_t k = 0; k < plan.actions_count; k++) {
				const struct sched_action *action = &plan.actions[k];
				const bool mapped = action->kind == SCHED_ACTION_ENQUEUE &&
						    action->cluster == 0;

				g_assert_false(mapped && i == 1);
				without += mapped;
			}
		}
		queueing_random_free(random);
	}
	g_assert_cmpuint(without, >, 50);
	arena_free(context.arena);
}

/* However much its type has suffered, PAMF does not map what cannot be on time. */
static void test_no_chance(void)
{
	const struct policy policy = policy_named("pamf");
	struct policy_context context = {.arena = arena_new()};

	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct queueing_random *random = queueing_random_new(seed);
		struct sched_plan plan;

		for (uint32_t i = 0; i < QUEUEING_TYPES_MAX; i++)
			random->sufferage[i] = 1;
		random->snapshot.sufferage = random->sufferage;
		g_assert_cmpint(policy_decide(&policy, &random->snapshot, &context, &plan), ==, 0);
		for (uint32_t i = 0; i < plan.actions_count; i++)
			if (plan.actions[i].kind == SCHED_ACTION_ENQUEUE)
				g_assert_cmpfloat(plan.actions[i].chance, >, 0);
		queueing_random_free(random);
	}
	arena_free(context.arena);
}

static void test_settings_are_checked(void)
{
	struct queueing_random *random = queueing_random_new(1);
	struct sched_queueing *settings = &random->settings;
	double *const shares[] = {
		&settings->pruning.drop_threshold, &settings->pruning.defer_threshold,
		&settings->pruning.adjustment,     &settings->pruning.recency,
		&settings->pruning.separation,     &settings->pruning.fairness,
		&settings->pruning.cull_threshold,
	};

	g_assert_null(queueing_fault(random->system));
	for (size_t i = 0; i < G_N_ELEMENTS(shares); i++) {
		const double before = *shares[i];

		*shares[i] = 1.5;
		g_assert_nonnull(queueing_fault(random->system));
		*shares[i] = (double)NAN;
		g_assert_nonnull(queueing_fault(random->system));
		*shares[i] = before;
	}
	settings->length = 0;
	g_assert_nonnull(queueing_fault(random->system));
	settings->length = 6;
	settings->bin_s = 0;
	g_assert_nonnull(queueing_fault(random->system));
	settings->bin_s = 1;
	settings->pruning.toggle = 0;
	g_assert_nonnull(queueing_fault(random->system));
	settings->pruning.toggle = 1;
	g_assert_null(queueing_fault(random->system));
	random->system->rows_count++;
	g_assert_nonnull(queueing_fault(random->system));
	random->system->rows_count--;
	queueing_random_free(random);
}

/* The first bin, and those of every task and of one more, are what a PMF can hold at most. */
static void test_queues_fit(void)
{
	struct pet *pet = pet_new(1, 1);
	struct pmf pmf = {0};
	const double masses[] = {0.5, 0.5};
	const uint64_t most = (PMF_BINS_MAX - 7) / 2 - 1;

	g_assert_cmpint(pmf_from_masses(&pmf, 7, masses, 2, 1e-12, NULL), ==, PMF_OK);
	g_assert_cmpint(pet_set(pet, 0, 0, &pmf), ==, PMF_OK);
	g_assert_true(queueing_fits(pet, most));
	g_assert_false(queueing_fits(pet, most + 1));
	pmf.first = (int64_t)PMF_BINS_MAX + 1;
	g_assert_cmpint(pet_set(pet, 0, 0, &pmf), ==, PMF_OK);
	g_assert_false(queueing_fits(pet, 1));
	pmf_finish(&pmf);
	pet_free(pet);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree char *oracle =
			g_strdup_printf("/queueing/%s/is-the-literal-rule", names[i]);
		g_autofree char *memory =
			g_strdup_printf("/queueing/%s/decides-the-same-from-memory", names[i]);
		g_autofree char *explain =
			g_strdup_printf("/queueing/%s/explains-all-tasks", names[i]);
		g_autofree char *down =
			g_strdup_printf("/queueing/%s/spares-machines-that-are-down", names[i]);

		g_test_add_data_func(oracle, names[i], test_oracle);
		g_test_add_data_func(memory, names[i], test_memory);
		g_test_add_data_func(explain, names[i], test_explain);
		g_test_add_data_func(down, names[i], test_machine_down);
	}
	g_test_add_func("/queueing/drops-between-the-levels-of-the-trigger", test_trigger);
	g_test_add_func("/queueing/is-for-machines-with-queues", test_misfit);
	g_test_add_func("/queueing/deadlines-pass-to-the-instant", test_deadline_to_the_instant);
	g_test_add_func("/queueing/pamf-maps-nothing-that-has-no-chance", test_no_chance);
	g_test_add_func("/queueing/settings-are-checked", test_settings_are_checked);
	g_test_add_func("/queueing/explains-when-given-up", test_explains_when_given_up);
	g_test_add_func("/queueing/queues-fit-into-what-can-be-held", test_queues_fit);
	return g_test_run();
}
