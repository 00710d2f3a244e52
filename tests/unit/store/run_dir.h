/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>

#include "controller/store/store.h"

/* A run directory of a test: its store, with one run of the policy "easy". */
struct run_dir {
	char *dir;
	struct store *store;
	int64_t run;
};

/* Makes the directory and its store; run_dir_remove() removes them. */
static inline void run_dir_make(struct run_dir *dir)
{
	struct store_run run = {.policy = (char *)"easy",
				.limit = 1,
				.repeat = 1,
				.host_load = (double)NAN};
	g_autoptr(GError) error = NULL;

	dir->dir = g_dir_make_tmp("virtbed-store-XXXXXX", &error);
	g_assert_no_error(error);
	dir->store = store_open(dir->dir, true, &error);
	g_assert_no_error(error);
	g_assert_true(store_add_run(dir->store, &run, &error));
	dir->run = run.run;
}

static inline void run_dir_remove(struct run_dir *dir)
{
	static const char *const files[] = {STORE_FILE, STORE_FILE "-wal", STORE_FILE "-shm"};

	store_close(dir->store);
	for (gsize i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autofree char *path = g_build_filename(dir->dir, files[i], NULL);

		g_unlink(path);
	}
	g_rmdir(dir->dir);
	g_free(dir->dir);
}
