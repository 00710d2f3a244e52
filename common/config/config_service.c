/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The service of a configuration (`virtbed serve`). */
#include <string.h>

#include "common/config/config_parts.h"
#include "common/listen_address.h"

#define POLICY_DEFAULT "easy"
#define GROUP_NAME_MAX 32

static const struct config_key service_keys[] = {
	{CONFIG_TEXT(service, policy), .fallback_text = POLICY_DEFAULT,
	 .help = "without a budget, queues or shares; `virtbed policies` lists them."},
	{CONFIG_NUMBER(service, mapping_interval_s), CONFIG_ABOVE(0, 86400),
	 .help = "at least 0.001; default: that of the experiment."},
	{CONFIG_UINT(service, tasks_max), .fallback = 100000, CONFIG_OR_ZERO, .min = 1,
	 .max = CONFIG_SERVICE_TASKS_MAX, .range = CONFIG_RANGE_FROM,
	 .help = "tasks that it can take in its life. Raised, it takes no restart."},
	{CONFIG_UINT(service, user_tasks_max), .fallback = 10000, CONFIG_OR_ZERO, .min = 1,
	 .max = CONFIG_SERVICE_TASKS_MAX, .range = CONFIG_RANGE_FROM,
	 .help = "tasks of one user that have not ended."},
	{CONFIG_NUMBER(service, user_requests_per_s), .fallback = 100, CONFIG_OR_ZERO, .min = 1,
	 .max = 1e6, .help = "of each user, 5 s worth at once."},
	{CONFIG_NUMBER(service, retention_days), .fallback = 30, CONFIG_OR_ZERO,
	 CONFIG_ABOVE(0, 36500),
	 .help = "samples, decisions, events and output of tasks are kept so long."},
	{CONFIG_NUMBER(service, energy_limit_j), CONFIG_TO(0, 1e15),
	 .says = "# is not a number of joules above 0; give @, where 0 is no limit",
	 .help = "joules above idle that may be used in every window. 0: no limit."},
	{CONFIG_NUMBER(service, energy_window_s), .fallback = 86400, CONFIG_OR_ZERO, .min = 10,
	 .max = 31622400, .range = CONFIG_RANGE_FROM,
	 .help = "not longer than `retention_days`. A day's window begins at midnight UTC."},
	{CONFIG_NUMBER(service, meter_refresh_s), .max = 600, .range = CONFIG_RANGE_FROM,
	 .help = "how old what the meters say can be, beside their `interval_s`."},
	{CONFIG_TEXT(service, group),
	 .help = "whose members may use its socket, too. Without it only the user of "
		 "the service and the superuser may."},
	{CONFIG_TEXT(service, listen),
	 .help = "a second address: http://HOST:PORT at loopback, https://HOST:PORT, "
		 "or unix:/PATH; HOST in digits, PORT 0 to 65535 (0: any that is free). Its users need a token."},
	{CONFIG_TEXT(service, certificate),
	 .help = "file (PEM) with the chain to its CA, for https."},
	{CONFIG_TEXT(service, key), .help = "file with the certificate's key, mode 0600."},
	{NULL},
};

const struct config_section config_service_section = {service_keys, sizeof(struct config_service)};

struct config_service config_service_of(const struct config *config)
{
	struct config_service service;

	if (config->service)
		return *config->service;
	config_section_fill(&config_service_section, &service);
	g_free(service.policy);
	service.policy = (char *)POLICY_DEFAULT;
	service.mapping_interval_s = config->experiment->mapping_interval_s;
	return service;
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
	return *group && *group != '-' && strlen(group) <= GROUP_NAME_MAX &&
	       strspn(group, G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "._-") == strlen(group);
}

char *config_service_check(const struct config *config)
{
	const struct config_service *service = config->service;

	if (!service)
		return NULL;
	if (service->group && !good_group(service->group))
		return g_strdup_printf("service.group: '%s' cannot be the name of a group",
				       service->group);
	return check_listen(service);
}
