/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/cpu/cpu_cap.h"

#include <math.h>

static const struct {
	const char *name;
	const char *note;
} kinds[] = {
	[CPU_CAP_NONE] = {"none", "no P-state cap is asked for"},
	[CPU_CAP_CPUFREQ] = {"cpufreq", "the highest frequency of the host's CPUs, and no boost"},
	[CPU_CAP_QUOTA] = {"quota",
			   "emulated P-state: a CPU quota per VM, a cap on throughput, not a "
			   "frequency; no more than the control groups above the VM have"},
};

const char *cpu_cap_name(const struct cpu_cap *cap)
{
	return kinds[cap->kind].name;
}

const char *cpu_cap_note(const struct cpu_cap *cap)
{
	return kinds[cap->kind].note;
}

void cpu_cap_use_cpufreq(struct cpu_cap *cap)
{
	if (cap->kind != CPU_CAP_NONE)
		cap->kind = CPU_CAP_CPUFREQ;
}

/* The CPU time of all cores of the VM in one period. The kernel's minimum is 1 ms. */
static int64_t quota_us(const struct cpu_cap *cap)
{
	const double quota = round(cap->cores * cap->fraction * (double)cap->period_us);

	return MAX((int64_t)quota, CPU_CAP_QUOTA_MIN_US);
}

void cpu_cap_init(struct cpu_cap *cap, const struct config_cluster *cluster)
{
	*cap = (struct cpu_cap){
		.kind = CPU_CAP_NONE,
		.fraction = 1,
		.cores = cluster->cores,
		.period_us = CPU_CAP_PERIOD_US,
	};
	if (cluster->max_mhz == 0 || cluster->base_mhz == 0)
		return;
	cap->kind = CPU_CAP_QUOTA;
	cap->fraction = (double)cluster->max_mhz / cluster->base_mhz;
	cap->quota_us = quota_us(cap);
}

struct cpu_cap cpu_cap_for_vm(const struct cpu_cap *cap, uint32_t vm)
{
	/* Primes: two of these periods are in phase again only after their product. */
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
	const bool by_quota = cap->kind == CPU_CAP_QUOTA;
	struct cpu_cap own = *cap;

	own.kind = CPU_CAP_QUOTA;
	own.fraction = by_quota ? cap->fraction * share : share;
	own.quota_us = by_quota || share < 1 ? quota_us(&own) : CPU_CAP_NO_QUOTA;
	return own;
}
