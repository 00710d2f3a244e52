/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <libvirt/libvirt.h>
#include <stdbool.h>

/*
 * A machine that runs a hypervisor, reached by its libvirt URI. libvirt calls block, so none runs
 * on the main loop: work goes to one of a few lanes, each with a connection of its own, and the
 * result comes back as an idle event on the default main context.
 *
 * libvirtd may be restarted at any time: a broken connection is opened again, at first after
 * HOST_RETRY_MS, and the events say so. VMs outlive libvirtd; what happened to them meanwhile is to
 * be asked (domain_list()).
 */
struct host;

#define HOST_RETRY_MS 500

/* Where work runs. */
enum host_lane {
	HOST_LANE_CONTROL = 0, /* one thread: domains, storage, ports; in order; domain events */
	HOST_LANE_AGENT,       /* several threads: guest agents and statistics; no order */
	HOST_LANE_ACT,         /* several: VMs are frozen and set going, side by side; ports; no order */
	HOST_LANE_DISK,        /* several: VMs are saved and restored, which takes long; no order */
	HOST_LANES,
};
/* libvirtd serves at most 5 requests of one client at a time and then stops to read from it. */
enum { HOST_LANE_THREADS = 4 };

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
	host_work_f work;
	gpointer input;
	GDestroyNotify input_free;  /* NULL: nothing to free */
	GDestroyNotify result_free; /* for a result that nobody takes; NULL: nothing to free */
	host_done_f done;           /* NULL: nobody asks */
	gpointer data;
};

/*
 * A host called `name` at libvirt URI `uri`; opens the connection in the background.
 * gvir_event_register() must have been called, once, before. `events` is borrowed.
 */
struct host *host_new(const char *name, const char *uri, const struct host_events *events,
		      void *data);

/*
 * Waits for work under way, drops what waits (its callbacks are not called), disconnects. NULL is
 * allowed.
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
 * On a worker thread of another host: a reference to a connection of this one, opened if need be.
 * NULL with `error` (VIRT_ERROR_CONNECTION) where there is none, or the host was freed.
 */
virConnectPtr host_connection(struct host *host, enum host_lane lane, GError **error);

/* The name it was given, for messages. */
const char *host_name(const struct host *host);

/* Whether the control connection is open, as far as is known. */
bool host_connected(const struct host *host);

/*
 * Hands over a piece of work. Without a connection it waits for one attempt to open it and then
 * fails with VIRT_ERROR_CONNECTION.
 */
void host_call(struct host *host, enum host_lane lane, const struct host_call *call);
