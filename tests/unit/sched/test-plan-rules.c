/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plans that cannot be carried out are refused with their action, their task and the reason. */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "common/json.h"
#include "controller/sched/plan_rules.h"
#include "controller/snapshot/snapshot_json.h"
#include "tests/unit/snapshot/quoted.h"

#define UTILITY                                                                                    \
	"'utility': {'max': 3, 'segments': [{'curve': 'constant', 'duration_s': 500,"              \
	" 'start_fraction': 1, 'end_fraction': 1, 'rate_per_s': 0}]}"
#define TASK(id, more) "{'id': " #id ", 'type': 't', 'arrival_s': " #id ", " more UTILITY "}"
#define TIMES                                                                                      \
	"'seed': 1, 'event': 2, 'now_s': 100, 'next_event_s': 150, 'day_start_s': 0,"              \
	" 'end_s': 400, 'consumed_j': 0, 'budget_j': null, "

/* Waiting 1, 2; suspended 3; running 4 (preemptible) and 5 (not); reserved 6; node 3 is down. */
static const char nodes[] =
	"{" TIMES "'system': {'clusters': [{'name': 'c', 'nodes': 4, 'cores': 1, 'pstates': 2},"
	" {'name': 'd', 'nodes': 2, 'cores': 1, 'pstates': 1}],"
	" 'types': [{'name': 't', 'options': ["
	"{'cluster': 'c', 'pstate': 0, 'nodes': 1, 'etc_s': 50, 'eec_j': 5},"
	"{'cluster': 'd', 'pstate': 0, 'nodes': 2, 'etc_s': 30, 'eec_j': 9}]}]},"
	"'tasks': [" TASK(1, "") "," TASK(2, "") "," TASK(3, "") "," TASK(4, "'preemptible': true,") "," TASK(
		5,
		"") "," TASK(6,
			     "") "], 'waiting': [1, 2],"
				 "'suspended': [{'task': 3, 'cluster': 'c', 'pstate': 0, 'executed_s': 20}],"
				 "'running': ["
				 "{'task': 4, 'cluster': 'c', 'pstate': 0, 'nodes': [0], 'start_s': 80, 'end_s': 130},"
				 "{'task': 5, 'cluster': 'c', 'pstate': 0, 'nodes': [1], 'start_s': 90, 'end_s': 140}],"
				 "'reservations': ["
				 "{'task': 6, 'cluster': 'd', 'pstate': 0, 'nodes': [0, 1], 'start_s': 120, 'end_s': 150}],"
				 "'placeholders': [], 'down': [{'cluster': 'c', 'node': 3}]}";

/* Waiting 1, 2; suspended 3; running 4 and 5, which is on its way; host 2 is down. */
static const char hosts[] =
	"{" TIMES "'system': {'clusters': [{'name': 'c', 'nodes': 3, 'cores': 1, 'pstates': 1}],"
	" 'types': [], 'shared': true}, 'tasks': ["
	"{'id': 1, 'arrival_s': 1, 'vms': 1, 'cpu': 1, 'memory': 0.4},"
	"{'id': 2, 'arrival_s': 2, 'vms': 2, 'cpu': 1, 'memory': 0.7},"
	"{'id': 3, 'arrival_s': 3, 'vms': 1, 'cpu': 0.5, 'memory': 0.1},"
	"{'id': 4, 'arrival_s': 4, 'vms': 2, 'cpu': 0.5, 'memory': 0.2},"
	"{'id': 5, 'arrival_s': 5, 'vms': 1, 'cpu': 0.5, 'memory': 0.2}],"
	"'waiting': [1, 2], 'suspended': [{'task': 3, 'cluster': 'c', 'virtual_s': 5}], 'running': ["
	"{'task': 4, 'cluster': 'c', 'nodes': [0, 1], 'yield': 1, 'virtual_s': 5},"
	"{'task': 5, 'cluster': 'c', 'nodes': [0], 'yield': 1, 'virtual_s': 5, 'busy': true}],"
	"'down': [{'cluster': 'c', 'node': 2}]}";

/* Waiting 1, 2; in the queue of m, which is full, 3, which executes, and 4; cluster k is down. */
static const char queues[] =
	"{" TIMES "'system': {'clusters': [{'name': 'm', 'nodes': 1, 'cores': 1, 'pstates': 1},"
	" {'name': 'k', 'nodes': 1, 'cores': 1, 'pstates': 1}],"
	" 'types': [{'name': 't', 'options': ["
	"{'cluster': 'm', 'pstate': 0, 'nodes': 1, 'etc_s': 2, 'eec_j': 0},"
	"{'cluster': 'k', 'pstate': 0, 'nodes': 1, 'etc_s': 2, 'eec_j': 0}]}],"
	"'queueing': {'bin_s': 1, 'length': 2, 'pruning': {'drop_threshold': 0.5,"
	"'defer_threshold': 0.9, 'adjustment': 0.25, 'recency': 0.9, 'toggle': 1.0,"
	"'separation': 0.2, 'fairness': 0.05, 'cull_threshold': 0.3, 'merge': 0}, 'pet': ["
	"{'type': 't', 'cluster': 'm', 'first': 2, 'masses': [1]},"
	"{'type': 't', 'cluster': 'k', 'first': 2, 'masses': [1]}]}}, 'tasks': ["
	"{'id': 1, 'type': 't', 'arrival_s': 1, 'deadline_s': 120},"
	"{'id': 2, 'type': 't', 'arrival_s': 2, 'deadline_s': 120},"
	"{'id': 3, 'type': 't', 'arrival_s': 3, 'deadline_s': 120},"
	"{'id': 4, 'type': 't', 'arrival_s': 4, 'deadline_s': 120}], 'waiting': [1, 2],"
	"'queues': [{'cluster': 'm', 'tasks': [3, 4], 'start_s': 99},"
	"{'cluster': 'k', 'tasks': []}], 'running': [{'task': 3, 'cluster': 'm', 'pstate': 0,"
	"'nodes': [0], 'start_s': 99, 'end_s': 101}], 'pruner': {'level': 0, 'dropping': false},"
	"'missed': 0, 'reservations': [], 'placeholders': [],"
	"'down': [{'cluster': 'k', 'node': 0}]}";

struct rules_case {
	const char *actions;
	const char *says; /* NULL: legal */
};

#define PLACE(kind, task, cluster, pstate, list, start)                                            \
	"{'kind': '" kind "', 'task': " #task ", 'cluster': '" cluster "', 'pstate': " #pstate     \
	", 'nodes': [" list "], 'start_s': " #start "}"
#define START(task, list) PLACE("start", task, "c", 0, list, 100)
#define SUSPEND(task) "{'kind': 'suspend', 'task': " #task "}"
#define DROP(task) "{'kind': 'drop', 'task': " #task "}"

static const struct rules_case nodes_cases[] = {
	{"", NULL},
	{START(1, "2"), NULL},
	{START(9, "2"), "actions[0], start of task 9: the snapshot has no such task"},
	{START(1, "2") "," START(1, "0"), "actions[1], start of task 1: actions[0] is of the same"},
	{START(1, "2") "," DROP(1), "actions[1], drop of task 1: actions[0] is of the same task"},
	{START(1, "2") "," START(2, "2"),
	 "actions[1], start of task 2: node 2 of cluster \"c\" has task 1"},
	{START(1, "0"), "actions[0], start of task 1: node 0 of cluster \"c\" has task 4"},
	{START(1, "3"), "actions[0], start of task 1: node 3 of cluster \"c\" takes no tasks"},
	{START(1, "4"), "cluster \"c\" has no node 4: they are 0 to 3"},
	{START(1, ""), "it has 0 nodes and needs 1"},
	{PLACE("start", 1, "c", 2, "2", 100), "cluster \"c\" has no P-state 2"},
	{PLACE("start", 1, "c", 1, "2", 100), "it cannot run in cluster \"c\" at P-state 1"},
	{PLACE("start", 1, "d", 0, "1, 0", 100), "node 0 stands behind node 1: nodes ascend"},
	{PLACE("start", 1, "d", 0, "0, 0", 100), "node 0 stands behind node 0"},
	{PLACE("start", 1, "d", 0, "0, 1", 100),
	 "actions[0], start of task 1: node 0 of cluster \"d\" has task 6 from 120 s to 150 s"},
	{PLACE("start", 1, "c", 0, "2", 101), "it begins at 101 s, which is not now, 100 s"},
	{START(4, "2"), "actions[0], start of task 4: it runs"},
	{START(3, "2"), "it is suspended"},
	{START(6, "2"), "it has a reservation"},
	{"{'kind': 'start', 'task': 1, 'cluster': 'c', 'pstate': 0, 'nodes': [2], 'start_s': 100,"
	 " 'end_s': 120}",
	 "its end_s is 120; by the estimates it is 150"},
	{"{'kind': 'start', 'task': 1, 'cluster': 'c', 'pstate': 0, 'nodes': [2], 'start_s': 100,"
	 " 'energy_j': 0}",
	 "its energy_j is 0; by the estimates it is 5"},
	{"{'kind': 'start', 'task': 1, 'cluster': 'c', 'pstate': 0, 'nodes': [2], 'start_s': 100,"
	 " 'utility': 99}",
	 "its utility is 99; by the estimates it is 3"},
	{PLACE("placeholder", 1, "c", 0, "1", 140), NULL},
	{PLACE("reserve", 1, "c", 0, "1", 140), NULL},
	{PLACE("reserve", 1, "c", 0, "3", 140), "node 3 of cluster \"c\" takes no tasks"},
	{PLACE("placeholder", 1, "c", 0, "1", 139.5),
	 "actions[0], placeholder of task 1: node 1 of cluster \"c\" has task 5 from 100 s to 140 s"},
	{PLACE("placeholder", 1, "c", 0, "2", 100), "it begins at 100 s, which is not after now"},
	{PLACE("placeholder", 1, "c", 0, "2", 400), "the last start is before the end, 400 s"},
	{PLACE("placeholder", 1, "c", 0, "1", 190) "," PLACE("reserve", 2, "c", 0, "1", 140), NULL},
	{PLACE("placeholder", 1, "c", 0, "1", 180) "," PLACE("reserve", 2, "c", 0, "1", 140),
	 "actions[1], reserve of task 2: node 1 of cluster \"c\" has task 1 from 180 s to 230 s"},
	{START(1, "2") "," PLACE("placeholder", 2, "c", 0, "2", 149),
	 "actions[1], placeholder of task 2: node 2 of cluster \"c\" has task 1 from 100 s to 150 s"},
	{PLACE("reserve", 1, "d", 0, "0, 1", 90), "which is not after now"},
	{PLACE("reserve", 1, "d", 0, "0, 1", 110), "has task 6 from 120 s to 150 s"},
	{PLACE("reserve", 1, "d", 0, "0, 1", 150), NULL},
	{SUSPEND(4) "," START(1, "0"), NULL},
	{START(1, "0") "," SUSPEND(4),
	 "actions[0], start of task 1: node 0 of cluster \"c\" has task 4"},
	{SUSPEND(4) "," START(1, "0") "," PLACE("resume", 4, "c", 0, "2", 100), NULL},
	{SUSPEND(4) "," SUSPEND(4),
	 "actions[1], suspend of task 4: actions[0] is of the same task"},
	{SUSPEND(4) "," DROP(4), "actions[1], drop of task 4: actions[0] is of the same task"},
	{SUSPEND(5), "actions[0], suspend of task 5: it is not preemptible"},
	{SUSPEND(1), "actions[0], suspend of task 1: it waits"},
	{PLACE("resume", 3, "c", 0, "2", 100), NULL},
	{PLACE("resume", 3, "d", 0, "0, 1", 100),
	 "it resumes in cluster \"c\" at P-state 0, and nowhere"},
	{PLACE("resume", 4, "c", 0, "2", 100), "actions[0], resume of task 4: it runs"},
	{"{'kind': 'resume', 'task': 3, 'cluster': 'c', 'pstate': 0, 'nodes': [2], 'start_s': 100,"
	 " 'end_s': 150}",
	 "its end_s is 150; by the estimates it is 130"},
	{DROP(1) "," DROP(3), NULL},
	{DROP(5), "actions[0], drop of task 5: it runs"},
	{"{'kind': 'pause', 'task': 4}", "tasks have nodes of their own"},
	{"{'kind': 'enqueue', 'task': 1, 'cluster': 'c'}", "the clusters have no queues"},
};

#define HOSTS(kind, task, list, yield)                                                             \
	"{'kind': '" kind "', 'task': " #task ", 'cluster': 'c', 'nodes': [" list                  \
	"], 'start_s': 100, 'yield': " #yield "}"

static const struct rules_case hosts_cases[] = {
	{"", NULL},
	{HOSTS("place", 1, "1", 0.5), NULL},
	{HOSTS("place", 1, "1", 1), "actions[0], place of task 1: host 1 gives 1.5 of its CPU"},
	{HOSTS("place", 1, "2", 0.5), "host 2 is down"},
	{HOSTS("place", 1, "3", 0.5), "cluster \"c\" has no node 3"},
	{HOSTS("place", 1, "0, 1", 0.5), "it has 1 VMs on 2 hosts"},
	{HOSTS("place", 1, "1", 0), "its yield is 0"},
	{HOSTS("place", 1, "1", 1.5), "its yield is 1.5"},
	{HOSTS("place", 4, "1", 0.5), "actions[0], place of task 4: it runs"},
	{HOSTS("place", 2, "0, 1", 0.1), "host 0 has VMs with 1.1 of its memory"},
	{HOSTS("share", 4, "0, 1", 0.1) "," HOSTS("place", 1, "1", 0.9), NULL},
	{HOSTS("share", 4, "1, 0", 0.1), "its VM 0 is on host 0: a share changes no host"},
	{HOSTS("share", 5, "0", 0.1), NULL},
	{HOSTS("migrate", 5, "1", 0.1), "it is on its way to its hosts"},
	{"{'kind': 'pause', 'task': 5}", "it is on its way to its hosts"},
	{HOSTS("migrate", 4, "0, 1", 0.1), "none of its VMs moves"},
	{HOSTS("migrate", 4, "1, 0", 0.1), "2 of its VMs move where 0 would do"},
	{HOSTS("migrate", 4, "1, 1", 1), NULL},
	{"{'kind': 'pause', 'task': 4}," HOSTS("place", 1, "1", 1), NULL},
	{HOSTS("place", 1, "1", 1) ",{'kind': 'pause', 'task': 4}", NULL},
	{"{'kind': 'pause', 'task': 4}," HOSTS("resume", 4, "0, 1", 1), "of the same task"},
	{HOSTS("resume", 3, "1", 1), NULL},
	{HOSTS("resume", 1, "1", 0.5), "actions[0], resume of task 1: it waits"},
	{"{'kind': 'defer', 'task': 1, 'start_s': 110}", NULL},
	{"{'kind': 'defer', 'task': 1, 'start_s': 90}", "give a time from now on"},
	{"{'kind': 'defer', 'task': 3, 'start_s': 110}", "it is suspended"},
	{HOSTS("start", 1, "1", 1), "tasks share hosts in this system"},
	{DROP(4), "it runs"},
};

#define ENQUEUE(task, cluster) "{'kind': 'enqueue', 'task': " #task ", 'cluster': '" cluster "'}"

static const struct rules_case queues_cases[] = {
	{"", NULL},
	{ENQUEUE(1, "m"),
	 "actions[0], enqueue of task 1: the queue of cluster \"m\" is full: 2 tasks"},
	{DROP(4) "," ENQUEUE(1, "m"), NULL},
	{ENQUEUE(1, "m") "," DROP(4), "is full"},
	{DROP(4) "," DROP(3) "," ENQUEUE(1, "m") "," ENQUEUE(2, "m"), NULL},
	{DROP(4) "," DROP(3) "," ENQUEUE(1, "m") "," ENQUEUE(1, "m"), "of the same task"},
	{ENQUEUE(1, "k"), "cluster \"k\" takes no tasks: a node is down"},
	{ENQUEUE(4, "m"), "actions[0], enqueue of task 4: it is in a queue"},
	{PLACE("start", 1, "m", 0, "0", 100), "tasks are queued or dropped in this system"},
};

static void check(const char *text, const struct rules_case *cases, gsize count)
{
	g_autoptr(json_t) object = quoted_json(text);
	g_autoptr(GError) error = NULL;
	g_autoptr(snapshot_json_t) read = snapshot_json_read(object, "case", &error);
	struct arena *arena = arena_new();

	g_assert_no_error(error);
	for (gsize i = 0; i < count; i++) {
		g_autofree char *list = g_strdup_printf("[%s]", cases[i].actions);
		g_autoptr(json_t) actions = quoted_json(list);
		struct sched_plan plan;
		const char *broken;

		snapshot_json_read_actions(actions, &read->snapshot, arena, &plan, &error);
		g_assert_no_error(error);
		broken = plan_rules_broken(&read->snapshot, &plan, arena);
		if (!cases[i].says)
			g_assert_cmpstr(broken, ==, NULL);
		else if (!broken || !strstr(broken, cases[i].says))
			g_error("%s: \"%s\" does not say \"%s\"", list, broken, cases[i].says);
		arena_reset(arena);
	}
	arena_free(arena);
}

static void test_nodes(void)
{
	check(nodes, nodes_cases, G_N_ELEMENTS(nodes_cases));
}

static void test_hosts(void)
{
	check(hosts, hosts_cases, G_N_ELEMENTS(hosts_cases));
}

static void test_queues(void)
{
	check(queues, queues_cases, G_N_ELEMENTS(queues_cases));
}

/*
 * With a gate a plan uses no more energy than is left: of 30 J running tasks will use 3 J and 4 J,
 * and the reserved one 9 J.
 */
static void test_gate(void)
{
	static const struct rules_case cases[] = {
		{START(1, "2"), NULL},
		{START(1, "2") "," PLACE("placeholder", 2, "c", 0, "2", 150), NULL},
		{PLACE("placeholder", 1, "d", 0, "0, 1", 150) "," START(2, "2"), NULL},
		{PLACE("placeholder", 1, "d", 0, "0, 1",
		       150) "," START(2, "2") "," PLACE("resume", 3, "c", 0, "2", 100),
		 "actions[2], resume of task 3: it needs 3 J, and 0 J remain of the budget of 30 J"},
		{SUSPEND(4) "," PLACE("placeholder", 1, "d", 0, "0, 1",
				      150) "," START(2, "2") "," PLACE("resume", 3, "c", 0, "0",
								       100),
		 NULL},
	};
	g_autoptr(GString) text = g_string_new(nodes);

	g_string_replace(text, "'budget_j': null", "'budget_j': 30, 'gate': true", 1);
	check(text->str, cases, G_N_ELEMENTS(cases));
}

/* What only a shared object can answer. */
static void test_rubbish(void)
{
	static const uint32_t node = 2;
	static const struct sched_action good = {.kind = SCHED_ACTION_START,
						 .task = 1,
						 .nodes_count = 1,
						 .nodes = &node,
						 .start_s = 100,
						 .end_s = 150,
						 .energy_j = 5,
						 .utility = 3};
	g_autoptr(json_t) object = quoted_json(nodes);
	g_autoptr(snapshot_json_t) read = snapshot_json_read(object, "case", NULL);
	struct arena *arena = arena_new();
	struct sched_action action = good;
	struct sched_plan plan = {.actions_count = 1, .actions = &action};

	g_assert_cmpstr(plan_rules_broken(&read->snapshot, &plan, arena), ==, NULL);
	action.kind = (enum sched_action_kind)77;
	g_assert_cmpstr(plan_rules_broken(&read->snapshot, &plan, arena), ==,
			"actions[0]: there is no kind 77");
	action = good;
	action.reason = (enum sched_reason)1000;
	g_assert_cmpstr(plan_rules_broken(&read->snapshot, &plan, arena), ==,
			"actions[0], start of task 1: there is no reason 1000");
	action = good;
	action.objective = (double)NAN;
	g_assert_cmpstr(plan_rules_broken(&read->snapshot, &plan, arena), ==,
			"actions[0], start of task 1: its objective is not a number");
	action = good;
	action.end_s = (double)NAN;
	g_assert_nonnull(plan_rules_broken(&read->snapshot, &plan, arena));
	action = good;
	action.cluster = 2;
	g_assert_cmpstr(plan_rules_broken(&read->snapshot, &plan, arena), ==,
			"actions[0], start of task 1: there is no cluster 2");
	action = good;
	action.nodes = NULL;
	g_assert_nonnull(plan_rules_broken(&read->snapshot, &plan, arena));
	plan.actions = NULL;
	g_assert_cmpstr(plan_rules_broken(&read->snapshot, &plan, arena), ==,
			"it has 1 actions and no list of them");
	arena_free(arena);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/plan-rules/nodes of a task's own", test_nodes);
	g_test_add_func("/plan-rules/a gate of energy", test_gate);
	g_test_add_func("/plan-rules/shared hosts", test_hosts);
	g_test_add_func("/plan-rules/queues", test_queues);
	g_test_add_func("/plan-rules/what no JSON says", test_rubbish);
	return g_test_run();
}
