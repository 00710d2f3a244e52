/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Actions are read back into plans. */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "common/json.h"
#include "controller/snapshot/snapshot_json.h"
#include "controller/check/preempt_snapshots.h"
#include "controller/check/queueing_snapshots.h"
#include "controller/check/sharing_snapshots.h"
#include "tests/oracle/snapshots.h"
#include "tests/unit/snapshot/quoted.h"

#define SNAPSHOTS 200

static void check_number(double expected, double got)
{
	if (isnan(expected))
		g_assert_true(isnan(got));
	else
		g_assert_cmpfloat(got, ==, expected);
}

static void check_equal(const struct sched_plan *expected, const struct sched_plan *got)
{
	g_assert_cmpuint(got->actions_count, ==, expected->actions_count);
	for (uint32_t i = 0; i < expected->actions_count; i++) {
		const struct sched_action *a = &expected->actions[i];
		const struct sched_action *b = &got->actions[i];

		g_assert_cmpint(b->kind, ==, a->kind);
		g_assert_cmpuint(b->task, ==, a->task);
		g_assert_cmpuint(b->cluster, ==, a->cluster);
		g_assert_cmpuint(b->pstate, ==, a->pstate);
		assert_same_nodes(a->nodes, a->nodes_count, b->nodes, b->nodes_count);
		if (a->kind != SCHED_ACTION_DROP && a->kind != SCHED_ACTION_SUSPEND &&
		    a->kind != SCHED_ACTION_PAUSE) {
			check_number(a->start_s, b->start_s);
			check_number(a->end_s, b->end_s);
		}
		check_number(a->energy_j, b->energy_j);
		check_number(a->utility, b->utility);
		check_number(a->objective, b->objective);
		check_number(a->yield, b->yield);
		check_number(a->chance, b->chance);
		check_number(a->threshold, b->threshold);
		g_assert_cmpint(b->reason, ==, a->reason);
	}
}

/* Leaves the keys out that are filled in. */
static void strip(json_t *list, bool queues)
{
	size_t i;
	json_t *object;

	json_array_foreach (list, i, object) {
		if (!queues)
			json_object_del(object, "end_s");
		json_object_del(object, "energy_j");
		json_object_del(object, "utility");
	}
}

/* The plan of a policy is read back from its text, also where the estimates have to fill it in. */
static void check_policy(const struct policy_ops *ops, const struct sched_snapshot *snapshot)
{
	struct policy_context context = {.arena = arena_new()};
	struct arena *arena = arena_new();
	struct policy policy;
	struct sched_plan plan, read;
	char message[256];
	g_autoptr(GError) error = NULL;

	g_assert_cmpint(policy_parse(ops->name, &policy, message, sizeof(message)), ==, 0);
	g_assert_cmpint(policy_decide(&policy, snapshot, &context, &plan), ==, 0);

	g_autofree char *text = snapshot_text_actions(snapshot->system, &plan, NULL);
	g_autoptr(json_t) list = json_parse(text, strlen(text), "plan", &error);

	g_assert_no_error(error);
	g_assert_true(snapshot_json_read_actions(list, snapshot, arena, &read, &error));
	g_assert_no_error(error);
	check_equal(&plan, &read);
	strip(list, snapshot->system->queueing != NULL);
	g_assert_true(snapshot_json_read_actions(list, snapshot, arena, &read, &error));
	check_equal(&plan, &read);

	g_autofree char *again = snapshot_text_actions(snapshot->system, &read, NULL);

	g_assert_cmpstr(again, ==, text);
	arena_free(context.arena);
	arena_free(arena);
}

static void test_round_trip(const void *data)
{
	static const struct sharing_size size = {12, 16, 10};
	const struct policy_ops *ops = data;

	for (uint64_t seed = 0; seed < SNAPSHOTS; seed++) {
		struct random_snapshot *planned = random_snapshot_new(seed);
		struct preempt_snapshot *now = preempt_snapshot_new(seed, seed % 4 == 0, 50);
		struct sharing_snapshot *shared = sharing_snapshot_new(seed, &size);
		struct queueing_random *queues = queueing_random_new(seed);

		if (ops->planning)
			check_policy(ops, &planned->snapshot);
		if (ops->immediate)
			check_policy(ops, &now->snapshot);
		if (ops->sharing)
			check_policy(ops, &shared->snapshot);
		if (ops->queueing)
			check_policy(ops, &queues->snapshot);
		random_snapshot_free(planned);
		preempt_snapshot_free(now);
		sharing_snapshot_free(shared);
		queueing_random_free(queues);
	}
}

/* One cluster of two nodes; task 0 waits, task 1 runs on node 1. */
static const char snapshot_text[] =
	"{'system': {'clusters': [{'name': 'c', 'nodes': 2, 'cores': 1, 'pstates': 1}],"
	" 'types': [{'name': 't', 'options': [{'cluster': 'c', 'pstate': 0, 'nodes': 1, 'etc_s': 10,"
	" 'eec_j': 5}]}]}, 'seed': 1, 'event': 2, 'now_s': 10, 'next_event_s': 15, 'day_start_s': 0,"
	" 'end_s': 100, 'consumed_j': 0, 'budget_j': null,"
	" 'tasks': [{'id': 0, 'type': 't', 'arrival_s': 1, 'utility': {'max': 3, 'segments': ["
	"{'curve': 'constant', 'duration_s': 50, 'start_fraction': 1, 'end_fraction': 1,"
	" 'rate_per_s': 0}]}}, {'id': 1, 'type': 't', 'arrival_s': 2, 'utility': {'max': 1, 'segments': ["
	"{'curve': 'constant', 'duration_s': 50, 'start_fraction': 1, 'end_fraction': 1,"
	" 'rate_per_s': 0}]}}], 'waiting': [0], 'running': [{'task': 1, 'cluster': 'c', 'pstate': 0,"
	" 'nodes': [1], 'start_s': 5, 'end_s': 15}], 'reservations': [], 'placeholders': [],"
	" 'down': []}";

#define START                                                                                      \
	"[{'kind': 'start', 'task': 0, 'cluster': 'c', 'pstate': 0, 'nodes': [0], 'start_s': 10}]"

static void test_filled(void)
{
	g_autoptr(json_t) object = quoted_json(snapshot_text);
	g_autoptr(snapshot_json_t) read = snapshot_json_read(object, "case", NULL);
	g_autoptr(json_t) list = quoted_json(START);
	struct arena *arena = arena_new();
	struct sched_plan plan;
	const struct sched_action *action;

	g_assert_true(snapshot_json_read_actions(list, &read->snapshot, arena, &plan, NULL));
	g_assert_cmpuint(plan.actions_count, ==, 1);
	action = &plan.actions[0];
	g_assert_cmpfloat(action->end_s, ==, 20);
	g_assert_cmpfloat(action->energy_j, ==, 5);
	g_assert_cmpfloat(action->utility, ==, 3);
	g_assert_cmpfloat(action->objective, ==, 0);
	g_assert_cmpint(action->reason, ==, SCHED_REASON_OUTSIDE);
	g_assert_cmpstr(sched_reason_text(action->reason), ==, "as its program decided");
	arena_free(arena);
}

static void test_refusals(void)
{
	const struct {
		const char *from;
		const char *to;
		const char *says; /* NULL: good */
	} cases[] = {
		{"'start_s': 10", "'start_s': 10, 'considered': [{'verdict': 'taken'}]", NULL},
		{"}]", "}, {'kind': 'wait', 'task': 1, 'considered': []}]", NULL},
		{"'start_s': 10", "'start_s': 10, 'objective': null", NULL},
		{"[{", "[7, {", "actions[0]: expected an object, got"},
		{"'kind': 'start'", "'kind': 'begin'",
		 "actions[0]: key \"kind\": 'begin' is none of none, start"},
		{"'kind': 'start'", "'kind': 'none'", "actions[0]: key \"kind\": \"none\" is no"},
		{"'kind': 'start', ", "", "actions[0]: key \"kind\" is missing"},
		{"'task': 0, ", "", "key \"task\" is missing"},
		{"'task': 0", "'task': -1", "key \"task\": -1 is outside"},
		{"'task': 0", "'task': 0.5", "key \"task\": expected an integer"},
		{"'task': 0", "'task': 4294967296", "key \"task\": 4294967296 is outside"},
		{"'cluster': 'c', ", "", "key \"cluster\" is missing"},
		{"'cluster': 'c'", "'cluster': 'd'", "actions[0]: unknown cluster \"d\""},
		{"'cluster': 'c'", "'cluster': 0", "key \"cluster\": expected a string"},
		{"'pstate': 0, ", "", NULL},
		{"'nodes': [0], ", "", "key \"nodes\" is missing"},
		{"'nodes': [0]", "'nodes': 0", "key \"nodes\": expected an array"},
		{"'nodes': [0]", "'nodes': [-1]", "key \"nodes\": entry 0 is no integer"},
		{"'nodes': [0]", "'nodes': [0, 'x']", "key \"nodes\": entry 1 is no integer"},
		{", 'start_s': 10", "", NULL},
		{"'start', 'task': 0, 'cluster': 'c', 'pstate': 0, 'nodes': [0], 'start_s': 10",
		 "'reserve', 'task': 0, 'cluster': 'c', 'nodes': [0]",
		 "actions[0]: key \"start_s\" is missing"},
		{"'start_s': 10", "'start_s': null",
		 "key \"start_s\": expected a number, got null"},
		{"'start_s': 10", "'start_s': 10, 'end_s': null", "key \"end_s\": expected"},
		{"'start_s': 10", "'start_s': 10, 'when_s': 3", "unknown key \"when_s\""},
		{"'start_s': 10", "'start_s': 10, 'yield': 1", "unknown key \"yield\""},
		{"'start_s': 10", "'start_s': 10, 'reason': 'mood'", "'mood' is none of"},
		{"}]", "}, {'kind': 'drop'}]", "actions[1]: key \"task\" is missing"},
		{"}]", "}, {'kind': 'drop', 'task': 1, 'nodes': []}]", "unknown key \"nodes\""},
	};
	g_autoptr(json_t) object = quoted_json(snapshot_text);
	g_autoptr(snapshot_json_t) read = snapshot_json_read(object, "case", NULL);
	struct arena *arena = arena_new();
	g_autoptr(json_t) no_list = quoted_json("{'actions': []}");
	struct sched_plan plan = {.note = "untouched"};
	g_autoptr(GError) error = NULL;

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GString) text = g_string_new(START);
		g_autoptr(json_t) list = NULL;
		bool good;

		g_assert_cmpuint(g_string_replace(text, cases[i].from, cases[i].to, 1), ==, 1);
		list = quoted_json(text->str);
		plan = (struct sched_plan){.note = "untouched"};
		good = snapshot_json_read_actions(list, &read->snapshot, arena, &plan, &error);
		if (!cases[i].says) {
			g_assert_no_error(error);
			g_assert_true(good);
			g_assert_cmpuint(plan.actions_count, ==, 1);
			g_assert_cmpfloat(plan.actions[0].start_s, ==, 10);
			continue;
		}
		g_assert_false(good);
		g_assert_cmpstr(plan.note, ==, "untouched");
		if (!strstr(error->message, cases[i].says))
			g_error("\"%s\" does not say \"%s\"", error->message, cases[i].says);
		g_clear_error(&error);
	}
	g_assert_false(snapshot_json_read_actions(no_list, &read->snapshot, arena, &plan, &error));
	g_assert_cmpstr(error->message, ==,
			"expected an array of at most 1000000 actions, got an object");
	arena_free(arena);
}

int main(int argc, char **argv)
{
	uint32_t count;
	const struct policy_ops *const *list = policy_list(&count);

	g_test_init(&argc, &argv, NULL);
	for (uint32_t i = 0; i < count; i++) {
		g_autofree char *path =
			g_strdup_printf("/actions/plans of %s read back equal", list[i]->name);

		g_test_add_data_func(path, list[i], test_round_trip);
	}
	g_test_add_func("/actions/what is missing comes from the estimates", test_filled);
	g_test_add_func("/actions/nonsense is refused with its place", test_refusals);
	return g_test_run();
}
