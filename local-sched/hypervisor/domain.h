/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <libvirt/libvirt.h>
#include <stdbool.h>
#include <stdint.h>

#include "local-sched/cpu/cpu_cap.h"
#include "local-sched/hypervisor/host.h"

/*
 * What is done with VMs: each call hands work to a host's lane and calls `done` from the main loop
 * with what its comment says. Errors are VIRT_ERROR.
 */

/* A VM that is on a host. */
struct domain_info {
	char *name;
	char *keeper;      /* id of the local scheduler that it belongs to (domain_xml.h); NULL: somebody else's */
	char *description; /* fingerprint (domain_xml.h), or NULL */
	bool paused;       /* it exists but does not run */
	const char *failure; /* what keeps it from going on (pause.h), or NULL */
};

/* CPU time that a VM, emulator threads included, has used since it was started. */
struct domain_cpu {
	char *name;
	uint64_t cpu_ns;
};

/*
 * On a worker thread: the running VM `name`, if it belongs to `keeper`. *ret_domain is NULL where there is none or it
 * is somebody else's; false with `error`: that cannot be told.
 */
bool domain_find(virConnectPtr connection, const char *name, const char *keeper, virDomainPtr *ret_domain,
		 GError **error);

/* On a worker thread: ends a VM at once; one that does not run, or that has just ended, is success. */
bool domain_end(virDomainPtr domain, GError **error);

/*
 * Starts a transient VM from its XML; `name` is its name. No result. VIRT_ERROR_FOREIGN: a VM that does not belong to
 * `keeper` has that name.
 */
void domain_create(struct host *host, const char *name, const char *keeper, const char *xml, host_done_f done,
		   gpointer data);

/*
 * The same for a VM called `name` that ends with the connection by which it was started, so that a scheduler that dies
 * leaves none, where libvirt's driver can do that (QEMU's can).
 */
void domain_create_bound(struct host *host, const char *name, const char *keeper, const char *xml, host_done_f done,
			 gpointer data);

/*
 * Ends a VM of `keeper` at once; one that does not run is success. One of that name that is somebody else's is left
 * alone, and that is success as well: it is none of ours. No result.
 */
void domain_destroy(struct host *host, const char *name, const char *keeper, host_done_f done, gpointer data);

/*
 * The VMs whose names begin with `prefix`; asked after what was to be done with the VM of that very
 * name. Result: GPtrArray of struct domain_info, freed with
 * g_ptr_array_unref().
 */
void domain_list(struct host *host, const char *prefix, host_done_f done, gpointer data);

/*
 * Which of the VMs of a name is meant: the one that was there while *boots, raised before each domain_create(), was
 * `boot`.
 */
struct domain_boot {
	const gint *boots; /* atomic; outlives the host's threads */
	gint boot;
};

/*
 * Sends `request` (JSON) to the VM's agent and waits for the answer up to `timeout_s` (whole
 * seconds, at least 1). Result: the reply as text, freed with g_free(). Calls to one VM are served
 * one after the other, those to different ones are not. VIRT_ERROR_PAUSED: the VM was paused by somebody,
 * so that its agent was not asked. VIRT_ERROR_NO_DOMAIN: it does not run, or is a later one than `boot` (NULL: any)
 * says when its turn comes; what was meant for a dead task reaches no VM that came after it.
 */
void domain_agent(struct host *host, const char *name, const struct domain_boot *boot,
		  const char *request, int timeout_s, host_done_f done, gpointer data);

/*
 * Opens the VM's virtio-serial port `port` as a non-blocking stream; whoever had it open loses it.
 * Result: virStreamPtr, to be given to a struct channel.
 */
void domain_open_port(struct host *host, const char *name, const char *port, host_done_f done,
		      gpointer data);

/* Ends and frees a stream (taken over) whose event callback was removed. */
void domain_close_stream(struct host *host, virStreamPtr stream);

/*
 * CPU times of all VMs on the host, ours or not, paused ones too. Readings come in the order in which
 * they were asked for. No VM's QEMU is asked, which may hang. Result: GPtrArray of struct domain_cpu,
 * freed with g_ptr_array_unref().
 */
void domain_cpu_times(struct host *host, host_done_f done, gpointer data);

/*
 * CPU time that the host itself says was used on all of its CPUs since it was started, VMs included.
 * Result: uint64_t, nanoseconds, freed with g_free(). To about 10 ms for each CPU.
 */
void domain_host_cpu_time(struct host *host, host_done_f done, gpointer data);

/* Which CPUs the cores of a VM are to be bound to. */
struct domain_cores {
	uint32_t first_core; /* in turn from this one on (cpu_spread.h), if the VM is capped */
	int32_t first_cpu;   /* to this CPU and those after it; -1: as above */
	bool moved;          /* it was bound for another place before */
};

/*
 * Applies a CPU cap to a running VM and reads it back: an error when what is read is not what was
 * set. No result.
 */
void domain_apply_cap(struct host *host, const char *name, const struct cpu_cap *cap,
		      struct domain_cores cores, host_done_f done, gpointer data);

/*
 * Takes a VM's processors off the cores, or sets them going again; one that is so already is success.
 * No result.
 */
void domain_freeze(struct host *host, const char *name, host_done_f done, gpointer data);
void domain_thaw(struct host *host, const char *name, host_done_f done, gpointer data);

/*
 * How much memory the host can still give to VMs, as far as it says: free, or easily freed. Result: a
 * number of MiB (GUINT_TO_POINTER), at most UINT32_MAX.
 */
void domain_host_memory(struct host *host, host_done_f done, gpointer data);
