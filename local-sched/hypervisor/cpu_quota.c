/* SPDX-License-Identifier: GPL-3.0-or-later */
#define LOG_SUBSYSTEM "cpu"

#include "local-sched/hypervisor/cpu_quota.h"

#include <errno.h>
#include <inttypes.h>
#include <libvirt/virterror.h>
#include <string.h>

#include "common/error_fail.h"

#include "common/log.h"
#include "local-sched/hypervisor/virt_error.h"

/*
 * The remote protocol refuses more parameters (REMOTE_DOMAIN_SCHEDULER_PARAMETERS_MAX); QEMU has 9.
 */
enum { PARAMETERS_MAX = 16, TRIES = 3 };

/*
 * Sets the smallest quota before a shorter period. Period and quota are written one after the
 * other. Where a control group of version 1 above the VM's has as little as the VM is to get, the
 * kernel refuses a shorter period with the old quota.
 */
static void make_way(virDomainPtr domain)
{
	virTypedParameterPtr parameters = NULL;
	int count = 0;
	int capacity = 0;

	if (virTypedParamsAddLLong(&parameters, &count, &capacity,
				   VIR_DOMAIN_SCHEDULER_GLOBAL_QUOTA, CPU_CAP_QUOTA_MIN_US) == 0)
		virDomainSetSchedulerParametersFlags(domain, parameters, count,
						     VIR_DOMAIN_AFFECT_LIVE);
	virTypedParamsFree(parameters, count);
}

static bool try_quota(const struct cpu_cap *cap, virDomainPtr domain)
{
	virTypedParameterPtr parameters = NULL;
	int count = 0;
	int capacity = 0;
	bool good;

	good = virTypedParamsAddULLong(&parameters, &count, &capacity,
				       VIR_DOMAIN_SCHEDULER_GLOBAL_PERIOD, cap->period_us) == 0 &&
	       virTypedParamsAddLLong(&parameters, &count, &capacity,
				      VIR_DOMAIN_SCHEDULER_GLOBAL_QUOTA, cap->quota_us) == 0 &&
	       virDomainSetSchedulerParametersFlags(domain, parameters, count,
						    VIR_DOMAIN_AFFECT_LIVE) == 0;
	virTypedParamsFree(parameters, count);
	return good;
}

/* Reads the host's values; libvirt reads them from the VM's control group. */
static bool fetch_quota(virDomainPtr domain, unsigned long long *ret_period, long long *ret_quota)
{
	virTypedParameter parameters[PARAMETERS_MAX];
	int count = PARAMETERS_MAX;
	bool good;

	memset(parameters, 0, sizeof(parameters));
	good = virDomainGetSchedulerParametersFlags(domain, parameters, &count,
						    VIR_DOMAIN_AFFECT_LIVE) == 0 &&
	       virTypedParamsGetULLong(parameters, count, VIR_DOMAIN_SCHEDULER_GLOBAL_PERIOD,
				       ret_period) == 1 &&
	       virTypedParamsGetLLong(parameters, count, VIR_DOMAIN_SCHEDULER_GLOBAL_QUOTA,
				      ret_quota) == 1;
	virTypedParamsClear(parameters, PARAMETERS_MAX);
	return good;
}

static bool read_quota(virDomainPtr domain, unsigned long long *ret_period, long long *ret_quota,
		       GError **error)
{
	if (fetch_quota(domain, ret_period, ret_quota))
		return true;
	virt_error_set_domain(error, domain, "cannot read the CPU quota back");
	return false;
}

/* Translates the values by which drivers say that there is no quota. */
static int64_t as_set(long long quota)
{
	return quota < 0 || quota >= INT64_MAX / 1000 ? CPU_CAP_NO_QUOTA : quota;
}

/*
 * Whether the kernel has just refused a quota. libvirt passes on only values within the kernel's
 * limits, so a control group above the VM's has less.
 */
static bool is_more_than_above(void)
{
	const virErrorPtr refused = virGetLastError();

	return refused && refused->code == VIR_ERR_SYSTEM_ERROR && refused->int1 == EINVAL;
}

/*
 * Lifts the VM's own quota. Version 1 of control groups refuses a quota above that of a group
 * further up. Version 2 accepts it, although the group above is what limits the VM. Without a quota
 * of its own the VM is limited by the group above it, as in version 2.
 */
static bool leave_to_groups_above(const struct cpu_cap *cap, virDomainPtr domain)
{
	const struct cpu_cap none = {.period_us = cap->period_us, .quota_us = CPU_CAP_NO_QUOTA};

	if (!try_quota(&none, domain))
		return false;
	log_warning("VM '%s': a control group above it has less than its CPU quota, %" PRId64
		    " of %" PRIu64 " us: it has none of its own, and that group holds it back",
		    virDomainGetName(domain), cap->quota_us, cap->period_us);
	return true;
}

/*
 * Sets the quota. On failure the VM keeps its old quota, not the smallest quota, which make_way()
 * sets; where the old quota is not readable, make_way() is not called. *ret_set is the quota that
 * was set.
 */
static bool set_quota(const struct cpu_cap *cap, virDomainPtr domain, int64_t *ret_set,
		      GError **error)
{
	struct cpu_cap before = *cap;
	unsigned long long period;
	long long quota;

	*ret_set = cap->quota_us;
	if (try_quota(cap, domain))
		return true;
	virt_error_set_domain(error, domain, "cannot set a CPU quota of %" PRId64 " us",
			      cap->quota_us);
	if (!fetch_quota(domain, &period, &quota))
		return false;
	make_way(domain);
	if (try_quota(cap, domain)) {
		g_clear_error(error);
		return true;
	}
	if (is_more_than_above() && leave_to_groups_above(cap, domain)) {
		*ret_set = CPU_CAP_NO_QUOTA;
		g_clear_error(error);
		return true;
	}
	before.period_us = period;
	before.quota_us = as_set(quota);
	try_quota(&before, domain);
	return false;
}

/*
 * Whether a VM has no quota already. True also where the host does not support quotas, as without
 * control groups, so that none can ever have been set.
 */
static bool has_none(virDomainPtr domain)
{
	unsigned long long period;
	long long quota;
	int code;

	if (fetch_quota(domain, &period, &quota))
		return as_set(quota) == CPU_CAP_NO_QUOTA;
	code = virGetLastErrorCode();
	return code == VIR_ERR_NO_SUPPORT || code == VIR_ERR_OPERATION_UNSUPPORTED ||
	       code == VIR_ERR_CONFIG_UNSUPPORTED || code == VIR_ERR_ARGUMENT_UNSUPPORTED ||
	       code == VIR_ERR_INVALID_ARG /* libvirt's test driver */ ||
	       code == VIR_ERR_OPERATION_INVALID /* QEMU's driver, without control groups */ ||
	       code == VIR_ERR_OK;
}

bool cpu_quota_apply(const struct cpu_cap *cap, virDomainPtr domain, GError **error)
{
	unsigned long long period;
	long long quota;
	int64_t set;

	if (cap->kind != CPU_CAP_QUOTA)
		return true;
	if (cap->quota_us == CPU_CAP_NO_QUOTA && has_none(domain))
		return true;
	/* A lab with speed compensation scales quotas, possibly between the write and the read. */
	for (int tries = 0; tries < TRIES; tries++) {
		if (!set_quota(cap, domain, &set, error) ||
		    !read_quota(domain, &period, &quota, error))
			return false;
		if (period == cap->period_us && as_set(quota) == set)
			return true;
	}
	return error_fail(error, VIRT_ERROR, VIRT_ERROR_OTHER,
			  "VM '%s': CPU quota reads %lld of %llu us after %" PRId64 " of %" PRIu64
			  " us was set",
			  virDomainGetName(domain), quota, period, cap->quota_us, cap->period_us);
}
