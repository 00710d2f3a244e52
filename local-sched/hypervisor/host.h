/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <libvirt/libvirt.h>
#include <stdbool.h>

/*
 * A vm that runs a hypervisor, reached by its libvirt URI. libvirt calls block, so none runs
 * on the main loop: work goes to worker threads, and the result comes back as an idle event on the
 * default main context. A worker has a connection of its own that no other thread calls: libvirt's
 * client (9.0) uses freed memory when a connection breaks on which several threads wait. The main
 * loop only takes in what comes on it by itself: keepalives, events, and the bytes of ports.
 *
 * libvirtd may be restarted at any time: a broken connection is opened again, at first after
 * HOST_RETRY_MS, and the events say so. VMs outlive libvirtd; what happened to them meanwhile is to
 * be asked (domain_list()).
 */
struct host;

#define HOST_RETRY_MS 500

/*
 * What a call is about. Calls of one lane about one VM, or about none, are done in order, one at a
 * time; all others are done side by side: one that waits for a VM holds up no other VM's. Workers are
 * started as they are needed, HOST_WORKERS_MAX of them. Some of these are kept for lanes whose calls
 * others wait for: what guests and disks do, or do not, holds up no sign of life.
 */
enum host_lane {
	HOST_LANE_CONTROL = 0, /* what waits for no VM: the connection that tells events, and ports */
	HOST_LANE_LIFE,        /* VMs are started, ended and listed: HOST_WORKERS_LIFE are kept for it */
	HOST_LANE_ACT,         /* VMs are frozen, set going, capped and looked for */
	HOST_LANE_AGENT,       /* guests' agents */
	HOST_LANE_STATS,       /* what VMs and the host use: of no VM, so that readings come in order; one is kept */
	HOST_LANE_CLAIM,       /* who serves a cluster there: of no VM, and short: no upload holds it up; one is kept */
	HOST_LANE_STORE,       /* volumes: of no VM */
	HOST_LANE_DISK,        /* VMs are saved and restored, which takes long: HOST_DISKS_MAX at a time */
	HOST_LANE_MOVE,        /* VMs leave for another host: HOST_MOVES_MAX at a time */
};
/* As many as libvirtd has itself; those that nobody waits for any more are not counted. */
enum {
	HOST_WORKERS_MAX = 20,
	HOST_WORKERS_LIFE = 2,
	HOST_WORKERS_SIGNS = 2, /* for stats and claims, of which one call each is under way */
	HOST_DISKS_MAX = 4,
	HOST_MOVES_MAX = 4,
};

/* What a host tells its owner, on the main loop. All but `frozen` and `paused` are required. */
struct host_events {
	/*
	 * The control connection was opened (anew), or broke, or could not be opened: told again
	 * only for another reason, while the host is tried without end.
	 */
	void (*connection)(struct host *host, bool up, const char *reason, void *data);
	/* A domain started or stopped running. */
	void (*domain)(struct host *host, const char *name, bool running, const char *reason,
		       void *data);
	/* A guest's agent opened or closed its port. */
	void (*agent)(struct host *host, const char *name, bool connected, void *data);
	/*
	 * A domain's QEMU has stopped its processors, at a time of its wall clock in microseconds.
	 */
	void (*frozen)(struct host *host, const char *name, int64_t host_us, void *data);
	/*
	 * A domain was paused, by us or somebody else, or goes on. `failure` says what stopped it
	 * if that was neither (pause.h); NULL: nothing did.
	 */
	void (*paused)(struct host *host, const char *name, bool paused, const char *failure,
		       void *data);
};

/*
 * Runs on a worker thread. `input` is borrowed. Returns the result, or NULL with `error` set; work
 * that has no result returns any pointer but NULL (HOST_DONE).
 */
typedef gpointer (*host_work_f)(virConnectPtr connection, gpointer input, GError **error);
#define HOST_DONE GINT_TO_POINTER(1)

/* Called on the main loop. The result, if any, is the callee's; `error` is borrowed. */
typedef void (*host_done_f)(gpointer result, const GError *error, gpointer data);

/* A piece of work. */
struct host_call {
	const char *vm; /* that it is about; borrowed until host_call() returns; NULL: none */
	host_work_f work;
	gpointer input;
	GDestroyNotify input_free;  /* NULL: nothing to free */
	GDestroyNotify result_free; /* for a result that nobody takes; NULL: nothing to free */
	host_done_f done;           /* NULL: nobody asks */
	gpointer data;
	/*
	 * How many seconds after its turn came nobody waits for it any more: `done` is told VIRT_ERROR_OTHER (of
	 * an agent: VIRT_ERROR_AGENT), and the next call about the VM has its turn. What comes of it later is
	 * freed. 0: it ends by itself.
	 */
	guint limit_s;
};

/*
 * A host called `name` at libvirt URI `uri`; opens the connection in the background.
 * gvir_event_register() must have been called, once, before. `events` is borrowed.
 */
struct host *host_new(const char *name, const char *uri, const struct host_events *events,
		      void *data);

/*
 * Waits for work under way, but not for what hangs, drops what waits (its callbacks are not called),
 * disconnects. NULL is allowed.
 */
void host_free(struct host *host);

/*
 * For work that needs a second host: it is not given back before host_unref(), which may be freed
 * meanwhile.
 */
struct host *host_ref(struct host *host);
/* From any thread. */
void host_unref(struct host *host);

/*
 * On a worker thread of another host: a connection to this one of the caller's own, to be closed by
 * it. NULL with `error` (VIRT_ERROR_CONNECTION) where there is none, or the host was freed.
 */
virConnectPtr host_connect(struct host *host, GError **error);

/* The name it was given, for messages. */
const char *host_name(const struct host *host);

/* Whether the control connection is open, as far as is known. */
bool host_connected(const struct host *host);

/*
 * Hands over a piece of work. Before the first attempt to connect has ended it waits for that. It
 * fails with VIRT_ERROR_CONNECTION, and was not done, where the host is out of reach or goes so
 * before its turn comes; where it goes so later the work may have been done.
 */
void host_call(struct host *host, enum host_lane lane, const struct host_call *call);
