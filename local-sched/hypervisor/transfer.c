/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/hypervisor/transfer.h"

#include <libvirt/virterror.h>
#include <stdlib.h>

#include "local-sched/hypervisor/domain_xml.h"
#include "local-sched/hypervisor/saved.h"
#include "local-sched/hypervisor/storage.h"
#include "local-sched/hypervisor/virt_error.h"

#define CHUNK (256 * 1024) /* what libvirt's protocol carries at once */
#define AT_HOLE (-3)       /* virStreamRecvFlags() */

/* A transfer for a worker thread; all is owned. */
struct order {
	struct host *to;
	char *to_uri;
	char *domain;
	GStrv changes;
	bool swap;
};

static void order_free(gpointer data)
{
	struct order *order = data;

	host_unref(order->to);
	g_free(order->to_uri);
	g_free(order->domain);
	g_strfreev(order->changes);
	g_free(order);
}

/* Migrating. */

/* Where the VM's memory is sent: to the host that the URI names, whatever that host calls itself. */
static char *data_uri(const char *peer_uri)
{
	g_autoptr(GUri) peer = g_uri_parse(peer_uri, G_URI_FLAGS_NONE, NULL);
	const char *host = peer ? g_uri_get_host(peer) : NULL;

	if (!host || !*host)
		return NULL;
	return g_uri_join(G_URI_FLAGS_NONE, "tcp", NULL, host, -1, "", NULL, NULL);
}

static void add_text(virTypedParameterPtr *params, int *count, int *max, const char *name,
		     const char *text)
{
	if (text)
		virTypedParamsAddString(params, count, max, name, text);
}

/* The XML that the VM shall have at the other host, or NULL: the same. */
static char *changed_xml(virDomainPtr domain, const struct order *order)
{
	char *xml = order->changes[0] ? virDomainGetXMLDesc(domain, VIR_DOMAIN_XML_MIGRATABLE) :
					NULL;
	char *changed = xml ? domain_xml_change(xml, (const char *const *)order->changes) : NULL;

	free(xml); /* libvirt's, by malloc() */
	return changed;
}

static gpointer migrate_work(virConnectPtr connection, gpointer input, GError **error)
{
	const struct order *order = input;
	g_autoptr(virDomain) domain = virDomainLookupByName(connection, order->domain);
	g_autofree char *uri = data_uri(order->to_uri);
	g_autofree char *xml = domain ? changed_xml(domain, order) : NULL;
	unsigned int flags = VIR_MIGRATE_PEER2PEER | VIR_MIGRATE_PAUSED;
	virTypedParameterPtr params = NULL;
	int count = 0;
	int max = 0;
	int result = -1;

	if (order->swap)
		flags |= VIR_MIGRATE_NON_SHARED_DISK;
	add_text(&params, &count, &max, VIR_MIGRATE_PARAM_URI, uri);
	add_text(&params, &count, &max, VIR_MIGRATE_PARAM_DEST_XML, xml);
	if (domain)
		result = virDomainMigrateToURI3(domain, order->to_uri, params, (unsigned)count,
						flags);
	if (result < 0)
		virt_error_set(error, "cannot move VM '%s' to host '%s'", order->domain,
			       host_name(order->to));
	virTypedParamsFree(params, count);
	return result < 0 ? NULL : HOST_DONE;
}

/* Carrying volumes. */

/* Passes all bytes on, holes as holes. */
static bool pass_on(virStreamPtr in, virStreamPtr out)
{
	g_autofree char *buffer = g_malloc(CHUNK);
	long long hole;
	int got;

	while ((got = virStreamRecvFlags(in, buffer, CHUNK, VIR_STREAM_RECV_STOP_AT_HOLE)) != 0) {
		if (got == AT_HOLE) {
			if (virStreamRecvHole(in, &hole, 0) < 0 ||
			    virStreamSendHole(out, hole, 0) < 0)
				return false;
			continue;
		}
		if (got < 0)
			return false;
		for (int sent = 0, length; sent < got; sent += length) {
			length = virStreamSend(out, buffer + sent, (size_t)(got - sent));
			if (length < 0)
				return false;
		}
	}
	return virStreamFinish(in) == 0 && virStreamFinish(out) == 0;
}

static bool copy_bytes(virStorageVolPtr from, virStorageVolPtr to, uint64_t bytes)
{
	g_autoptr(virStream) in = virStreamNew(virStorageVolGetConnect(from), 0);
	g_autoptr(virStream) out = virStreamNew(virStorageVolGetConnect(to), 0);

	if (!in || !out ||
	    virStorageVolDownload(from, in, 0, bytes, VIR_STORAGE_VOL_DOWNLOAD_SPARSE_STREAM) < 0)
		return false;
	if (virStorageVolUpload(to, out, 0, bytes, VIR_STORAGE_VOL_UPLOAD_SPARSE_STREAM) == 0 &&
	    pass_on(in, out))
		return true;
	virStreamAbort(out);
	virStreamAbort(in);
	return false;
}

/* Copies volume `name`; one of that name at the other host, the remains of an attempt, is replaced. */
static bool copy_volume(virStoragePoolPtr from, virStoragePoolPtr to, const char *name,
			unsigned int mode, GError **error)
{
	g_autoptr(virStorageVol) source = virStorageVolLookupByName(from, name);
	g_autoptr(virStorageVol) copy = NULL;
	virStorageVolInfo info;

	storage_delete(to, name);
	if (source && virStorageVolGetInfo(source, &info) == 0)
		copy = storage_create(to, name, info.capacity, mode);
	if (copy && copy_bytes(source, copy, info.capacity))
		return true;
	virt_error_set(error, "cannot copy volume '%s' to another host", name);
	if (copy)
		virStorageVolDelete(copy, 0);
	return false;
}

/* A saved VM's XML is in its volume. */
static bool change_saved(virConnectPtr connection, virStoragePoolPtr pool, const char *name,
			 const struct order *order, GError **error)
{
	g_autofree char *path = storage_path(pool, name, error);
	g_autofree char *changed = NULL;
	char *xml;
	int result = -1;

	if (!path)
		return false;
	xml = virDomainSaveImageGetXMLDesc(connection, path, 0);
	if (xml) {
		changed = domain_xml_change(xml, (const char *const *)order->changes);
		result = virDomainSaveImageDefineXML(connection, path, changed, 0);
	}
	free(xml); /* libvirt's, by malloc() */
	if (result < 0)
		virt_error_set(error, "cannot change what volume '%s' describes", name);
	return result == 0;
}

static gpointer carry_work(virConnectPtr connection, gpointer input, GError **error)
{
	const struct order *order = input;
	g_autoptr(virConnect) there = host_connection(order->to, HOST_LANE_DISK, error);
	g_autoptr(virStoragePool) from = there ? storage_open(connection, true, error) : NULL;
	g_autoptr(virStoragePool) to = from ? storage_open(there, true, error) : NULL;
	g_autofree char *image = g_strconcat(order->domain, SAVED_SUFFIX, NULL);
	g_autofree char *swap = g_strconcat(order->domain, STORAGE_SWAP, NULL);

	if (!to || !copy_volume(from, to, image, 0600, error))
		return NULL;
	if ((!order->swap || copy_volume(from, to, swap, 0644, error)) &&
	    (!order->changes[0] || change_saved(there, to, image, order, error)))
		return HOST_DONE;
	storage_delete(to, image);
	storage_delete(to, swap);
	return NULL;
}

/* Finding. */

/* Whether a VM is on a host: false with `error` where that cannot be asked. */
static bool look(virConnectPtr connection, const char *name, bool *ret_there, GError **error)
{
	g_autoptr(virDomain) domain = virDomainLookupByName(connection, name);
	int active = domain ? virDomainIsActive(domain) : 0;

	*ret_there = active == 1;
	if ((domain && active >= 0) || virGetLastErrorCode() == VIR_ERR_NO_DOMAIN)
		return true;
	virt_error_set(error, "cannot look for VM '%s'", name);
	return false;
}

/* What was begun and is not over yet is not wanted any more. */
static void end_job(virConnectPtr connection, const char *name)
{
	g_autoptr(virDomain) domain = virDomainLookupByName(connection, name);

	if (domain)
		virDomainAbortJob(domain);
	virResetLastError();
}

static gpointer find_work(virConnectPtr connection, gpointer input, GError **error)
{
	const struct order *order = input;
	g_autoptr(virConnect) other = host_connection(order->to, HOST_LANE_DISK, error);
	bool here;
	bool there;

	if (!other || !look(connection, order->domain, &here, error) ||
	    !look(other, order->domain, &there, error))
		return NULL;
	if (here && there) {
		end_job(connection, order->domain);
		g_set_error(error, VIRT_ERROR, VIRT_ERROR_CONNECTION,
			    "VM '%s' is still on its way", order->domain);
		return NULL;
	}
	if (here || there)
		return GINT_TO_POINTER(here ? TRANSFER_FROM : TRANSFER_TO);
	g_set_error(error, VIRT_ERROR, VIRT_ERROR_NO_DOMAIN, "VM '%s' is gone", order->domain);
	return NULL;
}

/* Orders. */

static void submit(const struct transfer *transfer, host_work_f work, host_done_f done,
		   gpointer data)
{
	struct order *order = g_new0(struct order, 1);
	const struct host_call call = {
		.work = work,
		.input = order,
		.input_free = order_free,
		.done = done,
		.data = data,
	};

	*order = (struct order){
		.to = host_ref(transfer->to),
		.to_uri = g_strdup(transfer->to_uri),
		.domain = g_strdup(transfer->domain),
		.changes = g_strdupv((GStrv)transfer->changes),
		.swap = transfer->swap,
	};
	host_call(transfer->from, HOST_LANE_DISK, &call);
}

void transfer_start(const struct transfer *transfer, host_done_f done, gpointer data)
{
	submit(transfer, transfer->saved ? carry_work : migrate_work, done, data);
}

void transfer_find(const struct transfer *transfer, host_done_f done, gpointer data)
{
	submit(transfer, find_work, done, data);
}
