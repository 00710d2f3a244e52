/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/hypervisor/host.h"

#include <libvirt/libvirt-qemu.h>
#include <libvirt/virterror.h>

#include "common/handoff.h"
#include "local-sched/hypervisor/pause.h"
#include "local-sched/hypervisor/virt_error.h"

#define KEEPALIVE_INTERVAL_S 5
#define KEEPALIVE_COUNT 3
#define RETRY_MAX_MS 5000

struct lane {
	GThreadPool *pool;
	GMutex lock; /* of connection */
	virConnectPtr connection;
};

struct host {
	gatomicrefcount references; /* the owner's, and one per call and idle event under way */
	gint closed;                /* atomic: nothing is delivered any more */
	guint doubtful;             /* atomic: the control connection is to be opened anew */
	char *name;
	char *uri;
	const struct host_events *events;
	void *data;
	struct lane lanes[HOST_LANES];
	int lifecycle_id; /* callbacks on the control connection, valid while it is open */
	int agent_id;
	int frozen_id;
	bool connected; /* main loop only, as the rest below */
	guint retry_source;
	guint retry_ms;
	char *trouble; /* why the last attempt to connect failed, as told; NULL: it did not */
};

/* A call on its way: to a worker, and back. */
struct errand {
	struct host *host;
	enum host_lane lane;
	struct host_call call;
	gpointer result;
	GError *error;
};

/* An event on its way from libvirt to the main loop. */
struct notice {
	struct host *host;
	void (*deliver)(struct notice *notice);
	bool flag;
	int64_t time_us;
	char *name;
	char *reason;
};

void host_unref(struct host *host)
{
	HANDOFF_GIVE(host);
	if (!g_atomic_ref_count_dec(&host->references))
		return;
	HANDOFF_TAKE(host);
	for (int i = 0; i < HOST_LANES; i++)
		g_mutex_clear(&host->lanes[i].lock);
	g_free(host->trouble);
	g_free(host->name);
	g_free(host->uri);
	g_free(host);
}

struct host *host_ref(struct host *host)
{
	g_atomic_ref_count_inc(&host->references);
	return host;
}

/* Notices. */

static void notice_free(gpointer data)
{
	struct notice *notice = data;

	HANDOFF_TAKE(notice);
	host_unref(notice->host);
	g_free(notice->name);
	g_free(notice->reason);
	g_free(notice);
}

static gboolean notice_deliver(gpointer data)
{
	struct notice *notice = data;

	HANDOFF_TAKE(notice);
	if (!g_atomic_int_get(&notice->host->closed))
		notice->deliver(notice);
	return G_SOURCE_REMOVE;
}

static void notify_at(struct host *host, void (*deliver)(struct notice *notice), bool flag,
		      int64_t time_us, const char *name, const char *reason)
{
	struct notice *notice = g_new0(struct notice, 1);

	*notice = (struct notice){
		.host = host_ref(host),
		.deliver = deliver,
		.flag = flag,
		.time_us = time_us,
		.name = g_strdup(name),
		.reason = g_strdup(reason),
	};
	HANDOFF_GIVE(notice);
	g_idle_add_full(G_PRIORITY_DEFAULT, notice_deliver, notice, notice_free);
}

static void notify(struct host *host, void (*deliver)(struct notice *notice), bool flag,
		   const char *name, const char *reason)
{
	notify_at(host, deliver, flag, 0, name, reason);
}

static void schedule_retry(struct host *host);

static void deliver_connection(struct notice *notice)
{
	struct host *host = notice->host;

	if (notice->flag) {
		host->retry_ms = HOST_RETRY_MS;
		g_clear_pointer(&host->trouble, g_free);
		/* A worker found the old connection dead before its end was announced. */
		if (host->connected)
			host->events->connection(host, false, "connection broke", host->data);
		host->connected = false;
	}
	if (host->connected != notice->flag) {
		host->connected = notice->flag;
		host->events->connection(host, notice->flag, notice->reason, host->data);
	}
	if (!notice->flag)
		schedule_retry(host);
}

static void deliver_domain(struct notice *notice)
{
	struct host *host = notice->host;

	host->events->domain(host, notice->name, notice->flag, notice->reason, host->data);
}

static void deliver_agent(struct notice *notice)
{
	struct host *host = notice->host;

	host->events->agent(host, notice->name, notice->flag, host->data);
}

static void deliver_frozen(struct notice *notice)
{
	struct host *host = notice->host;

	host->events->frozen(host, notice->name, notice->time_us, host->data);
}

static void deliver_paused(struct notice *notice)
{
	struct host *host = notice->host;

	if (host->events->paused)
		host->events->paused(host, notice->name, notice->flag, notice->reason, host->data);
}

/* libvirt's callbacks. */

static const char *stop_reason(int detail)
{
	static const char *const reasons[] = {
		[VIR_DOMAIN_EVENT_STOPPED_SHUTDOWN] = "the guest shut down",
		[VIR_DOMAIN_EVENT_STOPPED_DESTROYED] = "the VM was destroyed",
		[VIR_DOMAIN_EVENT_STOPPED_CRASHED] = "the guest crashed",
		[VIR_DOMAIN_EVENT_STOPPED_MIGRATED] = "the VM was migrated away",
		[VIR_DOMAIN_EVENT_STOPPED_SAVED] = "the VM was saved",
		[VIR_DOMAIN_EVENT_STOPPED_FAILED] = "QEMU failed",
	};

	if (detail < 0 || detail >= (int)G_N_ELEMENTS(reasons) || !reasons[detail])
		return "the VM stopped";
	return reasons[detail];
}

static int on_lifecycle(virConnectPtr connection, virDomainPtr domain, int event, int detail,
			void *data)
{
	struct host *host = data;

	if (event == VIR_DOMAIN_EVENT_STARTED)
		notify(host, deliver_domain, true, virDomainGetName(domain), "started");
	else if (event == VIR_DOMAIN_EVENT_SUSPENDED)
		notify(host, deliver_paused, true, virDomainGetName(domain),
		       pause_failure_of_event(detail));
	else if (event == VIR_DOMAIN_EVENT_RESUMED)
		notify(host, deliver_paused, false, virDomainGetName(domain), NULL);
	else if (event == VIR_DOMAIN_EVENT_STOPPED || event == VIR_DOMAIN_EVENT_CRASHED)
		notify(host, deliver_domain, false, virDomainGetName(domain),
		       event == VIR_DOMAIN_EVENT_STOPPED ? stop_reason(detail) :
							   "the guest crashed");
	return 0;
}

static void on_agent(virConnectPtr connection, virDomainPtr domain, int state, int reason,
		     void *data)
{
	notify(data, deliver_agent,
	       state == VIR_CONNECT_DOMAIN_EVENT_AGENT_LIFECYCLE_STATE_CONNECTED,
	       virDomainGetName(domain), NULL);
}

static void on_stop(virConnectPtr connection, virDomainPtr domain, const char *event,
		    long long seconds, unsigned int micros, const char *details, void *data)
{
	notify_at(data, deliver_frozen, true, (int64_t)seconds * 1000000 + micros,
		  virDomainGetName(domain), NULL);
}

static void on_close(virConnectPtr connection, int reason, void *data)
{
	static const char *const reasons[] = {
		[VIR_CONNECT_CLOSE_REASON_ERROR] = "connection to libvirtd broke",
		[VIR_CONNECT_CLOSE_REASON_EOF] = "libvirtd closed the connection",
		[VIR_CONNECT_CLOSE_REASON_KEEPALIVE] = "libvirtd does not answer",
	};

	if (reason >= 0 && reason < (int)G_N_ELEMENTS(reasons))
		notify(data, deliver_connection, false, NULL, reasons[reason]);
}

/*
 * Ports may be open on this connection, and are not told its end: the host is taken for out of
 * reach until it was asked what there is.
 */
static void on_close_act(virConnectPtr connection, int reason, void *data)
{
	struct host *host = data;

	g_atomic_int_set(&host->doubtful, 1);
	on_close(connection, reason, host);
}

/* Connections; on worker threads. */

/* Every callback holds a reference to the host until libvirt forgets it. */
static int watch_event(struct host *host, virConnectPtr connection, int event,
		       virConnectDomainEventGenericCallback callback)
{
	int id = virConnectDomainEventRegisterAny(connection, NULL, event, callback, host_ref(host),
						  (virFreeCallback)host_unref);

	if (id < 0)
		host_unref(host);
	return id;
}

static void watch_events(struct host *host, virConnectPtr connection)
{
	/*
	 * Unregistered before the host is freed; drivers without connection never give data back.
	 */
	virConnectRegisterCloseCallback(connection, on_close, host, NULL);
	host->lifecycle_id = watch_event(host, connection, VIR_DOMAIN_EVENT_ID_LIFECYCLE,
					 VIR_DOMAIN_EVENT_CALLBACK(on_lifecycle));
	host->agent_id = watch_event(host, connection, VIR_DOMAIN_EVENT_ID_AGENT_LIFECYCLE,
				     VIR_DOMAIN_EVENT_CALLBACK(on_agent));
	if (host->events->frozen) {
		host->frozen_id = virConnectDomainQemuMonitorEventRegister(
			connection, NULL, "STOP", on_stop, host_ref(host),
			(virFreeCallback)host_unref, 0);
		if (host->frozen_id < 0)
			host_unref(host);
	}
	/* The test driver has not all of them. */
	virResetLastError();
}

static virConnectPtr open_connection(struct host *host, enum host_lane lane, GError **error)
{
	virConnectPtr connection = virConnectOpen(host->uri);

	if (!connection) {
		virt_error_set(error, "cannot connect to '%s'", host->uri);
		if (error && *error)
			(*error)->code = VIRT_ERROR_CONNECTION;
		return NULL;
	}
	/* A driver without a connection of its own (test:///) knows no keepalive: no matter. */
	if (virConnectSetKeepAlive(connection, KEEPALIVE_INTERVAL_S, KEEPALIVE_COUNT) < 0)
		virResetLastError();
	if (lane == HOST_LANE_CONTROL) {
		watch_events(host, connection);
		notify(host, deliver_connection, true, NULL, "connected");
	} else if (lane == HOST_LANE_ACT) {
		virConnectRegisterCloseCallback(connection, on_close_act, host, NULL);
		virResetLastError();
	}
	return connection;
}

static void close_connection(struct host *host, enum host_lane lane)
{
	virConnectPtr connection = g_steal_pointer(&host->lanes[lane].connection);

	if (!connection)
		return;
	if (lane == HOST_LANE_CONTROL) {
		virConnectUnregisterCloseCallback(connection, on_close);
		if (host->lifecycle_id >= 0)
			virConnectDomainEventDeregisterAny(connection, host->lifecycle_id);
		if (host->agent_id >= 0)
			virConnectDomainEventDeregisterAny(connection, host->agent_id);
		if (host->frozen_id >= 0)
			virConnectDomainQemuMonitorEventDeregister(connection, host->frozen_id);
	} else if (lane == HOST_LANE_ACT) {
		virConnectUnregisterCloseCallback(connection, on_close_act);
	}
	virConnectClose(connection);
}

static void lane_lock(struct lane *lane)
{
	g_mutex_lock(&lane->lock);
	HANDOFF_TAKE(lane);
}

static void lane_unlock(struct lane *lane)
{
	HANDOFF_GIVE(lane);
	g_mutex_unlock(&lane->lock);
}

/* A reference to the lane's connection, opened if need be. */
static virConnectPtr lane_connection(struct host *host, enum host_lane lane, GError **error)
{
	struct lane *self = &host->lanes[lane];
	virConnectPtr connection;
	bool doubtful;

	lane_lock(self);
	doubtful = lane == HOST_LANE_CONTROL && g_atomic_int_and(&host->doubtful, 0) != 0;
	if (self->connection && (doubtful || virConnectIsAlive(self->connection) != 1))
		close_connection(host, lane);
	if (!self->connection && !g_atomic_int_get(&host->closed))
		self->connection = open_connection(host, lane, error);
	connection = self->connection;
	if (connection)
		virConnectRef(connection);
	lane_unlock(self);
	return connection;
}

virConnectPtr host_connection(struct host *host, enum host_lane lane, GError **error)
{
	virConnectPtr connection = lane_connection(host, lane, error);

	if (!connection && error && !*error)
		g_set_error(error, VIRT_ERROR, VIRT_ERROR_CONNECTION, "host '%s' is not used any more",
			    host->name);
	return connection;
}

/* Errands. */

static void errand_free(gpointer data)
{
	struct errand *errand = data;

	HANDOFF_TAKE(errand);
	if (errand->call.input_free)
		errand->call.input_free(errand->call.input);
	if (errand->result && errand->call.result_free)
		errand->call.result_free(errand->result);
	g_clear_error(&errand->error);
	host_unref(errand->host);
	g_free(errand);
}

static gboolean errand_deliver(gpointer data)
{
	struct errand *errand = data;

	HANDOFF_TAKE(errand);
	if (errand->call.done && !g_atomic_int_get(&errand->host->closed))
		errand->call.done(g_steal_pointer(&errand->result), errand->error,
				  errand->call.data);
	return G_SOURCE_REMOVE;
}

static void errand_run(gpointer data, gpointer user_data)
{
	struct errand *errand = data;
	struct host *host = user_data;
	g_autoptr(virConnect) connection = NULL;

	HANDOFF_TAKE(errand);
	/* What still waits when the host is freed is not done any more. */
	if (!g_atomic_int_get(&host->closed))
		connection = lane_connection(host, errand->lane, &errand->error);
	if (connection)
		errand->result =
			errand->call.work(connection, errand->call.input, &errand->error);
	HANDOFF_GIVE(errand);
	g_idle_add_full(G_PRIORITY_DEFAULT, errand_deliver, errand, errand_free);
}

void host_call(struct host *host, enum host_lane lane, const struct host_call *call)
{
	struct errand *errand = g_new0(struct errand, 1);

	*errand = (struct errand){.host = host_ref(host), .lane = lane, .call = *call};
	HANDOFF_GIVE(errand);
	g_thread_pool_push(host->lanes[lane].pool, errand, NULL);
}

/* Life. */

static gpointer work_nothing(virConnectPtr connection, gpointer input, GError **error)
{
	return HOST_DONE;
}

static void connect_done(gpointer result, const GError *error, gpointer data)
{
	struct host *host = data;

	if (!error)
		return;
	host->retry_ms = MIN(host->retry_ms * 2, RETRY_MAX_MS);
	schedule_retry(host);
	/* Told once, not at every attempt. */
	if (g_strcmp0(host->trouble, error->message) == 0)
		return;
	g_free(host->trouble);
	host->trouble = g_strdup(error->message);
	host->connected = false;
	host->events->connection(host, false, host->trouble, host->data);
}

static gboolean try_connect(gpointer data)
{
	struct host *host = data;
	const struct host_call call = {.work = work_nothing, .done = connect_done, .data = host};

	host->retry_source = 0;
	host_call(host, HOST_LANE_CONTROL, &call);
	return G_SOURCE_REMOVE;
}

static void schedule_retry(struct host *host)
{
	if (host->retry_source == 0)
		host->retry_source = g_timeout_add(host->retry_ms, try_connect, host);
}

struct host *host_new(const char *name, const char *uri, const struct host_events *events,
		      void *data)
{
	struct host *host = g_new0(struct host, 1);

	g_atomic_ref_count_init(&host->references);
	host->name = g_strdup(name);
	host->uri = g_strdup(uri);
	host->events = events;
	host->data = data;
	host->lifecycle_id = host->agent_id = host->frozen_id = -1;
	host->retry_ms = HOST_RETRY_MS;
	for (int i = 0; i < HOST_LANES; i++) {
		g_mutex_init(&host->lanes[i].lock);
		host->lanes[i].pool = g_thread_pool_new_full(
			errand_run, host, errand_free,
			i == HOST_LANE_CONTROL ? 1 : HOST_LANE_THREADS, FALSE, NULL);
	}
	try_connect(host);
	return host;
}

void host_free(struct host *host)
{
	if (!host)
		return;
	g_atomic_int_set(&host->closed, 1);
	g_clear_handle_id(&host->retry_source, g_source_remove);
	/*
	 * Not "immediate": a worker that takes an errand just then would neither do nor free it
	 * (GLib
	 * 2.74), and the errand holds the host. errand_run() hurries.
	 */
	for (int i = 0; i < HOST_LANES; i++)
		g_thread_pool_free(host->lanes[i].pool, FALSE, TRUE);
	for (int i = 0; i < HOST_LANES; i++) {
		lane_lock(&host->lanes[i]);
		close_connection(host, (enum host_lane)i);
		lane_unlock(&host->lanes[i]);
	}
	host_unref(host);
}

const char *host_name(const struct host *host)
{
	return host->name;
}

bool host_connected(const struct host *host)
{
	return host->connected;
}
