/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Storage pools in memory, and libvirt's functions for them. */
#include <string.h>

#include "tests/virtual/virtual_libvirt_private.h"

#define UPLOAD_BYTES_PER_MS (100 << 10)
#define PIECE (256 << 10)
#define AT_HOLE (-3)

/* Volumes. */

void virtual_volume_free(gpointer data)
{
	struct volume *volume = data;

	g_byte_array_unref(volume->bytes);
	g_free(volume->name);
	g_free(volume);
}

struct volume *virtual_volume_find(struct virtual_host *host, const char *name)
{
	for (guint i = 0; i < host->volumes->len; i++)
		if (g_str_equal(((struct volume *)host->volumes->pdata[i])->name, name))
			return host->volumes->pdata[i];
	return NULL;
}

struct volume *virtual_volume_at(struct virtual_host *host, const char *path)
{
	return path && g_str_has_prefix(path, VIRTUAL_POOL_PATH "/")
		       ? virtual_volume_find(host, path + strlen(VIRTUAL_POOL_PATH "/"))
		       : NULL;
}

uint64_t virtual_pool_free_bytes(const struct virtual_host *host)
{
	uint64_t used = 0;

	for (guint i = 0; i < host->volumes->len; i++)
		used += ((const struct volume *)host->volumes->pdata[i])->allocation;
	return host->pool_bytes > used ? host->pool_bytes - used : 0;
}

void virtual_volume_touch(struct virtual_host *host, struct volume *volume)
{
	volume->allocation = MAX(volume->allocation, volume->bytes->len);
	volume->written_us = platform_utc_us(host->platform);
}

/* Pools. */

static virStoragePoolPtr pool_new(virConnectPtr connection)
{
	virStoragePoolPtr pool = g_new0(struct _virStoragePool, 1);

	pool->handle = HANDLE_POOL;
	pool->connection = virtual_connection_ref(connection);
	virtual_handle_add(connection, pool);
	return pool;
}

virStoragePoolPtr virStoragePoolLookupByName(virConnectPtr conn, const char *name)
{
	if (!virtual_call(conn, __func__))
		return NULL;
	if (conn->host->has_pool)
		return pool_new(conn);
	virtual_fail(VIR_ERR_NO_STORAGE_POOL, VIR_FROM_STORAGE,
		     "Storage pool not found: no storage pool with matching name '%s'", name);
	return NULL;
}

virStoragePoolPtr virStoragePoolCreateXML(virConnectPtr conn, const char *xml, unsigned int flags)
{
	if (!virtual_call(conn, __func__))
		return NULL;
	if (conn->host->has_pool) {
		virtual_fail(VIR_ERR_OPERATION_FAILED, VIR_FROM_STORAGE,
			     "operation failed: pool 'virtbed' already exists");
		return NULL;
	}
	conn->host->has_pool = true;
	return pool_new(conn);
}

int virStoragePoolFree(virStoragePoolPtr pool)
{
	virConnectPtr connection = pool->connection;

	virtual_handle_remove(connection, pool);
	g_free(pool);
	virConnectClose(connection);
	return 0;
}

int virStoragePoolIsActive(virStoragePoolPtr pool)
{
	return virtual_call(pool->connection, __func__) ? 1 : -1;
}

int virStoragePoolCreate(virStoragePoolPtr pool, unsigned int flags)
{
	return virtual_call(pool->connection, __func__) ? 0 : -1;
}

int virStoragePoolRefresh(virStoragePoolPtr pool, unsigned int flags)
{
	return virtual_call(pool->connection, __func__) ? 0 : -1;
}

int virStoragePoolGetInfo(virStoragePoolPtr pool, virStoragePoolInfoPtr info)
{
	const struct virtual_host *host = pool->connection->host;

	if (!virtual_call(pool->connection, __func__))
		return -1;
	*info = (virStoragePoolInfo){.state = VIR_STORAGE_POOL_RUNNING,
				     .capacity = host->pool_bytes,
				     .available = virtual_pool_free_bytes(host)};
	info->allocation = info->capacity - info->available;
	return 0;
}

static virStorageVolPtr volume_new(virConnectPtr connection, const char *name)
{
	virStorageVolPtr volume = g_new0(struct _virStorageVol, 1);

	volume->handle = HANDLE_VOLUME;
	volume->connection = virtual_connection_ref(connection);
	volume->name = g_strdup(name);
	virtual_handle_add(connection, volume);
	return volume;
}

int virStoragePoolListAllVolumes(virStoragePoolPtr pool, virStorageVolPtr **vols,
				 unsigned int flags)
{
	const GPtrArray *volumes = pool->connection->host->volumes;

	if (!virtual_call(pool->connection, __func__))
		return -1;
	*vols = calloc(volumes->len + 1, sizeof(**vols));
	for (guint i = 0; i < volumes->len; i++)
		(*vols)[i] = volume_new(pool->connection,
					((const struct volume *)volumes->pdata[i])->name);
	return (int)volumes->len;
}

virStorageVolPtr virStorageVolLookupByName(virStoragePoolPtr pool, const char *name)
{
	if (!virtual_call(pool->connection, __func__))
		return NULL;
	if (virtual_volume_find(pool->connection->host, name))
		return volume_new(pool->connection, name);
	virtual_fail(VIR_ERR_NO_STORAGE_VOL, VIR_FROM_STORAGE,
		     "Storage volume not found: no storage vol with matching name '%s'", name);
	return NULL;
}

/* The text between two marks; the caller frees. NULL: it is not there. */
static char *between(const char *xml, const char *from, const char *to)
{
	const char *at = strstr(xml, from);
	const char *end = at ? strstr(at + strlen(from), to) : NULL;

	return end ? g_strndup(at + strlen(from), (gsize)(end - at) - strlen(from)) : NULL;
}

static struct volume *make(struct virtual_host *host, const char *name, uint64_t capacity)
{
	struct volume *volume = g_new0(struct volume, 1);

	volume->name = g_strdup(name);
	volume->bytes = g_byte_array_new();
	volume->capacity = capacity;
	virtual_volume_touch(host, volume);
	g_ptr_array_add(host->volumes, volume);
	return volume;
}

void virtual_host_write(struct virtual_libvirt *libvirt, const char *name, const char *volume_name,
			const char *text)
{
	struct virtual_host *host = virtual_host_find(libvirt, name);
	struct volume *volume = host ? virtual_volume_find(host, volume_name) : NULL;

	if (!host)
		return;
	host->has_pool = true;
	if (!volume)
		volume = make(host, volume_name, strlen(text));
	g_byte_array_set_size(volume->bytes, 0);
	g_byte_array_append(volume->bytes, (const guint8 *)text, (guint)strlen(text));
	virtual_volume_touch(host, volume);
}

virStorageVolPtr virStorageVolCreateXML(virStoragePoolPtr pool, const char *xml, unsigned int flags)
{
	struct virtual_host *host = pool->connection->host;
	g_autofree char *name = between(xml, "<name>", "</name>");
	g_autofree char *capacity = between(xml, "<capacity unit='bytes'>", "</capacity>");

	if (!virtual_call(pool->connection, __func__))
		return NULL;
	if (virtual_volume_find(host, name)) {
		virtual_fail(VIR_ERR_STORAGE_VOL_EXIST, VIR_FROM_STORAGE,
			     "storage volume '%s' exists already", name);
		return NULL;
	}
	make(host, name, g_ascii_strtoull(capacity ?: "0", NULL, 10));
	return volume_new(pool->connection, name);
}

/* What a handle stands for, or NULL and failed. */
static struct volume *volume_of(virStorageVolPtr handle, const char *function)
{
	struct volume *volume;

	if (!virtual_call(handle->connection, function))
		return NULL;
	volume = virtual_volume_find(handle->connection->host, handle->name);
	if (!volume)
		virtual_fail(VIR_ERR_NO_STORAGE_VOL, VIR_FROM_STORAGE,
			     "Storage volume not found: no storage vol with matching name '%s'",
			     handle->name);
	return volume;
}

int virStorageVolFree(virStorageVolPtr vol)
{
	virConnectPtr connection = vol->connection;

	virtual_handle_remove(connection, vol);
	g_free(vol->name);
	g_free(vol);
	virConnectClose(connection);
	return 0;
}

int virStorageVolDelete(virStorageVolPtr vol, unsigned int flags)
{
	struct volume *volume = volume_of(vol, __func__);

	if (!volume)
		return -1;
	g_ptr_array_remove(vol->connection->host->volumes, volume);
	return 0;
}

virConnectPtr virStorageVolGetConnect(virStorageVolPtr vol)
{
	return vol->connection;
}

const char *virStorageVolGetName(virStorageVolPtr vol)
{
	return vol->name;
}

int virStorageVolGetInfo(virStorageVolPtr vol, virStorageVolInfoPtr info)
{
	const struct volume *volume = volume_of(vol, __func__);

	if (!volume)
		return -1;
	*info = (virStorageVolInfo){.type = VIR_STORAGE_VOL_FILE,
				    .capacity = MAX(volume->capacity, volume->bytes->len),
				    .allocation = volume->allocation};
	return 0;
}

char *virStorageVolGetPath(virStorageVolPtr vol)
{
	const struct volume *volume = volume_of(vol, __func__);
	g_autofree char *path =
		volume ? g_strconcat(VIRTUAL_POOL_PATH "/", volume->name, NULL) : NULL;

	return path ? strdup(path) : NULL;
}

char *virStorageVolGetXMLDesc(virStorageVolPtr vol, unsigned int flags)
{
	const struct volume *volume = volume_of(vol, __func__);
	g_autofree char *xml = NULL;

	if (!volume)
		return NULL;
	xml = g_strdup_printf("<volume>\n  <name>%s</name>\n  <target>\n    <timestamps>\n"
			      "      <mtime>%" G_GINT64_FORMAT ".%06u000</mtime>\n"
			      "    </timestamps>\n  </target>\n</volume>\n",
			      volume->name, volume->written_us / G_USEC_PER_SEC,
			      (guint)(volume->written_us % G_USEC_PER_SEC));
	return strdup(xml);
}

/* Contents. */

static int open_volume(virStorageVolPtr vol, virStreamPtr stream, bool sends, uint64_t offset,
		       uint64_t length, bool sparse, const char *function)
{
	if (!volume_of(vol, function))
		return -1;
	stream->volume = g_strdup(vol->name);
	stream->sends = sends;
	stream->sparse = sparse;
	stream->position = offset;
	stream->length = length;
	return 0;
}

int virStorageVolUpload(virStorageVolPtr vol, virStreamPtr stream, unsigned long long offset,
			unsigned long long length, unsigned int flags)
{
	return open_volume(vol, stream, true, offset, length, false, __func__);
}

int virStorageVolDownload(virStorageVolPtr vol, virStreamPtr stream, unsigned long long offset,
			  unsigned long long length, unsigned int flags)
{
	return open_volume(vol, stream, false, offset, length,
			   flags & VIR_STORAGE_VOL_DOWNLOAD_SPARSE_STREAM, __func__);
}

/* The volume of a stream, after the time for `length` bytes; NULL and failed. */
static struct volume *stream_volume(virStreamPtr stream, size_t length)
{
	struct volume *volume;

	if (!virtual_call_goes_on(stream->connection, (guint)(length / UPLOAD_BYTES_PER_MS)))
		return NULL;
	volume = virtual_volume_find(stream->connection->host, stream->volume);
	if (!volume)
		virtual_fail(VIR_ERR_SYSTEM_ERROR, VIR_FROM_STREAMS,
			     "cannot use volume '%s': No such file or directory", stream->volume);
	return volume;
}

static int send_piece(virStreamPtr stream, const char *data, size_t length)
{
	struct volume *volume = stream_volume(stream, length);
	struct virtual_host *host = stream->connection->host;
	const uint64_t end = stream->position + length;
	const guint before = volume ? volume->bytes->len : 0;

	if (!volume)
		return -1;
	if (end > volume->allocation && end - volume->allocation > virtual_pool_free_bytes(host)) {
		virtual_fail(VIR_ERR_SYSTEM_ERROR, VIR_FROM_STREAMS,
			     "cannot write to stream: No space left on device");
		return -1;
	}
	if (end > before) {
		g_byte_array_set_size(volume->bytes, (guint)end);
		memset(volume->bytes->data + before, 0, end - before);
	}
	if (length > 0)
		memcpy(volume->bytes->data + stream->position, data, length);
	stream->position = end;
	virtual_volume_touch(host, volume);
	return (int)length;
}

int virStreamSendAll(virStreamPtr stream, virStreamSourceFunc handler, void *opaque)
{
	g_autofree char *buffer = g_malloc(PIECE);
	int got;

	while ((got = handler(stream, buffer, PIECE, opaque)) > 0)
		if (send_piece(stream, buffer, (size_t)got) < 0)
			return -1;
	if (got < 0)
		virtual_fail(VIR_ERR_OPERATION_FAILED, VIR_FROM_STREAMS,
			     "the source of the stream failed");
	return got;
}

/* Bytes of a volume, or where it has none: zeros, or a hole. */
static int receive_piece(virStreamPtr stream, char *data, size_t size)
{
	const struct volume *volume = stream_volume(stream, size);
	uint64_t end;
	size_t length;

	if (!volume)
		return -1;
	end = MIN(stream->length, MAX(volume->capacity, volume->bytes->len));
	if (stream->position >= end)
		return 0;
	if (stream->position >= volume->bytes->len && stream->sparse)
		return AT_HOLE;
	length = MIN(size, end - stream->position);
	if (stream->position < volume->bytes->len) {
		length = MIN(length, volume->bytes->len - stream->position);
		memcpy(data, volume->bytes->data + stream->position, length);
	} else {
		memset(data, 0, length);
	}
	stream->position += length;
	return (int)length;
}

int virStreamRecvAll(virStreamPtr stream, virStreamSinkFunc handler, void *opaque)
{
	g_autofree char *buffer = g_malloc(PIECE);
	int got;

	while ((got = receive_piece(stream, buffer, PIECE)) > 0)
		if (handler(stream, buffer, (size_t)got, opaque) < 0)
			return -1;
	return got;
}

int virStreamRecvFlags(virStreamPtr stream, char *data, size_t nbytes, unsigned int flags)
{
	return receive_piece(stream, data, nbytes);
}

int virStreamRecvHole(virStreamPtr stream, long long *length, unsigned int flags)
{
	const struct volume *volume = stream_volume(stream, 0);

	if (!volume)
		return -1;
	*length = (long long)(MIN(stream->length, volume->capacity) - stream->position);
	stream->position += (uint64_t)*length;
	return 0;
}

int virStreamSendHole(virStreamPtr stream, long long length, unsigned int flags)
{
	if (!stream_volume(stream, 0))
		return -1;
	stream->position += (uint64_t)length;
	return 0;
}

int virStreamFinish(virStreamPtr stream)
{
	struct volume *volume = stream->volume ? stream_volume(stream, 0) : NULL;

	if (stream->volume && !volume)
		return -1;
	if (volume && stream->sends)
		virtual_volume_touch(stream->connection->host, volume);
	return 0;
}

/* virStreamSend() serves ports as well. */
int virtual_volume_send(virStreamPtr stream, const char *data, size_t length)
{
	return send_piece(stream, data, length);
}
