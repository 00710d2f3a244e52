/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Snapshots and actions of systems whose machines have queues, as JSON. */
#include <glib.h>
#include <string.h>

#include "common/json.h"
#include "controller/snapshot/snapshot_json.h"
#include "controller/check/queueing_snapshots.h"

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

/* What is written reads back, writes the same again and gives the same actions, by any policy. */
static void test_round_trip(void)
{
	static const char *const names[] = {"pam", "pamf", "mm", "msd", "mmu", "moc"};
	char message[256];

	for (uint64_t seed = 0; seed < 600; seed++) {
		struct queueing_random *random = queueing_random_new(seed);
		struct policy policy;
		g_autoptr(GError) error = NULL;

		g_assert_cmpint(policy_parse(names[seed % 6], &policy, message, sizeof(message)),
				==, 0);

		g_autoptr(json_t) object = snapshot_json_write(&random->snapshot, &policy, NULL);
		g_autofree char *text = json_text(object);
		g_autoptr(json_t) parsed = json_parse(text, strlen(text), "text", &error);
		g_autoptr(snapshot_json_t) read =
			parsed ? snapshot_json_read(parsed, "text", &error) : NULL;

		g_assert_no_error(error);

		g_autoptr(json_t) again = snapshot_json_write(&read->snapshot, &policy, NULL);
		g_autofree char *again_text = json_text(again);
		g_autofree char *first = decide(&policy, &random->snapshot);
		g_autofree char *second = decide(&policy, &read->snapshot);

		g_assert_cmpstr(again_text, ==, text);
		g_assert_cmpstr(second, ==, first);
		queueing_random_free(random);
	}
}

/* A snapshot that is good, to be spoilt in one place. */
static const char good[] =
	"{'system': {'clusters': [{'name': 'c', 'nodes': 2, 'cores': 1, 'pstates': 1}],"
	" 'types': [{'name': 't', 'options':"
	" [{'cluster': 'c', 'pstate': 0, 'nodes': 1, 'etc_s': 2, 'eec_j': 0}]}],"
	" 'queueing': {'bin_s': 0.5, 'length': 3, 'pruning': {'drop_threshold': 0.5,"
	" 'defer_threshold': 0.9, 'adjustment': 0.25, 'recency': 0.9, 'toggle': 1, 'separation': 0.2,"
	" 'fairness': 0.05, 'cull_threshold': 0.3, 'evicting_baselines': false, 'merge': 0},"
	" 'pet': [{'type': 't', 'cluster': 'c', 'first': 3, 'masses': [0.25, 0.5, 0.25]}]}},"
	" 'seed': 1, 'event': 2, 'now_s': 100, 'next_event_s': 600, 'day_start_s': 0,"
	" 'end_s': 1000, 'consumed_j': 0, 'budget_j': null, 'between': true,"
	" 'tasks': [{'id': 0, 'arrival_s': 10, 'type': 't', 'deadline_s': 120},"
	" {'id': 1, 'arrival_s': 20, 'type': 't', 'deadline_s': 103},"
	" {'id': 2, 'arrival_s': 30, 'type': 't', 'deadline_s': 160}],"
	" 'waiting': [2], 'queues': [{'cluster': 'c', 'tasks': [1, 0], 'start_s': 99}],"
	" 'pruner': {'level': 1.5, 'dropping': true}, 'missed': 0, 'sufferage': [0.05],"
	" 'running': [{'task': 1, 'cluster': 'c', 'pstate': 0, 'nodes': [0], 'start_s': 99,"
	" 'end_s': 101}], 'reservations': [], 'placeholders': [], 'down': []}";

static struct snapshot_json *read_text(const char *text, GError **error)
{
	g_autofree char *quoted = g_strdelimit(g_strdup(text), "'", '"');
	g_autoptr(json_t) object = json_parse(quoted, strlen(quoted), "text", error);

	return object ? snapshot_json_read(object, "text", error) : NULL;
}

static void test_nonsense(void)
{
	static const struct {
		const char *from;
		const char *to;
		const char *says; /* NULL: it is still good */
	} cases[] = {
		{"'missed': 0", "'missed': 3", NULL},
		/* it runs, but its queue does not say so */
		{", 'start_s': 99}]", "}]", "in two of"},
		{"'bin_s': 0.5", "'bin_s': 0", "\"bin_s\" is 0"},
		{"'length': 3", "'length': 0", "\"length\" is 0"},
		{"'drop_threshold': 0.5", "'drop_threshold': 1.5", "\"drop_threshold\" is 1.5"},
		{"'toggle': 1", "'toggle': 0", "\"toggle\" is 0"},
		{"[0.25, 0.5, 0.25]", "[0.25, -0.5, 1.25]", "negative"},
		{"[0.25, 0.5, 0.25]", "[0.25, 0.25, 0.25]", "sum"},
		{"[0.25, 0.5, 0.25]", "[0, 0.5, 0.5]", "above 0"},
		{"[0.25, 0.5, 0.25]", "[]", "no"},
		{"[0.25, 0.5, 0.25]", "['x']", "numbers"},
		{"'first': 3", "'first': 0", "first"},
		{"'first': 3", "'first': 4000000", NULL}, /* three bins, if late ones */
		{"'first': 3", "'first': 4194300", "more than 4194304 bins"},
		{"[{'type': 't', 'cluster': 'c', 'first': 3, 'masses': [0.25, 0.5, 0.25]}]", "[]",
		 "nothing for type \"t\" on cluster \"c\""},
		{"[{'type': 't', 'cluster': 'c', 'first': 3, 'masses': [0.25, 0.5, 0.25]}]",
		 "'pet:1'", "whole_decision"},
		{"'deadline_s': 160", "'deadline_s': 30", "not after its arrival"},
		{"'deadline_s': 160", "'deadline_s': 1e30", "out of range"},
		{"'type': 't', 'deadline_s': 160", "'type': 'u', 'deadline_s': 160",
		 "unknown type"},
		{"'tasks': [1, 0], ", "'tasks': [1, 7], ", "task 7"},
		{"'tasks': [1, 0], ", "'tasks': [1, 2], ", "in two of"},
		{"'tasks': [1, 0], ", "'tasks': [], ", "its queue is empty"},
		{"[1, 0], 'start_s': 99", "[1, 0], 'start_s': 101", "after now_s"},
		{"'sufferage': [0.05]", "'sufferage': [0.05, 0]", "one entry per type"},
		{"'sufferage': [0.05]", "'sufferage': [2]", "from 0 to 1"},
		{"'level': 1.5", "'level': -1", "below 0"},
		{"'pruner': {'level': 1.5, 'dropping': true}, ", "", "\"pruner\""},
		{"'queues': [{'cluster': 'c', 'tasks': [1, 0], 'start_s': 99}]", "'queues': []",
		 "one entry per cluster"},
		{"'queueing': {", "'immediate': true, 'queueing': {", "neither"},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_auto(GStrv) parts = g_strsplit(good, cases[i].from, 2);
		g_autofree char *text = NULL;
		g_autoptr(GError) error = NULL;
		g_autoptr(snapshot_json_t) read = NULL;

		g_assert_nonnull(parts[1]);
		text = g_strconcat(parts[0], cases[i].to, parts[1], NULL);
		read = read_text(text, &error);
		if (!cases[i].says) {
			g_assert_no_error(error);
			continue;
		}
		g_assert_null(read);
		g_assert_error(error, JSON_ERROR, JSON_ERROR_KEY);
		if (!strstr(error->message, cases[i].says))
			g_error("case %zu: \"%s\" does not say \"%s\"", i, error->message,
				cases[i].says);
	}
}

/* The chances of Gentry 2019 as the file has them, computed by hand. */
static void test_explained(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(snapshot_json_t) read = read_text(good, &error);
	struct policy policy;
	char message[256];

	g_assert_no_error(error);
	g_assert_cmpint(policy_parse("pam", &policy, message, sizeof(message)), ==, 0);

	g_autofree char *text = decide(&policy, &read->snapshot);
	g_autoptr(json_t) list = json_parse(text, strlen(text), "text", NULL);
	json_t *entry;
	size_t i;
	uint32_t judged = 0;

	json_array_foreach (list, i, entry) {
		const char *kind = json_string_value(json_object_get(entry, "kind"));

		if (strcmp(kind, "judge") != 0)
			continue;
		g_assert_cmpint(json_integer_value(json_object_get(entry, "position")), ==, judged);
		g_assert_cmpfloat(json_real_value(json_object_get(entry, "chance")), ==, 1);
		g_assert_false(json_is_true(json_object_get(entry, "dropped")));
		/* Bins 198 + {3, 4, 5}, not done by 200: ends at 202 (bins of 0.5 s) on average. */
		if (judged++ == 0)
			g_assert_cmpfloat_with_epsilon(json_real_value(
							       json_object_get(entry, "mean_s")),
						       101, 1e-9);
	}
	g_assert_cmpuint(judged, ==, 2);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/snapshot-queues/round-trip", test_round_trip);
	g_test_add_func("/snapshot-queues/nonsense", test_nonsense);
	g_test_add_func("/snapshot-queues/explained", test_explained);
	return g_test_run();
}
