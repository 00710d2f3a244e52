/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The cluster's claim on a host (claim.h): nothing is done there before it is held, nor after
 * another local scheduler holds it.
 */
#include "common/clock.h"
#include "local-sched/hypervisor/claim.h"
#include "local-sched/hypervisor/vm_host_private.h"

#define LOG_SUBSYSTEM "site"
#include "common/log.h"

/* The result of taking the claim. */

static char *who_serves(const struct vm_host *vm_host, const struct claim_result *result)
{
	return g_strdup_printf(
		"cluster '%s' is served on host '%s' by another local scheduler%s%s%s",
		vm_host->settings.cluster->name, host_name(vm_host->host), result->who ? " (" : "",
		result->who ?: "", result->who ? ")" : "");
}

/*
 * Another local scheduler serves the cluster there. Reports that, once, if this one has never held
 * the claim.
 */
static void report_other_scheduler(struct vm_host *vm_host, const struct claim_result *result)
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
		return;
	}
	if (!vm_host->refusal_reported)
		log_error_of(LOG_HOST(host_name(vm_host->host)), "%s; trying again every %d s",
			     reason, CLAIM_LOOK_S);
	vm_host->refusal_reported = true;
	vm_host_retry_later(vm_host);
}

/* The claim's process is on another machine: watches for its signs of life. */
static void watch(struct vm_host *vm_host, const struct claim_result *result)
{
	const bool known = vm_host->watch.text != NULL;
	g_autofree char *who = NULL;
	g_autofree char *reason = NULL;

	if (claim_watch_see(&vm_host->watch, result->seen, clock_now_ns())) {
		report_other_scheduler(vm_host, result);
		return;
	}
	who = who_serves(vm_host, result);
	reason = g_strdup_printf("%s, unless that one gives no sign of life for %d s", who,
				 CLAIM_LAPSE_S);
	if (!known)
		log_warning_of(LOG_HOST(host_name(vm_host->host)), "%s", reason);
	vm_host_detach_all(vm_host, reason);
	vm_host_retry_later(vm_host);
}

/* Holding the claim. */

static void renewed(gpointer data_result, const GError *error, gpointer data)
{
	struct vm_host *vm_host = data;
	g_autoptr(claim_result_t) result = data_result;

	vm_host->renewing = false;
	if (vm_host->frozen || !vm_host->claimed || error) {
		if (error)
			log_debug_of(LOG_HOST(host_name(vm_host->host)),
				     "the claim is not renewed: %s", error->message);
		return;
	}
	if (result->standing != CLAIM_OWN)
		report_other_scheduler(vm_host, result);
}

static gboolean renew(gpointer data)
{
	struct vm_host *vm_host = data;

	if (vm_host->frozen || vm_host->renewing || !vm_host->claimed ||
	    !host_connected(vm_host->host))
		return G_SOURCE_CONTINUE;
	vm_host->renewing = true;
	vm_host->claim->beat++;
	claim_take(vm_host->host, vm_host->claim_name, vm_host->claim, NULL, renewed, vm_host);
	return G_SOURCE_CONTINUE;
}

static void taken(gpointer data_result, const GError *error, gpointer data)
{
	struct vm_host *vm_host = data;
	g_autoptr(claim_result_t) result = data_result;

	if (error)
		claim_watch_interrupt(&vm_host->watch);
	if (!vm_host_stepped(vm_host, error))
		return;
	if (result->standing == CLAIM_LIVES) {
		report_other_scheduler(vm_host, result);
		return;
	}
	if (result->standing == CLAIM_DOUBTFUL) {
		watch(vm_host, result);
		return;
	}
	if (result->who && claim_watch_lapsed(&vm_host->watch, clock_now_ns()))
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
	if (vm_host->renew_source == 0)
		vm_host->renew_source = g_timeout_add_seconds(CLAIM_RENEW_S, renew, vm_host);
	vm_host_step(vm_host);
}

void vm_host_claim(struct vm_host *vm_host)
{
	vm_host->claim->beat++;
	claim_take(vm_host->host, vm_host->claim_name, vm_host->claim,
		   claim_watch_lapsed(&vm_host->watch, clock_now_ns()), taken, vm_host);
}
