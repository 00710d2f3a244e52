/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <libvirt/libvirt.h>
#include <stdbool.h>

/* libvirt's errors as GError, translated in one place, and its handles as g_autoptr types. */
#define VIRT_ERROR (virt_error_quark())
GQuark virt_error_quark(void);
enum virt_error {
	VIRT_ERROR_OTHER = 1,  /* libvirt refused; the message quotes libvirt */
	VIRT_ERROR_CONNECTION, /* no connection to the host's libvirtd, or it broke */
	VIRT_ERROR_NO_DOMAIN,  /* no such domain, or it does not run */
	VIRT_ERROR_AGENT,   /* the guest agent does not answer, or answers against its protocol */
	VIRT_ERROR_PAUSED,  /* the VM was paused from outside, so that its agent was not asked */
	VIRT_ERROR_REFUSED, /* the guest agent answered with an error */
	/* what is asked for belongs to another owner: a VM's name, the cluster's claim on a host */
	VIRT_ERROR_FOREIGN,
	VIRT_ERROR_FULL,  /* the storage pool has no room */
	VIRT_ERROR_IMAGE, /* the guest image is missing or not what its manifest says */
};

G_DEFINE_AUTOPTR_CLEANUP_FUNC(virConnect, virConnectClose)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(virDomain, virDomainFree)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(virStream, virStreamFree)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(virStoragePool, virStoragePoolFree)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(virStorageVol, virStorageVolFree)

/* Sets `error` from this thread's last libvirt error: "FORMAT...: libvirt's message". */
void virt_error_set(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);

/*
 * Like virt_error_set(), about a VM: "VM 'NAME': FORMAT...: libvirt's message". Use it instead of
 * virDomainGetName() as an argument of virt_error_set(): libvirt forgets its last error when it is
 * asked for the name.
 */
void virt_error_set_domain(GError **error, virDomainPtr domain, const char *format, ...)
	G_GNUC_PRINTF(3, 4);

/* Whether the agent answered a request, by a result (NULL: no error) or by a refusal. */
bool virt_error_is_answer(const GError *error);

/* Keeps libvirt from writing errors to standard error; call it at the start of a program. */
void virt_error_quiet(void);
