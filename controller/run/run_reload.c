/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/run/run_reload.h"

#include <string.h>

#include "controller/run/run_service.h"

G_DEFINE_QUARK(virtbed-run-reload, run_reload_error)


char *run_reload_fixed(const struct config *config)
{
	struct config_service service = config_service_of(config);
	struct config rest = *config;

	service.policy = (char *)"-";
	service.mapping_interval_s = 1;
	service.retention_days = 1;
	rest.service = &service;
	return config_to_text(&rest);
}

void run_reload_take(struct config *to, const struct config *from)
{
	const struct config_service wanted = config_service_of(from);

	if (!to->service) {
		const struct config_service defaults = config_service_of(to);

		to->service = g_memdup2(&defaults, sizeof(defaults));
		to->service->policy = NULL;
	}
	g_free(to->service->policy);
	to->service->policy = g_strdup(wanted.policy);
	to->service->mapping_interval_s = wanted.mapping_interval_s;
	to->service->retention_days = wanted.retention_days;
}

/* The first line in which two texts differ, without its indentation. */
static char *first_difference(const char *before, const char *now)
{
	g_auto(GStrv) old = g_strsplit(before, "\n", -1);
	g_auto(GStrv) new = g_strsplit(now, "\n", -1);
	guint i = 0;

	while (old[i] && new[i] && g_str_equal(old[i], new[i]))
		i++;
	return g_strdup_printf("'%s' was '%s'", new[i] ? g_strstrip(new[i]) : "",
			       old[i] ? g_strstrip(old[i]) : "");
}

static bool check(const char *path, const char *fixed, const struct config *config, GError **error)
{
	g_autofree char *now = run_reload_fixed(config);
	g_autofree char *difference = NULL;

	if (!run_service_check(config, error)) {
		g_prefix_error(error, "%s: ", path);
		return false;
	}
	if (g_str_equal(now, fixed))
		return true;
	difference = first_difference(fixed, now);
	g_set_error(error, RUN_RELOAD_ERROR, RUN_RELOAD_ERROR_RESTART,
		    "%s: %s when it was started: only service.policy, service.mapping_interval_s "
		    "and service.retention_days change without a restart",
		    path, difference);
	return false;
}

bool run_reload(const char *path, const char *fixed, struct config *running, GError **error)
{
	g_autoptr(config_t) config = config_load(path, error);

	if (!config || !check(path, fixed, config, error))
		return false;
	run_reload_take(running, config);
	return true;
}
