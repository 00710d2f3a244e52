/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/met_pairs_test.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <stdint.h>

/* Runs the programs; returns the lines that they noted. The caller frees. */
static char **run_programs(char **programs)
{
	g_autofree char *folder = g_dir_make_tmp("met-pairs-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(folder, "pairs", NULL);
	g_autofree char *pairs = NULL;

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
	return g_strsplit(pairs, "\n", -1);
}

/* A case: a table, and what all programs noted. */
struct table_case {
	struct met_pairs_table table;
	char **lines;
};

/* Why no program meets a pair; NULL: one has to. */
static const char *unmet_because(const struct met_pairs_table *table, unsigned int state,
				 unsigned int event)
{
	for (size_t i = 0; i < table->unmet_count; i++)
		if (table->unmet[i].state == state && table->unmet[i].event == event)
			return table->unmet[i].because;
	return NULL;
}

/* What is wrong with a pair; NULL: nothing. */
static const char *wrong_with(const struct met_pairs_table *table, unsigned int state,
			      unsigned int event, bool is_met)
{
	const enum fsm_rule rule = fsm_transition(table->fsm, state, event)->rule;
	const char *because = unmet_because(table, state, event);

	if (rule == FSM_IMPOSSIBLE)
		return NULL; /* fatal where a program does not expect it (fsm_move()) */
	if (!is_met)
		return because             ? NULL
		       : rule == FSM_MOVES ? "a move, and no program meets it"
					   : "ignored, and no program meets it";
	return because ? "listed as unmet, and a program meets it" : NULL;
}

static void test_table(gconstpointer data)
{
	const struct table_case *this = data;
	const struct fsm *fsm = this->table.fsm;
	uint32_t met = 0, wrong = 0;

	for (unsigned int state = 0; state < fsm->states; state++) {
		for (unsigned int event = 0; event < fsm->events; event++) {
			g_autofree char *pair =
				g_strdup_printf("%s: %s %s", fsm->what, fsm->state_names[state],
						fsm->event_names[event]);
			const bool is_met = g_strv_contains((const char *const *)this->lines, pair);
			const char *what = wrong_with(&this->table, state, event, is_met);

			met += is_met;
			wrong += what != NULL;
			if (what)
				g_test_message("%s: %s", pair, what);
		}
	}
	g_test_message("%s: %u pairs are met, %zu are listed as unmet", fsm->what, met,
		       this->table.unmet_count);
	if (wrong)
		g_test_fail();
}

int met_pairs_test_main(int argc, char **argv, const struct met_pairs_table *tables, size_t count)
{
	g_auto(GStrv) lines = NULL;
	g_autofree struct table_case *cases = g_new(struct table_case, count);

	g_test_init(&argc, &argv, NULL);
	lines = run_programs(argv + 1);
	for (size_t i = 0; i < count; i++) {
		g_autofree char *path = g_strdup_printf("/met-pairs/%s", tables[i].fsm->what);

		cases[i] = (struct table_case){tables[i], lines};
		g_test_add_data_func(path, &cases[i], test_table);
	}
	return g_test_run();
}
