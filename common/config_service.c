/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The service of a configuration (`virtbed serve`). */
#include <string.h>

#include "common/config_parts.h"
#include "common/listen_address.h"

#define POLICY_DEFAULT "easy"
#define TASKS_DEFAULT 100000
#define USER_TASKS_DEFAULT 10000
#define USER_REQUESTS_DEFAULT_PER_S 100.0
#define USER_REQUESTS_MAX_PER_S 1e6
#define RETENTION_DEFAULT_DAYS 30.0
#define RETENTION_MAX_DAYS 36500.0
#define GROUP_NAME_MAX 32
#define WINDOW_DEFAULT_S 86400.0
#define WINDOW_MIN_S 10.0
#define WINDOW_MAX_S 31622400.0 /* a leap year */
#define REFRESH_MAX_S 600.0

struct config_service config_service_of(const struct config *config)
{
	if (config->service)
		return *config->service;
	return (struct config_service){
		.policy = (char *)POLICY_DEFAULT,
		.mapping_interval_s = config->experiment->mapping_interval_s,
		.tasks_max = TASKS_DEFAULT,
		.user_tasks_max = USER_TASKS_DEFAULT,
		.user_requests_per_s = USER_REQUESTS_DEFAULT_PER_S,
		.retention_days = RETENTION_DEFAULT_DAYS,
		.energy_window_s = WINDOW_DEFAULT_S,
	};
}

void config_service_fill_in(struct config *config, GHashTable *given)
{
	struct config_service *service = config->service;

	if (!service->policy)
		service->policy = g_strdup(POLICY_DEFAULT);
	if (!g_hash_table_contains(given, "service.mapping_interval_s"))
		service->mapping_interval_s = config->experiment->mapping_interval_s;
	if (!g_hash_table_contains(given, "service.tasks_max"))
		service->tasks_max = TASKS_DEFAULT;
	if (!g_hash_table_contains(given, "service.user_tasks_max"))
		service->user_tasks_max = USER_TASKS_DEFAULT;
	if (!g_hash_table_contains(given, "service.user_requests_per_s"))
		service->user_requests_per_s = USER_REQUESTS_DEFAULT_PER_S;
	if (!g_hash_table_contains(given, "service.retention_days"))
		service->retention_days = RETENTION_DEFAULT_DAYS;
	if (!g_hash_table_contains(given, "service.energy_window_s"))
		service->energy_window_s = WINDOW_DEFAULT_S;
}

static char *check_limit(const struct config_service *service)
{
	if (!(service->energy_limit_j >= 0 && service->energy_limit_j <= 1e15))
		return g_strdup_printf("service.energy_limit_j: %g is not a number of joules above 0",
				       service->energy_limit_j);
	if (!(service->energy_window_s >= WINDOW_MIN_S && service->energy_window_s <= WINDOW_MAX_S))
		return g_strdup_printf("service.energy_window_s: %g is not from %g to %.0f",
				       service->energy_window_s, WINDOW_MIN_S, WINDOW_MAX_S);
	if (!(service->meter_refresh_s >= 0 && service->meter_refresh_s <= REFRESH_MAX_S))
		return g_strdup_printf("service.meter_refresh_s: %g is not from 0 to %g",
				       service->meter_refresh_s, REFRESH_MAX_S);
	return NULL;
}

/* One certificate and key serve whatever addresses need them. */
static char *check_listen(const struct config_service *service)
{
	const bool secure = service->listen && g_str_has_prefix(service->listen, "https:");
	g_autoptr(GSocketAddress) where = NULL;
	g_autoptr(GError) reason = NULL;

	if (!service->certificate != !service->key)
		return g_strdup("service.certificate, service.key: give both or none");
	if (secure && !service->key)
		return g_strdup("service.listen: https needs service.certificate and service.key");
	where = service->listen ? listen_address_parse(service->listen, secure, &reason) : NULL;
	return reason ? g_strdup_printf("service.listen: %s", reason->message) : NULL;
}

static bool good_group(const char *group)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

	return *group && *group != '-' && strlen(group) <= GROUP_NAME_MAX &&
	       strspn(group, good) == strlen(group);
}

char *config_service_check(const struct config *config)
{
	const struct config_service *service = config->service;
	char *wrong;

	if (!service)
		return NULL;
	if (!(service->mapping_interval_s > 0 && service->mapping_interval_s <= 86400) &&
	    !(service->mapping_interval_s == 0 && !config_times_known(config)))
		return g_strdup_printf("service.mapping_interval_s: %g is outside (0, 86400]",
				       service->mapping_interval_s);
	if (service->tasks_max < 1 || service->tasks_max > CONFIG_SERVICE_TASKS_MAX)
		return g_strdup_printf("service.tasks_max: %u is not from 1 to %d",
				       service->tasks_max, CONFIG_SERVICE_TASKS_MAX);
	if (service->user_tasks_max < 1 || service->user_tasks_max > CONFIG_SERVICE_TASKS_MAX)
		return g_strdup_printf("service.user_tasks_max: %u is not from 1 to %d",
				       service->user_tasks_max, CONFIG_SERVICE_TASKS_MAX);
	if (!(service->user_requests_per_s >= 1 &&
	      service->user_requests_per_s <= USER_REQUESTS_MAX_PER_S))
		return g_strdup_printf("service.user_requests_per_s: %g is outside [1, %g]",
				       service->user_requests_per_s, USER_REQUESTS_MAX_PER_S);
	if (!(service->retention_days > 0 && service->retention_days <= RETENTION_MAX_DAYS))
		return g_strdup_printf("service.retention_days: %g is outside (0, %g]",
				       service->retention_days, RETENTION_MAX_DAYS);
	if (service->group && !good_group(service->group))
		return g_strdup_printf("service.group: '%s' cannot be the name of a group",
				       service->group);
	wrong = check_listen(service);
	return wrong ?: check_limit(service);
}
