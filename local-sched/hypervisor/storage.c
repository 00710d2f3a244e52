/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/hypervisor/storage.h"

#include "local-sched/hypervisor/virt_error.h"

#define POOL "virtbed"
#define POOL_PATH "/var/lib/libvirt/images/virtbed"

virStoragePoolPtr storage_open(virConnectPtr connection, bool refresh, GError **error)
{
	static const char xml[] = "<pool type='dir'>\n  <name>" POOL "</name>\n"
				  "  <target>\n    <path>" POOL_PATH "</path>\n"
				  "    <permissions><mode>0711</mode></permissions>\n"
				  "  </target>\n</pool>\n";
	virStoragePoolPtr pool = virStoragePoolLookupByName(connection, POOL);

	if (!pool)
		pool = virStoragePoolCreateXML(connection, xml,
					       VIR_STORAGE_POOL_CREATE_WITH_BUILD);
	if (!pool) /* another local scheduler was faster */
		pool = virStoragePoolLookupByName(connection, POOL);
	if (!pool) {
		virt_error_set(error, "cannot make the storage pool '" POOL "'");
		return NULL;
	}
	if (!virStoragePoolIsActive(pool))
		virStoragePoolCreate(pool, VIR_STORAGE_POOL_CREATE_WITH_BUILD);
	if (refresh)
		virStoragePoolRefresh(pool, 0);
	return pool;
}

virStorageVolPtr storage_create(virStoragePoolPtr pool, const char *name, uint64_t bytes,
				unsigned int mode)
{
	g_autofree char *xml = g_markup_printf_escaped(
		"<volume>\n  <name>%s</name>\n  <allocation>0</allocation>\n"
		"  <capacity unit='bytes'>%" G_GUINT64_FORMAT "</capacity>\n"
		"  <target><format type='raw'/><permissions><mode>0%o</mode></permissions></target>\n"
		"</volume>\n",
		name, bytes, mode);

	return virStorageVolCreateXML(pool, xml, 0);
}

void storage_delete(virStoragePoolPtr pool, const char *name)
{
	g_autoptr(virStorageVol) volume = virStorageVolLookupByName(pool, name);

	if (volume)
		virStorageVolDelete(volume, 0);
}

bool storage_exists(virStoragePoolPtr pool, const char *name)
{
	g_autoptr(virStorageVol) volume = virStorageVolLookupByName(pool, name);

	return volume != NULL;
}

char *storage_path(virStoragePoolPtr pool, const char *name, GError **error)
{
	g_autoptr(virStorageVol) volume = virStorageVolLookupByName(pool, name);
	char *path = volume ? virStorageVolGetPath(volume) : NULL;
	char *copy = g_strdup(path);

	if (!path)
		virt_error_set(error, "no volume '%s' in the storage pool", name);
	free(path); /* libvirt's, by malloc() */
	return copy;
}
