/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Snapshots and actions of systems whose hosts are shared in time, as JSON. */
#include <glib.h>
#include <string.h>

#include "common/json.h"
#include "controller/snapshot/snapshot_json.h"
#include "controller/check/sharing_snapshots.h"

/* Decides and gives the actions as text. */
static char *decide(const struct policy *policy, const struct sched_snapshot *snapshot)
{
	struct policy_context context = {.arena = arena_new(), .flags = POLICY_EXPLAIN};
	struct sched_plan plan;

	g_assert_null(policy_misfit(policy, snapshot->system));
	g_assert_cmpint(policy_decide(policy, snapshot, &context, &plan), ==, 0);

	g_autoptr(json_t) actions = snapshot_json_actions(snapshot->system, &plan, true);

	arena_free(context.arena);
	return json_text(actions);
}

/* What is written reads back, writes the same again and gives the same actions. */
static void test_round_trip(void)
{
	static const struct sharing_size size = {8, 12, 6};
	uint32_t count;
	const struct policy_ops *const *list = policy_list(&count);
	char message[256];

	for (uint64_t seed = 0; seed < 600; seed++) {
		struct sharing_snapshot *random = sharing_snapshot_new(seed, &size);
		struct policy policy;
		g_autoptr(GError) error = NULL;

		policy_parse(list[seed % count]->name, &policy, message, sizeof(message));
		g_assert_true(!policy.ops->sharing ==
			      (policy_misfit(&policy, random->system) != NULL));
		if (policy.ops->sharing) {
			for (uint32_t i = 0; i < random->snapshot.running_count; i++)
				random->running[i].busy = (seed + i) % 3 == 0;

			g_autoptr(json_t) object =
				snapshot_json_write(&random->snapshot, &policy, NULL);
			g_autoptr(snapshot_json_t) read =
				snapshot_json_read(object, "text", &error);

			g_assert_no_error(error);

			g_autoptr(json_t) again =
				snapshot_json_write(&read->snapshot, &policy, NULL);
			g_autofree char *text = json_text(object);
			g_autofree char *again_text = json_text(again);
			g_autofree char *first = decide(&policy, &random->snapshot);
			g_autofree char *second = decide(&policy, &read->snapshot);

			g_assert_cmpstr(again_text, ==, text);
			g_assert_cmpstr(second, ==, first);
		}
		sharing_snapshot_free(random);
	}
}

/* A snapshot that is good, to be spoilt in one place. */
static const char good[] =
	"{'system': {'clusters': [{'name': 'c', 'nodes': 3, 'cores': 4, 'pstates': 1}], 'types': [],"
	" 'shared': true}, 'seed': 1, 'event': 2, 'now_s': 100, 'next_event_s': 600, 'day_start_s': 0,"
	" 'end_s': 1000, 'consumed_j': 0, 'budget_j': null, 'between': true,"
	" 'tasks': [{'id': 0, 'arrival_s': 10, 'vms': 2, 'cpu': 0.5, 'memory': 0.4},"
	" {'id': 1, 'arrival_s': 20, 'vms': 1, 'cpu': 0.25, 'memory': 0.1},"
	" {'id': 2, 'arrival_s': 100, 'vms': 3, 'cpu': 1, 'memory': 0.5}],"
	" 'waiting': [2], 'deferred': [{'task': 2, 'count': 3, 'until_s': 108}],"
	" 'suspended': [{'task': 1, 'cluster': 'c', 'virtual_s': 20}],"
	" 'running': [{'task': 0, 'cluster': 'c', 'nodes': [1, 1], 'yield': 1, 'virtual_s': 55}],"
	" 'down': [{'cluster': 'c', 'node': 2}]}";

static void test_nonsense(void)
{
	const struct {
		const char *from;
		const char *to;
		const char *says; /* NULL: still good */
	} cases[] = {
		{"'between': true", "'between': false", NULL},
		{"'between': true", "'between': 1", "\"between\" must be true or false"},
		{"'shared': true", "'shared': 'yes'", "\"shared\" must be true or false"},
		{"'shared': true", "'shared': true, 'immediate': true", "not both"},
		{"'pstates': 1", "'pstates': 2", "one cluster with one P-state and no types"},
		{"'types': []",
		 "'types': [{'name': 't', 'options': [{'cluster': 'c', 'pstate': 0, 'nodes': 1,"
		 " 'etc_s': 1, 'eec_j': 1}]}]",
		 "no types"},
		{"'vms': 2", "'vms': 0", "task 0 has no VMs"},
		{"'vms': 2", "'vms': 7", "task 0 could never run: 7 VMs that take 0.4"},
		{"'vms': 2", "'vm': 2", "vms"},
		{"'cpu': 0.25", "'cpu': 0", "task 1: \"cpu\" is 0; give the share of a host"},
		{"'cpu': 0.25", "'cpu': 1.5", "\"cpu\" is 1.5"},
		{"'memory': 0.1", "'memory': 1.01", "task 1: \"memory\" is 1.01"},
		{"'memory': 0.1", "'memory': -1", "\"memory\" is -1"},
		{"'nodes': [1, 1]", "'nodes': [1]", "task 0 has 2 VMs on 1 hosts"},
		{"'nodes': [1, 1]", "'nodes': [1, 3]", "indices below 3"},
		{"'nodes': [1, 1]", "'nodes': [1, -1]", "indices below 3"},
		{"'nodes': [1, 1]", "'nodes': [1, 0]", NULL},
		{"'nodes': [1, 1]", "'nodes': [1, 2]", "task 0 is on host 2, which is down"},
		{"'cpu': 0.5, 'memory': 0.4", "'cpu': 0.5, 'memory': 0.6",
		 "host 1 has more VMs than memory"},
		{"'cpu': 0.5, 'memory': 0.4", "'cpu': 0.7, 'memory': 0.4",
		 "the shares of host 1 are more than its CPU"},
		{"'yield': 1", "'yield': 0", "task 0: \"yield\" is 0"},
		{"'yield': 1", "'yield': 2", "task 0: \"yield\" is 2"},
		{"'virtual_s': 55", "'virtual_s': 55, 'busy': true", NULL},
		{"'virtual_s': 55", "'virtual_s': 55, 'busy': 1", "\"busy\" must be true or false"},
		{"'virtual_s': 55", "'virtual_s': -5", "task 0: virtual_s is below 0"},
		{"'virtual_s': 20", "'virtual_s': -5", "task 1: virtual_s is below 0"},
		{"'virtual_s': 20", "'executed_s': 5", "virtual_s"},
		{"'waiting': [2]", "'waiting': [2, 0]", "task 0"},
		{"'waiting': [2]", "'waiting': []", "\"deferred\": task 2 is not among"},
		{"'count': 3", "'count': 0", "\"deferred\": task 2: count is 0"},
		{"'suspended': [{'task': 1", "'suspended': [{'task': 0", "task 0 is in two of"},
		{"'down': [", "'reservations': [{}], 'down': [",
		 "a shared system has no reservations"},
		{"'down': [", "'reservations': [], 'placeholders': [], 'down': [", NULL},
		{"'node': 2", "'node': 3", "no node 3"},
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
		if (!strstr(error->message, cases[i].says))
			g_error("\"%s\" does not say \"%s\"", error->message, cases[i].says);
	}
}

/* Every kind of action of these systems says what it needs to, and nothing of execution times. */
static void test_actions(void)
{
	g_autoptr(GString) text = g_string_new(good);
	g_autoptr(GError) error = NULL;
	struct policy policy;
	char message[256];

	g_string_replace(text, "'until_s': 108", "'until_s': 100", 1);
	g_string_replace(text, "'", "\"", 0);

	g_autoptr(json_t) object = json_parse(text->str, text->len, "case", &error);
	g_autoptr(snapshot_json_t) read = snapshot_json_read(object, "case", &error);

	policy_parse("greedy", &policy, message, sizeof(message));

	g_autofree char *decided = decide(&policy, &read->snapshot);
	g_autoptr(json_t) list = json_parse(decided, strlen(decided), "actions", &error);
	const json_t *resume = json_array_get(list, 0);
	const json_t *defer = json_array_get(list, 1);

	g_assert_cmpuint(json_array_size(list), ==, 3);
	g_assert_cmpstr(json_string_value(json_object_get(resume, "kind")), ==, "resume");
	g_assert_cmpfloat(json_number_value(json_object_get(resume, "yield")), ==, 1);
	g_assert_cmpint(json_integer_value(json_array_get(json_object_get(resume, "nodes"), 0)), ==,
			0);
	g_assert_null(json_object_get(resume, "end_s"));
	g_assert_cmpstr(json_string_value(json_object_get(defer, "kind")), ==, "defer");
	g_assert_cmpfloat(json_number_value(json_object_get(defer, "start_s")), ==, 116);
	g_assert_cmpstr(json_string_value(json_object_get(json_array_get(list, 2), "kind")), ==,
			"wait");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/snapshot-shared/what is written reads back and decides the same",
			test_round_trip);
	g_test_add_func("/snapshot-shared/nonsense is refused with its place", test_nonsense);
	g_test_add_func("/snapshot-shared/actions have hosts and yields", test_actions);
	return g_test_run();
}
