/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/run/run_reload.h"

#include "common/error_fail.h"
#include "controller/config/config_controller.h"
#include "controller/run/run_service_check.h"

G_DEFINE_QUARK(virtbed_run_reload, run_reload_error)

/* Copies the keys that may change; strings are borrowed. */
static void copy_changeable(struct config_service *to, const struct config_service *from)
{
	to->policy = from->policy;
	to->mapping_interval_s = from->mapping_interval_s;
	to->retention_days = from->retention_days;
	to->energy_limit_j = from->energy_limit_j;
	to->energy_window_s = from->energy_window_s;
	to->meter_refresh_s = from->meter_refresh_s;
	to->tasks_max = from->tasks_max;
}

char *run_reload_fixed(const struct config *config)
{
	static const struct config_service same = {.policy = (char *)"-"};
	struct config_service service = config_service_of(config);
	struct config rest = *config;

	copy_changeable(&service, &same);
	rest.service = &service;
	return config_to_text(&rest);
}

/* The service of `to` with the changeable keys of `from`; strings are borrowed. */
static struct config_service merge_service(const struct config *to, const struct config *from)
{
	const struct config_service wanted = config_service_of(from);
	struct config_service service = config_service_of(to);

	copy_changeable(&service, &wanted);
	return service;
}

void run_reload_take(struct config *to, const struct config *from)
{
	struct config_service service = merge_service(to, from);

	service.policy = g_strdup(service.policy);
	if (to->service)
		g_free(to->service->policy);
	else
		to->service = g_new(struct config_service, 1);
	*to->service = service;
}

static bool save(const struct config *running, const struct config *wanted, const char *path,
		 GError **error)
{
	struct config_service service = merge_service(running, wanted);
	struct config config = *running;

	config.service = &service;
	return config_save(&config, path, error);
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

/*
 * service.tasks_max cannot be lowered: there may be more tasks already, and a restart would fail.
 */
static bool check_tasks_max(const char *path, const struct config *running,
			    const struct config *wanted, GError **error)
{
	const uint32_t before = config_service_of(running).tasks_max;
	const uint32_t now = config_service_of(wanted).tasks_max;

	if (now >= before)
		return true;
	return error_fail(
		error, RUN_RELOAD_ERROR, RUN_RELOAD_ERROR_RESTART,
		"%s: service.tasks_max: %u is less than the %u it runs with: without a restart it "
		"can only be raised",
		path, now, before);
}

static bool check(const char *path, const char *fixed, const struct config *config, GError **error)
{
	g_autofree char *now = run_reload_fixed(config);
	g_autofree char *difference = NULL;

	if (!run_service_check(config, error) || !run_service_find(config, error)) {
		g_prefix_error(error, "%s: ", path);
		return false;
	}
	if (g_str_equal(now, fixed))
		return true;
	difference = first_difference(fixed, now);
	return error_fail(
		error, RUN_RELOAD_ERROR, RUN_RELOAD_ERROR_RESTART,
		"%s: %s when it was started: only service.policy, service.mapping_interval_s, "
		"service.retention_days, service.energy_limit_j, service.energy_window_s, "
		"service.meter_refresh_s and service.tasks_max change without a restart",
		path, difference);
}

bool run_reload(const char *path, const char *fixed, struct config *running, const char *saved,
		GError **error)
{
	g_autoptr(config_t) config = config_controller_load(path, error);

	if (!config || !check(path, fixed, config, error) ||
	    !check_tasks_max(path, running, config, error) || !save(running, config, saved, error))
		return false;
	run_reload_take(running, config);
	return true;
}
