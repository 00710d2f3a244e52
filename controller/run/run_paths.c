/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/run/run_paths.h"

#include <errno.h>
#include <gio/gio.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error_fail.h"
#include "common/log.h"

/* unix(7): 108 with the final 0; "/controller.sock" and "/ls-NNN.sock" are appended. */
#define SOCKET_DIR_MAX (107 - 20)

char *run_paths_new_dir(const char *name)
{
	g_autoptr(GDateTime) now = g_date_time_new_now_utc();
	g_autofree char *time = g_date_time_format(now, "%Y%m%d-%H%M%S");

	return g_strdup_printf("runs/%s-%s", name, time);
}

/* NAME-YYYYMMDD-HHMMSS: sorted by name they are sorted by time. */
static bool is_run_of(const char *entry, const char *name)
{
	size_t length = strlen(name);

	return g_str_has_prefix(entry, name) && entry[length] == '-' &&
	       strlen(entry) == length + strlen("-YYYYMMDD-HHMMSS") &&
	       g_ascii_isdigit(entry[length + 1]);
}

char *run_paths_latest_dir(const char *name)
{
	g_autoptr(GDir) dir = g_dir_open("runs", 0, NULL);
	g_autofree char *latest = NULL;
	const char *entry;

	while (dir && (entry = g_dir_read_name(dir))) {
		if (!is_run_of(entry, name) || (latest && strcmp(entry, latest) < 0))
			continue;
		g_free(latest);
		latest = g_strdup(entry);
	}
	return latest ? g_build_filename("runs", latest, NULL) : NULL;
}

char *run_paths_config(const char *dir, bool serve)
{
	return g_build_filename(dir, serve ? "wanted.yaml" : "config.yaml", NULL);
}

char *run_paths_log(const char *dir, const char *daemon)
{
	return log_is_journal() ? NULL : g_strdup_printf("%s/logs/%s.log", dir, daemon);
}

char *run_paths_socket_dir(const char *dir, bool *ret_own, GError **error)
{
	g_autofree char *path = NULL;

	*ret_own = false;
	if (strlen(dir) <= SOCKET_DIR_MAX)
		return g_strdup(dir);
	*ret_own = true;
	if (g_mkdir_with_parents(RUN_PATHS_OUR_DIR, 0700) == 0 &&
	    access(RUN_PATHS_OUR_DIR, W_OK) == 0)
		path = g_strdup(RUN_PATHS_OUR_DIR "/run-XXXXXX");
	else
		path = g_strdup("/tmp/virtbed-run-XXXXXX");
	if (g_mkdtemp(path))
		return g_steal_pointer(&path);
	return error_null(error, G_FILE_ERROR, g_file_error_from_errno(errno),
			  "cannot make a directory for sockets '%s': %s", path, g_strerror(errno));
}

/*
 * A directory that the service manager made for this service (systemd.exec(5)), or NULL; the first
 * if there are several.
 */
static char *managed_dir(const char *variable)
{
	const char *dirs = g_getenv(variable);

	return dirs && *dirs == '/' ? g_strndup(dirs, strcspn(dirs, ":")) : NULL;
}

/* The state directory of a service of this user without a service manager. */
static char *user_state(void)
{
	return geteuid() == 0 ? g_strdup("/var/lib/virtbed")
			      : g_build_filename(g_get_user_state_dir(), "virtbed", NULL);
}

char *run_paths_service_state(void)
{
	return managed_dir("STATE_DIRECTORY") ?: user_state();
}

/*
 * Whether it is a directory of this user: after su, $XDG_RUNTIME_DIR may still be that of another
 * user.
 */
static bool is_own_dir(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid();
}

/*
 * The runtime directory of a user other than root, or NULL: that of the session, or its usual
 * place.
 */
static char *user_runtime_dir(void)
{
	const char *session = g_getenv("XDG_RUNTIME_DIR");
	g_autofree char *usual = NULL;

	if (session && *session == '/' && is_own_dir(session))
		return g_strdup(session);
	usual = g_strdup_printf("/run/user/%u", (unsigned)geteuid());
	return is_own_dir(usual) ? g_steal_pointer(&usual) : NULL;
}

static void add_address(GPtrArray *addresses, const char *dir, const char *below)
{
	g_autofree char *path = g_build_filename(dir, below, "controller.sock", NULL);

	g_ptr_array_add(addresses, g_strconcat("unix:", path, NULL));
}

char **run_paths_service_addresses(void)
{
	g_autoptr(GPtrArray) addresses = g_ptr_array_new();
	g_autofree char *managed = managed_dir("RUNTIME_DIRECTORY");

	if (managed)
		add_address(addresses, managed, "");
	if (geteuid() != 0) {
		g_autofree char *runtime = user_runtime_dir();
		g_autofree char *state = user_state();

		if (runtime)
			add_address(addresses, runtime, "virtbed");
		add_address(addresses, state, "");
	}
	add_address(addresses, RUN_PATHS_OUR_DIR, "");
	add_address(addresses, RUN_PATHS_OUR_DIR, "service");
	g_ptr_array_add(addresses, NULL);
	return (char **)g_ptr_array_free(g_steal_pointer(&addresses), FALSE);
}

char *run_paths_service_address(void)
{
	g_auto(GStrv) addresses = run_paths_service_addresses();

	return g_strdup(addresses[0]);
}
