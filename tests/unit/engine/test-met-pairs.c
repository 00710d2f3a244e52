/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A scene meets every pair of state and event that a table of the engine moves on or ignores:
 * task_fsm.h, suspension_fsm.h, resumption_fsm.h, migration_fsm.h. This test runs the test programs
 * that it is given. They note the pairs that they meet (met_pairs.c). The test lists the pairs that
 * no program meets.
 */
#include <glib.h>
#include <glib/gstdio.h>

#include "controller/engine/migration_fsm.h"
#include "controller/engine/resumption_fsm.h"
#include "controller/engine/suspension_fsm.h"
#include "controller/engine/task_fsm.h"

static char **programs;

/* Runs the programs; returns what they noted. The caller frees. */
static char *run_programs(void)
{
	g_autofree char *folder = g_dir_make_tmp("met-pairs-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(folder, "pairs", NULL);
	char *pairs = NULL;

	g_setenv("VIRTBED_MET_PAIRS", path, TRUE);
	for (char **program = programs; *program; program++) {
		char *arguments[] = {*program, NULL};
		g_autofree char *output = NULL;
		g_autoptr(GError) error = NULL;
		int status;

		g_spawn_sync(NULL, arguments, NULL, G_SPAWN_DEFAULT, NULL, NULL, &output, NULL,
			     &status, &error);
		g_assert_no_error(error);
		if (!g_spawn_check_wait_status(status, NULL))
			g_error("%s failed:\n%s", *program, output);
	}
	g_assert_true(g_file_get_contents(path, &pairs, NULL, NULL));
	g_unlink(path);
	g_rmdir(folder);
	return pairs;
}

/* How many pairs of a table no line says that a program met; lists them. */
static uint32_t count_missed(const struct fsm *fsm, const char *const *lines)
{
	uint32_t listed = 0, missed = 0;

	for (unsigned int state = 0; state < fsm->states; state++) {
		for (unsigned int event = 0; event < fsm->events; event++) {
			const enum fsm_rule rule = fsm_transition(fsm, state, event)->rule;
			g_autofree char *pair =
				g_strdup_printf("%s: %s %s", fsm->what, fsm->state_names[state],
						fsm->event_names[event]);

			if (rule == FSM_IMPOSSIBLE)
				continue;
			listed++;
			if (g_strv_contains(lines, pair))
				continue;
			missed++;
			g_test_message("%s: %s, and no scene meets it", pair,
				       rule == FSM_MOVES ? "a move" : "ignored");
		}
	}
	g_test_message("%s: %u of %u pairs are met", fsm->what, listed - missed, listed);
	return missed;
}

static void test_met(void)
{
	static const struct fsm *const tables[] = {&engine_task_fsm, &suspension_fsm,
						   &resumption_fsm, &migration_fsm};
	g_autofree char *pairs = run_programs();
	g_auto(GStrv) lines = g_strsplit(pairs, "\n", -1);
	uint32_t missed = 0;

	for (size_t i = 0; i < G_N_ELEMENTS(tables); i++)
		missed += count_missed(tables[i], (const char *const *)lines);
	g_assert_cmpuint(missed, ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	programs = argv + 1;
	g_test_add_func("/met-pairs/every-pair-of-the-table-is-met", test_met);
	return g_test_run();
}
