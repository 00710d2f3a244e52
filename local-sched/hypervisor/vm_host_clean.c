/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Removes everything of a cluster from a host: VMs, then saved VMs, then swap disks. */
#include "local-sched/hypervisor/vm_host_private.h"
#include "local-sched/hypervisor/image.h"
#include "local-sched/hypervisor/managed_save.h"
#include "local-sched/hypervisor/virt_error.h"

#define LOG_SUBSYSTEM "site"
#include "common/log.h"

static void released(gpointer result, const GError *error, gpointer data)
{
	struct vm_host *vm_host = data;

	vm_host->cleaned(vm_host, error, vm_host->cleaned_data);
}

/* Reports the end; volumes that could not be removed still belong to the cluster. */
static void swap_removed(gpointer result, const GError *error, gpointer data)
{
	struct vm_host *vm_host = data;

	if (error)
		vm_host->cleaned(vm_host, error, vm_host->cleaned_data);
	else
		claim_release(vm_host->host, vm_host->claim_name, vm_host->claim, released,
			      vm_host);
}

static void saved_removed(gpointer result, const GError *error, gpointer data)
{
	struct vm_host *vm_host = data;
	g_auto(GStrv) names = vm_host_swap_names(vm_host);

	if (error || !vm_host_has_swap(vm_host))
		swap_removed(NULL, error, vm_host);
	else
		image_remove_swap(vm_host->host, (const char *const *)names, swap_removed, vm_host);
}

static void all_removed(gpointer result, const GError *error, gpointer data)
{
	struct vm_host *vm_host = data;
	g_auto(GStrv) kept = vm_host_swap_names(vm_host);

	if (error)
		vm_host->cleaned(vm_host, error, vm_host->cleaned_data);
	else
		managed_save_tidy(vm_host->host, vm_host->settings.prefix, vm_host->settings.keeper,
				  (const char *const *)kept, saved_removed, vm_host);
}

/* The VMs of the cluster; strings are owned. */
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

/* Removes all VMs of the cluster, with or without a node. */
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

		if (!cause && vm_host_is_ours(rest->prefix, name) &&
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

/*
 * The call owns its input: a call that hangs may use it after the vm_host was freed (host_free()).
 */
static void remove_rest(struct vm_host *vm_host)
{
	struct rest *rest = g_new0(struct rest, 1);
	const struct host_call call = {
		.work = remove_work,
		.input = rest,
		.input_free = rest_free,
		.done = all_removed,
		.data = vm_host,
	};

	*rest = (struct rest){g_strdup(vm_host->settings.prefix),
			      g_strdup(vm_host->settings.keeper)};
	host_call(vm_host->host, HOST_LANE_LIFE, &call);
}

static void known_removed(gpointer result, const GError *error, gpointer data)
{
	struct vm_host *vm_host = data;

	if (--vm_host->cleaning == 0)
		remove_rest(vm_host);
}

/*
 * Removes each VM after the call under way for it, which may be its start. They are removed side by
 * side, as some may hang.
 */
static void remove_known(struct vm_host *vm_host, const char *domain)
{
	vm_host->cleaning++;
	domain_destroy(vm_host->host, domain, vm_host->settings.keeper, known_removed, vm_host);
}

/* The holder of the claim cleans up. A host that was never reached has nothing of this cluster. */
static void claim_known(gpointer data_result, const GError *error, gpointer data)
{
	struct vm_host *vm_host = data;
	g_autoptr(claim_result_t) result = data_result;

	if (error && !vm_host->reached)
		log_info_of(LOG_HOST(host_name(vm_host->host)),
			    "never reached, so nothing was started there");
	if (error || result->standing != CLAIM_OWN) {
		vm_host->cleaned(vm_host, vm_host->reached ? error : NULL, vm_host->cleaned_data);
		return;
	}
	for (guint i = 0; i < vm_host->vms->len; i++)
		remove_known(vm_host, vm_domain(vm_host->vms->pdata[i]));
	remove_known(vm_host, vm_host->probe_name);
}

void vm_host_clean(struct vm_host *vm_host,
		   void (*done)(struct vm_host *vm_host, const GError *error, void *data),
		   void *data)
{
	vm_host->frozen = true;
	vm_host->cleaned = done;
	vm_host->cleaned_data = data;
	g_clear_handle_id(&vm_host->retry_source, g_source_remove);
	g_clear_handle_id(&vm_host->renew_source, g_source_remove);
	for (guint i = 0; i < vm_host->vms->len; i++)
		vm_stop(vm_host->vms->pdata[i]);
	claim_take(vm_host->host, vm_host->claim_name, vm_host->claim, NULL, claim_known, vm_host);
}
