/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/cpu/cpu_cap.h"

#include <inttypes.h>
#include <math.h>

#include "local-sched/cpu/cpu_quota.h"

static bool none_apply(const struct cpu_cap *cap, virDomainPtr domain, GError **error)
{
	return true;
}

static const struct cpu_cap_ops none_ops = {
	.name = "none",
	.note = "no P-state cap is asked for",
	.apply = none_apply,
};

/* The host's cap holds for all its VMs. */
static const struct cpu_cap_ops cpufreq_ops = {
	.name = "cpufreq",
	.note = "the highest frequency of the host's CPUs, and no boost",
	.apply = none_apply,
};

void cpu_cap_use_cpufreq(struct cpu_cap *cap)
{
	if (cap->ops != &none_ops)
		cap->ops = &cpufreq_ops;
}

void cpu_cap_init(struct cpu_cap *cap, const struct config_cluster *cluster)
{
	double quota_us;

	*cap = (struct cpu_cap){.ops = &none_ops, .fraction = 1, .period_us = CPU_CAP_PERIOD_US};
	if (cluster->max_mhz == 0 || cluster->base_mhz == 0)
		return;
	cap->ops = &cpu_quota_ops;
	cap->fraction = (double)cluster->max_mhz / cluster->base_mhz;
	quota_us = round(cluster->cores * cap->fraction * CPU_CAP_PERIOD_US);
	cap->quota_us = MAX((int64_t)quota_us, CPU_CAP_QUOTA_MIN_US);
}

bool cpu_cap_apply(const struct cpu_cap *cap, virDomainPtr domain, GError **error)
{
	return cap->ops->apply(cap, domain, error);
}
