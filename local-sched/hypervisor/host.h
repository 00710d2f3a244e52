/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <libvirt/libvirt.h>
#include <stdbool.h>

#include "common/platform.h"

/*
 * A machine with a hypervisor, reached by its libvirt URI. Calls of libvirt block, so none of them
 * runs on the main loop: worker threads do the work, and the result returns as an idle event on the
 * default main context. Each worker has a connection that no other thread calls, because libvirt's
 * client (9.0) uses freed memory when a connection breaks on which several threads wait. The main
 * loop handles only what arrives by itself: keepalives, events, and the bytes of ports.
 *
 * libvirtd may be restarted at any time. A broken connection is opened again, at first after
 * HOST_RETRY_MS, and the events report it. VMs outlive libvirtd; domain_list() tells what happened
 * to them meanwhile.
 */
struct host;

#define HOST_RETRY_MS 500

/*
 * The kind of a call. Calls of one lane about one VM, or about none, are done in order, one at a
 * time. All others are done side by side, so that a call that waits for one VM delays no other VM's
 * calls. Workers are started as they are needed, up to HOST_WORKERS_MAX. Some workers are reserved
 * for lanes on whose calls others depend, so that slow guests and disks delay no sign of life.
 */
enum host_lane {
	HOST_LANE_CONTROL = 0, /* calls that wait for no VM: the connection for events, and ports */
	HOST_LANE_LIFE,        /* start, end and list VMs; HOST_WORKERS_LIFE are reserved */
	HOST_LANE_ACT,         /* freeze, thaw, cap and find VMs */
	HOST_LANE_AGENT,       /* requests to guest agents */
	/*
	 * usage of VMs and host; about no VM, so that readings stay in order; one worker is
	 * reserved
	 */
	HOST_LANE_STATS,
	/*
	 * claims of clusters; about no VM, short, and not delayed by uploads; one worker is
	 * reserved
	 */
	HOST_LANE_CLAIM,
	HOST_LANE_STORE, /* volumes; about no VM */
	HOST_LANE_DISK,  /* save and restore VMs, which takes long: HOST_DISKS_MAX at a time */
	HOST_LANE_MOVE,  /* VMs leave for another host: HOST_MOVES_MAX at a time */
};
/* As many as libvirtd has. Workers whose call has exceeded its limit are not counted. */
enum {
	HOST_WORKERS_MAX = 20,
	HOST_WORKERS_LIFE = 2,
	HOST_WORKERS_SIGNS = 2, /* for stats and claims, one call of each at a time */
	HOST_DISKS_MAX = 4,
	HOST_MOVES_MAX = 4,
};

/*
 * The events of a host for its owner, on the main loop. All but `frozen` and `paused` are required.
 */
struct host_events {
	/*
	 * The control connection was opened, broke, or could not be opened. A failure is repeated
	 * only for another reason; the host is tried without end.
	 */
	void (*connection)(struct host *host, bool up, const char *reason, void *data);
	/* A domain started or stopped running. */
	void (*domain)(struct host *host, const char *name, bool running, const char *reason,
		       void *data);
	/* A guest's agent opened or closed its port. */
	void (*agent)(struct host *host, const char *name, bool connected, void *data);
	/*
	 * QEMU has stopped a domain's processors, at a time of the host's wall clock in
	 * microseconds.
	 */
	void (*frozen)(struct host *host, const char *name, int64_t host_us, void *data);
	/*
	 * A domain was paused, by this local scheduler or from outside, or runs again. `failure`
	 * says what stopped it if it was not paused on request (pause.h); NULL: it was.
	 */
	void (*paused)(struct host *host, const char *name, bool paused, const char *failure,
		       void *data);
};

/*
 * Runs on a worker thread. `input` is borrowed. Returns the result, or NULL with `error` set. Work
 * without a result returns HOST_DONE.
 */
typedef gpointer (*host_work_f)(virConnectPtr connection, gpointer input, GError **error);
#define HOST_DONE GINT_TO_POINTER(1)

/* Called on the main loop. The callee owns the result, if any; `error` is borrowed. */
typedef void (*host_done_f)(gpointer result, const GError *error, gpointer data);

/* A piece of work for a worker. */
struct host_call {
	/* name of the VM that it is about; borrowed until host_call() returns; NULL: none */
	const char *vm;
	host_work_f work;
	gpointer input;
	GDestroyNotify input_free; /* NULL: nothing to free */
	/* frees a result when there is no `done` to take it; NULL: nothing to free */
	GDestroyNotify result_free;
	host_done_f done; /* NULL: the result is not wanted */
	gpointer data;
	/*
	 * The time from the start of the work after which its result is given up. `done` is then
	 * called with VIRT_ERROR_OTHER (for an agent: VIRT_ERROR_AGENT), and the next call about
	 * the VM begins. A later result is freed. 0: the work has an end of its own.
	 */
	guint limit_s;
};

/*
 * A host called `name` at libvirt URI `uri`; opens the connection in the background.
 * gvir_event_register() must have been called, once, before. `events` is borrowed.
 */
struct host *host_new(const struct platform *platform, const char *name, const char *uri,
		      const struct host_events *events, void *data);

/*
 * Waits for work under way, except for calls that hang, drops queued work without calling its
 * callbacks, and disconnects. NULL is allowed.
 */
void host_free(struct host *host);

/*
 * Keeps a host's memory for work that needs a second host, until host_unref(). The host may be
 * freed by host_free() meanwhile.
 */
struct host *host_ref(struct host *host);
/* Releases it; from any thread. */
void host_unref(struct host *host);

/*
 * Opens a connection to this host for a worker thread of another host. The caller closes it. NULL
 * with `error` (VIRT_ERROR_CONNECTION): the host is out of reach, or was freed.
 */
virConnectPtr host_connect(struct host *host, GError **error);

/* The platform given to host_new(). */
const struct platform *host_platform(const struct host *host);

/* The host's name, for messages. */
const char *host_name(const struct host *host);

/* Whether the control connection is open, as far as known. */
bool host_connected(const struct host *host);

/*
 * Queues a piece of work. Work that comes before the first attempt to connect has ended waits for
 * that end. Work fails with VIRT_ERROR_CONNECTION, and was not done, where the host is out of reach
 * or gets out of reach before the work begins. Where the host gets out of reach later, the work may
 * have been done.
 */
void host_call(struct host *host, enum host_lane lane, const struct host_call *call);
