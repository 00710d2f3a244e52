/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/executor/meter_simulated.h"

#include <math.h>

#include "common/clock.h"
#include "common/platform.h"

struct meter_simulated {
	struct power_meter base;
	const struct simulated_host *host;
	double before_j;
	int64_t before_ns; /* 0: not read yet */
};

static gboolean answer(gpointer user_data)
{
	struct meter_simulated *meter = user_data;
	const int64_t now_ns = platform_now_ns(meter->base.platform);
	const double energy_j = simulated_host_use(meter->host, now_ns).energy_j;
	const double watts =
		meter->before_ns && now_ns > meter->before_ns
			? (energy_j - meter->before_j) / clock_elapsed_s(meter->before_ns, now_ns)
			: meter->host->watts;

	meter->before_j = energy_j;
	meter->before_ns = now_ns;
	power_meter_end(&meter->base, llround(fmax(watts, 0) * 1e3));
	return G_SOURCE_REMOVE;
}

static void simulated_read(struct power_meter *meter)
{
	meter->timer_id = platform_soon(meter->platform, G_PRIORITY_DEFAULT_IDLE, answer, meter);
}

/* Its source is its kind: neither a meter's watts nor those of the model from CPU time. */
static const struct power_meter_ops meter_simulated_ops = {
	.kind = CONFIG_METER_SIMULATED,
	.read = simulated_read,
};

struct power_meter *meter_simulated_new(const struct platform *platform,
					const struct simulated_host *host)
{
	struct meter_simulated *meter = g_new0(struct meter_simulated, 1);

	meter->base.platform = platform;
	meter->base.ops = &meter_simulated_ops;
	meter->host = host;
	return &meter->base;
}
