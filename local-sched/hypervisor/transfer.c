/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/hypervisor/transfer.h"

#include <libvirt/virterror.h>
#include <stdlib.h>

#include "common/error_fail.h"
#include "local-sched/hypervisor/domain.h"
#include "local-sched/hypervisor/domain_xml.h"
#include "local-sched/hypervisor/storage.h"
#include "local-sched/hypervisor/virt_error.h"

#define CHUNK (256 * 1024) /* the most bytes of a message in libvirt's protocol */
#define AT_HOLE (-3)       /* result of virStreamRecvFlags() */

/* A transfer for a worker thread; all is owned. */
struct order {
	struct host *to;
	char *to_uri;
	char *domain;
	char *keeper;
	GStrv changes;
	bool swap;
	bool tls;
	bool live; /* TRANSFER_LIVE */
	GCancellable *cancel;
};

static void order_free(gpointer data)
{
	struct order *order = data;

	host_unref(order->to);
	g_free(order->to_uri);
	g_free(order->domain);
	g_free(order->keeper);
	g_strfreev(order->changes);
	g_clear_object(&order->cancel);
	g_free(order);
}

/* Whether the transfer was cancelled, with `error` then. */
static bool is_cancelled(const struct order *order, GError **error)
{
	if (!order->cancel || !g_cancellable_is_cancelled(order->cancel))
		return false;
	g_set_error(error, VIRT_ERROR, VIRT_ERROR_OTHER, "VM '%s' is not to be moved any more",
		    order->domain);
	return true;
}

/*
 * Whether the call that migrates is under way. It is kept with the cancellable, which all orders
 * for a transfer share. It is set before the last check for cancellation: a transfer that was
 * cancelled and is not under way never will be.
 */
#define UNDER_WAY "transfer-under-way"

static void set_under_way(const struct order *order, bool under_way)
{
	if (order->cancel)
		g_object_set_data(G_OBJECT(order->cancel), UNDER_WAY, GINT_TO_POINTER(under_way));
}

static bool is_under_way(const struct order *order)
{
	return order->cancel && g_object_get_data(G_OBJECT(order->cancel), UNDER_WAY);
}

/* Migrating. */

/*
 * The URI for the VM's memory: the host in the peer's URI, whatever name that host has for itself.
 */
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

/* The XML of the VM on the other host, or NULL: unchanged. */
static char *changed_xml(virDomainPtr domain, const struct order *order)
{
	char *xml =
		order->changes[0] ? virDomainGetXMLDesc(domain, VIR_DOMAIN_XML_MIGRATABLE) : NULL;
	char *changed = xml ? domain_xml_change(xml, (const char *const *)order->changes) : NULL;

	free(xml); /* libvirt's, by malloc() */
	return changed;
}

/* The downtime that libvirt reports for the last migration of a VM, at its new host. */
static int64_t downtime_ns(const struct order *order)
{
	g_autoptr(virConnect) there = host_connect(order->to, NULL);
	g_autoptr(virDomain) domain = there ? virDomainLookupByName(there, order->domain) : NULL;
	virTypedParameterPtr params = NULL;
	unsigned long long downtime_ms = 0;
	int count = 0;
	int type;
	int known = 0;

	if (domain && virDomainGetJobStats(domain, &type, &params, &count,
					   VIR_DOMAIN_JOB_STATS_COMPLETED |
						   VIR_DOMAIN_JOB_STATS_KEEP_COMPLETED) == 0)
		known = virTypedParamsGetULLong(params, count, VIR_DOMAIN_JOB_DOWNTIME,
						&downtime_ms);
	virTypedParamsFree(params, count);
	virResetLastError();
	return known == 1 ? (int64_t)downtime_ms * 1000000 : -1;
}

/* The result for a migration that began at `start_ns`. */
static gpointer took(const struct order *order, int64_t start_ns)
{
	struct transfer_took *took;

	if (!order->live)
		return HOST_DONE;
	took = g_new0(struct transfer_took, 1);
	took->total_ns = platform_now_ns(host_platform(order->to)) - start_ns;
	took->downtime_ns = downtime_ns(order);
	return took;
}

/*
 * A guest that writes faster than the network sends is slowed down, so that the migration
 * converges.
 */
static unsigned int migrate_flags(const struct order *order)
{
	unsigned int flags = VIR_MIGRATE_PEER2PEER;

	flags |= order->live ? VIR_MIGRATE_LIVE | VIR_MIGRATE_AUTO_CONVERGE : VIR_MIGRATE_PAUSED;
	flags |= order->tls ? VIR_MIGRATE_TLS : 0;
	return order->swap ? flags | VIR_MIGRATE_NON_SHARED_DISK : flags;
}

static gpointer is_gone(const struct order *order, GError **error)
{
	return error_null(error, VIRT_ERROR, VIRT_ERROR_NO_DOMAIN, "VM '%s' is gone",
			  order->domain);
}

static gpointer migrate_work(virConnectPtr connection, gpointer input, GError **error)
{
	const struct order *order = input;
	g_autoptr(virDomain) domain = NULL;
	g_autofree char *uri = data_uri(order->to_uri);
	g_autofree char *xml = NULL;
	int64_t start_ns = platform_now_ns(host_platform(order->to));
	virTypedParameterPtr params = NULL;
	int count = 0;
	int max = 0;
	int result = -1;

	if (is_cancelled(order, error))
		return NULL;
	if (!domain_find(connection, order->domain, order->keeper, &domain, error))
		return NULL;
	if (!domain)
		return is_gone(order, error);
	xml = domain ? changed_xml(domain, order) : NULL;
	add_text(&params, &count, &max, VIR_MIGRATE_PARAM_URI, uri);
	add_text(&params, &count, &max, VIR_MIGRATE_PARAM_DEST_XML, xml);
	set_under_way(order, true);
	if (domain && !is_cancelled(order, error))
		result = virDomainMigrateToURI3(domain, order->to_uri, params, (unsigned)count,
						migrate_flags(order));
	set_under_way(order, false);
	if (result < 0 && !(error && *error))
		virt_error_set(error, "cannot move VM '%s' to host '%s'", order->domain,
			       host_name(order->to));
	virTypedParamsFree(params, count);
	return result < 0 ? NULL : took(order, start_ns);
}

/* Copying volumes. */

/* Copies all bytes; holes stay holes. */
static bool pass_on(virStreamPtr in, virStreamPtr out, const struct order *order)
{
	g_autofree char *buffer = g_malloc(CHUNK);
	long long hole;
	int got;

	while ((got = virStreamRecvFlags(in, buffer, CHUNK, VIR_STREAM_RECV_STOP_AT_HOLE)) != 0) {
		if (is_cancelled(order, NULL))
			return false;
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

static bool copy_bytes(virStorageVolPtr from, virStorageVolPtr to, uint64_t bytes,
		       const struct order *order)
{
	g_autoptr(virStream) in = virStreamNew(virStorageVolGetConnect(from), 0);
	g_autoptr(virStream) out = virStreamNew(virStorageVolGetConnect(to), 0);

	if (!in || !out ||
	    virStorageVolDownload(from, in, 0, bytes, VIR_STORAGE_VOL_DOWNLOAD_SPARSE_STREAM) < 0)
		return false;
	if (virStorageVolUpload(to, out, 0, bytes, VIR_STORAGE_VOL_UPLOAD_SPARSE_STREAM) == 0 &&
	    pass_on(in, out, order))
		return true;
	virStreamAbort(out);
	virStreamAbort(in);
	return false;
}

/*
 * Copies volume `name`. Replaces a volume of that name at the other host, which an earlier attempt
 * has left.
 */
static bool copy_volume(virStoragePoolPtr from, virStoragePoolPtr to, const char *name,
			unsigned int mode, const struct order *order, GError **error)
{
	g_autoptr(virStorageVol) source = virStorageVolLookupByName(from, name);
	g_autoptr(virStorageVol) copy = NULL;
	virStorageVolInfo info = {0};

	storage_delete(to, name);
	if (source && virStorageVolGetInfo(source, &info) == 0)
		copy = storage_create(to, name, info.capacity, mode);
	if (copy && copy_bytes(source, copy, info.capacity, order))
		return true;
	if (!is_cancelled(order, error)) {
		virt_error_set(error, "cannot copy volume '%s' to another host", name);
		storage_blame_room(to, name, info.allocation, error);
	}
	if (copy)
		virStorageVolDelete(copy, 0);
	return false;
}

/* Changes the XML in a saved VM's volume. */
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
	g_autoptr(virConnect) there = host_connect(order->to, error);
	g_autoptr(virStoragePool) from = there ? storage_open(connection, true, error) : NULL;
	g_autoptr(virStoragePool) to = from ? storage_open(there, true, error) : NULL;
	g_autofree char *image = storage_volume_name(order->domain, order->keeper, STORAGE_SAVED);
	g_autofree char *swap = storage_volume_name(order->domain, order->keeper, STORAGE_SWAP);

	if (!to || !copy_volume(from, to, image, 0600, order, error))
		return NULL;
	if ((!order->swap || copy_volume(from, to, swap, 0644, order, error)) &&
	    (!order->changes[0] || change_saved(there, to, image, order, error)))
		return HOST_DONE;
	storage_delete(to, image);
	storage_delete(to, swap);
	return NULL;
}

/* Finding. */

/* The state of a VM on a host. */
enum presence {
	ABSENT = 0,
	STILL,   /* it does not run, and no job of libvirt is under way */
	BUSY,    /* a job of libvirt is under way */
	RUNNING, /* it runs, and no job of libvirt is under way */
};

/* False with `error` where the host cannot be asked. */
static bool read_presence(virConnectPtr connection, const struct order *order,
			  enum presence *ret_presence, GError **error)
{
	g_autoptr(virDomain) domain = NULL;
	int state = VIR_DOMAIN_NOSTATE;
	virDomainJobInfo job = {0};

	*ret_presence = ABSENT;
	if (!domain_find(connection, order->domain, order->keeper, &domain, error))
		return false;
	if (!domain)
		return true;
	if (virDomainGetState(domain, &state, NULL, 0) == 0 && state != VIR_DOMAIN_SHUTOFF) {
		if (virDomainGetJobInfo(domain, &job) < 0 &&
		    virGetLastErrorCode() != VIR_ERR_NO_SUPPORT)
			*ret_presence = BUSY; /* QEMU did not answer */
		else if (job.type != VIR_DOMAIN_JOB_NONE)
			*ret_presence = BUSY;
		else
			*ret_presence = state == VIR_DOMAIN_RUNNING ? RUNNING : STILL;
		virResetLastError();
		return true;
	}
	if (state == VIR_DOMAIN_SHUTOFF || virGetLastErrorCode() == VIR_ERR_NO_DOMAIN) {
		virResetLastError();
		return true;
	}
	virt_error_set(error, "cannot look for VM '%s'", order->domain);
	return false;
}

/* Ends a job that is not wanted any more. */
static void end_job(virConnectPtr connection, const struct order *order)
{
	g_autoptr(virDomain) domain = NULL;

	if (domain_find(connection, order->domain, order->keeper, &domain, NULL) && domain)
		virDomainAbortJob(domain);
	virResetLastError();
}

/* Starts a VM again, which libvirt does itself after a failed live migration, if it can. */
static void set_going(virConnectPtr connection, const struct order *order)
{
	g_autoptr(virDomain) domain = NULL;

	if (domain_find(connection, order->domain, order->keeper, &domain, NULL) && domain)
		virDomainResume(domain);
	virResetLastError();
}

static gpointer abort_work(virConnectPtr connection, gpointer input, GError **error)
{
	end_job(connection, input);
	return HOST_DONE;
}

static gpointer not_known_yet(const struct order *order, GError **error)
{
	return error_null(error, VIRT_ERROR, VIRT_ERROR_CONNECTION, "VM '%s' is still on its way",
			  order->domain);
}

/* Where a frozen VM is: on the host that has it. */
static gpointer find_still(const struct order *order, enum presence here, enum presence there,
			   virConnectPtr connection, GError **error)
{
	if (here != ABSENT && there != ABSENT) {
		end_job(connection, order);
		return not_known_yet(order, error);
	}
	if (here == ABSENT && there == ABSENT)
		return is_gone(order, error);
	return GINT_TO_POINTER(here != ABSENT ? TRANSFER_FROM : TRANSFER_TO);
}

/*
 * Where a live VM is that is not RUNNING here. While this host has the VM, a frozen copy on the
 * other host is useless: the VM runs on here, and the copy ends by itself. A copy without an
 * original is complete.
 */
static gpointer find_live(const struct order *order, enum presence here, enum presence there,
			  virConnectPtr connection, virConnectPtr other, GError **error)
{
	if (there == RUNNING && here != BUSY)
		return GINT_TO_POINTER(TRANSFER_TO);
	if (here == ABSENT && there == ABSENT)
		return is_gone(order, error);
	if (here == BUSY)
		end_job(connection, order);
	else if (there == BUSY)
		return not_known_yet(order, error); /* it may be about to be started there */
	else if (here == STILL)
		set_going(connection, order);
	else if (there == STILL)
		set_going(other, order);
	return not_known_yet(order, error);
}

/* The search at the old host. */
static gpointer find_work(virConnectPtr connection, gpointer input, GError **error)
{
	const struct order *order = input;
	g_autoptr(virConnect) other = NULL;
	enum presence here;
	enum presence there;

	if (is_under_way(order)) {
		end_job(connection, order);
		return not_known_yet(order, error);
	}
	if (!read_presence(connection, order, &here, error))
		return NULL;
	/* The other host may be gone for good. */
	if (order->live && here == RUNNING)
		return GINT_TO_POINTER(TRANSFER_FROM);
	other = host_connect(order->to, error);
	if (!other || !read_presence(other, order, &there, error))
		return NULL;
	return order->live ? find_live(order, here, there, connection, other, error)
			   : find_still(order, here, there, connection, error);
}

/* The search at the new host, where the old one is out of reach, perhaps for good. */
static gpointer find_there_work(virConnectPtr connection, gpointer input, GError **error)
{
	const struct order *order = input;
	enum presence there;

	if (!read_presence(connection, order, &there, error))
		return NULL;
	return there == RUNNING ? GINT_TO_POINTER(TRANSFER_TO) : not_known_yet(order, error);
}

/* Orders. */

static struct order *order_new(const struct transfer *transfer)
{
	struct order *order = g_new0(struct order, 1);

	*order = (struct order){
		.to = host_ref(transfer->to),
		.to_uri = g_strdup(transfer->to_uri),
		.domain = g_strdup(transfer->domain),
		.keeper = g_strdup(transfer->keeper),
		.changes = g_strdupv((GStrv)transfer->changes),
		.swap = transfer->swap,
		.tls = transfer->tls,
		.live = transfer->manner == TRANSFER_LIVE,
		.cancel = transfer->cancel ? g_object_ref(transfer->cancel) : NULL,
	};
	return order;
}

static void submit(const struct transfer *transfer, enum host_lane lane, host_work_f work,
		   host_done_f done, gpointer data)
{
	const struct host_call call = {
		.vm = transfer->domain,
		.work = work,
		.input = order_new(transfer),
		.input_free = order_free,
		.result_free =
			work == migrate_work && transfer->manner == TRANSFER_LIVE ? g_free : NULL,
		.done = done,
		.data = data,
	};

	host_call(transfer->from, lane, &call);
}

void transfer_start(const struct transfer *transfer, host_done_f done, gpointer data)
{
	submit(transfer, HOST_LANE_MOVE,
	       transfer->manner == TRANSFER_SAVED ? carry_work : migrate_work, done, data);
}

void transfer_cancel(const struct transfer *transfer)
{
	g_cancellable_cancel(transfer->cancel);
	if (transfer->manner == TRANSFER_LIVE)
		submit(transfer, HOST_LANE_ACT, abort_work, NULL, NULL);
	else if (transfer->manner == TRANSFER_STILL)
		domain_destroy(transfer->from, transfer->domain, transfer->keeper, NULL, NULL);
}

/* A search for a VM at one host, and then perhaps at the other. */
struct search {
	struct order *order; /* for the other host */
	host_done_f done;
	gpointer data;
};

static void searched(gpointer result, const GError *error, gpointer data)
{
	g_autofree struct search *search = data;
	const struct host_call there = {
		.vm = search->order->domain,
		.work = find_there_work,
		.input = search->order,
		.input_free = order_free,
		.done = search->done,
		.data = search->data,
	};

	if (search->order->live && g_error_matches(error, VIRT_ERROR, VIRT_ERROR_CONNECTION)) {
		host_call(search->order->to, HOST_LANE_ACT, &there);
		return;
	}
	search->done(result, error, search->data);
	order_free(search->order);
}

void transfer_find(const struct transfer *transfer, host_done_f done, gpointer data)
{
	struct search *search = g_new0(struct search, 1);

	if (transfer->manner == TRANSFER_LIVE)
		/* a transfer that has not begun does not begin */
		g_cancellable_cancel(transfer->cancel);
	*search = (struct search){.order = order_new(transfer), .done = done, .data = data};
	submit(transfer, HOST_LANE_ACT, find_work, searched, search);
}
