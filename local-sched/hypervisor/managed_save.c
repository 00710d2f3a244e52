/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/hypervisor/managed_save.h"

#include <stdbool.h>
#include <stdlib.h>

#include "common/error_fail.h"
#include "local-sched/hypervisor/domain.h"
#include "local-sched/hypervisor/storage.h"
#include "local-sched/hypervisor/virt_error.h"

/* The VM of a call, or the cluster whose volumes are removed. */
struct order {
	char *name; /* the domain's; of a cluster, the prefix of its domains */
	char *keeper;
	GStrv kept; /* volumes of the cluster that stay */
};

static void order_free(gpointer data)
{
	struct order *order = data;

	g_free(order->name);
	g_free(order->keeper);
	g_strfreev(order->kept);
	g_free(order);
}

static char *volume_name(const struct order *order)
{
	return storage_volume_name(order->name, order->keeper, STORAGE_SAVED);
}

/* The path of a VM's volume, created if `create`. Its mode keeps guests' memory private. */
static char *volume_path(virStoragePoolPtr pool, const struct order *order, bool create,
			 GError **error)
{
	g_autofree char *name = volume_name(order);
	g_autoptr(virStorageVol) volume = NULL;

	if (create && !storage_exists(pool, name)) {
		volume = storage_create(pool, name, 0, 0600);
		if (!volume) {
			virt_error_set(error, "cannot make volume '%s' to save the VM in", name);
			return NULL;
		}
	}
	/*
	 * The pool refreshes itself now and then, and may have done so while the file was
	 * elsewhere.
	 */
	if (!create && !storage_exists(pool, name))
		virStoragePoolRefresh(pool, 0);
	return storage_path(pool, name, error);
}

/* The most bytes that a saved VM takes; 0: not known. */
static uint64_t memory_bytes(virDomainPtr domain)
{
	virDomainInfo info;

	return virDomainGetInfo(domain, &info) == 0 ? (uint64_t)info.memory * 1024 : 0;
}

static gpointer save_work(virConnectPtr connection, gpointer input, GError **error)
{
	const struct order *order = input;
	g_autoptr(virDomain) domain = NULL;
	g_autoptr(virStoragePool) pool = NULL;
	g_autofree char *path = NULL;
	uint64_t bytes;

	if (!domain_find(connection, order->name, order->keeper, &domain, error))
		return NULL;
	if (!domain)
		return error_null(error, VIRT_ERROR, VIRT_ERROR_NO_DOMAIN, "VM '%s' is gone",
				  order->name);
	pool = storage_open(connection, false, error);
	path = pool ? volume_path(pool, order, true, error) : NULL;
	if (!path)
		return NULL;
	bytes = memory_bytes(domain);
	if (virDomainSaveFlags(domain, path, NULL, VIR_DOMAIN_SAVE_PAUSED) == 0)
		return HOST_DONE;
	virt_error_set(error, "cannot save VM '%s'", order->name);
	storage_blame_room(pool, order->name, bytes, error);
	return NULL;
}

static gpointer restore_work(virConnectPtr connection, gpointer input, GError **error)
{
	const struct order *order = input;
	g_autoptr(virDomain) domain = NULL;
	g_autoptr(virStoragePool) pool = NULL;
	g_autofree char *path = NULL;

	if (!domain_find(connection, order->name, order->keeper, &domain, error))
		return NULL;
	if (domain && virDomainIsActive(domain) == 1)
		return HOST_DONE;
	pool = storage_open(connection, false, error);
	path = pool ? volume_path(pool, order, false, error) : NULL;
	if (!path) {
		g_prefix_error(error, "cannot restore VM '%s': ", order->name);
		return NULL;
	}
	if (virDomainRestoreFlags(connection, path, NULL, VIR_DOMAIN_SAVE_PAUSED) == 0)
		return HOST_DONE;
	virt_error_set(error, "cannot restore VM '%s'", order->name);
	return NULL;
}

static gpointer remove_work(virConnectPtr connection, gpointer input, GError **error)
{
	g_autoptr(virStoragePool) pool = storage_open(connection, true, error);
	g_autofree char *name = volume_name(input);

	if (!pool)
		return NULL;
	storage_delete(pool, name);
	return HOST_DONE;
}

static bool is_leftover(const struct order *order, const char *volume)
{
	return storage_is_of_cluster(volume, order->name, order->keeper) &&
	       (g_str_has_suffix(volume, STORAGE_SAVED) ||
		(g_str_has_suffix(volume, STORAGE_SWAP) &&
		 !g_strv_contains((const char *const *)order->kept, volume)));
}

static gpointer tidy_work(virConnectPtr connection, gpointer input, GError **error)
{
	g_autoptr(virStoragePool) pool = storage_open(connection, true, error);
	virStorageVolPtr *volumes = NULL;
	int count = pool ? virStoragePoolListAllVolumes(pool, &volumes, 0) : 0;

	if (!pool)
		return NULL;
	for (int i = 0; i < count; i++) {
		if (is_leftover(input, virStorageVolGetName(volumes[i])))
			virStorageVolDelete(volumes[i], 0);
		virStorageVolFree(volumes[i]);
	}
	free(volumes); /* libvirt's, by malloc() */
	if (count >= 0)
		return HOST_DONE;
	virt_error_set(error, "cannot list the storage pool");
	return NULL;
}

static void submit(struct host *host, enum host_lane lane, host_work_f work, const char *name,
		   const char *keeper, const char *const *kept, host_done_f done, gpointer data)
{
	struct order *order = g_new0(struct order, 1);
	const struct host_call call = {
		.vm = lane == HOST_LANE_DISK ? name : NULL,
		.work = work,
		.input = order,
		.input_free = order_free,
		.done = done,
		.data = data,
	};

	*order = (struct order){g_strdup(name), g_strdup(keeper), g_strdupv((GStrv)kept)};
	host_call(host, lane, &call);
}

void managed_save_file(struct host *host, const char *domain, const char *keeper, host_done_f done,
		       gpointer data)
{
	submit(host, HOST_LANE_DISK, save_work, domain, keeper, NULL, done, data);
}

void managed_save_restore(struct host *host, const char *domain, const char *keeper,
			  host_done_f done, gpointer data)
{
	submit(host, HOST_LANE_DISK, restore_work, domain, keeper, NULL, done, data);
}

void managed_save_remove(struct host *host, const char *domain, const char *keeper,
			 host_done_f done, gpointer data)
{
	submit(host, HOST_LANE_STORE, remove_work, domain, keeper, NULL, done, data);
}

void managed_save_tidy(struct host *host, const char *prefix, const char *keeper,
		       const char *const *kept, host_done_f done, gpointer data)
{
	submit(host, HOST_LANE_STORE, tidy_work, prefix, keeper, kept, done, data);
}
