/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The cluster's claim on a host (claim.h): nothing is done there before it is held, and nothing any more once it is
 * another's.
 */
#include "common/clock.h"
#include "local-sched/hypervisor/claim.h"
#include "local-sched/hypervisor/site_private.h"

#define LOG_SUBSYSTEM "site"
#include "common/log.h"

/* What it is watched by, and what is known of it. */

static char *who_serves(const struct site *site, const struct claim_result *result)
{
	return g_strdup_printf("cluster '%s' is served on host '%s' by another local scheduler%s%s%s", site->settings.cluster->name,
			       host_name(site->host), result->who ? " (" : "", result->who ?: "", result->who ? ")" : "");
}

/* Another one serves the cluster there: this one is told to end if it never did so itself. */
static void refuse(struct site *site, const struct claim_result *result)
{
	g_autofree char *who = who_serves(site, result);
	g_autofree char *reason = g_strconcat(
		who, ": its VMs are left alone; end that one first, or give one of the two experiments another name", NULL);

	site->claimed = false;
	g_clear_handle_id(&site->renew_source, g_source_remove);
	site_detach_all(site, reason);
	if (!site->was_claimed && site->settings.refused) {
		site->settings.refused(reason, site->settings.refused_data);
		return;
	}
	if (!site->told_refused)
		log_error_of(LOG_HOST(host_name(site->host)), "%s; trying again every %d s", reason, CLAIM_LOOK_S);
	site->told_refused = true;
	site_retry_later(site);
}

/* It is on another machine: whether it lives is seen when it gives a sign of it. */
static void watch(struct site *site, const struct claim_result *result)
{
	const bool known = site->watch.text != NULL;
	g_autofree char *who = NULL;
	g_autofree char *reason = NULL;

	if (claim_watch_see(&site->watch, result->seen, clock_now_ns())) {
		refuse(site, result);
		return;
	}
	who = who_serves(site, result);
	reason = g_strdup_printf("%s, unless that one gives no sign of life for %d s", who, CLAIM_LAPSE_S);
	if (!known)
		log_warning_of(LOG_HOST(host_name(site->host)), "%s", reason);
	site_detach_all(site, reason);
	site_retry_later(site);
}

/* Holding it. */

static void renewed(gpointer data_result, const GError *error, gpointer data)
{
	struct site *site = data;
	g_autoptr(claim_result_t) result = data_result;

	site->renewing = false;
	if (site->frozen || !site->claimed || error) {
		if (error)
			log_debug_of(LOG_HOST(host_name(site->host)), "the claim is not renewed: %s", error->message);
		return;
	}
	if (result->standing != CLAIM_OWN)
		refuse(site, result);
}

static gboolean renew(gpointer data)
{
	struct site *site = data;

	if (site->frozen || site->renewing || !site->claimed || !host_connected(site->host))
		return G_SOURCE_CONTINUE;
	site->renewing = true;
	site->claim->beat++;
	claim_take(site->host, site->claim_name, site->claim, NULL, renewed, site);
	return G_SOURCE_CONTINUE;
}

static void taken(gpointer data_result, const GError *error, gpointer data)
{
	struct site *site = data;
	g_autoptr(claim_result_t) result = data_result;

	if (error)
		claim_watch_interrupt(&site->watch);
	if (!site_stepped(site, error))
		return;
	if (result->standing == CLAIM_LIVES) {
		refuse(site, result);
		return;
	}
	if (result->standing == CLAIM_DOUBTFUL) {
		watch(site, result);
		return;
	}
	if (result->who && claim_watch_lapsed(&site->watch, clock_now_ns()))
		log_warning_of(LOG_HOST(host_name(site->host)),
			       "the cluster is taken over from a local scheduler that gives no sign of life (%s)", result->who);
	else if (result->who && !site->was_claimed)
		log_info_of(LOG_HOST(host_name(site->host)), "the cluster was served by a local scheduler that has ended (%s)",
			    result->who);
	claim_watch_clear(&site->watch);
	site->claimed = site->was_claimed = true;
	site->told_refused = false;
	if (site->renew_source == 0)
		site->renew_source = g_timeout_add_seconds(CLAIM_RENEW_S, renew, site);
	site_step(site);
}

void site_claim(struct site *site)
{
	site->claim->beat++;
	claim_take(site->host, site->claim_name, site->claim, claim_watch_lapsed(&site->watch, clock_now_ns()), taken,
		   site);
}
