/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The cluster's VMs on a host, by their names. A VM is removed if it is not wanted there, or if
 * another vm_host has it now.
 */
#include <string.h>

#include "common/platform.h"
#include "local-sched/hypervisor/domain.h"
#include "local-sched/hypervisor/managed_save.h"
#include "local-sched/hypervisor/virt_error.h"
#include "local-sched/hypervisor/vm_host_private.h"

#define LOG_SUBSYSTEM "site"
#include "common/log.h"

/* Names of VMs. */

bool vm_host_is_numbered(const char *prefix, const char *name)
{
	const char *suffix = name + strlen(prefix);

	return g_str_has_prefix(name, prefix) && *suffix == 'n' && suffix[1] &&
	       strspn(suffix + 1, "0123456789") == strlen(suffix + 1);
}

bool vm_host_is_ours(const char *prefix, const char *name)
{
	return vm_host_is_numbered(prefix, name) ||
	       (g_str_has_prefix(name, prefix) && g_str_equal(name + strlen(prefix), PROBE_SUFFIX));
}

struct vm *vm_host_vm(const struct vm_host *vm_host, const char *domain)
{
	for (guint i = 0; i < vm_host->vms->len; i++)
		if (g_str_equal(vm_domain(vm_host->vms->pdata[i]), domain))
			return vm_host->vms->pdata[i];
	return NULL;
}

void vm_host_detach_all(struct vm_host *vm_host, const char *reason)
{
	for (guint i = 0; i < vm_host->vms->len; i++) {
		struct vm *vm = vm_host->vms->pdata[i];

		vm_disconnect(vm, reason);
		if (vm_may_be_absent(vm))
			vm_cut_off(vm, vm_host->host);
	}
}

/* VMs of other vm_hosts. */

/* The removal of a VM that another vm_host has now. */
struct removal {
	struct vm_host *vm_host;
	struct vm *vm;
};

static gboolean remove_again(gpointer data)
{
	struct vm_host *vm_host = data;

	vm_host->await_source = 0;
	vm_host_remove_awaited(vm_host);
	return G_SOURCE_REMOVE;
}

static void awaited_removed(gpointer result, const GError *error, gpointer data)
{
	g_autofree struct removal *removal = data;
	struct vm_host *vm_host = removal->vm_host;

	if (vm_host->frozen || !vm_host_awaits(vm_host, removal->vm))
		return;
	if (error) {
		log_warning_of(LOG_HOST(host_name(vm_host->host)), "%s; trying again in %d s",
			       error->message, RETRY_S);
		if (vm_host->await_source == 0)
			vm_host->await_source = platform_after_s(host_platform(vm_host->host),
								 RETRY_S, remove_again, vm_host);
		return;
	}
	g_ptr_array_remove(vm_host->awaiting, removal->vm);
	vm_host->gone(removal->vm, vm_host->gone_data);
}

/* VMs that came back by a migration are kept. */
static void keep_own(struct vm_host *vm_host)
{
	for (guint i = vm_host->awaiting->len; i > 0; i--) {
		struct vm *vm = vm_host->awaiting->pdata[i - 1];

		if (!vm_host_vm(vm_host, vm_domain(vm)))
			continue;
		g_ptr_array_remove_index(vm_host->awaiting, i - 1);
		vm_host->gone(vm, vm_host->gone_data);
	}
}

void vm_host_remove_awaited(struct vm_host *vm_host)
{
	if (vm_host->step != STEP_READY || vm_host->frozen || !host_connected(vm_host->host))
		return;
	keep_own(vm_host);
	for (guint i = 0; i < vm_host->awaiting->len; i++) {
		struct vm *vm = vm_host->awaiting->pdata[i];
		struct removal *removal = g_new0(struct removal, 1);

		*removal = (struct removal){.vm_host = vm_host, .vm = vm};
		domain_destroy(vm_host->host, vm_domain(vm), vm_host->settings.keeper,
			       awaited_removed, removal);
	}
}

void vm_host_await(struct vm_host *vm_host, struct vm *vm, void (*gone)(struct vm *vm, void *data),
		   void *data)
{
	vm_host->gone = gone;
	vm_host->gone_data = data;
	if (!vm_host_awaits(vm_host, vm))
		g_ptr_array_add(vm_host->awaiting, vm);
	vm_host_remove_awaited(vm_host);
}

bool vm_host_awaits(const struct vm_host *vm_host, const struct vm *vm)
{
	return g_ptr_array_find(vm_host->awaiting, vm, NULL);
}

/* Leftovers. */

void vm_host_tidy(struct vm_host *vm_host)
{
	g_auto(GStrv) kept = vm_host_swap_names(vm_host);

	if (vm_host->removing > 0 || vm_host->frozen)
		return;
	if (!vm_host->tidied)
		managed_save_tidy(vm_host->host, vm_host->settings.prefix, NULL,
				  (const char *const *)kept, NULL, NULL);
	vm_host->tidied = true;
}

static bool is_listed(const struct vm_host *vm_host)
{
	return vm_host->step == STEP_READY && vm_host->claimed && !vm_host->frozen;
}

static void listed_again(gpointer result, const GError *error, gpointer data)
{
	struct vm_host *vm_host = data;
	g_autoptr(GPtrArray) found = result;

	if (found && is_listed(vm_host))
		vm_host_remove_leftovers(vm_host, found);
}

static gboolean list_again(gpointer data)
{
	struct vm_host *vm_host = data;

	vm_host->again_source = 0;
	if (is_listed(vm_host))
		domain_list(vm_host->host, vm_host->settings.prefix, listed_again, vm_host);
	return G_SOURCE_REMOVE;
}

/* VMs are listed anyway where the host was out of reach. */
static void look_again(struct vm_host *vm_host, const GError *error)
{
	if (g_error_matches(error, VIRT_ERROR, VIRT_ERROR_CONNECTION) || vm_host->again_source)
		return;
	log_warning_of(LOG_HOST(host_name(vm_host->host)), "%s; trying again in %d s",
		       error->message, RETRY_S);
	vm_host->again_source =
		platform_after_s(host_platform(vm_host->host), RETRY_S, list_again, vm_host);
}

static void leftover_removed(gpointer result, const GError *error, gpointer data)
{
	struct vm_host *vm_host = data;

	if (error)
		look_again(vm_host, error);
	vm_host->removing--;
	vm_host_tidy(vm_host);
}

/*
 * Removes a VM that is not wanted. A VM of another local scheduler is a leftover, since the other
 * does not hold the claim. A VM without virtbed's metadata is left alone, whatever its name.
 */
static void remove_leftover(struct vm_host *vm_host, const struct domain_info *info)
{
	if (!info->keeper) {
		log_warning_of(LOG_HOST(host_name(vm_host->host)),
			       "VM '%s' has a name of this cluster, but another owner: it is left "
			       "alone",
			       info->name);
	} else if (!vm_host_vm(vm_host, info->name) ||
		   !g_str_equal(info->keeper, vm_host->settings.keeper)) {
		vm_host->removing++;
		domain_destroy(vm_host->host, info->name, info->keeper, leftover_removed, vm_host);
	}
}

void vm_host_remove_leftovers(struct vm_host *vm_host, const GPtrArray *found)
{
	for (guint i = 0; i < found->len; i++) {
		const struct domain_info *info = found->pdata[i];

		if (vm_host_is_ours(vm_host->settings.prefix, info->name))
			remove_leftover(vm_host, info);
	}
}
