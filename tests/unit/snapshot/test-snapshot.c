/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "common/json.h"
#include "controller/snapshot/snapshot_json.h"
#include "tests/oracle/snapshots.h"

/* What is written reads back, writes the same again and gives the same actions. */
static void test_round_trip(void)
{
	struct policy_context context = {.arena = arena_new()};
	uint32_t count;
	const struct policy_ops *const *list = policy_list(&count);
	char message[256];

	for (uint64_t seed = 0; seed < 400; seed++) {
		struct random_snapshot *random = random_snapshot_new(seed);
		struct policy policy;
		struct sched_plan plan;
		g_autoptr(GError) error = NULL;

		/* Those of other models: test-shared.c, test-queues.c. */
		if (!list[seed % count]->planning && !list[seed % count]->immediate) {
			random_snapshot_free(random);
			continue;
		}
		policy_parse(list[seed % count]->name, &policy, message, sizeof(message));
		g_assert_cmpint(policy_decide(&policy, &random->snapshot, &context, &plan), ==, 0);

		g_autoptr(json_t) object = snapshot_json_write(&random->snapshot, &policy, NULL);
		g_autoptr(json_t) actions = snapshot_json_actions(random->system, &plan, false);
		g_autofree char *text = json_text(object);
		g_autofree char *actions_text = json_text(actions);
		g_autofree char *written = snapshot_text_actions(random->system, &plan, NULL);
		g_autoptr(json_t) parsed = json_parse(text, strlen(text), "text", &error);
		g_autoptr(snapshot_json_t) read = snapshot_json_read(parsed, "text", &error);

		g_assert_cmpstr(written, ==, actions_text);
		g_assert_no_error(error);
		g_assert_cmpstr(read->policy, ==, policy.name);

		g_autoptr(json_t) again = snapshot_json_write(&read->snapshot, &policy, NULL);
		g_autofree char *again_text = json_text(again);

		g_assert_cmpstr(again_text, ==, text);
		g_assert_cmpint(policy_decide(&policy, &read->snapshot, &context, &plan), ==, 0);

		g_autoptr(json_t) decided = snapshot_json_actions(read->system, &plan, false);
		g_autofree char *decided_text = json_text(decided);

		g_assert_cmpstr(decided_text, ==, actions_text);
		random_snapshot_free(random);
	}
	arena_free(context.arena);
}

/* A snapshot that is good, to be spoilt in one place. */
static const char good[] =
	"{'system': {'clusters': [{'name': 'c', 'nodes': 2, 'cores': 1, 'pstates': 1}],"
	" 'types': [{'name': 't', 'options': [{'cluster': 'c', 'pstate': 0, 'nodes': 1, 'etc_s': 10,"
	" 'eec_j': 5}]}]}, 'seed': 1, 'event': 2, 'now_s': 10, 'next_event_s': 15, 'day_start_s': 0,"
	" 'end_s': 100, 'consumed_j': 0, 'budget_j': null,"
	" 'tasks': [{'id': 0, 'type': 't', 'arrival_s': 1, 'utility': {'max': 1, 'segments': ["
	"{'curve': 'constant', 'duration_s': 50, 'start_fraction': 1, 'end_fraction': 1,"
	" 'rate_per_s': 0}]}}, {'id': 1, 'type': 't', 'arrival_s': 2, 'utility': {'max': 1, 'segments': ["
	"{'curve': 'constant', 'duration_s': 50, 'start_fraction': 1, 'end_fraction': 1,"
	" 'rate_per_s': 0}]}}], 'waiting': [0], 'running': [{'task': 1, 'cluster': 'c', 'pstate': 0,"
	" 'nodes': [1], 'start_s': 5, 'end_s': 15}], 'reservations': [], 'placeholders': [],"
	" 'down': []}";

static void test_nonsense(void)
{
	const struct {
		const char *from;
		const char *to;
		const char *says; /* NULL: still good */
	} cases[] = {
		{"'waiting': [0]", "'waiting': []", NULL},
		{"'seed': 1", "'seed': -1", "seed"},
		{"'now_s': 10", "'now_s': 'x'", "now_s"},
		{"'now_s': 10", "'now': 10", "now_s"},
		{"'next_event_s': 15", "'next_event_s': 10", "next_event_s must be above now_s"},
		{"'end_s': 100", "'end_s': 0", "end_s must be above day_start_s"},
		{"'end_s': 100", "'end_s': null", NULL},
		{"'end_s': 100, 'consumed_j': 0, 'budget_j': null",
		 "'end_s': null, 'consumed_j': 0, 'budget_j': 9", "a budget needs an end_s"},
		{"'budget_j': null", "'budget_j': 'all'", "budget_j"},
		{"'budget_j': null", "'budget_j': 0", NULL},
		{"'budget_j': null", "'budget_j': -0.5", "budget_j is below 0"},
		{"'budget_j': null", "'budget_w': null",
		 "case: unknown key \"budget_w\"; known: policy"},
		{"'types': [", "'kinds': [], 'types': [", "system: unknown key \"kinds\""},
		{"'nodes': 2, 'cores'", "'node': 2, 'cores'",
		 "system.clusters[0]: unknown key \"node\""},
		{"'eec_j': 5", "'eec_j': 5, 'epc_w': 1",
		 "system.types[0].options[0]: unknown key \"epc_w\""},
		{"'rate_per_s': 0", "'rate': 0",
		 "tasks[0].utility.segments[0]: unknown key \"rate\""},
		{"'end_s': 15}", "'end_s': 15, 'power_w': 3}",
		 "running[0]: unknown key \"power_w\""},
		{"'nodes': 2, 'cores'", "'nodes': 0, 'cores'", "no nodes, cores or P-states"},
		{"'nodes': 2, 'cores'", "'nodes': 2000000, 'cores'", "nodes"},
		{"'clusters': [{",
		 "'clusters': [{'name': 'd', 'nodes': 1000000, 'cores': 1, 'pstates': 1}, {",
		 "more than 1000000 nodes"},
		{"'reservations': []",
		 "'reservations': [{'task': 0, 'cluster': 'c', 'pstate': 0, 'nodes': [0],"
		 " 'start_s': 20, 'end_s': 30}]",
		 "task 0 is in two of"},
		{"'placeholders': []",
		 "'placeholders': [{'task': 0, 'cluster': 'c', 'pstate': 0, 'nodes': [0],"
		 " 'start_s': 20, 'end_s': 30}]",
		 NULL},
		{"'placeholders': []",
		 "'placeholders': [{'task': 1, 'cluster': 'c', 'pstate': 0, 'nodes': [0],"
		 " 'start_s': 20, 'end_s': 30}]",
		 "task 1 is neither in \"waiting\""},
		{"'pstates': 1", "'pstates': 999999999", "pstates"},
		{"'nodes': 1, 'etc_s'", "'nodes': 3, 'etc_s'", "needs more nodes than"},
		{"'etc_s': 10", "'etc_s': 0", "estimate"},
		{"'pstate': 0, 'nodes': 1, 'etc_s'", "'pstate': 4, 'nodes': 1, 'etc_s'",
		 "no P-state 4"},
		{"'cluster': 'c', 'pstate': 0, 'nodes': 1,",
		 "'cluster': 'd', 'pstate': 0, 'nodes': 1,", "unknown cluster \"d\""},
		{"'options': [{", "'options': [17, {", "expected an object"},
		{"'type': 't', 'arrival_s': 1", "'type': 'u', 'arrival_s': 1",
		 "unknown type \"u\""},
		{"'id': 1", "'id': 0", "task 0 is there twice"},
		{"'max': 1", "'max': 0", "task 0: utility"},
		{"'curve': 'constant'", "'curve': 'round'", "unknown curve \"round\""},
		{"'utility': {", "'utillity': {",
		 "tasks[0]: unknown key \"utillity\"; known: id type"},
		{"'utility': {'max': 1, 'segments': ["
		 "{'curve': 'constant', 'duration_s': 50, 'start_fraction': 1, 'end_fraction': 1,"
		 " 'rate_per_s': 0}]}}, {",
		 "'utility': []}, {", "task 0 has no utility function"},
		{"'id': 0", "'id': 0, 'priority': -1000000", NULL},
		{"'id': 0", "'id': 0, 'priority': 1000001", "priority"},
		{"'id': 0", "'id': 0, 'priority': 'high'", "priority"},
		{"'waiting': [0]", "'waiting': [7]", "task 7 is not among"},
		{"'waiting': [0]", "'waiting': ['0']", "list of task ids"},
		{"'waiting': [0]", "'waiting': [1, 0]", "task 1 stands before task 0"},
		{"'waiting': [0]", "'waiting': [0, 0]", "stands before"},
		{"'nodes': [1]", "'nodes': [2]", "ascending indices below 2"},
		{"'nodes': [1]", "'nodes': [-1]", "ascending indices"},
		{"'nodes': [1]", "'nodes': [0, 1]", "cannot have 2 nodes"},
		{"'nodes': [1]", "'nodes': []", "cannot have 0 nodes"},
		{"'start_s': 5, 'end_s': 15", "'start_s': 5, 'end_s': 4", "ends before it starts"},
		{"'reservations': []",
		 "'reservations': [{'task': 0, 'cluster': 'c', 'pstate': 0, 'nodes': [0],"
		 " 'start_s': 20, 'end_s': 20}]",
		 "ends before it starts"},
		{"'waiting': [0]", "'waiting': [0, 1]", "task 1 is in two of"},
		{"'start_s': 5, 'end_s': 15}]",
		 "'start_s': 5, 'end_s': 15}, {'task': 1, 'cluster': 'c', 'pstate': 0,"
		 " 'nodes': [0], 'start_s': 5, 'end_s': 15}]",
		 "task 1 is in two of"},
		{"'waiting': [0], 'running': [{",
		 "'waiting': [], 'running': [{'task': 0,"
		 " 'cluster': 'c', 'pstate': 0, 'nodes': [1], 'start_s': 5, 'end_s': 15}, {",
		 "task 1 is on node 1 of cluster \"c\" beside another task"},
		{"'start_s': 5, 'end_s': 15", "'start_s': 10, 'end_s': 10", NULL},
		{"'end_s': 15", "'end_s': 15, 'executed_s': 3", NULL},
		{"'end_s': 15", "'end_s': 15, 'executed_s': -3", "executed_s is below 0"},
		{"'end_s': 15", "'end_s': 15, 'executed_s': 'x'", "executed_s"},
		{"'id': 1,", "'id': 1, 'may_preempt': true, 'preemptible': false,", NULL},
		{"'id': 1,", "'id': 1, 'may_preempt': 1,", "must be true or false"},
		{"'id': 1,", "'id': 1, 'preemptible': 'yes',", "must be true or false"},
		{"'waiting': [0]",
		 "'waiting': [], 'suspended': [{'task': 0, 'cluster': 'c',"
		 " 'pstate': 0, 'executed_s': 4}]",
		 NULL},
		{"'waiting': [0]",
		 "'waiting': [0], 'suspended': [{'task': 0, 'cluster': 'c',"
		 " 'pstate': 0, 'executed_s': 4}]",
		 "task 0 is in two of"},
		{"'waiting': [0]",
		 "'waiting': [], 'suspended': [{'task': 1, 'cluster': 'c',"
		 " 'pstate': 0, 'executed_s': 4}]",
		 "task 1 is in two of"},
		{"'waiting': [0]",
		 "'waiting': [], 'suspended': [{'task': 1, 'cluster': 'c',"
		 " 'pstate': 0, 'executed_s': 4}, {'task': 0, 'cluster': 'c', 'pstate': 0,"
		 " 'executed_s': 4}]",
		 "\"suspended\": task 1 stands before task 0"},
		{"'waiting': [0]",
		 "'waiting': [], 'suspended': [{'task': 0, 'cluster': 'c',"
		 " 'pstate': 0, 'executed_s': -4}]",
		 "executed_s is below 0"},
		{"'waiting': [0]",
		 "'waiting': [], 'suspended': [{'task': 0, 'cluster': 'c',"
		 " 'pstate': 1, 'executed_s': 4}]",
		 "cannot run in cluster \"c\" at P-state 1"},
		{"'waiting': [0]",
		 "'waiting': [], 'suspended': [{'task': 0, 'cluster': 'd',"
		 " 'pstate': 0, 'executed_s': 4}]",
		 "unknown cluster"},
		{"'waiting': [0]", "'waiting': [], 'suspended': 0", "suspended"},
		{"'start_s': 5, 'end_s': 15", "'start_s': 5, 'end_s': 9", "ends before now_s"},
		{"'down': []", "'down': [{'cluster': 'c', 'node': 2}]", "no node 2"},
		{"'down': []", "'down': {}", "down"},
		{"'down': []", "'down': [], 'gate': true", NULL},
		{"'down': []", "'down': [], 'gate': 1", "\"gate\" must be true or false"},
		{"'down': []", "'down': [], 'completed': []", "expected an object"},
		{"'down': []",
		 "'down': [], 'completed': {'tasks': 1, 'energy_j': -1, 'resources': 1}",
		 "a number below 0"},
		{"'down': []", "'down': [], 'completed': {'tasks': -1}", "tasks"},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GString) text = g_string_new(good);
		g_autoptr(GError) error = NULL;

		g_assert_cmpuint(g_string_replace(text, cases[i].from, cases[i].to, 1), ==, 1);
		g_string_replace(text, "'", "\"", 0);

		g_autoptr(json_t) object = json_parse(text->str, text->len, "case", &error);
		g_assert_no_error(error);
		g_autoptr(snapshot_json_t) read = snapshot_json_read(object, "case", &error);

		if (!cases[i].says) {
			g_assert_no_error(error);
			continue;
		}
		if (read)
			g_error("case %zu, \"%s\", is taken", i, cases[i].to);
		g_assert_nonnull(error);
		if (!strstr(error->message, cases[i].says))
			g_error("\"%s\" does not say \"%s\"", error->message, cases[i].says);
	}
}

/* What preemption adds is written and read, and left out where there is none. */
static void test_preemption(void)
{
	struct random_snapshot *random = random_snapshot_new(3);
	const struct sched_task *first = random->snapshot.waiting[0];
	uint32_t count;
	const struct sched_option *option =
		sched_system_options(random->system, first->row, &count);
	const struct sched_allocation suspended = {
		.task = first,
		.cluster = option->cluster,
		.pstate = option->pstate,
		.nodes_count = option->nodes,
		.executed_s = 1.5,
	};
	g_autoptr(GError) error = NULL;
	g_autoptr(json_t) plain = snapshot_json_write(&random->snapshot, NULL, NULL);

	g_assert_null(json_object_get(plain, "suspended"));
	random->snapshot.waiting++;
	random->snapshot.waiting_count--;
	random->snapshot.suspended = &suspended;
	random->snapshot.suspended_count = 1;
	g_assert_cmpuint(random->snapshot.running_count, >, 0);
	random->running[0].executed_s = 0.1;
	for (uint32_t i = 0; i < random->snapshot.waiting_count; i++)
		((struct sched_task *)random->snapshot.waiting[i])->may_preempt = i % 2;
	((struct sched_task *)first)->preemptible = true;

	g_autoptr(json_t) object = snapshot_json_write(&random->snapshot, NULL, NULL);
	g_autofree char *text = json_text(object);
	g_autoptr(snapshot_json_t) read = snapshot_json_read(object, "text", &error);

	g_assert_no_error(error);
	g_assert_cmpuint(read->snapshot.suspended_count, ==, 1);
	g_assert_cmpuint(read->snapshot.suspended[0].task->id, ==, first->id);
	g_assert_cmpuint(read->snapshot.suspended[0].nodes_count, ==, option->nodes);
	g_assert_cmpfloat(read->snapshot.suspended[0].executed_s, ==, 1.5);
	g_assert_cmpfloat(read->snapshot.running[0].executed_s, ==, 0.1);
	g_assert_true(read->snapshot.suspended[0].task->preemptible);
	g_assert_false(read->snapshot.suspended[0].task->may_preempt);

	g_autoptr(json_t) again = snapshot_json_write(&read->snapshot, NULL, NULL);
	g_autofree char *again_text = json_text(again);

	g_assert_cmpstr(again_text, ==, text);
	random_snapshot_free(random);
}

/* Priorities are written and read, left out where there are none, and order what waits. */
static void test_priorities(void)
{
	struct random_snapshot *random = random_snapshot_new(3);
	const struct sched_snapshot *snapshot = &random->snapshot;
	g_autoptr(GError) error = NULL;
	g_autoptr(GError) disorder = NULL;
	g_autoptr(json_t) plain = snapshot_json_write(snapshot, NULL, NULL);
	g_autofree char *plain_text = json_text(plain);

	g_assert_null(strstr(plain_text, "priority"));
	g_assert_cmpuint(snapshot->waiting_count, >, 1);
	((struct sched_task *)snapshot->waiting[0])->priority = 7;

	g_autoptr(json_t) object = snapshot_json_write(snapshot, NULL, NULL);
	g_autoptr(snapshot_json_t) read = snapshot_json_read(object, "text", &error);

	g_assert_no_error(error);
	g_assert_cmpint(read->snapshot.waiting[0]->priority, ==, 7);
	g_assert_cmpint(read->snapshot.waiting[1]->priority, ==, 0);
	((struct sched_task *)snapshot->waiting[1])->priority = 8;

	g_autoptr(json_t) wrong = snapshot_json_write(snapshot, NULL, NULL);

	g_assert_null(snapshot_json_read(wrong, "text", &disorder));
	g_assert_nonnull(strstr(disorder->message, "which has a higher priority"));
	random_snapshot_free(random);
}

/* A SUSPEND says which task and why; a RESUME where to. */
static void test_actions(void)
{
	struct random_snapshot *random = random_snapshot_new(3);
	const uint32_t node = 1;
	const struct sched_action actions[] = {
		{.kind = SCHED_ACTION_SUSPEND, .task = 4, .objective = 2},
		{.kind = SCHED_ACTION_RESUME,
		 .task = 5,
		 .nodes_count = 1,
		 .nodes = &node,
		 .start_s = 10,
		 .end_s = 12},
	};
	const struct sched_plan plan = {.actions_count = 2, .actions = actions};
	g_autoptr(json_t) list = snapshot_json_actions(random->system, &plan, false);
	const json_t *suspend = json_array_get(list, 0);
	const json_t *resume = json_array_get(list, 1);

	g_assert_cmpstr(json_string_value(json_object_get(suspend, "kind")), ==, "suspend");
	g_assert_cmpint(json_integer_value(json_object_get(suspend, "task")), ==, 4);
	g_assert_null(json_object_get(suspend, "nodes"));
	g_assert_cmpstr(json_string_value(json_object_get(resume, "kind")), ==, "resume");
	g_assert_cmpuint(json_array_size(json_object_get(resume, "nodes")), ==, 1);
	random_snapshot_free(random);
}

static bool is_odd(const struct sched_action *action)
{
	return action->task % 2 == 1;
}

/* The texts of the objects of those that are wanted, one after the other. */
static char *joined(const struct sched_system *system, const struct sched_plan *plan,
		    bool (*wanted)(const struct sched_action *action))
{
	g_autoptr(json_t) list = json_array();

	for (uint32_t i = 0; i < plan->actions_count; i++)
		if (!wanted || wanted(&plan->actions[i]))
			json_array_append_new(list,
					      snapshot_json_action(system, &plan->actions[i]));
	return json_text(list);
}

static void test_text(void)
{
	static const double numbers[] = {0,         -0.0,  900,  0.1,       1.0 / 3,
					 -1e-300,   1e300, 1e16, 123456.75, INFINITY,
					 -INFINITY, NAN,   1e22, 5e-324};
	static const uint32_t nodes[] = {0, 7, 10, UINT32_MAX};
	struct sched_cluster clusters[] = {{.name = "c"}, {.name = "a\"b\\c\n\u00e9/"}};
	struct sched_system system = {.clusters_count = 2, .clusters = clusters};
	struct sched_action actions[2000];
	struct sched_plan plan = {.actions = actions};

	/* More numbers than are kept, and those that were there before. */
	for (uint32_t i = 0; i < G_N_ELEMENTS(actions); i++)
		actions[i] = (struct sched_action){
			.kind = (enum sched_action_kind)(i % (SCHED_ACTION_ENQUEUE + 1)),
			.task = i * 1000003 % INT32_MAX,
			.cluster = i / 3 % 2,
			.pstate = i % 4,
			.nodes_count = i % (G_N_ELEMENTS(nodes) + 1),
			.nodes = nodes,
			.start_s = numbers[i % G_N_ELEMENTS(numbers)],
			.end_s = i * 0.7,
			.energy_j = numbers[i / 5 % G_N_ELEMENTS(numbers)],
			.utility = 1.0 / (i % 900),
			.objective = -(double)(i / 2),
			.reason = (enum sched_reason)(i % 3),
		};
	for (uint32_t i = 0; i < 5; i++) {
		plan.actions_count = i < 3 ? i : G_N_ELEMENTS(actions);
		system.shared = i == 4;

		g_autofree char *all = joined(&system, &plan, NULL);
		g_autofree char *some = joined(&system, &plan, is_odd);
		g_autofree char *all_text = snapshot_text_actions(&system, &plan, NULL);
		g_autofree char *some_text = snapshot_text_actions(&system, &plan, is_odd);

		g_assert_cmpstr(all_text, ==, all);
		g_assert_cmpstr(some_text, ==, some);
	}
}

static void test_explain(void)
{
	g_autoptr(GString) text = g_string_new(good);
	struct policy_context context = {.arena = arena_new(), .flags = POLICY_EXPLAIN};
	struct policy policy;
	struct sched_plan plan;
	char message[256];

	g_string_replace(text, "'end_s': 100", "'end_s': 10", 1);
	g_string_replace(text, "'", "\"", 0);

	g_autoptr(json_t) object = json_parse(text->str, text->len, "case", NULL);
	g_autoptr(snapshot_json_t) read = snapshot_json_read(object, "case", NULL);

	policy_parse("max-upr", &policy, message, sizeof(message));
	g_assert_cmpint(policy_decide(&policy, &read->snapshot, &context, &plan), ==, 0);

	g_autoptr(json_t) list = snapshot_json_actions(read->system, &plan, true);
	const json_t *first = json_array_get(list, 0);
	const json_t *option = json_array_get(json_object_get(first, "considered"), 0);

	g_assert_cmpuint(json_array_size(list), ==, 1);
	g_assert_cmpstr(json_string_value(json_object_get(first, "kind")), ==, "wait");
	g_assert_cmpstr(json_string_value(json_object_get(option, "verdict")), ==, "after-end");
	arena_free(context.arena);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/snapshot/what is written reads back and decides the same",
			test_round_trip);
	g_test_add_func("/snapshot/nonsense is refused with its place", test_nonsense);
	g_test_add_func("/snapshot/priorities are those that were written, and in order",
			test_priorities);
	g_test_add_func("/snapshot/suspended tasks and flags are there", test_preemption);
	g_test_add_func("/snapshot/actions suspend and resume", test_actions);
	g_test_add_func("/snapshot/the text of a plan is that of its objects", test_text);
	g_test_add_func("/snapshot/a task without an action is explained", test_explain);
	return g_test_run();
}
