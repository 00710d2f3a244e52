/* SPDX-License-Identifier: GPL-3.0-or-later */
/* VMs that move between two vm_hosts: the target, and the state of both meanwhile. */
#include "local-sched/hypervisor/domain.h"
#include "local-sched/hypervisor/domain_xml.h"
#include "local-sched/hypervisor/managed_save.h"
#include "local-sched/hypervisor/vm_host_private.h"
#include "local-sched/hypervisor/storage.h"
#include "local-sched/hypervisor/virt_error.h"

static const char *peer_uri(const struct vm_host *vm_host)
{
	const struct config_host *host = vm_host->settings.host;

	return host->peer_uri ? host->peer_uri : host->uri;
}

/*
 * Whether a URI contains a host. A URI for the local machine, or with a file there, is useless to
 * another machine.
 */
static bool names_its_host(const char *uri)
{
	g_autoptr(GUri) parts = g_uri_parse(uri, G_URI_FLAGS_NONE, NULL);

	return parts && g_uri_get_host(parts) && *g_uri_get_host(parts);
}

bool vm_host_may_move(const struct vm_host *from, const struct vm_host *to, GError **error)
{
	if (!host_connected(from->host))
		g_set_error(error, VIRT_ERROR, VIRT_ERROR_CONNECTION, "host '%s' is out of reach",
			    host_name(from->host));
	else if (!names_its_host(peer_uri(to)))
		g_set_error(error, VIRT_ERROR, VIRT_ERROR_OTHER,
			    "other hosts cannot reach host '%s': give it a peer_uri",
			    host_name(to->host));
	else if (g_strcmp0(from->type.name, to->type.name) != 0)
		g_set_error(error, VIRT_ERROR, VIRT_ERROR_OTHER,
			    "VMs of host '%s' are of type %s, those of host '%s' of type %s",
			    host_name(from->host), from->type.name ?: "unknown",
			    host_name(to->host), to->type.name ?: "unknown");
	else
		return true;
	return false;
}

/* Moves under way. */

/* Expects a swap disk. Its path is the same on all hosts, which have equal pools. */
static void expect_swap(struct vm_host *to, const struct vm_host *from, const char *domain)
{
	const char *path = g_hash_table_lookup(from->swap, domain);

	if (path)
		g_hash_table_insert(to->swap, g_strdup(domain), g_strdup(path));
}

static char **changes_between(const struct vm_host *from, const struct vm_host *to,
			      const struct vm *vm)
{
	const char *domain = vm_domain(vm);
	struct vm_host_names names[2];
	struct domain_spec before =
		vm_host_specify(from, domain, vm_name(vm), vm_number(vm), NULL, &names[0]);
	struct domain_spec after =
		vm_host_specify(to, domain, vm_name(vm), vm_number(vm), NULL, &names[1]);
	char **changes = domain_xml_changes(&before, &after);

	vm_host_names_clear(&names[0]);
	vm_host_names_clear(&names[1]);
	return changes;
}

static void
transfer(struct vm_host *from, struct vm_host *to, struct vm *vm, enum transfer_manner manner,
	 void (*begin)(const struct transfer *transfer, host_done_f done, gpointer data),
	 host_done_f done, gpointer data)
{
	g_auto(GStrv) changes = changes_between(from, to, vm);
	const struct transfer transfer = {
		.from = from->host,
		.to = to->host,
		.to_uri = peer_uri(to),
		.domain = vm_domain(vm),
		.keeper = from->settings.keeper,
		.changes = (const char *const *)changes,
		.manner = manner,
		.swap = vm_host_has_swap(from),
		.tls = from->settings.cluster->migration_tls,
		.cancel = g_hash_table_lookup(to->coming, vm_domain(vm)),
	};

	begin(&transfer, done, data);
}

static void announce(struct vm_host *from, struct vm_host *to, struct vm *vm)
{
	if (!vm_host_vm(to, vm_domain(vm)))
		g_ptr_array_add(to->vms, vm);
	expect_swap(to, from, vm_domain(vm));
	g_hash_table_insert(to->coming, g_strdup(vm_domain(vm)), g_cancellable_new());
}

void vm_host_send(struct vm_host *from, struct vm_host *to, struct vm *vm,
		  enum transfer_manner manner, host_done_f done, gpointer data)
{
	announce(from, to, vm);
	if (manner == TRANSFER_LIVE)
		vm_set_destination(vm, to->host);
	transfer(from, to, vm, manner, transfer_start, done, data);
}

void vm_host_interrupt(struct vm_host *from, struct vm_host *to, struct vm *vm,
		       enum transfer_manner manner)
{
	const struct transfer transfer = {
		.from = from->host,
		.to = to->host,
		.domain = vm_domain(vm),
		.keeper = from->settings.keeper,
		.manner = manner,
		.cancel = g_hash_table_lookup(to->coming, vm_domain(vm)),
	};

	transfer_cancel(&transfer);
}

void vm_host_find(struct vm_host *from, struct vm_host *to, struct vm *vm,
		  enum transfer_manner manner, host_done_f done, gpointer data)
{
	transfer(from, to, vm, manner, transfer_find, done, data);
}

/* The end of a move. */

/* Removes the volumes of a VM on a host that it has left, or has not reached. */
static void remove_volumes(struct vm_host *vm_host, const char *domain)
{
	g_autofree char *swap = storage_volume_name(domain, vm_host->settings.keeper, STORAGE_SWAP);
	const char *const names[] = {swap, NULL};

	g_hash_table_remove(vm_host->swap, domain);
	managed_save_remove(vm_host->host, domain, vm_host->settings.keeper, NULL, NULL);
	if (vm_host_has_swap(vm_host))
		image_remove_swap(vm_host->host, names, NULL, NULL);
}

void vm_host_arrived(struct vm_host *from, struct vm_host *to, struct vm *vm)
{
	g_ptr_array_remove(from->vms, vm);
	g_hash_table_remove(to->coming, vm_domain(vm));
	remove_volumes(from, vm_domain(vm));
	vm_move(vm, to->host);
	vm_host_prepare(to, vm);
}

void vm_host_stayed(struct vm_host *to, struct vm *vm)
{
	g_ptr_array_remove(to->vms, vm);
	g_hash_table_remove(to->coming, vm_domain(vm));
	remove_volumes(to, vm_domain(vm));
}

void vm_host_give_up(struct vm_host *to, struct vm *vm)
{
	vm_host_stayed(to, vm);
	domain_destroy(to->host, vm_domain(vm), to->settings.keeper, NULL, NULL);
}

void vm_host_hand_over(struct vm_host *from, struct vm_host *to, struct vm *vm)
{
	g_ptr_array_remove(from->vms, vm);
	/* The host may have failed to remove it before. */
	domain_destroy(from->host, vm_domain(vm), from->settings.keeper, NULL, NULL);
	remove_volumes(from, vm_domain(vm));
	vm_move(vm, to->host);
	vm_disconnect(vm, "its new host does not know it yet");
	vm_host_add_vm(to, vm);
}
