/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Judges the answer to a request for the cluster's claim on a host (claim.h): whether the claim is
 * held, or another local scheduler serves the cluster there.
 */
#include "common/platform.h"
#include "local-sched/hypervisor/claim.h"
#include "local-sched/hypervisor/vm_host_private.h"

#define LOG_SUBSYSTEM "site"
#include "common/log.h"

static char *who_serves(const struct vm_host *vm_host, const struct claim_result *result)
{
	return g_strdup_printf(
		"cluster '%s' is served on host '%s' by another local scheduler%s%s%s",
		vm_host->settings.cluster->name, host_name(vm_host->host), result->who ? " (" : "",
		result->who ?: "", result->who ? ")" : "");
}

enum vm_host_claim vm_host_lose_claim(struct vm_host *vm_host, const struct claim_result *result)
{
	g_autofree char *who = who_serves(vm_host, result);
	g_autofree char *reason = g_strconcat(
		who,
		": its VMs are left alone; end that one first, or give one of the two experiments "
		"another name",
		NULL);

	vm_host->claimed = false;
	g_clear_handle_id(&vm_host->renew_source, g_source_remove);
	vm_host_detach_all(vm_host, reason);
	if (!vm_host->was_claimed && vm_host->settings.refused) {
		vm_host->settings.refused(reason, vm_host->settings.refused_data);
		return VM_HOST_CLAIM_REFUSED;
	}
	if (!vm_host->refusal_reported)
		log_error_of(LOG_HOST(host_name(vm_host->host)), "%s; trying again every %d s",
			     reason, CLAIM_LOOK_S);
	vm_host->refusal_reported = true;
	return VM_HOST_CLAIM_AWAITED;
}

/* The claim's process is on another machine: watches for its signs of life. */
static enum vm_host_claim watch(struct vm_host *vm_host, const struct claim_result *result)
{
	const bool known = vm_host->watch.text != NULL;
	g_autofree char *who = NULL;
	g_autofree char *reason = NULL;

	if (claim_watch_see(&vm_host->watch, result->seen,
			    platform_now_ns(host_platform(vm_host->host))))
		return vm_host_lose_claim(vm_host, result);
	who = who_serves(vm_host, result);
	reason = g_strdup_printf("%s, unless that one gives no sign of life for %d s", who,
				 CLAIM_LAPSE_S);
	if (!known)
		log_warning_of(LOG_HOST(host_name(vm_host->host)), "%s", reason);
	vm_host_detach_all(vm_host, reason);
	return VM_HOST_CLAIM_AWAITED;
}

enum vm_host_claim vm_host_judge_claim(struct vm_host *vm_host, const struct claim_result *result)
{
	if (result->standing == CLAIM_LIVES)
		return vm_host_lose_claim(vm_host, result);
	if (result->standing == CLAIM_DOUBTFUL)
		return watch(vm_host, result);
	if (result->who &&
	    claim_watch_lapsed(&vm_host->watch, platform_now_ns(host_platform(vm_host->host))))
		log_warning_of(LOG_HOST(host_name(vm_host->host)),
			       "the cluster is taken over from a local scheduler that gives no "
			       "sign of life (%s)",
			       result->who);
	else if (result->who && !vm_host->was_claimed)
		log_info_of(LOG_HOST(host_name(vm_host->host)),
			    "the cluster was served by a local scheduler that has ended (%s)",
			    result->who);
	claim_watch_clear(&vm_host->watch);
	vm_host->claimed = vm_host->was_claimed = true;
	vm_host->refusal_reported = false;
	return VM_HOST_CLAIM_HELD;
}
