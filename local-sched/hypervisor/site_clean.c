/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Leaving nothing of a cluster on a host: VMs, then saved VMs, then swap disks. */
#include "local-sched/hypervisor/site_private.h"
#include "local-sched/hypervisor/image.h"
#include "local-sched/hypervisor/saved.h"
#include "local-sched/hypervisor/virt_error.h"

#define LOG_SUBSYSTEM "site"
#include "common/log.h"

static void released(gpointer result, const GError *error, gpointer data)
{
	struct site *site = data;

	site->cleaned(site, error, site->cleaned_data);
}

/* What could not be removed stays ours. */
static void swap_removed(gpointer result, const GError *error, gpointer data)
{
	struct site *site = data;

	if (error)
		site->cleaned(site, error, site->cleaned_data);
	else
		claim_release(site->host, site->claim_name, site->claim, released, site);
}

static void saved_removed(gpointer result, const GError *error, gpointer data)
{
	struct site *site = data;
	g_auto(GStrv) names = site_swap_names(site);

	if (error || !site_has_swap(site))
		swap_removed(NULL, error, site);
	else
		image_remove_swap(site->host, (const char *const *)names, swap_removed, site);
}

static void all_removed(gpointer result, const GError *error, gpointer data)
{
	struct site *site = data;
	g_auto(GStrv) kept = site_swap_names(site);

	if (error)
		site->cleaned(site, error, site->cleaned_data);
	else
		saved_tidy(site->host, site->settings.prefix, site->settings.keeper, (const char *const *)kept, saved_removed,
			   site);
}

/* Which VMs are the cluster's; strings are owned. */
struct rest {
	char *prefix;
	char *keeper;
};

static void rest_free(gpointer data)
{
	struct rest *rest = data;

	g_free(rest->prefix);
	g_free(rest->keeper);
	g_free(rest);
}

/* Whatever is ours, known to a node or not. */
static gpointer remove_work(virConnectPtr connection, gpointer input, GError **error)
{
	const struct rest *rest = input;
	g_autoptr(GError) cause = NULL;
	virDomainPtr *domains = NULL;
	int count = virConnectListAllDomains(connection, &domains, VIR_CONNECT_LIST_DOMAINS_ACTIVE);

	if (count < 0)
		virt_error_set(&cause, "cannot list VMs");
	for (int i = 0; i < count; i++) {
		const char *name = virDomainGetName(domains[i]);
		g_autoptr(virDomain) ours = NULL;

		if (!cause && site_is_ours(rest->prefix, name) &&
		    domain_find(connection, name, rest->keeper, &ours, &cause) && ours)
			domain_end(ours, &cause);
		virDomainFree(domains[i]);
	}
	free(domains);
	if (!cause)
		return HOST_DONE;
	g_propagate_error(error, g_steal_pointer(&cause));
	return NULL;
}

/* What hangs may be done with its input only after the site was freed (host_free()). */
static void remove_rest(struct site *site)
{
	struct rest *rest = g_new0(struct rest, 1);
	const struct host_call call = {
		.work = remove_work,
		.input = rest,
		.input_free = rest_free,
		.done = all_removed,
		.data = site,
	};

	*rest = (struct rest){g_strdup(site->settings.prefix), g_strdup(site->settings.keeper)};
	host_call(site->host, HOST_LANE_LIFE, &call);
}

static void known_removed(gpointer result, const GError *error, gpointer data)
{
	struct site *site = data;

	if (--site->cleaning == 0)
		remove_rest(site);
}

/* Each after what is under way for it, which may be its start; side by side, as some may hang. */
static void remove_known(struct site *site, const char *domain)
{
	site->cleaning++;
	domain_destroy(site->host, domain, site->settings.keeper, known_removed, site);
}

/* Who holds the claim cleans up. A host that was never reached has nothing of ours: nothing is left behind. */
static void claim_known(gpointer data_result, const GError *error, gpointer data)
{
	struct site *site = data;
	g_autoptr(claim_result_t) result = data_result;

	if (error && !site->reached)
		log_info_of(LOG_HOST(host_name(site->host)), "never reached, so nothing was started there");
	if (error || result->standing != CLAIM_OWN) {
		site->cleaned(site, site->reached ? error : NULL, site->cleaned_data);
		return;
	}
	for (guint i = 0; i < site->machines->len; i++)
		remove_known(site, machine_domain(site->machines->pdata[i]));
	remove_known(site, site->probe_name);
}

void site_clean(struct site *site, void (*done)(struct site *site, const GError *error, void *data),
		void *data)
{
	site->frozen = true;
	site->cleaned = done;
	site->cleaned_data = data;
	g_clear_handle_id(&site->retry_source, g_source_remove);
	g_clear_handle_id(&site->renew_source, g_source_remove);
	for (guint i = 0; i < site->machines->len; i++)
		machine_stop(site->machines->pdata[i]);
	claim_take(site->host, site->claim_name, site->claim, NULL, claim_known, site);
}
