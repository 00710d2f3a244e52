/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/hypervisor/storage.h"

#include <libvirt/virterror.h>
#include <string.h>

#include "common/read_number.h"
#include "local-sched/hypervisor/virt_error.h"

#define POOL "virtbed"
#define POOL_PATH "/var/lib/libvirt/images/virtbed"

#define MIB (1024.0 * 1024.0)

char *storage_volume_name(const char *domain, const char *keeper, const char *suffix)
{
	return g_strdup_printf("%s.%s%s", domain, keeper, suffix);
}

/* The "n" and the number tell clusters apart whose names begin with the same letters. */
bool storage_is_of_cluster(const char *volume, const char *prefix, const char *keeper)
{
	const char *rest = volume + strlen(prefix);
	g_auto(GStrv) parts = NULL;

	if (!g_str_has_prefix(volume, prefix) || *rest != 'n' || !g_ascii_isdigit(rest[1]))
		return false;
	rest++;
	rest += strspn(rest, "0123456789");
	parts = g_strsplit(rest, ".", 3); /* "", KEEPER, and the end of the name */
	return g_strv_length(parts) == 3 && !*parts[0] && g_uuid_string_is_valid(parts[1]) &&
	       (!keeper || g_str_equal(parts[1], keeper));
}

/*
 * Creates the pool, unless another local scheduler is faster. NULL with `error`, the reason of the
 * failure, if there is no pool after that.
 */
static virStoragePoolPtr make_pool(virConnectPtr connection, GError **error)
{
	static const char xml[] = "<pool type='dir'>\n  <name>" POOL "</name>\n"
				  "  <target>\n    <path>" POOL_PATH "</path>\n"
				  "    <permissions><mode>0711</mode></permissions>\n"
				  "  </target>\n</pool>\n";
	virStoragePoolPtr pool =
		virStoragePoolCreateXML(connection, xml, VIR_STORAGE_POOL_CREATE_WITH_BUILD);

	if (pool)
		return pool;
	virt_error_set(error, "cannot make the storage pool '" POOL "' in " POOL_PATH);
	pool = virStoragePoolLookupByName(connection, POOL);
	if (pool)
		g_clear_error(error);
	return pool;
}

virStoragePoolPtr storage_open(virConnectPtr connection, bool refresh, GError **error)
{
	virStoragePoolPtr pool = virStoragePoolLookupByName(connection, POOL);

	if (!pool)
		pool = make_pool(connection, error);
	if (!pool)
		return NULL;
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
		"  <target><format type='raw'/>"
		"<permissions><mode>0%o</mode></permissions></target>\n"
		"</volume>\n",
		name, bytes, mode);

	return virStorageVolCreateXML(pool, xml, 0);
}

char **storage_list(virStoragePoolPtr pool, GError **error)
{
	g_autoptr(GStrvBuilder) names = g_strv_builder_new();
	virStorageVolPtr *volumes = NULL;
	int count = virStoragePoolListAllVolumes(pool, &volumes, 0);

	if (count < 0) {
		virt_error_set(error, "cannot list the storage pool");
		return NULL;
	}
	for (int i = 0; i < count; i++) {
		g_strv_builder_add(names, virStorageVolGetName(volumes[i]));
		virStorageVolFree(volumes[i]);
	}
	free(volumes); /* libvirt's, by malloc() */
	return g_strv_builder_end(names);
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

bool storage_has_size(virStoragePoolPtr pool, const char *name, uint64_t bytes)
{
	g_autoptr(virStorageVol) volume = virStorageVolLookupByName(pool, name);
	virStorageVolInfo info;

	return volume && virStorageVolGetInfo(volume, &info) == 0 && info.capacity == bytes;
}

/* libvirt writes it as "<mtime>SECONDS.NANOSECONDS</mtime>". */
double storage_written_s(virStoragePoolPtr pool, const char *name)
{
	g_autoptr(virStorageVol) volume = virStorageVolLookupByName(pool, name);
	char *xml = volume ? virStorageVolGetXMLDesc(volume, 0) : NULL;
	const char *at = xml ? strstr(xml, "<mtime>") : NULL;
	double written_s = 0;

	if (at)
		read_number_front(at + strlen("<mtime>"), &written_s);
	free(xml); /* libvirt's, by malloc() */
	return written_s;
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

/* Contents of volumes. */

bool storage_upload(virStorageVolPtr volume, uint64_t length, virStreamSourceFunc give, void *data,
		    GError **error)
{
	g_autoptr(virStream) stream = virStreamNew(virStorageVolGetConnect(volume), 0);

	if (stream && virStorageVolUpload(volume, stream, 0, length, 0) == 0 &&
	    virStreamSendAll(stream, give, data) == 0 && virStreamFinish(stream) == 0)
		return true;
	virt_error_set(error, "cannot upload volume '%s'", virStorageVolGetName(volume));
	return false;
}

/* Bytes in memory that are still to be sent. */
struct bytes_source {
	const char *bytes;
	size_t left;
};

static int give_bytes(virStreamPtr stream, char *buffer, size_t size, void *data)
{
	struct bytes_source *source = data;
	const size_t length = MIN(size, source->left);

	memcpy(buffer, source->bytes, length);
	source->bytes += length;
	source->left -= length;
	return (int)length;
}

bool storage_write(virStorageVolPtr volume, const char *bytes, size_t length, GError **error)
{
	struct bytes_source source = {bytes, length};

	return storage_upload(volume, length, give_bytes, &source, error);
}

/* The receiver of a volume's bytes. */
struct text_sink {
	GString *text;
	size_t limit;
};

static int take_text(virStreamPtr stream, const char *bytes, size_t length, void *data)
{
	struct text_sink *sink = data;

	g_string_append_len(sink->text, bytes, (gssize)MIN(length, sink->limit - sink->text->len));
	return (int)length;
}

char *storage_read(virStorageVolPtr volume, size_t limit, GError **error)
{
	g_autoptr(virStream) stream = virStreamNew(virStorageVolGetConnect(volume), 0);
	struct text_sink sink = {g_string_new(NULL), limit};

	if (stream && virStorageVolDownload(volume, stream, 0, limit, 0) == 0 &&
	    virStreamRecvAll(stream, take_text, &sink) == 0 && virStreamFinish(stream) == 0)
		return g_string_free(sink.text, FALSE);
	virt_error_set(error, "cannot read volume '%s'", virStorageVolGetName(volume));
	g_string_free(sink.text, TRUE);
	return NULL;
}

/* Free space. */

bool storage_has_room(virStoragePoolPtr pool, const char *what, uint64_t bytes, GError **error)
{
	virStoragePoolInfo info;

	virStoragePoolRefresh(pool, 0); /* fails while another client fills a volume */
	if (virStoragePoolGetInfo(pool, &info) < 0 || info.available >= bytes) {
		virResetLastError();
		return true;
	}
	g_set_error(
		error, VIRT_ERROR, VIRT_ERROR_FULL,
		"the storage pool '" POOL
		"' is full: %.1f MiB are free, %s needs %.1f; make room in it (virsh vol-list " POOL
		"), or give it a larger file system",
		(double)info.available / MIB, what, (double)bytes / MIB);
	return false;
}

void storage_blame_room(virStoragePoolPtr pool, const char *what, uint64_t bytes, GError **error)
{
	g_autoptr(GError) full = NULL;
	g_autoptr(GError) cause = NULL;

	if (!error || !*error || storage_has_room(pool, what, bytes, &full))
		return;
	cause = g_steal_pointer(error);
	g_set_error(error, VIRT_ERROR, VIRT_ERROR_FULL, "%s; %s", cause->message, full->message);
}
