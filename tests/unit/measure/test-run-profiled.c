/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a profile that is resumed takes from its store. */
#include "controller/measure/run_profiled.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>

#include "controller/session/run_session_private.h"
#include "controller/store/store.h"

/* Removes the directory of a store. */
static void clear(const char *dir)
{
	g_autoptr(GDir) entries = g_dir_open(dir, 0, NULL);
	const char *name;

	while (entries && (name = g_dir_read_name(entries))) {
		g_autofree char *path = g_build_filename(dir, name, NULL);

		g_remove(path);
	}
	g_rmdir(dir);
}

static void test_what_was_not_known_stays_unknown(void)
{
	static const struct {
		const char *sums; /* NULL: none on record */
		double load, idle_w;
	} cases[] = {
		{"{\"span_s\": 10, \"busy_s\": 5, \"idle_j\": 400}", 0.5, 40},
		{"{\"span_s\": 10, \"busy_s\": null, \"idle_j\": 400}", (double)NAN, 40},
		{NULL, (double)NAN, (double)NAN},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *dir = g_dir_make_tmp("virtbed-profiled-XXXXXX", NULL);
		struct config config = {0};
		struct run_session session = {.config = &config};
		struct run_profiled profiled;
		GError *error = NULL;
		double load, idle_w;

		session.store = store_open(dir, true, &error);
		g_assert_no_error(error);
		if (cases[i].sums)
			g_assert_true(
				store_set_meta(session.store, "profile_sums", cases[i].sums, NULL));
		g_assert_true(run_profiled_init(&profiled, &session, &error));
		load = run_profiled_host_load(&profiled);
		idle_w = run_profiled_idle_w(&profiled);
		g_assert_true(isnan(cases[i].load) ? isnan(load)
						   : fabs(load - cases[i].load) < 1e-12);
		g_assert_true(isnan(cases[i].idle_w) ? isnan(idle_w)
						     : fabs(idle_w - cases[i].idle_w) < 1e-12);
		run_profiled_clear(&profiled);
		store_close(session.store);
		clear(dir);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/run-profiled/what was not known stays unknown",
			test_what_was_not_known_stays_unknown);
	return g_test_run();
}
