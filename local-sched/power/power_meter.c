/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/power/power_meter.h"

#include <string.h>

#include "common/read_file.h"
#include "local-sched/power/meter_acpi.h"
#include "local-sched/power/meter_amm.h"
#include "local-sched/power/meter_ipmi.h"
#include "local-sched/power/meter_model.h"
#include "local-sched/power/meter_rapl.h"
#include "local-sched/power/meter_redfish.h"

G_DEFINE_QUARK(virtbed-power-meter, power_meter_error)

/* A new kind of meter is one file, one line here and one line in the configuration's schema. */
static const struct power_meter_ops *const drivers[] = {
	&meter_ipmi_ops,
	&meter_redfish_ops,
	&meter_amm_ops,
	&meter_rapl_ops,
	&meter_acpi_ops,
	&meter_model_ops,
};

struct power_meter *power_meter_open(const struct config_meter *config, const char *host,
				     GError **error)
{
	for (gsize i = 0; i < G_N_ELEMENTS(drivers); i++)
		if (drivers[i]->kind == config->kind)
			return drivers[i]->open(config, host, error);
	g_set_error(error, POWER_METER_ERROR, POWER_METER_ERROR_SETUP,
		    "host \"%s\": no driver for meters of kind %s", host,
		    config_meter_kind_name(config->kind));
	return NULL;
}

char *power_meter_password(const struct config_meter *config, GError **error)
{
	g_autoptr(GError) reason = NULL;
	g_autofree char *text = NULL;

	if (!config->password_file)
		return g_strdup("");
	text = read_file(config->password_file, READ_FILE_SMALL_MAX, NULL, &reason);
	if (!text) {
		g_set_error(error, POWER_METER_ERROR, POWER_METER_ERROR_SETUP,
			    "no password: %s", reason->message);
		return NULL;
	}
	text[strcspn(text, "\r\n")] = '\0';
	return g_steal_pointer(&text);
}

void power_meter_read(struct power_meter *meter, power_meter_done_f done, void *data)
{
	meter->ops->read(meter, done, data);
}

const char *power_meter_source(const struct power_meter *meter)
{
	return meter->ops->source(meter);
}

void power_meter_close(struct power_meter *meter)
{
	if (meter)
		meter->ops->close(meter);
}
