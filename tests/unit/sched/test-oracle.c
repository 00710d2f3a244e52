/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The fast policies take the decisions of the plain ones, on thousands of random snapshots. */
#include <glib.h>
#include <string.h>

#include "tests/oracle/oracle.h"
#include "tests/oracle/snapshots.h"

/* A thousand for each of the modifiers below. */
#define SNAPSHOTS 15000

/* Each snapshot meets one of them, each policy all of them; what a policy refuses is left out. */
static const char *const modifiers[] = {
	"",
	"+reservations",
	"+placeholders",
	"+drop:1.5",
	"+drop:0",
	"+filter:task:1",
	"+filter:task:2+reservations",
	"+filter:resource:1",
	"+filter:resource:4+reservations",
	"+filter:resource:0.5+drop:1.5",
	"+filter:task:0.5",
	"+filter:resource:2+filter-once",
	"+filter:task:2+filter-once",
	"+reserve-now",
	"+reservations+reserve-now+filter:task:2",
};

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
	g_assert_cmpfloat(a->objective, ==, b->objective);
	assert_same_nodes(a->nodes, a->nodes_count, b->nodes, b->nodes_count);
}

static void compare(const struct policy *policy, const struct sched_snapshot *snapshot,
		    struct arena *arena)
{
	struct policy_context context = {.arena = arena};
	g_autoptr(GArray) expected = oracle_decide(policy, snapshot);
	struct sched_plan plan;

	g_assert_cmpint(policy_decide(policy, snapshot, &context, &plan), ==, 0);
	g_assert_cmpuint(plan.actions_count, ==, expected->len);
	for (uint32_t i = 0; i < plan.actions_count; i++)
		assert_same_action(&plan.actions[i],
				   &g_array_index(expected, struct sched_action, i));
}

static void test_policy(const void *data)
{
	const struct policy_ops *ops = data;
	struct arena *arena;
	char message[256];

	if (!oracle_knows(ops)) {
		g_autofree char *reason =
			g_strdup_printf("the oracle does not know \"%s\"", ops->name);

		g_test_skip(reason);
		return;
	}
	arena = arena_new();
	for (uint64_t seed = 0; seed < SNAPSHOTS; seed++) {
		struct random_snapshot *random = random_snapshot_new(seed);
		struct policy policy;
		g_autofree char *name =
			g_strconcat(ops->name, modifiers[seed % G_N_ELEMENTS(modifiers)], NULL);

		if (policy_parse(name, &policy, message, sizeof(message)) < 0)
			policy_parse(ops->name, &policy, message, sizeof(message));
		compare(&policy, &random->snapshot, arena);
		random_snapshot_free(random);
	}
	arena_free(arena);
}

/* Set where this program runs itself with a policy of one's own for the only one. */
#define OWN "TEST_ORACLE_OWN"

static const struct policy_ops own = {.name = "of-one's-own"};

/* A policy of one's own is in the registry and not in the oracle. */
static void test_unknown(void)
{
	const char *argv[] = {"/proc/self/exe", "--tap", NULL};
	g_auto(GStrv) environment = g_environ_setenv(g_get_environ(), OWN, "1", TRUE);
	g_autoptr(GError) error = NULL;
	g_autofree char *text = NULL;
	int status;

	g_spawn_sync(NULL, (char **)argv, environment, G_SPAWN_DEFAULT, NULL, NULL, &text, NULL,
		     &status, &error);
	g_assert_no_error(error);
	g_assert_true(g_spawn_check_wait_status(status, NULL));
	g_assert_nonnull(strstr(text, "# SKIP the oracle does not know \"of-one's-own\""));
}

int main(int argc, char **argv)
{
	uint32_t count;
	const struct policy_ops *const *list = policy_list(&count);

	g_test_init(&argc, &argv, NULL);
	if (g_getenv(OWN)) {
		g_test_add_data_func("/oracle/own", &own, test_policy);
		return g_test_run();
	}
	g_test_add_func("/oracle/a policy that it does not know is skipped by name", test_unknown);
	for (uint32_t i = 0; i < count; i++) {
		/* The other models have oracles of their own. */
		if (!list[i]->planning)
			continue;

		g_autofree char *path =
			g_strdup_printf("/oracle/%s decides as a full rescan does", list[i]->name);

		g_test_add_data_func(path, list[i], test_policy);
	}
	return g_test_run();
}
