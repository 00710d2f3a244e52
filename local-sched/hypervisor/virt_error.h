/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <libvirt/libvirt.h>
#include <stdbool.h>

/*
 * libvirt's errors as GError, translated once, and its handles as g_autoptr types.
 */
#define VIRT_ERROR (virt_error_quark())
GQuark virt_error_quark(void);
enum virt_error {
	VIRT_ERROR_OTHER = 1,   /* libvirt refused; the message quotes it */
	VIRT_ERROR_CONNECTION,  /* no connection to the host's libvirtd, or it broke */
	VIRT_ERROR_NO_DOMAIN,   /* no such domain, or it does not run */
	VIRT_ERROR_AGENT,       /* the guest agent does not answer, or answers rubbish */
	VIRT_ERROR_PAUSED,      /* the VM was paused by somebody: its agent was not asked */
	VIRT_ERROR_REFUSED,     /* the guest agent answered with an error */
	VIRT_ERROR_FOREIGN,     /* somebody else has what we would have: a VM's name, the cluster's place on a host */
	VIRT_ERROR_FULL,        /* the storage pool has no room */
	VIRT_ERROR_IMAGE,       /* the guest image is missing or not what its manifest says */
};

G_DEFINE_AUTOPTR_CLEANUP_FUNC(virConnect, virConnectClose)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(virDomain, virDomainFree)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(virStream, virStreamFree)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(virStoragePool, virStoragePoolFree)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(virStorageVol, virStorageVolFree)

/* Sets `error` from this thread's last libvirt error: "FORMAT...: libvirt's message". */
void virt_error_set(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);

/*
 * The same of a VM: "VM 'NAME': FORMAT...: libvirt's message". To ask for its name makes libvirt forget
 * its last error: as an argument of virt_error_set() it would come too early.
 */
void virt_error_set_domain(GError **error, virDomainPtr domain, const char *format, ...)
	G_GNUC_PRINTF(3, 4);

/* Whether an agent has answered that was asked, be it that it will not (NULL: no error). */
bool virt_error_is_answer(const GError *error);

/* Keeps libvirt from writing errors to standard error itself; for the start of a program. */
void virt_error_quiet(void);
