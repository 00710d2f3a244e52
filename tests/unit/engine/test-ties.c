/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers that are equal on paper and differ in their last bits decide nothing. */
#include <glib.h>

#include "common/json.h"
#include "controller/snapshot/snapshot_json.h"

/*
 * A snapshot in ties/, the policy that decides, and its decision: kind, task and cluster of each
 * action.
 */
static const struct tie {
	const char *name;
	const char *policy; /* NULL: the one in the snapshot */
	const char *actions;
} ties[] = {
	/* Budget and option are 25962 J, the budget by a division and a multiplication by 95.85. */
	{"filter-equal-stays", NULL, "start 1 c1;"},
	{"filter-equal-stays", "max-upr+filter:task:1", "start 1 c1;"},
	{"filter-equal-stays", "easy+filter:task:1", "start 1 c1;"},
	{"filter-equal-stays", "max-upe+filter:task:0.99999", ""},
	/* 0.2 J of 0.3 less 0.1. */
	{"gate-equal-stays", NULL, "start 1 c1;"},
	{"gate-equal-stays", "fcfs", "start 1 c1;"},
	{"gate-equal-stays", "random", "start 1 c1;"},
	/* 9 / 7 and 8 (1 - 5/14) / 4. */
	{"preempt-exact-tie", NULL, ""},
	{"preempt-exact-tie", "max-upt-preempt-diff", ""},
	{"preempt-exact-tie", "max-util-preempt-greedy", "suspend 1;start 2 c0;"},
	/* 12 + 3 - 4 = 11; 12.1 + 3.3 - 4.4, in seconds since the start of a month. */
	{"step-at-exactly-its-width", NULL, "start 1 c0;"},
	{"step-at-exactly-its-width", "max-upt-preempt-greedy", "start 1 c0;"},
	{"step-at-exactly-its-width", "fcfs", "start 1 c0;"},
	{"step-after-a-month", NULL, "start 1 c0;"},
	/* Free at 0.1 + 0.2 and at 0.3: the first cluster. */
	{"starts-at-one-instant", NULL, "reserve 3 c0;"},
	{"starts-at-one-instant", "conservative", "reserve 3 c0;"},
	/* 48.4 / 2.2^2 and 108.9 / 3.3^2: the lower id. */
	{"priorities-equal", NULL, "resume 0 c1;"},
	{"priorities-equal", "dynmcb8", "resume 0 c1;"},
	/* A chance of 0.3, thresholds of 0.3. */
	{"chance-at-threshold", NULL, "enqueue 0 m1;"},
	{"chance-at-threshold", "pam", "enqueue 0 m1;"},
};

static struct snapshot_json *read_tie(const char *name)
{
	g_autofree char *file = g_strconcat(name, ".json", NULL);
	g_autofree char *path = g_test_build_filename(G_TEST_DIST, "ties", file, NULL);
	g_autofree char *text = NULL;
	g_autoptr(GError) error = NULL;
	struct snapshot_json *read;
	gsize length;

	g_file_get_contents(path, &text, &length, &error);
	g_assert_no_error(error);

	g_autoptr(json_t) object = json_parse(text, length, path, &error);

	g_assert_no_error(error);
	read = snapshot_json_read(object, path, &error);
	g_assert_no_error(error);
	return read;
}

static char *tell(const struct sched_system *system, const struct sched_plan *plan)
{
	GString *told = g_string_new(NULL);

	for (uint32_t i = 0; i < plan->actions_count; i++) {
		const struct sched_action *action = &plan->actions[i];
		const bool placed = action->nodes_count > 0 || action->kind == SCHED_ACTION_ENQUEUE;

		g_string_append_printf(told, "%s %u%s%s;", sched_action_kind_name(action->kind),
				       action->task, placed ? " " : "",
				       placed ? system->clusters[action->cluster].name : "");
	}
	return g_string_free(told, FALSE);
}

static void test_tie(const void *data)
{
	const struct tie *tie = data;
	g_autoptr(snapshot_json_t) read = read_tie(tie->name);
	struct policy_context context = {.arena = arena_new()};
	struct policy policy;
	struct sched_plan plan;
	char message[256];

	g_assert_cmpint(policy_parse(tie->policy ? tie->policy : read->policy, &policy, message,
				     sizeof(message)),
			==, 0);
	g_assert_null(policy_misfit(&policy, read->system));
	g_assert_cmpint(policy_decide(&policy, &read->snapshot, &context, &plan), ==, 0);

	g_autofree char *told = tell(read->system, &plan);

	g_assert_cmpstr(told, ==, tie->actions);
	arena_free(context.arena);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(ties); i++) {
		g_autofree char *path =
			g_strdup_printf("/ties/%s, %s", ties[i].name,
					ties[i].policy ? ties[i].policy : "as recorded");

		g_test_add_data_func(path, &ties[i], test_tie);
	}
	return g_test_run();
}
