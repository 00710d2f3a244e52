/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/cli/run_address.h"

#include <glib/gstdio.h>

#include "controller/run/run_plan.h"

/* The run directory under runs/ whose plan is the latest, or NULL. */
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

		if (g_stat(plan, &about) < 0 || (gint64)about.st_mtime <= latest_s)
			continue;
		latest_s = (gint64)about.st_mtime;
		g_free(latest);
		latest = g_steal_pointer(&path);
	}
	return g_steal_pointer(&latest);
}

char *run_address_find(const char *at, const char *dir, GError **error)
{
	const char *uri = g_getenv("VIRTBED_URI");
	g_autofree char *latest = NULL;
	g_autoptr(run_plan_t) plan = NULL;

	if (at)
		return g_strdup(at);
	if (!dir && uri && *uri)
		return g_strdup(uri);
	if (!dir)
		dir = latest = latest_dir();
	if (!dir) {
		g_set_error(error, RUN_PLAN_ERROR, RUN_PLAN_ERROR_READ,
			    "which run? there is none under runs/; name its directory with --run, "
			    "or its controller with --at");
		return NULL;
	}
	plan = run_plan_load(dir, error);
	return plan ? g_strdup(plan->api) : NULL;
}
