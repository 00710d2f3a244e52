/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/power/power_meter.h"

#include "local-sched/power/meter_ipmi.h"

G_DEFINE_QUARK(virtbed-power-meter, power_meter_error)

/* A new kind of meter is one file, one line here and one line in the configuration's schema. */
static const struct power_meter_ops *const drivers[] = {
	&meter_ipmi_ops,
};

struct power_meter *power_meter_open(const struct config_meter *config, const char *host,
				     GError **error)
{
	for (gsize i = 0; i < G_N_ELEMENTS(drivers); i++)
		if (drivers[i]->kind == config->kind)
			return drivers[i]->open(config, host, error);
	g_set_error(error, POWER_METER_ERROR, POWER_METER_ERROR_SETUP,
		    "host \"%s\": no driver for meters of kind %d", host, config->kind);
	return NULL;
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
