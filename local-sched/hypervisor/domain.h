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

/* A VM that runs on a host. */
struct domain_info {
	char *name;
	char *description; /* fingerprint (domain_xml.h), or NULL */
};

/* CPU time that a VM, emulator threads included, has used since it was started. */
struct domain_cpu {
	char *name;
	uint64_t cpu_ns;
};

/* Starts a transient VM from its XML. No result. */
void domain_create(struct host *host, const char *xml, host_done_f done, gpointer data);

/*
 * The same for a VM that ends with the host's control connection, so that a scheduler that dies
 * leaves none, where libvirt's driver can do that (QEMU's can).
 */
void domain_create_bound(struct host *host, const char *xml, host_done_f done, gpointer data);

/* Ends a VM at once; one that does not run is success. No result. */
void domain_destroy(struct host *host, const char *name, host_done_f done, gpointer data);

/*
 * The VMs whose names begin with `prefix`. Result: GPtrArray of struct domain_info, freed with
 * g_ptr_array_unref().
 */
void domain_list(struct host *host, const char *prefix, host_done_f done, gpointer data);

/*
 * Sends `request` (JSON) to the VM's agent and waits for the answer up to `timeout_s` (whole
 * seconds, at least 1). Result: the reply as text, freed with g_free(). Calls to one VM are served
 * one after the other, those to different ones are not.
 */
void domain_agent(struct host *host, const char *name, const char *request, int timeout_s,
		  host_done_f done, gpointer data);

/*
 * Opens the VM's virtio-serial port `port` as a non-blocking stream; whoever had it open loses it.
 * Result: virStreamPtr, to be given to a struct channel.
 */
void domain_open_port(struct host *host, const char *name, const char *port, host_done_f done,
		      gpointer data);

/* Ends and frees a stream (taken over) whose event callback was removed. */
void domain_close_stream(struct host *host, virStreamPtr stream);

/*
 * CPU times of all VMs on the host, ours or not. Result: GPtrArray of struct domain_cpu, freed with
 * g_ptr_array_unref().
 */
void domain_cpu_times(struct host *host, host_done_f done, gpointer data);

/*
 * Applies a CPU cap to a running VM and reads it back: an error when what is read is not what was
 * set. The cores of a capped VM are bound to CPUs in turn, from `first_core` on (cpu_spread.h). No
 * result.
 */
void domain_apply_cap(struct host *host, const char *name, const struct cpu_cap *cap,
		      uint32_t first_core, host_done_f done, gpointer data);
