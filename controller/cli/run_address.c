/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/cli/run_address.h"

#include <gio/gio.h>
#include <gio/gunixsocketaddress.h>
#include <glib/gstdio.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "common/error_fail.h"
#include "controller/run/run_paths.h"
#include "controller/run/run_plan.h"

/*
 * Returns the address of a run directory's controller, which is its socket. Another address in the
 * directory is ignored: its author would get the token of any user who only inspects the directory.
 */
static char *address_of(const char *dir, GError **error)
{
	g_autoptr(run_plan_t) plan = run_plan_load(dir, error);

	if (!plan)
		return NULL;
	if (g_str_has_prefix(plan->api, "unix:"))
		return g_strdup(plan->api);
	return error_null(
		error, RUN_PLAN_ERROR, RUN_PLAN_ERROR_READ,
		"%s/plan.json: api: \"%s\" is no socket, as a run's controller has; if you trust "
		"it, give that address with --uri",
		dir, plan->api);
}

/* The run directory under runs/ with the latest plan of this user, or NULL. */
static char *latest_dir(void)
{
	g_autoptr(GDir) dir = g_dir_open("runs", 0, NULL);
	g_autofree char *latest = NULL;
	const char *entry;
	gint64 latest_s = -1;

	while (dir && (entry = g_dir_read_name(dir))) {
		g_autofree char *path = g_build_filename("runs", entry, NULL);
		g_autofree char *plan = g_build_filename(path, "plan.json", NULL);
		GStatBuf about;

		if (g_stat(plan, &about) < 0 || about.st_uid != geteuid() ||
		    (gint64)about.st_mtime <= latest_s)
			continue;
		latest_s = (gint64)about.st_mtime;
		g_free(latest);
		latest = g_steal_pointer(&path);
	}
	return g_steal_pointer(&latest);
}

/* Whether a process listens on a socket and accepts this user's connection. */
static bool is_there(const char *address, GError **error)
{
	g_autoptr(GSocketClient) client = g_socket_client_new();
	g_autoptr(GSocketAddress) socket = g_unix_socket_address_new(address + strlen("unix:"));
	g_autoptr(GSocketConnection) connection = NULL;

	connection = g_socket_client_connect(client, G_SOCKET_CONNECTABLE(socket), NULL, error);
	return connection != NULL;
}

/*
 * The address of the latest run under runs/; NULL with `error` where that run is over or its
 * directory is broken.
 */
static char *latest_address(GError **error)
{
	g_autofree char *dir = latest_dir();
	g_autofree char *address = NULL;

	if (!dir)
		return error_null(
			error, RUN_PLAN_ERROR, RUN_PLAN_ERROR_READ,
			"which controller? there is no run of yours under runs/ and no service on "
			"this machine (`virtbed serve` is one); name its directory with --run, or "
			"its address with --uri");
	address = address_of(dir, error);
	if (!address)
		return NULL;
	if (is_there(address, NULL))
		return g_steal_pointer(&address);
	return error_null(
		error, RUN_PLAN_ERROR, RUN_PLAN_ERROR_READ,
		"the latest run, %s, is not under way, and there is no service on this machine; "
		"name a directory with --run, or an address with --uri",
		dir);
}

/*
 * The last address of the service of this user whose state is in the default directory, or NULL.
 * The service may listen elsewhere than at its default address, which differs from session to
 * session.
 */
static char *recorded_address(void)
{
	g_autofree char *state = run_paths_service_state();
	g_autofree char *plan = g_build_filename(state, "plan.json", NULL);
	g_autofree char *address = NULL;
	GStatBuf about;

	if (g_stat(plan, &about) < 0 || about.st_uid != geteuid())
		return NULL;
	address = address_of(state, NULL);
	if (!address || g_stat(address + strlen("unix:"), &about) < 0 || about.st_uid != geteuid())
		return NULL;
	return g_steal_pointer(&address);
}

/*
 * The address of a service of this user, or of this machine. NULL where there is none: `error` is
 * left as it is, or replaced if a service exists that only others may use.
 */
static char *service_address(GError **error)
{
	g_auto(GStrv) addresses = run_paths_service_addresses();
	g_autofree char *recorded = recorded_address();
	/* the first service that refuses this user; a later one may accept */
	g_autoptr(GError) closed = NULL;

	if (recorded && is_there(recorded, NULL))
		return g_steal_pointer(&recorded);
	for (char **address = addresses; *address; address++) {
		g_autoptr(GError) reason = NULL;

		if (is_there(*address, &reason))
			return g_strdup(*address);
		if (!closed && g_error_matches(reason, G_IO_ERROR, G_IO_ERROR_PERMISSION_DENIED))
			g_set_error(
				&closed, RUN_PLAN_ERROR, RUN_PLAN_ERROR_READ,
				"which controller? there is no run of yours under way, and if there is a "
				"service at %s, it is not open to you: its operator can share it with a "
				"group that you are in (`group` of its `service:`)",
				*address);
	}
	if (closed) {
		g_clear_error(error);
		g_propagate_error(error, g_steal_pointer(&closed));
	}
	return NULL;
}

char *run_address_find(const char *uri, const char *dir, GError **error)
{
	const char *given = g_getenv("VIRTBED_URI");
	g_autoptr(GError) reason = NULL;
	char *address;

	if (uri)
		return g_strdup(uri);
	if (dir)
		return address_of(dir, error);
	if (given && *given)
		return g_strdup(given);
	address = latest_address(&reason);
	if (!address)
		address = service_address(&reason);
	if (!address)
		g_propagate_error(error, g_steal_pointer(&reason));
	return address;
}
