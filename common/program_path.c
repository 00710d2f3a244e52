/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/program_path.h"

#include <gio/gio.h>

#include "common/error_fail.h"

static char *own_dir(void)
{
	g_autofree char *exe = g_file_read_link("/proc/self/exe", NULL);

	return exe ? g_path_get_dirname(exe) : g_strdup(".");
}

/* Relative to the executable's directory, in the order in which they are tried. */
static const char *const program_places[] = {
	".",
	"../libexec/virtbed",
	"../api",
	"../../controller/api",
	"../../local-sched",
	"../../local-sched/lab",
	"../../local-sched/api",
	"../local-sched",
	"../local-sched/lab",
	"../controller/api",
	"../../../local-sched",
	"../../../local-sched/lab",
	"../../../controller/api",
	"../plugin/host",
	"../../controller/plugin/host",
	"../../../controller/plugin/host",
	"../plugin/so",
	"../../controller/plugin/so",
	"../../../controller/plugin/so",
	"../plugin/batsim",
	"../../controller/plugin/batsim",
	"../../../controller/plugin/batsim",
};

char *program_path(const char *name, GError **error)
{
	const char *libexec = g_getenv("VIRTBED_LIBEXEC");
	g_autofree char *dir = own_dir();
	g_autofree char *path = NULL;

	if (libexec && *libexec) {
		path = g_build_filename(libexec, name, NULL);
		if (g_file_test(path, G_FILE_TEST_IS_EXECUTABLE))
			return g_steal_pointer(&path);
		return error_null(error, G_FILE_ERROR, G_FILE_ERROR_NOENT,
				  "%s is not there; check VIRTBED_LIBEXEC", path);
	}
	for (gsize i = 0; i < G_N_ELEMENTS(program_places); i++) {
		g_free(path);
		path = g_build_filename(dir, program_places[i], name, NULL);
		if (g_file_test(path, G_FILE_TEST_IS_EXECUTABLE))
			return g_canonicalize_filename(path, NULL);
	}
	return error_null(
		error, G_FILE_ERROR, G_FILE_ERROR_NOENT,
		"program '%s' was not found beside '%s'; build it, or set VIRTBED_LIBEXEC", name,
		dir);
}
