/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/executor/simulated_host.h"

#include <math.h>

#include "common/clock.h"
#include "common/platform.h"
#include "common/random.h"

/* The shortest time of a task, as a part of the mean. */
#define SHORTEST 0.1

/* The load of a host. */

void simulated_host_init(struct simulated_host *host, double idle_w, int64_t now_ns)
{
	*host = (struct simulated_host){.watts = idle_w, .at_ns = now_ns};
}

struct simulated_use simulated_host_use(const struct simulated_host *host, int64_t now_ns)
{
	const double elapsed_s = clock_elapsed_s(host->at_ns, now_ns);

	return (struct simulated_use){
		.energy_j = host->use.energy_j + host->watts * elapsed_s,
		.cpu_s = host->use.cpu_s + host->cores * elapsed_s,
	};
}

void simulated_host_load(struct simulated_host *host, int64_t now_ns, double watts, double cores)
{
	host->use = simulated_host_use(host, now_ns);
	host->at_ns = now_ns;
	host->watts += watts;
	host->cores += cores;
}

void simulated_use_add(struct simulated_use *use, struct simulated_use more, double factor)
{
	use->energy_j += factor * more.energy_j;
	use->cpu_s += factor * more.cpu_s;
}

/* What a task adds to it. */

/* A standard normal variate (Box and Muller). */
static double normal(struct random_stream *random)
{
	const double radius = sqrt(-2 * log(1 - random_stream_uniform(random)));

	return radius * cos(2 * G_PI * random_stream_uniform(random));
}

bool simulated_run_find(const struct config *config, const struct config_cluster *cluster,
			const struct task *task, struct simulated_run *ret_run)
{
	const struct config_type *type = config_type_find(config, task->type);
	const struct config_estimate *estimate = config_estimate(config, task->type, cluster->name);
	const double etc_sd_s = estimate ? estimate->etc_sd_s : 0;
	struct random_stream random;
	double etc_s;
	double eec_j;
	double time_s;

	if (!type || !config_expectation(config, type, cluster, &etc_s, &eec_j))
		return false;
	random_stream_init(&random, cluster->simulated->seed, g_str_hash(task->id));
	time_s = fmax(etc_s + etc_sd_s * normal(&random), SHORTEST * etc_s);
	ret_run->time_s = time_s / cluster->simulated->speed;
	ret_run->watts = eec_j / ret_run->time_s;
	return true;
}

/* The meter. */

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
