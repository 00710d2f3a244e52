/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/hypervisor/host.h"

#include <libvirt/libvirt-qemu.h>
#include <libvirt/virterror.h>

#include "common/error_fail.h"
#include "common/handoff.h"
#include "local-sched/hypervisor/pause.h"
#include "local-sched/hypervisor/virt_error.h"

#define KEEPALIVE_INTERVAL_S 5
#define KEEPALIVE_COUNT 3
#define RETRY_MAX_MS 5000
#define FREE_LIMIT_S 60 /* for calls that hang when the host is freed */

/* A thread with a connection of its own. */
struct worker {
	struct host *host;
	bool control;
	struct platform_worker *thread; /* has one errand at most */
	virConnectPtr connection;       /* used by the thread only; NULL: not open */
	struct errand *errand; /* its current errand; used by the main loop only; NULL: none */
};

struct host {
	const struct platform *platform;
	/* one of the owner, and one per worker, call and idle event under way */
	gatomicrefcount references;
	gint closed;  /* atomic: no result is delivered any more */
	guint losses; /* atomic: how often the host went out of reach */
	char *name;
	char *uri;
	const struct host_events *events;
	void *data;
	/*
	 * callbacks on the control connection; used by the control worker, valid while the
	 * connection is open
	 */
	int lifecycle_id;
	int agent_id;
	int frozen_id;
	/* used by the main loop only, as all below; the first is that of the control lane */
	GPtrArray *workers;
	GQueue waiting;   /* struct errand whose turn has not come, oldest first */
	GQueue under_way; /* struct errand of workers, whose result is still wanted */
	bool tried;       /* an attempt to connect has ended */
	bool connected;
	guint retry_source;
	guint retry_ms;
	char *trouble; /* the last reported failure to connect; NULL: none */
};

/* A call on its way: to a worker, and back. */
struct errand {
	struct host *host;
	enum host_lane lane;
	struct host_call call;
	char *vm;              /* NULL: none */
	guint losses;          /* of the host when its turn came */
	struct worker *worker; /* NULL: none yet */
	guint limit_source;    /* used by the main loop only, as the next one */
	bool given_up;         /* its result is not wanted any more */
	bool unreached;        /* there was no connection */
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
	g_ptr_array_unref(host->workers);
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

const struct platform *host_platform(const struct host *host)
{
	return host->platform;
}

/* Notices. */

static gboolean notice_deliver(gpointer data)
{
	struct notice *notice = data;

	HANDOFF_TAKE(notice);
	if (!g_atomic_int_get(&notice->host->closed))
		notice->deliver(notice);
	host_unref(notice->host);
	g_free(notice->name);
	g_free(notice->reason);
	g_free(notice);
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
	platform_soon(host->platform, G_PRIORITY_DEFAULT, notice_deliver, notice);
}

static void notify(struct host *host, void (*deliver)(struct notice *notice), bool flag,
		   const char *name, const char *reason)
{
	notify_at(host, deliver, flag, 0, name, reason);
}

static void schedule_retry(struct host *host);
static void dispatch(struct host *host);
static void refuse_waiting(struct host *host, const char *reason);

/* Fails the calls whose turn has not come: the state that they are about has to be read again. */
static void lose(struct host *host, const char *reason)
{
	host->connected = false;
	g_atomic_int_inc(&host->losses);
	refuse_waiting(host, reason);
	host->events->connection(host, false, reason, host->data);
}

static void deliver_connection(struct notice *notice)
{
	struct host *host = notice->host;

	/* A worker may have found the old connection dead before its end was announced. */
	if (host->connected)
		lose(host, notice->flag ? "connection broke" : notice->reason);
	if (notice->flag) {
		host->retry_ms = HOST_RETRY_MS;
		g_clear_pointer(&host->trouble, g_free);
		host->tried = host->connected = true;
		host->events->connection(host, true, notice->reason, host->data);
		dispatch(host);
	} else {
		schedule_retry(host);
	}
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
		       event == VIR_DOMAIN_EVENT_STOPPED ? stop_reason(detail)
							 : "the guest crashed");
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
	 * Unregistered before the host is freed: drivers without a connection never release the
	 * data.
	 */
	virConnectRegisterCloseCallback(connection, on_close, host, NULL);
	host->lifecycle_id = watch_event(host, connection, VIR_DOMAIN_EVENT_ID_LIFECYCLE,
					 VIR_DOMAIN_EVENT_CALLBACK(on_lifecycle));
	host->agent_id = watch_event(host, connection, VIR_DOMAIN_EVENT_ID_AGENT_LIFECYCLE,
				     VIR_DOMAIN_EVENT_CALLBACK(on_agent));
	if (host->events->frozen) {
		host->frozen_id =
			virConnectDomainQemuMonitorEventRegister(connection, NULL, "STOP", on_stop,
								 host_ref(host),
								 (virFreeCallback)host_unref, 0);
		if (host->frozen_id < 0)
			host_unref(host);
	}
	/* The test driver does not have all events. */
	virResetLastError();
}

static virConnectPtr open_connection(struct host *host, GError **error)
{
	virConnectPtr connection = virConnectOpen(host->uri);

	if (!connection) {
		virt_error_set(error, "cannot connect to '%s'", host->uri);
		if (error && *error)
			(*error)->code = VIRT_ERROR_CONNECTION;
		return NULL;
	}
	/* A driver without a connection of its own (test:///) has no keepalive, which is fine. */
	if (virConnectSetKeepAlive(connection, KEEPALIVE_INTERVAL_S, KEEPALIVE_COUNT) < 0)
		virResetLastError();
	return connection;
}

static void close_connection(struct worker *worker)
{
	virConnectPtr connection = g_steal_pointer(&worker->connection);
	struct host *host = worker->host;

	if (!connection)
		return;
	if (worker->control) {
		virConnectUnregisterCloseCallback(connection, on_close);
		if (host->lifecycle_id >= 0)
			virConnectDomainEventDeregisterAny(connection, host->lifecycle_id);
		if (host->agent_id >= 0)
			virConnectDomainEventDeregisterAny(connection, host->agent_id);
		if (host->frozen_id >= 0)
			virConnectDomainQemuMonitorEventDeregister(connection, host->frozen_id);
	}
	virConnectClose(connection);
}

/* Whether the worker's connection is open, or could be opened. False with `error`. */
static bool is_connected(struct worker *worker, GError **error)
{
	struct host *host = worker->host;

	if (worker->connection && virConnectIsAlive(worker->connection) != 1)
		close_connection(worker);
	if (worker->connection)
		return true;
	worker->connection = open_connection(host, error);
	if (worker->connection && worker->control) {
		watch_events(host, worker->connection);
		notify(host, deliver_connection, true, NULL, "connected");
	}
	return worker->connection != NULL;
}

virConnectPtr host_connect(struct host *host, GError **error)
{
	if (!g_atomic_int_get(&host->closed))
		return open_connection(host, error);
	return error_null(error, VIRT_ERROR, VIRT_ERROR_CONNECTION,
			  "host '%s' is not used any more", host->name);
}

/* Errands. */

static void errand_free(struct errand *errand)
{
	if (errand->call.input_free)
		errand->call.input_free(errand->call.input);
	if (errand->result && errand->call.result_free)
		errand->call.result_free(errand->result);
	g_clear_error(&errand->error);
	host_unref(errand->host);
	g_free(errand->vm);
	g_free(errand);
}

static void connect_failed(struct host *host, const GError *error);

/* Calls `done`, if its result is still wanted, and frees the worker. */
static void errand_deliver(struct errand *errand)
{
	struct host *host = errand->host;

	if (g_atomic_int_get(&host->closed))
		return;
	g_clear_handle_id(&errand->limit_source, g_source_remove);
	g_queue_remove(&host->under_way, errand);
	if (errand->worker)
		errand->worker->errand = NULL;
	if (errand->unreached && errand->lane == HOST_LANE_CONTROL)
		connect_failed(host, errand->error);
	dispatch(host);
	if (errand->call.done && !errand->given_up)
		errand->call.done(g_steal_pointer(&errand->result), errand->error,
				  errand->call.data);
}

static void errand_done(void *data)
{
	errand_deliver(data);
	errand_free(data);
}

static gboolean errand_refused(gpointer data)
{
	errand_done(data);
	return G_SOURCE_REMOVE;
}

/* Fails an errand because the host is out of reach. */
static void errand_refuse(struct errand *errand, const char *reason)
{
	g_set_error(&errand->error, VIRT_ERROR, VIRT_ERROR_CONNECTION,
		    "host '%s' is out of reach: %s", errand->host->name,
		    reason ? reason : "no connection");
	platform_soon(errand->host->platform, G_PRIORITY_DEFAULT, errand_refused, errand);
}

static void refuse_waiting(struct host *host, const char *reason)
{
	struct errand *errand;

	while ((errand = g_queue_pop_head(&host->waiting)) != NULL)
		errand_refuse(errand, reason);
}

static gboolean give_up(gpointer data)
{
	struct errand *errand = data;
	struct host *host = host_ref(errand->host);
	g_autoptr(GError) error = NULL;

	errand->limit_source = 0;
	errand->given_up = true;
	g_queue_remove(&host->under_way, errand);
	error = g_error_new(VIRT_ERROR,
			    errand->lane == HOST_LANE_AGENT ? VIRT_ERROR_AGENT : VIRT_ERROR_OTHER,
			    "host '%s' did not answer within %u s%s%s%s", host->name,
			    errand->call.limit_s, errand->vm ? ", asked of VM '" : "",
			    errand->vm ? errand->vm : "", errand->vm ? "'" : "");
	dispatch(host);
	if (errand->call.done)
		errand->call.done(NULL, error, errand->call.data);
	host_unref(host);
	return G_SOURCE_REMOVE;
}

/* Workers. */

/* Runs an errand, unless the host went out of reach while the connection was opened. */
static void errand_run(void *data)
{
	struct errand *errand = data;
	struct worker *worker = errand->worker;
	struct host *host = errand->host;

	if (g_atomic_int_get(&host->closed))
		return;
	if (!is_connected(worker, &errand->error))
		errand->unreached = true;
	else if (g_atomic_int_get(&host->closed))
		return; /* its input may be gone */
	else if (!worker->control && errand->losses != (guint)g_atomic_int_get(&host->losses))
		g_set_error(&errand->error, VIRT_ERROR, VIRT_ERROR_CONNECTION,
			    "host '%s' was out of reach", host->name);
	else
		errand->result =
			errand->call.work(worker->connection, errand->call.input, &errand->error);
}

/* The last work of a thread, which releases its reference to the host. */
static void worker_end(void *data)
{
	struct worker *worker = data;

	close_connection(worker);
	host_unref(worker->host);
}

static struct worker *worker_start(struct host *host, bool control)
{
	struct worker *worker = g_new0(struct worker, 1);

	worker->host = host_ref(host);
	worker->control = control;
	worker->thread = platform_hire(host->platform, "host");
	g_ptr_array_add(host->workers, worker);
	return worker;
}

/*
 * The number of busy workers below which another call of a lane may begin: all workers but those
 * reserved for other lanes. The lanes of stats and claims have one call each under way at a time.
 */
static guint workers_for(enum host_lane lane)
{
	if (lane == HOST_LANE_STATS || lane == HOST_LANE_CLAIM)
		return HOST_WORKERS_MAX;
	return HOST_WORKERS_MAX - HOST_WORKERS_SIGNS -
	       (lane == HOST_LANE_LIFE ? 0 : HOST_WORKERS_LIFE);
}

/*
 * An idle worker, the earliest first, so that connections stay few. NULL: the lane's number of
 * workers is reached.
 */
static struct worker *find_worker(struct host *host, enum host_lane lane)
{
	struct worker *idle = NULL;
	guint working = 0;

	for (guint i = 1; i < host->workers->len; i++) {
		struct worker *worker = host->workers->pdata[i];

		if (!worker->errand)
			idle = idle ? idle : worker;
		else
			working += !worker->errand->given_up;
	}
	if (working >= workers_for(lane))
		return NULL;
	return idle ? idle : worker_start(host, false);
}

/* The worker for an errand whose turn it is; NULL: none is free. */
static struct worker *worker_for(struct host *host, const struct errand *errand)
{
	struct worker *control = host->workers->pdata[0];

	if (errand->lane == HOST_LANE_CONTROL)
		return control->errand ? NULL : control;
	return host->connected ? find_worker(host, errand->lane) : NULL;
}

/* The most calls of a lane that are under way at once. */
static guint at_once(enum host_lane lane)
{
	if (lane == HOST_LANE_DISK)
		return HOST_DISKS_MAX;
	return lane == HOST_LANE_MOVE ? HOST_MOVES_MAX : HOST_WORKERS_MAX;
}

/* Whether no earlier errand goes first. */
static bool is_its_turn(const struct host *host, const struct errand *errand)
{
	guint same = 0;

	for (const GList *link = host->under_way.head; link; link = link->next) {
		const struct errand *other = link->data;

		if (other->lane != errand->lane)
			continue;
		if (g_strcmp0(other->vm, errand->vm) == 0)
			return false;
		same++;
	}
	return same < at_once(errand->lane);
}

static void start(struct errand *errand, struct worker *worker)
{
	struct host *host = errand->host;

	errand->worker = worker;
	errand->losses = g_atomic_int_get(&host->losses);
	worker->errand = errand;
	g_queue_push_tail(&host->under_way, errand);
	if (errand->call.limit_s)
		errand->limit_source =
			platform_after_s(host->platform, errand->call.limit_s, give_up, errand);
	platform_give(host->platform, worker->thread, errand_run, errand_done, errand);
}

/* Gives errands whose turn it is to workers. */
static void dispatch(struct host *host)
{
	GList *next;

	for (GList *link = host->waiting.head; link; link = next) {
		struct errand *errand = link->data;
		struct worker *worker = is_its_turn(host, errand) ? worker_for(host, errand) : NULL;

		next = link->next;
		if (!worker)
			continue;
		g_queue_delete_link(&host->waiting, link);
		start(errand, worker);
	}
}

static struct errand *errand_new(struct host *host, enum host_lane lane,
				 const struct host_call *call)
{
	struct errand *errand = g_new0(struct errand, 1);

	*errand = (struct errand){.host = host_ref(host),
				  .lane = lane,
				  .call = *call,
				  .vm = g_strdup(call->vm)};
	errand->call.vm = NULL; /* it is the caller's memory */
	return errand;
}

void host_call(struct host *host, enum host_lane lane, const struct host_call *call)
{
	struct errand *errand = errand_new(host, lane, call);

	if (host->tried && !host->connected) {
		errand_refuse(errand, host->trouble);
		return;
	}
	g_queue_push_tail(&host->waiting, errand);
	dispatch(host);
}

/* Life. */

static gpointer work_nothing(virConnectPtr connection, gpointer input, GError **error)
{
	return HOST_DONE;
}

static void connect_failed(struct host *host, const GError *error)
{
	host->tried = true;
	host->retry_ms = MIN(host->retry_ms * 2, RETRY_MAX_MS);
	schedule_retry(host);
	/* Report a failure once, not at every attempt. */
	if (g_strcmp0(host->trouble, error->message) == 0)
		return;
	g_free(host->trouble);
	host->trouble = g_strdup(error->message);
	lose(host, host->trouble);
}

static gboolean try_connect(gpointer data)
{
	struct host *host = data;
	const struct host_call call = {.work = work_nothing};

	host->retry_source = 0;
	/*
	 * While the host is out of reach, this lane has only this call and calls that were under
	 * way before.
	 */
	g_queue_push_tail(&host->waiting, errand_new(host, HOST_LANE_CONTROL, &call));
	dispatch(host);
	return G_SOURCE_REMOVE;
}

static void schedule_retry(struct host *host)
{
	if (host->retry_source == 0)
		host->retry_source =
			platform_after_ms(host->platform, host->retry_ms, try_connect, host);
}

struct host *host_new(const struct platform *platform, const char *name, const char *uri,
		      const struct host_events *events, void *data)
{
	struct host *host = g_new0(struct host, 1);

	g_atomic_ref_count_init(&host->references);
	host->platform = platform;
	host->name = g_strdup(name);
	host->uri = g_strdup(uri);
	host->events = events;
	host->data = data;
	host->lifecycle_id = host->agent_id = host->frozen_id = -1;
	host->retry_ms = HOST_RETRY_MS;
	host->workers = g_ptr_array_new_with_free_func(g_free);
	worker_start(host, true);
	try_connect(host);
	return host;
}

/*
 * Waits for the workers' threads. A thread that hangs ends with the program, and keeps its
 * reference to the host.
 */
static void dismiss_workers(struct host *host)
{
	const guint count = host->workers->len;
	g_autofree struct platform_worker **threads = g_new(struct platform_worker *, count);

	for (guint i = 0; i < count; i++) {
		struct worker *worker = host->workers->pdata[i];

		threads[i] = worker->thread;
		platform_give(host->platform, worker->thread, worker_end, NULL, worker);
	}
	platform_dismiss(host->platform, threads, count, FREE_LIMIT_S);
}

void host_free(struct host *host)
{
	struct errand *errand;

	if (!host)
		return;
	g_atomic_int_set(&host->closed, 1);
	g_clear_handle_id(&host->retry_source, g_source_remove);
	for (GList *link = host->under_way.head; link; link = link->next)
		g_clear_handle_id(&((struct errand *)link->data)->limit_source, g_source_remove);
	while ((errand = g_queue_pop_head(&host->waiting)) != NULL)
		errand_free(errand);
	dismiss_workers(host);
	g_queue_clear(&host->under_way);
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
