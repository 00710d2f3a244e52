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

/* What the VM's cores may use together in one period; the kernel takes no less than 1 ms. */
static int64_t quota_us(const struct cpu_cap *cap)
{
	const double quota = round(cap->cores * cap->fraction * (double)cap->period_us);

	return MAX((int64_t)quota, CPU_CAP_QUOTA_MIN_US);
}

void cpu_cap_init(struct cpu_cap *cap, const struct config_cluster *cluster)
{
	*cap = (struct cpu_cap){
		.ops = &none_ops,
		.fraction = 1,
		.cores = cluster->cores,
		.period_us = CPU_CAP_PERIOD_US,
	};
	if (cluster->max_mhz == 0 || cluster->base_mhz == 0)
		return;
	cap->ops = &cpu_quota_ops;
	cap->fraction = (double)cluster->max_mhz / cluster->base_mhz;
	cap->quota_us = quota_us(cap);
}

struct cpu_cap cpu_cap_for_vm(const struct cpu_cap *cap, uint32_t vm)
{
	/* Primes: no two of them are in step before their product. */
	static const uint32_t periods_ms[CPU_CAP_PERIODS] = {
		101, 79, 113, 89, 127, 97, 73, 107, 83, 131, 103, 71,
	};
	struct cpu_cap own = *cap;

	if (cap->fraction < 1) {
		own.period_us = periods_ms[vm % CPU_CAP_PERIODS] * UINT64_C(1000);
		own.quota_us = quota_us(&own);
	}
	return own;
}

struct cpu_cap cpu_cap_share(const struct cpu_cap *cap, double share)
{
	const bool by_quota = cap->ops == &cpu_quota_ops;
	struct cpu_cap own = *cap;

	own.ops = &cpu_quota_ops;
	own.fraction = by_quota ? cap->fraction * share : share;
	own.quota_us = by_quota || share < 1 ? quota_us(&own) : CPU_CAP_NO_QUOTA;
	return own;
}

bool cpu_cap_apply(const struct cpu_cap *cap, virDomainPtr domain, GError **error)
{
	return cap->ops->apply(cap, domain, error);
}
