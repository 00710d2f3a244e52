/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <libvirt/libvirt.h>
#include <stdbool.h>
#include <stdint.h>

#include "local-sched/cpu/cpu_cap.h"
#include "local-sched/hypervisor/host.h"

/*
 * Operations on VMs. Each call hands work to a lane of a host and calls `done` from the main loop
 * with the result that its comment names. Errors are VIRT_ERROR.
 */

/* A VM that is on a host. */
struct domain_info {
	char *name;
	/* id of the local scheduler that owns it (domain_xml.h); NULL: no local scheduler does */
	char *keeper;
	char *description;   /* fingerprint (domain_xml.h), or NULL */
	bool paused;         /* it exists but does not run */
	const char *failure; /* what keeps it from running on (pause.h), or NULL */
};

/* The CPU time that a VM, emulator threads included, has used since its start. */
struct domain_cpu {
	char *name;
	uint64_t cpu_ns;
};

/*
 * Finds the running VM `name` of `keeper`; on a worker thread. *ret_domain is NULL where there is
 * no such VM or it is not `keeper`'s. Returns false with `error` if that cannot be found out.
 */
bool domain_find(virConnectPtr connection, const char *name, const char *keeper,
		 virDomainPtr *ret_domain, GError **error);

/*
 * Ends a VM at once; on a worker thread. A VM that does not run, or that has just ended, is
 * success.
 */
bool domain_end(virDomainPtr domain, GError **error);

/*
 * Starts a transient VM called `name` from its XML. No result. Fails with VIRT_ERROR_FOREIGN where
 * a VM of that name exists that is not `keeper`'s.
 */
void domain_create(struct host *host, const char *name, const char *keeper, const char *xml,
		   host_done_f done, gpointer data);

/*
 * Like domain_create(), but the VM ends with the connection that started it, so that no VM is left
 * when the scheduler dies. Only where libvirt's driver supports that (QEMU's does).
 */
void domain_create_bound(struct host *host, const char *name, const char *keeper, const char *xml,
			 host_done_f done, gpointer data);

/*
 * Ends a VM of `keeper` at once. A VM that does not run is success. A VM of that name that is not
 * `keeper`'s is left alone, which is success too. No result.
 */
void domain_destroy(struct host *host, const char *name, const char *keeper, host_done_f done,
		    gpointer data);

/*
 * Lists the VMs whose names begin with `prefix`, after earlier calls about a VM of exactly that
 * name. Result: GPtrArray of struct domain_info, freed with g_ptr_array_unref().
 */
void domain_list(struct host *host, const char *prefix, host_done_f done, gpointer data);

/*
 * Identifies a VM among those that had the same name, one after the other: the VM that existed
 * while *boots was `boot`. The caller raises *boots before each domain_create().
 */
struct domain_boot {
	const gint *boots; /* atomic; outlives the host's threads */
	gint boot;
};

/*
 * Sends `request` (JSON) to the VM's agent and waits up to `timeout_s` (whole seconds, at least 1)
 * for the reply. Result: the reply as text, freed with g_free(). Calls for one VM are served one
 * after the other, calls for different VMs side by side. Fails with VIRT_ERROR_PAUSED, without
 * asking the agent, where the VM was paused from outside. Fails with VIRT_ERROR_NO_DOMAIN where the
 * VM does not run, or is later than `boot` (NULL: any) when the call's turn comes: a request meant
 * for an ended task reaches no later VM.
 */
void domain_agent(struct host *host, const char *name, const struct domain_boot *boot,
		  const char *request, int timeout_s, host_done_f done, gpointer data);

/*
 * Opens the VM's virtio-serial port `port` as a non-blocking stream. Another client that has it
 * open loses it. Result: virStreamPtr, for a struct channel.
 */
void domain_open_port(struct host *host, const char *name, const char *port, host_done_f done,
		      gpointer data);

/* Ends and frees a stream whose event callback was removed. Takes the stream over. */
void domain_close_stream(struct host *host, virStreamPtr stream);

/*
 * Reads the CPU times of all VMs on the host, paused ones and those of other owners included.
 * Readings come in the order of the calls. The call asks no VM's QEMU, which may hang. Result:
 * GPtrArray of struct domain_cpu, freed with g_ptr_array_unref().
 */
void domain_cpu_times(struct host *host, host_done_f done, gpointer data);

/*
 * Reads the CPU time used on all CPUs of the host since it was started, VMs included, as the host
 * counts it. Result: uint64_t, nanoseconds, freed with g_free(). Precise to about 10 ms for each
 * CPU.
 */
void domain_host_cpu_time(struct host *host, host_done_f done, gpointer data);

/* The CPUs to which the cores of a VM are bound. */
struct domain_cores {
	/*
	 * where the VM's cores begin in the rotation over the CPUs (cpu_spread.h), if the VM is
	 * capped
	 */
	uint32_t first_core;
	/* core 0 is bound to this CPU, and the others to those after it; -1: by rotation */
	int32_t first_cpu;
	bool moved; /* the VM was bound for another node before */
};

/*
 * Applies a CPU cap to a running VM and reads it back. Fails if the cap reads differently. No
 * result.
 */
void domain_apply_cap(struct host *host, const char *name, const struct cpu_cap *cap,
		      struct domain_cores cores, host_done_f done, gpointer data);

/*
 * Stops a VM's processors, and starts them again. A VM that is in that state already is success. No
 * result.
 */
void domain_freeze(struct host *host, const char *name, host_done_f done, gpointer data);
void domain_thaw(struct host *host, const char *name, host_done_f done, gpointer data);

/*
 * Reads how much memory the host can still give to VMs, as far as it knows: free, or easily freed.
 * Result: a number of MiB (GUINT_TO_POINTER), at most UINT32_MAX.
 */
void domain_host_memory(struct host *host, host_done_f done, gpointer data);
