/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/platform.h"

/*
 * Hypervisors in memory. A program that links virtual_libvirt_dep has the functions of libvirt that
 * a local scheduler calls from here instead of from the library: the product's own code runs up to
 * those calls. Hosts have memory, a storage pool and VMs with guests, whose agent speaks the
 * product's protocol (vm-images/README.md) and whose ranks take virtual time. There is no thread:
 * a call that takes time waits as work of a virtual worker does (virtual_workers.h).
 *
 * How a world gives a local scheduler its hosts:
 *
 *     libvirt = virtual_libvirt_new(seed);
 *     virtual_libvirt_add_host(libvirt, &(struct virtual_host_spec){.name = "h1", ...});
 *
 * with `uri: qemu+tcp://h1/system` in the configuration, and scheduler_new() with a virtual
 * platform of its own. A host's `platform` is what its guests and its libvirtd take their time
 * from; it has to outlive the host, and may be another one than that of the daemon, which may
 * crash while its VMs run. virtual_libvirt_forget() is for that crash.
 *
 * Functions below are called from the main loop. A name of a host or VM that is not there is
 * ignored where a fault is wanted: a swarm of faults need not know what is there.
 */
struct virtual_libvirt;
typedef struct virtual_libvirt virtual_libvirt_t; /* for g_autoptr() */

/* There is at most one in a process at a time. */
struct virtual_libvirt *virtual_libvirt_new(uint64_t seed);
/* To be called after the local schedulers are gone, and before the platforms. */
void virtual_libvirt_free(struct virtual_libvirt *libvirt);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(virtual_libvirt_t, virtual_libvirt_free)

struct virtual_host_spec {
	const struct platform *platform;
	const char *name; /* host of its URI */
	guint cpus;
	uint64_t memory_mib;
	uint64_t pool_mib;
	bool kvm; /* its processor has vmx */
};

void virtual_libvirt_add_host(struct virtual_libvirt *libvirt,
			      const struct virtual_host_spec *spec);

/*
 * What a daemon had of libvirt is gone, because it crashed: its connections are closed as by the
 * kernel, and nothing of the daemon is called any more. `platform` is what it ran on; its workers
 * do nothing more.
 */
void virtual_libvirt_forget(struct virtual_libvirt *libvirt, const struct platform *platform);

/* Calls tell() with each thing that happens ("h1: VM 'x' started"); NULL: there is none. */
void virtual_libvirt_listen(struct virtual_libvirt *libvirt,
			    void (*tell)(const char *text, void *data), void *data);

/* Times, with what they are at first. */
struct virtual_times {
	guint call_ms;       /* 2; of a call; half of it to one and a half */
	guint boot_ms;       /* 2000; of a guest, until its agent answers; up to one and a half */
	guint repetition_ms; /* 1000; of a benchmark's repetition with whole cores */
	guint memory_mib_per_s; /* 200; saving, restoring and migrating of a VM's memory */
};
struct virtual_times *virtual_libvirt_times(struct virtual_libvirt *libvirt);

/* Faults of hosts. */

/* The host has no power: its VMs end, and nothing answers. Its pool stays. */
void virtual_host_power(struct virtual_libvirt *libvirt, const char *host, bool on);
/* The host is not reached. Its VMs run; connections break after 15 s. */
void virtual_host_cut(struct virtual_libvirt *libvirt, const char *host, bool cut);
/* Its libvirtd ends, which its VMs outlive, and is back after some time. */
void virtual_host_restart(struct virtual_libvirt *libvirt, const char *host, guint back_ms);
/*
 * The next `count` calls of a function ("virDomainCreateXML") at the host fail with a code
 * (VIR_ERR_...) from a part of libvirt (VIR_FROM_...).
 */
void virtual_host_fail(struct virtual_libvirt *libvirt, const char *host, const char *function,
		       guint count, int code, int from);
/* Calls of a function (NULL: of all) take `ms` longer; G_MAXUINT: they do not end until it is 0. */
void virtual_host_slow(struct virtual_libvirt *libvirt, const char *host, const char *function,
		       guint ms);

/* Faults of VMs, by the domain's name, on whatever host it is. */
enum virtual_trouble {
	VIRTUAL_VM_VANISHES = 0, /* its QEMU is killed */
	VIRTUAL_VM_DESTROYED,    /* not by the local scheduler */
	VIRTUAL_VM_PAUSED,       /* not by the local scheduler */
	VIRTUAL_VM_CONTINUED,    /* not by the local scheduler */
	VIRTUAL_VM_IO_ERROR,     /* it stops, as its disk fails */
	VIRTUAL_GUEST_ENDS,      /* it shuts down */
	VIRTUAL_AGENT_HANGS,
	VIRTUAL_AGENT_RUBBISH, /* answers what it was not asked */
	VIRTUAL_AGENT_GONE,    /* closes its port */
	VIRTUAL_AGENT_WELL,    /* answers again */
	VIRTUAL_TASK_CRASHES,  /* its ranks end with status 1 */
	VIRTUAL_TASK_HANGS,    /* its ranks go no further */
	VIRTUAL_PORTS_RUBBISH, /* its ranks write what is no PMI */
	VIRTUAL_NETWORK_CUT,   /* it reaches no other VM */
	VIRTUAL_TROUBLES,
};
/* Returns whether there is such a VM. */
bool virtual_vm_trouble(struct virtual_libvirt *libvirt, const char *domain,
			enum virtual_trouble trouble);

/* The names of the VMs on a host, sorted; NULL-terminated; the caller frees. */
char **virtual_host_vms(struct virtual_libvirt *libvirt, const char *host);
/* The names of the volumes in its pool, in the same form. */
char **virtual_host_volumes(struct virtual_libvirt *libvirt, const char *host);
/* Makes or replaces a volume there, whose contents are a text: what other programs may do. */
void virtual_host_write(struct virtual_libvirt *libvirt, const char *host, const char *volume,
			const char *text);
/* The host of a running or paused VM (borrowed); NULL: none. Where a migration is, the old one. */
const char *virtual_vm_host(struct virtual_libvirt *libvirt, const char *domain);
/* Processor time that all VMs of the host have used, in nanoseconds, for meters. */
uint64_t virtual_host_cpu_ns(struct virtual_libvirt *libvirt, const char *host);

/* A directory with a guest image of a few bytes, for image_load(). */
void virtual_image_write(const char *directory);
