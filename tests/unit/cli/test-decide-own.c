/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `decide` with a policy of one's own in the registry's place. */
#include <glib.h>

#include "controller/cli/commands.h"
#include "controller/sched/mapping.h"

/* The first task where it can start first, and not a word. */
static int decide_silently(struct mapping *mapping)
{
	const struct sched_task *task = mapping->tasks[0];
	uint32_t count;
	const struct sched_option *options =
		sched_system_options(mapping->system, task->row, &count);

	return mapping_place(mapping, task, &options[0], 0, SCHED_REASON_FIRST);
}

static const struct policy_planning planning = {.decide = decide_silently};

static const struct policy_ops silent = {
	.name = "silent",
	.section = "none",
	.summary = "Silent: explains nothing",
	.planning = &planning,
};

const struct policy_ops *const *policy_list(uint32_t *ret_count)
{
	static const struct policy_ops *const list[] = {&silent};

	*ret_count = G_N_ELEMENTS(list);
	return list;
}

/* What `decide` prints, with one more argument or none. */
static void decide_in_subprocess(const char *argument)
{
	if (g_test_subprocess()) {
		g_autofree char *path = g_test_build_filename(G_TEST_DIST, "snapshot.json", NULL);
		char *argv[] = {(char *)"virtbed decide", path, (char *)"--explain",
				(char *)argument, NULL};

		g_assert_cmpint(cmd_decide(argument ? 4 : 3, argv), ==, 0);
		return;
	}
	g_test_trap_subprocess(NULL, 0, 0);
	g_test_trap_assert_passed();
}

static void test_text(void)
{
	decide_in_subprocess(NULL);
	if (!g_test_subprocess())
		g_test_trap_assert_stdout("*the policy \"silent\" explains nothing*");
}

static void test_json(void)
{
	decide_in_subprocess("--json");
	if (!g_test_subprocess())
		g_test_trap_assert_stdout("*\"kind\":\"unexplained\",\"policy\":\"silent\"*");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/decide-own/--explain says that a policy explains nothing", test_text);
	g_test_add_func("/decide-own/so does --json", test_json);
	return g_test_run();
}
