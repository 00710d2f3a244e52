/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hosts in memory, and libvirt's functions for connections, their events and streams of ports. */
#include "tests/virtual/virtual_libvirt.h"

#include <string.h>

#include "common/json.h"
#include "tests/virtual/virtual_libvirt_private.h"

#define KEEPALIVE_MS 15000 /* until a connection to a host that is not reached breaks */
#define SLICE_MS 100       /* in which a call that waits looks around */
#define EVENT_MS 3         /* at most, of an event on its way */
#define REFUSED_MS 1
#define SILENT_MS 10000 /* of an attempt to connect to a host that does not answer */

struct virtual_libvirt *the_libvirt;

/* Errors. */

static virError last;
static char last_message[512];

int virtual_fail(int code, int from, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	g_vsnprintf(last_message, sizeof(last_message), format, arguments);
	va_end(arguments);
	last = (virError){.code = code,
			  .domain = from,
			  .level = VIR_ERR_ERROR,
			  .message = last_message};
	return -1;
}

virErrorPtr virGetLastError(void)
{
	return last.code == VIR_ERR_OK ? NULL : &last;
}

int virGetLastErrorCode(void)
{
	return last.code;
}

const char *virGetLastErrorMessage(void)
{
	return last.code == VIR_ERR_OK ? "no error" : last_message;
}

void virResetLastError(void)
{
	last = (virError){0};
}

virErrorPtr virSaveLastError(void)
{
	virErrorPtr saved = g_new(virError, 1);

	*saved = last;
	saved->message = g_strdup(last_message);
	return saved;
}

void virFreeError(virErrorPtr error)
{
	g_free(error->message);
	g_free(error);
}

void virSetErrorFunc(void *data, virErrorFunc handler)
{
}

int virInitialize(void)
{
	return 0;
}

/* What happens. */

void virtual_tell(struct virtual_libvirt *libvirt, const char *format, ...)
{
	g_autofree char *text = NULL;
	va_list arguments;

	if (!libvirt->tell)
		return;
	va_start(arguments, format);
	text = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	libvirt->tell(text, libvirt->tell_data);
}

/* From half of it to one and a half. */
guint virtual_about(struct virtual_libvirt *libvirt, guint ms)
{
	return ms / 2 + (guint)random_stream_below(&libvirt->random, ms + 1);
}

/* Calls. */

static int broken(const struct virtual_host *host)
{
	return virtual_fail(VIR_ERR_INTERNAL_ERROR, VIR_FROM_RPC,
			    "internal error: client socket to '%s' is closed", host->name);
}

static bool is_reached(const struct virtual_host *host)
{
	return !host->off && !host->cut;
}

static guint slow_ms(const struct virtual_host *host, const char *function)
{
	guint ms = 0;

	for (guint i = 0; i < host->faults->len; i++) {
		const struct fault *fault = host->faults->pdata[i];

		if (!fault->function || g_str_equal(fault->function, function))
			ms = MAX(ms, fault->slow_ms);
	}
	return ms;
}

/* Waits while nothing answers. False: the connection broke. */
static bool wait_out(virConnectPtr connection, const char *function)
{
	const struct virtual_host *host = connection->host;
	bool waits = true;

	while (!connection->broken && waits &&
	       (!is_reached(host) || slow_ms(host, function) == G_MAXUINT))
		waits = virtual_work_wait(SLICE_MS);
	return !connection->broken && is_reached(host) && slow_ms(host, function) != G_MAXUINT;
}

/* Whether a fault was ordered for the call. */
static bool has_fault(struct virtual_host *host, const char *function)
{
	for (guint i = 0; i < host->faults->len; i++) {
		struct fault *fault = host->faults->pdata[i];

		if (fault->count == 0 ||
		    (fault->function && !g_str_equal(fault->function, function)))
			continue;
		fault->count--;
		virtual_fail(fault->code, fault->from, "%s fails as the test wants it", function);
		virtual_tell(host->libvirt, "%s: %s", host->name, last_message);
		return true;
	}
	return false;
}

bool virtual_call(virConnectPtr connection, const char *function)
{
	struct virtual_host *host = connection->host;
	const guint more_ms = slow_ms(host, function);

	virResetLastError();
	if (!connection->broken)
		virtual_work_wait(virtual_about(host->libvirt, host->libvirt->times.call_ms));
	if (more_ms > 0 && more_ms != G_MAXUINT)
		virtual_work_wait(more_ms);
	if (!wait_out(connection, function)) {
		broken(host);
		return false;
	}
	return !has_fault(host, function);
}

bool virtual_call_goes_on(virConnectPtr connection, guint ms)
{
	const bool waited = ms == 0 || virtual_work_wait(ms);

	if (waited && wait_out(connection, "virStreamRecv"))
		return true;
	broken(connection->host);
	return false;
}

/* Connections. */

virConnectPtr virtual_connection_ref(virConnectPtr connection)
{
	connection->refs++;
	return connection;
}

void virtual_handle_add(virConnectPtr connection, void *handle)
{
	g_ptr_array_add(connection->handles, handle);
}

void virtual_handle_remove(virConnectPtr connection, void *handle)
{
	g_ptr_array_remove(connection->handles, handle);
}

/* The host in "qemu+tcp://HOST/system". */
static char *host_of(const char *uri)
{
	const char *host = uri ? strstr(uri, "://") : NULL;

	return host ? g_strndup(host + 3, strcspn(host + 3, "/")) : g_strdup("");
}

static virConnectPtr connection_new(struct virtual_host *host)
{
	virConnectPtr connection = g_new0(struct _virConnect, 1);

	connection->refs = 1;
	connection->host = host;
	connection->platform = virtual_work_platform();
	connection->handles = g_ptr_array_new();
	connection->callbacks = g_array_new(FALSE, FALSE, sizeof(struct callback));
	connection->next_id = 1;
	connection->link.data = connection;
	g_queue_push_tail_link(&host->connections, &connection->link);
	return connection;
}

virConnectPtr virConnectOpen(const char *uri)
{
	g_autofree char *name = host_of(uri);
	struct virtual_host *host = virtual_host_find(the_libvirt, name);

	virResetLastError();
	virtual_work_wait(host && !is_reached(host) ? SILENT_MS : REFUSED_MS);
	if (!host)
		virtual_fail(VIR_ERR_SYSTEM_ERROR, VIR_FROM_RPC,
			     "unable to connect to server at '%s': Name or service not known",
			     name);
	else if (!is_reached(host))
		virtual_fail(VIR_ERR_SYSTEM_ERROR, VIR_FROM_RPC,
			     "unable to connect to server at '%s': No route to host", name);
	else if (host->stopped)
		virtual_fail(VIR_ERR_SYSTEM_ERROR, VIR_FROM_RPC,
			     "unable to connect to server at '%s': Connection refused", name);
	else if (!has_fault(host, __func__))
		return connection_new(host);
	return NULL;
}

/* What is bound to a connection ends with it. */
static void unbind(virConnectPtr connection)
{
	const GPtrArray *vms = connection->host->vms;

	for (guint i = vms->len; i > 0; i--) {
		struct virtual_vm *vm = vms->pdata[i - 1];

		if (vm->bound == connection) {
			vm->bound = NULL;
			virtual_vm_end(vm, VIR_DOMAIN_EVENT_STOPPED_DESTROYED);
		}
	}
}

static void callback_clear(struct callback *callback)
{
	if (callback->free)
		callback->free(callback->data);
}

int virConnectClose(virConnectPtr conn)
{
	if (--conn->refs > 0)
		return 1;
	unbind(conn);
	for (guint i = 0; i < conn->callbacks->len; i++)
		callback_clear(&g_array_index(conn->callbacks, struct callback, i));
	g_queue_unlink(&conn->host->connections, &conn->link);
	g_array_unref(conn->callbacks);
	g_ptr_array_unref(conn->handles);
	g_free(conn);
	return 0;
}

int virConnectIsAlive(virConnectPtr conn)
{
	virResetLastError();
	return !conn->broken;
}

int virConnectSetKeepAlive(virConnectPtr conn, int interval, unsigned int count)
{
	return 0;
}

int virConnectRegisterCloseCallback(virConnectPtr conn, virConnectCloseFunc cb, void *opaque,
				    virFreeCallback freecb)
{
	conn->closed = cb;
	conn->closed_data = opaque;
	return 0;
}

int virConnectUnregisterCloseCallback(virConnectPtr conn, virConnectCloseFunc cb)
{
	conn->closed = NULL;
	return 0;
}

/* The news that a connection broke, for its daemon. */
struct closing {
	virConnectPtr connection;
	int reason;
};

static gboolean tell_closed(gpointer data)
{
	g_autofree struct closing *closing = data;
	virConnectPtr connection = closing->connection;

	connection->closing = false;
	if (connection->closed && !connection->forgotten)
		connection->closed(connection, closing->reason, connection->closed_data);
	virConnectClose(connection);
	return G_SOURCE_REMOVE;
}

/* Its streams are silent from then on. */
static void break_connection(virConnectPtr connection, int reason)
{
	struct closing *closing = g_new(struct closing, 1);

	if (connection->broken) {
		g_free(closing);
		return;
	}
	connection->broken = connection->closing = true;
	*closing = (struct closing){virtual_connection_ref(connection), reason};
	platform_soon(connection->host->platform, G_PRIORITY_DEFAULT, tell_closed, closing);
	unbind(connection);
}

static void break_all(struct virtual_host *host, int reason)
{
	GList *next;

	for (GList *link = host->connections.head; link; link = next) {
		next = link->next;
		break_connection(link->data, reason);
	}
}

/* Facts. */

char *virConnectGetCapabilities(virConnectPtr conn)
{
	g_autofree char *xml = NULL;

	if (!virtual_call(conn, __func__))
		return NULL;
	xml = g_strdup_printf("<capabilities>\n  <host>\n    <cpu>\n      <model>EPYC</model>\n"
			      "      <microcode version='137363981'/>\n%s    </cpu>\n  </host>\n"
			      "</capabilities>\n",
			      conn->host->kvm ? "      <feature name='svm'/>\n" : "");
	return strdup(xml);
}

char *virConnectBaselineCPU(virConnectPtr conn, const char **xmlCPUs, unsigned int ncpus,
			    unsigned int flags)
{
	return virtual_call(conn, __func__) ? strdup("<cpu mode='custom'/>") : NULL;
}

char *virConnectGetHostname(virConnectPtr conn)
{
	return virtual_call(conn, __func__) ? strdup(conn->host->name) : NULL;
}

char *virConnectGetURI(virConnectPtr conn)
{
	g_autofree char *uri = g_strdup_printf("qemu+tcp://%s/system", conn->host->name);

	return strdup(uri);
}

int virConnectGetLibVersion(virConnectPtr conn, unsigned long *version)
{
	*version = 9000000;
	return virtual_call(conn, __func__) ? 0 : -1;
}

int virConnectGetVersion(virConnectPtr conn, unsigned long *version)
{
	*version = 7002000;
	return virtual_call(conn, __func__) ? 0 : -1;
}

int virNodeGetInfo(virConnectPtr conn, virNodeInfoPtr info)
{
	const struct virtual_host *host = conn->host;

	if (!virtual_call(conn, __func__))
		return -1;
	*info = (virNodeInfo){.model = "x86_64",
			      .memory = host->memory_mib * 1024,
			      .cpus = host->cpus,
			      .mhz = 2660,
			      .nodes = 1,
			      .sockets = 1,
			      .cores = host->cpus,
			      .threads = 1};
	return 0;
}

int virNodeGetCPUMap(virConnectPtr conn, unsigned char **map, unsigned int *online,
		     unsigned int flags)
{
	const guint cpus = conn->host->cpus;

	if (!virtual_call(conn, __func__))
		return -1;
	*map = calloc(PIN_BYTES, 1);
	for (guint i = 0; i < cpus; i++)
		(*map)[i / 8] |= (unsigned char)(1u << i % 8);
	return (int)cpus;
}

static uint64_t cpu_ns(const struct virtual_host *host)
{
	uint64_t ns = host->gone_cpu_ns;

	for (guint i = 0; i < host->vms->len; i++)
		ns += virtual_vm_cpu_ns(host->vms->pdata[i]);
	return ns;
}

/* A host does a little beside its VMs. */
int virNodeGetCPUStats(virConnectPtr conn, int cpuNum, virNodeCPUStatsPtr params, int *nparams,
		       unsigned int flags)
{
	const struct virtual_host *host = conn->host;

	if (!virtual_call(conn, __func__))
		return -1;
	if (!params) {
		*nparams = 2;
		return 0;
	}
	g_strlcpy(params[0].field, VIR_NODE_CPU_STATS_KERNEL, sizeof(params[0].field));
	params[0].value = (unsigned long long)platform_now_ns(host->platform) / 100;
	g_strlcpy(params[1].field, VIR_NODE_CPU_STATS_USER, sizeof(params[1].field));
	params[1].value = cpu_ns(host);
	return 0;
}

static uint64_t free_kib(const struct virtual_host *host)
{
	uint64_t kib = host->memory_mib * 1024;

	for (guint i = 0; i < host->vms->len; i++)
		kib -= MIN(kib, ((const struct virtual_vm *)host->vms->pdata[i])->memory_kib);
	return kib;
}

int virNodeGetMemoryStats(virConnectPtr conn, int cellNum, virNodeMemoryStatsPtr params,
			  int *nparams, unsigned int flags)
{
	const struct virtual_host *host = conn->host;

	if (!virtual_call(conn, __func__))
		return -1;
	if (!params) {
		*nparams = 2;
		return 0;
	}
	g_strlcpy(params[0].field, VIR_NODE_MEMORY_STATS_TOTAL, sizeof(params[0].field));
	params[0].value = host->memory_mib * 1024;
	g_strlcpy(params[1].field, VIR_NODE_MEMORY_STATS_FREE, sizeof(params[1].field));
	params[1].value = free_kib(host);
	return 0;
}

/* Events. */

enum { MONITOR = -1 };

struct event {
	struct virtual_host *host;
	guint vm; /* id */
	char *name;
	int id; /* VIR_DOMAIN_EVENT_ID_..., or MONITOR */
	int what;
	int detail;
	int64_t us;
};

static void event_free(gpointer data)
{
	struct event *event = data;

	g_free(event->name);
	g_free(event);
}

static void call_back(virConnectPtr connection, const struct callback *callback,
		      const struct event *event)
{
	struct _virDomain domain = {.connection = connection, .name = event->name, .vm = event->vm};

	if (callback->event == VIR_DOMAIN_EVENT_ID_LIFECYCLE)
		((virConnectDomainEventCallback)callback->function)(connection, &domain,
								    event->what, event->detail,
								    callback->data);
	else if (callback->event == VIR_DOMAIN_EVENT_ID_AGENT_LIFECYCLE)
		((virConnectDomainEventAgentLifecycleCallback)callback->function)(
			connection, &domain, event->what, event->detail, callback->data);
	else
		((virConnectDomainQemuMonitorEventCallback)callback->function)(
			connection, &domain, "STOP", event->us / G_USEC_PER_SEC,
			(unsigned int)(event->us % G_USEC_PER_SEC), NULL, callback->data);
}

static void deliver_to(virConnectPtr connection, const struct event *event)
{
	for (guint i = 0; i < connection->callbacks->len; i++) {
		const struct callback callback =
			g_array_index(connection->callbacks, struct callback, i);

		if (callback.event == event->id)
			call_back(connection, &callback, event);
	}
}

static void await_event(struct virtual_host *host);

static gboolean deliver_event(gpointer data)
{
	struct virtual_host *host = data;
	struct event *event = g_queue_pop_head(&host->events);

	host->event_source = 0;
	for (GList *link = host->connections.head; link; link = link->next) {
		virConnectPtr connection = link->data;

		if (!connection->broken && !connection->forgotten && is_reached(host))
			deliver_to(connection, event);
	}
	event_free(event);
	await_event(host);
	return G_SOURCE_REMOVE;
}

static void await_event(struct virtual_host *host)
{
	if (host->event_source == 0 && !g_queue_is_empty(&host->events))
		host->event_source =
			platform_after_ms(host->platform,
					  (guint)random_stream_below(&host->libvirt->random,
								     EVENT_MS + 1),
					  deliver_event, host);
}

static void post(struct virtual_vm *vm, int id, int what, int detail)
{
	struct event *event = g_new(struct event, 1);
	struct virtual_host *host = vm->host;

	*event = (struct event){.host = host,
				.vm = vm->id,
				.name = g_strdup(vm->name),
				.id = id,
				.what = what,
				.detail = detail,
				.us = platform_utc_us(host->platform)};
	g_queue_push_tail(&host->events, event);
	await_event(host);
}

void virtual_event(struct virtual_vm *vm, int event, int detail)
{
	post(vm, VIR_DOMAIN_EVENT_ID_LIFECYCLE, event, detail);
	if (event == VIR_DOMAIN_EVENT_SUSPENDED)
		post(vm, MONITOR, 0, 0);
	virtual_tell(vm->host->libvirt, "%s: VM '%s': event %d, detail %d", vm->host->name,
		     vm->name, event, detail);
}

void virtual_agent_event(struct virtual_vm *vm, bool connected)
{
	post(vm, VIR_DOMAIN_EVENT_ID_AGENT_LIFECYCLE,
	     connected ? VIR_CONNECT_DOMAIN_EVENT_AGENT_LIFECYCLE_STATE_CONNECTED
		       : VIR_CONNECT_DOMAIN_EVENT_AGENT_LIFECYCLE_STATE_DISCONNECTED,
	     VIR_CONNECT_DOMAIN_EVENT_AGENT_LIFECYCLE_REASON_CHANNEL);
	virtual_tell(vm->host->libvirt, "%s: VM '%s': its agent is %s", vm->host->name, vm->name,
		     connected ? "there" : "gone");
}

static int register_callback(virConnectPtr connection, int event, void (*function)(void),
			     void *data, virFreeCallback free)
{
	const struct callback callback = {connection->next_id++, event, function, data, free};

	if (!virtual_call(connection, "virConnectDomainEventRegisterAny"))
		return -1;
	g_array_append_val(connection->callbacks, callback);
	return callback.id;
}

static int deregister_callback(virConnectPtr connection, int id)
{
	for (guint i = 0; i < connection->callbacks->len; i++) {
		struct callback callback = g_array_index(connection->callbacks, struct callback, i);

		if (callback.id != id)
			continue;
		g_array_remove_index(connection->callbacks, i);
		callback_clear(&callback);
		return 0;
	}
	return virtual_fail(VIR_ERR_INVALID_ARG, VIR_FROM_NONE, "invalid argument: no callback %d",
			    id);
}

int virConnectDomainEventRegisterAny(virConnectPtr conn, virDomainPtr dom, int eventID,
				     virConnectDomainEventGenericCallback cb, void *opaque,
				     virFreeCallback freecb)
{
	return register_callback(conn, eventID, (void (*)(void))cb, opaque, freecb);
}

int virConnectDomainEventDeregisterAny(virConnectPtr conn, int callbackID)
{
	return deregister_callback(conn, callbackID);
}

int virConnectDomainQemuMonitorEventRegister(virConnectPtr conn, virDomainPtr dom,
					     const char *event,
					     virConnectDomainQemuMonitorEventCallback cb,
					     void *opaque, virFreeCallback freecb,
					     unsigned int flags)
{
	return register_callback(conn, MONITOR, (void (*)(void))cb, opaque, freecb);
}

int virConnectDomainQemuMonitorEventDeregister(virConnectPtr conn, int callbackID)
{
	return deregister_callback(conn, callbackID);
}

/* Streams. */

virStreamPtr virStreamNew(virConnectPtr conn, unsigned int flags)
{
	virStreamPtr stream = g_new0(struct _virStream, 1);

	stream->handle = HANDLE_STREAM;
	stream->refs = 1;
	stream->connection = virtual_connection_ref(conn);
	stream->in = g_byte_array_new();
	virtual_handle_add(conn, stream);
	return stream;
}

/* The VM whose port a stream is; NULL: none any more. */
static struct virtual_vm *vm_of(virStreamPtr stream)
{
	return stream->port ? virtual_vm_find(stream->connection->host, stream->vm) : NULL;
}

static void detach(virStreamPtr stream)
{
	struct virtual_vm *vm = vm_of(stream);

	if (vm)
		vm->streams = g_list_remove(vm->streams, stream);
}

static void stream_clear(virStreamPtr stream)
{
	detach(stream);
	g_clear_handle_id(&stream->source, g_source_remove);
	g_byte_array_unref(stream->in);
	g_free(stream->port);
	g_free(stream->volume);
}

int virStreamFree(virStreamPtr stream)
{
	virConnectPtr connection = stream->connection;

	if (--stream->refs > 0)
		return 0;
	stream_clear(stream);
	virtual_handle_remove(connection, stream);
	g_free(stream);
	virConnectClose(connection);
	return 0;
}

int virStreamAbort(virStreamPtr stream)
{
	detach(stream);
	return 0;
}

static int ready_events(virStreamPtr stream)
{
	int events = stream->in->len > 0 ? VIR_STREAM_EVENT_READABLE : 0;

	events |= stream->hung_up ? VIR_STREAM_EVENT_HANGUP : VIR_STREAM_EVENT_WRITABLE;
	return events & stream->events;
}

static gboolean stream_event(gpointer data)
{
	virStreamPtr stream = data;
	const int events = ready_events(stream);

	stream->source = 0;
	if (!stream->callback || events == 0 || stream->connection->broken ||
	    stream->connection->forgotten)
		return G_SOURCE_REMOVE;
	stream->refs++;
	stream->callback(stream, events, stream->data);
	if (stream->callback && !stream->hung_up)
		virtual_stream_wake(stream);
	virStreamFree(stream);
	return G_SOURCE_REMOVE;
}

void virtual_stream_wake(virStreamPtr stream)
{
	if (stream->callback && stream->source == 0 && ready_events(stream) != 0 &&
	    is_reached(stream->connection->host))
		stream->source = platform_after_ms(stream->connection->host->platform, 1,
						   stream_event, stream);
}

void virtual_stream_hang_up(virStreamPtr stream)
{
	stream->hung_up = true;
	virtual_stream_wake(stream);
}

int virStreamEventAddCallback(virStreamPtr stream, int events, virStreamEventCallback cb,
			      void *opaque, virFreeCallback ff)
{
	stream->events = events;
	stream->callback = cb;
	stream->data = opaque;
	virtual_stream_wake(stream);
	return 0;
}

int virStreamEventUpdateCallback(virStreamPtr stream, int events)
{
	stream->events = events;
	virtual_stream_wake(stream);
	return 0;
}

int virStreamEventRemoveCallback(virStreamPtr stream)
{
	stream->callback = NULL;
	g_clear_handle_id(&stream->source, g_source_remove);
	return 0;
}

int virStreamRecv(virStreamPtr stream, char *data, size_t nbytes)
{
	const guint length = MIN(stream->in->len, (guint)nbytes);

	virResetLastError();
	if (stream->connection->broken)
		return broken(stream->connection->host);
	if (length == 0)
		return stream->hung_up ? 0 : -2;
	memcpy(data, stream->in->data, length);
	g_byte_array_remove_range(stream->in, 0, length);
	return (int)length;
}

int virStreamSend(virStreamPtr stream, const char *data, size_t nbytes)
{
	struct virtual_vm *vm = vm_of(stream);

	virResetLastError();
	if (stream->volume)
		return virtual_volume_send(stream, data, nbytes);
	if (stream->connection->broken)
		return broken(stream->connection->host);
	if (!vm || stream->hung_up)
		return virtual_fail(VIR_ERR_SYSTEM_ERROR, VIR_FROM_STREAMS,
				    "cannot write to stream: Broken pipe");
	if (vm->guest)
		virtual_guest_input(vm->guest, stream->port, data, nbytes);
	return (int)nbytes;
}

bool virtual_port_output(struct virtual_vm *vm, const char *port, const void *bytes, size_t length)
{
	for (GList *link = vm->streams; link; link = link->next) {
		virStreamPtr stream = link->data;

		if (!g_str_equal(stream->port, port) || stream->connection->broken)
			continue;
		g_byte_array_append(stream->in, bytes, (guint)length);
		virtual_stream_wake(stream);
		return true;
	}
	return false;
}

/* Hosts. */

struct virtual_host *virtual_host_find(struct virtual_libvirt *libvirt, const char *name)
{
	for (guint i = 0; i < libvirt->hosts->len; i++) {
		struct virtual_host *host = libvirt->hosts->pdata[i];

		if (g_str_equal(host->name, name))
			return host;
	}
	return NULL;
}

static gboolean cut_long(gpointer data)
{
	struct virtual_host *host = data;

	host->cut_source = 0;
	break_all(host, VIR_CONNECT_CLOSE_REASON_KEEPALIVE);
	return G_SOURCE_REMOVE;
}

/* Connections break unless the host is reached again in time. */
static void count_down(struct virtual_host *host)
{
	if (!is_reached(host) && host->cut_source == 0)
		host->cut_source = platform_after_ms(host->platform, KEEPALIVE_MS, cut_long, host);
	else if (is_reached(host))
		g_clear_handle_id(&host->cut_source, g_source_remove);
}

static void wake_streams(struct virtual_host *host)
{
	for (guint i = 0; i < host->vms->len; i++)
		for (GList *link = ((struct virtual_vm *)host->vms->pdata[i])->streams; link;
		     link = link->next)
			virtual_stream_wake(link->data);
}

void virtual_host_power(struct virtual_libvirt *libvirt, const char *name, bool on)
{
	struct virtual_host *host = virtual_host_find(libvirt, name);

	if (!host || host->off != on)
		return;
	virtual_tell(libvirt, "%s: its power is %s", name, on ? "back" : "gone");
	/* Connections from before do not survive it. */
	if (on)
		break_all(host, VIR_CONNECT_CLOSE_REASON_ERROR);
	host->off = !on;
	while (host->vms->len > 0)
		virtual_vm_end(host->vms->pdata[host->vms->len - 1], -1);
	g_queue_clear_full(&host->events, event_free);
	g_clear_handle_id(&host->event_source, g_source_remove);
	count_down(host);
}

void virtual_host_cut(struct virtual_libvirt *libvirt, const char *name, bool cut)
{
	struct virtual_host *host = virtual_host_find(libvirt, name);

	if (!host || host->cut == cut)
		return;
	virtual_tell(libvirt, "%s: its network is %s", name, cut ? "cut" : "back");
	host->cut = cut;
	count_down(host);
	if (!cut)
		wake_streams(host);
}

static gboolean is_back(gpointer data)
{
	struct virtual_host *host = data;

	host->back_source = 0;
	host->stopped = false;
	virtual_tell(host->libvirt, "%s: its libvirtd is back", host->name);
	return G_SOURCE_REMOVE;
}

void virtual_host_restart(struct virtual_libvirt *libvirt, const char *name, guint back_ms)
{
	struct virtual_host *host = virtual_host_find(libvirt, name);

	if (!host || host->off || host->stopped)
		return;
	virtual_tell(libvirt, "%s: its libvirtd ends", name);
	host->stopped = true;
	for (guint i = 0; i < host->vms->len; i++) {
		struct virtual_vm *vm = host->vms->pdata[i];

		if (vm->job)
			vm->job->aborted = true;
	}
	break_all(host, VIR_CONNECT_CLOSE_REASON_EOF);
	host->back_source = platform_after_ms(host->platform, back_ms, is_back, host);
}

static struct fault *fault_of(struct virtual_libvirt *libvirt, const char *name,
			      const char *function)
{
	struct virtual_host *host = virtual_host_find(libvirt, name);
	struct fault *fault;

	if (!host)
		return NULL;
	for (guint i = 0; i < host->faults->len; i++) {
		fault = host->faults->pdata[i];
		if (g_strcmp0(fault->function, function) == 0)
			return fault;
	}
	fault = g_new0(struct fault, 1);
	fault->function = g_strdup(function);
	g_ptr_array_add(host->faults, fault);
	return fault;
}

void virtual_host_fail(struct virtual_libvirt *libvirt, const char *name, const char *function,
		       guint count, int code, int from)
{
	struct fault *fault = fault_of(libvirt, name, function);

	if (!fault)
		return;
	fault->count = count;
	fault->code = code;
	fault->from = from;
}

void virtual_host_slow(struct virtual_libvirt *libvirt, const char *name, const char *function,
		       guint ms)
{
	struct fault *fault = fault_of(libvirt, name, function);

	if (fault)
		fault->slow_ms = ms;
}

static void fault_free(gpointer data)
{
	struct fault *fault = data;

	g_free(fault->function);
	g_free(fault);
}

void virtual_libvirt_add_host(struct virtual_libvirt *libvirt, const struct virtual_host_spec *spec)
{
	struct virtual_host *host = g_new0(struct virtual_host, 1);

	host->libvirt = libvirt;
	host->platform = spec->platform;
	host->name = g_strdup(spec->name);
	host->cpus = spec->cpus;
	host->memory_mib = spec->memory_mib;
	host->pool_bytes = spec->pool_mib << 20;
	host->kvm = spec->kvm;
	host->vms = g_ptr_array_new();
	host->jobs = g_ptr_array_new();
	host->faults = g_ptr_array_new_with_free_func(fault_free);
	host->volumes = g_ptr_array_new_with_free_func(virtual_volume_free);
	g_ptr_array_add(libvirt->hosts, host);
}

/* What a daemon had is dropped; nothing of it is called. */
static void forget(virConnectPtr connection)
{
	connection->forgotten = true;
	connection->closed = NULL;
	g_array_set_size(connection->callbacks, 0);
	unbind(connection);
	for (guint i = connection->handles->len; i > 0; i--) {
		enum handle *handle = connection->handles->pdata[i - 1];

		if (*handle == HANDLE_STREAM)
			stream_clear((virStreamPtr)handle);
		else if (*handle == HANDLE_DOMAIN)
			g_free(((virDomainPtr)handle)->name);
		else if (*handle == HANDLE_VOLUME)
			g_free(((virStorageVolPtr)handle)->name);
		g_free(handle);
	}
	g_ptr_array_set_size(connection->handles, 0);
	connection->refs = connection->closing ? 2 : 1;
	virConnectClose(connection);
}

void virtual_libvirt_forget(struct virtual_libvirt *libvirt, const struct platform *platform)
{
	for (guint i = 0; i < libvirt->hosts->len; i++) {
		struct virtual_host *host = libvirt->hosts->pdata[i];
		GList *next;

		for (GList *link = host->connections.head; link; link = next) {
			virConnectPtr connection = link->data;

			next = link->next;
			if (connection->platform == platform && !connection->forgotten)
				forget(connection);
		}
	}
}

static void host_free(struct virtual_host *host)
{
	g_clear_handle_id(&host->cut_source, g_source_remove);
	g_clear_handle_id(&host->back_source, g_source_remove);
	virtual_jobs_drop(host);
	while (host->vms->len > 0)
		virtual_vm_end(host->vms->pdata[host->vms->len - 1], -1);
	g_queue_clear_full(&host->events, event_free);
	g_clear_handle_id(&host->event_source, g_source_remove);
	g_assert_true(g_queue_is_empty(&host->connections));
	g_ptr_array_unref(host->vms);
	g_ptr_array_unref(host->jobs);
	g_ptr_array_unref(host->faults);
	g_ptr_array_unref(host->volumes);
	g_free(host->name);
	g_free(host);
}

struct virtual_libvirt *virtual_libvirt_new(uint64_t seed)
{
	struct virtual_libvirt *libvirt = g_new0(struct virtual_libvirt, 1);

	g_assert_null(the_libvirt);
	the_libvirt = libvirt;
	random_stream_init(&libvirt->random, seed, 1);
	libvirt->times = (struct virtual_times){.call_ms = 2,
						.boot_ms = 2000,
						.repetition_ms = 1000,
						.memory_mib_per_s = 200};
	libvirt->hosts = g_ptr_array_new();
	libvirt->saved = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
					       (GDestroyNotify)virtual_vm_free);
	return libvirt;
}

void virtual_libvirt_free(struct virtual_libvirt *libvirt)
{
	if (!libvirt)
		return;
	for (guint i = 0; i < libvirt->hosts->len; i++)
		host_free(libvirt->hosts->pdata[i]);
	g_ptr_array_unref(libvirt->hosts);
	g_hash_table_unref(libvirt->saved);
	g_free(libvirt);
	the_libvirt = NULL;
}

void virtual_libvirt_listen(struct virtual_libvirt *libvirt,
			    void (*tell)(const char *text, void *data), void *data)
{
	libvirt->tell = tell;
	libvirt->tell_data = data;
}

struct virtual_times *virtual_libvirt_times(struct virtual_libvirt *libvirt)
{
	return &libvirt->times;
}

/* What there is. */

static gint by_name(gconstpointer a, gconstpointer b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static char **sorted(GPtrArray *names)
{
	g_ptr_array_sort(names, by_name);
	g_ptr_array_add(names, NULL);
	return (char **)g_ptr_array_free(names, FALSE);
}

char **virtual_host_vms(struct virtual_libvirt *libvirt, const char *name)
{
	const struct virtual_host *host = virtual_host_find(libvirt, name);
	GPtrArray *names = g_ptr_array_new();

	for (guint i = 0; host && i < host->vms->len; i++)
		g_ptr_array_add(names, g_strdup(((struct virtual_vm *)host->vms->pdata[i])->name));
	return sorted(names);
}

char **virtual_host_volumes(struct virtual_libvirt *libvirt, const char *name)
{
	const struct virtual_host *host = virtual_host_find(libvirt, name);
	GPtrArray *names = g_ptr_array_new();

	for (guint i = 0; host && i < host->volumes->len; i++)
		g_ptr_array_add(names, g_strdup(((struct volume *)host->volumes->pdata[i])->name));
	return sorted(names);
}

uint64_t virtual_host_cpu_ns(struct virtual_libvirt *libvirt, const char *name)
{
	const struct virtual_host *host = virtual_host_find(libvirt, name);

	return host ? cpu_ns(host) : 0;
}

/* The image. */

void virtual_image_write(const char *directory)
{
	static const char *const names[] = {"vmlinuz", "initramfs", "root.squashfs"};
	g_autoptr(json_t) manifest = json_pack("{s:[]}", "files");
	g_autofree char *path = g_build_filename(directory, "manifest.json", NULL);
	g_autofree char *text = NULL;

	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree char *file = g_build_filename(directory, names[i], NULL);
		g_autofree char *sum =
			g_compute_checksum_for_string(G_CHECKSUM_SHA256, names[i], -1);

		g_assert_true(g_file_set_contents(file, names[i], -1, NULL));
		json_array_append_new(json_object_get(manifest, "files"),
				      json_pack("{s:s, s:s, s:i}", "name", names[i], "sha256", sum,
						"bytes", (int)strlen(names[i])));
	}
	text = json_text(manifest);
	g_assert_true(g_file_set_contents(path, text, -1, NULL));
}
