/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/hypervisor/saved.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "local-sched/hypervisor/storage.h"
#include "local-sched/hypervisor/virt_error.h"

/*
 * The path of a VM's volume, made if need be (`create`): guests' memory is nobody else's business.
 */
static char *volume_path(virConnectPtr connection, const char *domain, bool create, GError **error)
{
	g_autoptr(virStoragePool) pool = storage_open(connection, false, error);
	g_autofree char *name = g_strconcat(domain, SAVED_SUFFIX, NULL);
	g_autoptr(virStorageVol) volume = NULL;

	if (!pool)
		return NULL;
	if (create && !storage_exists(pool, name)) {
		volume = storage_create(pool, name, 0, 0600);
		if (!volume) {
			virt_error_set(error, "cannot make volume '%s' to save the VM in", name);
			return NULL;
		}
	}
	return storage_path(pool, name, error);
}

static gpointer save_work(virConnectPtr connection, gpointer input, GError **error)
{
	g_autoptr(virDomain) domain = virDomainLookupByName(connection, input);
	g_autofree char *path = NULL;

	if (!domain) {
		virt_error_set(error, "VM '%s'", (const char *)input);
		return NULL;
	}
	path = volume_path(connection, input, true, error);
	if (!path)
		return NULL;
	if (virDomainSaveFlags(domain, path, NULL, VIR_DOMAIN_SAVE_PAUSED) == 0)
		return HOST_DONE;
	virt_error_set(error, "cannot save VM '%s'", (const char *)input);
	return NULL;
}

static gpointer restore_work(virConnectPtr connection, gpointer input, GError **error)
{
	g_autoptr(virDomain) domain = virDomainLookupByName(connection, input);
	g_autofree char *path = NULL;

	if (domain && virDomainIsActive(domain) == 1)
		return HOST_DONE;
	path = volume_path(connection, input, false, error);
	if (!path)
		return NULL;
	if (virDomainRestoreFlags(connection, path, NULL, VIR_DOMAIN_SAVE_PAUSED) == 0)
		return HOST_DONE;
	virt_error_set(error, "cannot restore VM '%s'", (const char *)input);
	return NULL;
}

static gpointer remove_work(virConnectPtr connection, gpointer input, GError **error)
{
	g_autoptr(virStoragePool) pool = storage_open(connection, true, error);
	g_autofree char *name = g_strconcat(input, SAVED_SUFFIX, NULL);

	if (!pool)
		return NULL;
	storage_delete(pool, name);
	return HOST_DONE;
}

/* What is to be tidied up. */
struct leftovers {
	char *prefix;
	GStrv kept;
};

static void leftovers_free(gpointer data)
{
	struct leftovers *leftovers = data;

	g_free(leftovers->prefix);
	g_strfreev(leftovers->kept);
	g_free(leftovers);
}

/* A cluster whose name begins likewise has VMs whose names go on differently. */
static bool is_leftover(const struct leftovers *leftovers, const char *volume)
{
	const char *rest = volume + strlen(leftovers->prefix);
	char *end;

	if (!g_str_has_prefix(volume, leftovers->prefix) || *rest != 'n' ||
	    !g_ascii_isdigit(rest[1]))
		return false;
	g_ascii_strtoull(rest + 1, &end, 10);
	return g_str_equal(end, SAVED_SUFFIX) ||
	       (g_str_equal(end, STORAGE_SWAP) &&
		!g_strv_contains((const char *const *)leftovers->kept, volume));
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

static void submit(struct host *host, enum host_lane lane, host_work_f work, const char *domain,
		   host_done_f done, gpointer data)
{
	const struct host_call call = {
		.vm = lane == HOST_LANE_DISK ? domain : NULL,
		.work = work,
		.input = g_strdup(domain),
		.input_free = g_free,
		.done = done,
		.data = data,
	};

	host_call(host, lane, &call);
}

void saved_save(struct host *host, const char *domain, host_done_f done, gpointer data)
{
	submit(host, HOST_LANE_DISK, save_work, domain, done, data);
}

void saved_restore(struct host *host, const char *domain, host_done_f done, gpointer data)
{
	submit(host, HOST_LANE_DISK, restore_work, domain, done, data);
}

void saved_remove(struct host *host, const char *domain, host_done_f done, gpointer data)
{
	submit(host, HOST_LANE_STORE, remove_work, domain, done, data);
}

void saved_tidy(struct host *host, const char *prefix, const char *const *kept, host_done_f done,
		gpointer data)
{
	struct leftovers *leftovers = g_new0(struct leftovers, 1);
	const struct host_call call = {
		.work = tidy_work,
		.input = leftovers,
		.input_free = leftovers_free,
		.done = done,
		.data = data,
	};

	leftovers->prefix = g_strdup(prefix);
	leftovers->kept = g_strdupv((GStrv)kept);
	host_call(host, HOST_LANE_STORE, &call);
}
