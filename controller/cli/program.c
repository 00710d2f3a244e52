/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/cli/program.h"

#include <glib.h>

/* Folders to look in, from our own executable's: an installation's, and those of the build tree. */
static const char *const places[] = {
	".", "../../local-sched/lab", "../../local-sched", "../../local-sched/api", "../run", "../api",
	"..",
};

char *program_find(const char *name)
{
	g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
	g_autofree char *dir = self ? g_path_get_dirname(self) : NULL;

	for (gsize i = 0; dir && i < G_N_ELEMENTS(places); i++) {
		g_autofree char *path = g_build_filename(dir, places[i], name, NULL);

		if (g_file_test(path, G_FILE_TEST_IS_EXECUTABLE) &&
		    !g_file_test(path, G_FILE_TEST_IS_DIR))
			return g_canonicalize_filename(path, NULL);
	}
	return g_find_program_in_path(name);
}
