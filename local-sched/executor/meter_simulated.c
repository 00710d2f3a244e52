/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/executor/meter_simulated.h"

#include <math.h>

#include "common/clock.h"

struct meter_simulated {
	struct power_meter base;
	const struct simulated_host *host;
	double before_j;
	int64_t before_ns; /* 0: not read yet */
	power_meter_done_f done;
	void *data;
	guint source;
};

static gboolean answer(gpointer user_data)
{
	struct meter_simulated *meter = user_data;
	const int64_t now_ns = clock_now_ns();
	const double energy_j = simulated_host_use(meter->host, now_ns).energy_j;
	const double watts = meter->before_ns && now_ns > meter->before_ns
				     ? (energy_j - meter->before_j) /
					       clock_elapsed_s(meter->before_ns, now_ns)
				     : meter->host->watts;
	const struct power_reading reading = {.mw = llround(fmax(watts, 0) * 1e3), .t_ns = now_ns};

	meter->source = 0;
	meter->before_j = energy_j;
	meter->before_ns = now_ns;
	meter->done(&reading, NULL, meter->data);
	return G_SOURCE_REMOVE;
}

static void simulated_read(struct power_meter *base, power_meter_done_f done, void *data)
{
	struct meter_simulated *meter = (struct meter_simulated *)base;

	meter->done = done;
	meter->data = data;
	meter->source = g_idle_add(answer, meter);
}

/* Neither a meter's watts nor those of the model from CPU time. */
static const char *simulated_source(const struct power_meter *base)
{
	return "simulated";
}

static void simulated_close(struct power_meter *base)
{
	struct meter_simulated *meter = (struct meter_simulated *)base;

	g_clear_handle_id(&meter->source, g_source_remove);
	g_free(meter);
}

static const struct power_meter_ops meter_simulated_ops = {
	.name = "simulated",
	.kind = CONFIG_METER_SIMULATED,
	.read = simulated_read,
	.source = simulated_source,
	.close = simulated_close,
};

struct power_meter *meter_simulated_new(const struct simulated_host *host)
{
	struct meter_simulated *meter = g_new0(struct meter_simulated, 1);

	meter->base.ops = &meter_simulated_ops;
	meter->host = host;
	return &meter->base;
}
