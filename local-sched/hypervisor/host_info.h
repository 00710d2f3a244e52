/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <libvirt/libvirt.h>

/*
 * Facts about a host, for the provenance of a run. They come over the host's libvirt connection, so
 * a remote host has them too. Kernel, governor and the processor's full name are in the host's own
 * files: only a local scheduler on that host can read them, and for a remote host they are not
 * known.
 */
struct host_info {
	guint cpus;       /* processors of the host */
	char *libvirt;    /* version of its libvirtd, e.g. "9.0.0" */
	char *hypervisor; /* version of its QEMU, e.g. "7.2.13"; NULL: libvirt cannot tell */
	json_t *facts;    /* {"cpu", "cpus", "mhz", "memory_mib", "microcode", "name", "libvirt",
			   * "qemu", "kernel", "governor"}: strings or numbers, null: not known */
};
typedef struct host_info host_info_t; /* for g_autoptr() */

/*
 * Collects the facts. Blocks: call it on a worker thread (host_work_f). Returns a new struct
 * host_info, or NULL with `error` when the host cannot even count its CPUs. `input` is not used.
 */
gpointer host_info_work(virConnectPtr connection, gpointer input, GError **error);

/* NULL is allowed. */
void host_info_free(struct host_info *about);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(host_info_t, host_info_free)
