/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/hypervisor/virt_error.h"

#include <libvirt/virterror.h>

G_DEFINE_QUARK(virtbed_virt, virt_error)

static const struct {
	int foreign; /* code of libvirt: VIR_ERR_... */
	enum virt_error code;
} codes[] = {
	{VIR_ERR_NO_CONNECT, VIRT_ERROR_CONNECTION},
	{VIR_ERR_INVALID_CONN, VIRT_ERROR_CONNECTION},
	{VIR_ERR_RPC, VIRT_ERROR_CONNECTION},
	{VIR_ERR_AUTH_FAILED, VIRT_ERROR_CONNECTION},
	{VIR_ERR_AUTH_UNAVAILABLE, VIRT_ERROR_CONNECTION},
	{VIR_ERR_NO_DOMAIN, VIRT_ERROR_NO_DOMAIN},
	{VIR_ERR_OPERATION_INVALID, VIRT_ERROR_NO_DOMAIN},
	{VIR_ERR_AGENT_UNRESPONSIVE, VIRT_ERROR_AGENT},
	{VIR_ERR_AGENT_UNSYNCED, VIRT_ERROR_AGENT},
};

static enum virt_error translate(const virError *foreign)
{
	if (!foreign)
		return VIRT_ERROR_OTHER;
	/* A broken connection has various codes, but always comes from this part of libvirt. */
	if (foreign->domain == VIR_FROM_RPC)
		return VIRT_ERROR_CONNECTION;
	for (size_t i = 0; i < G_N_ELEMENTS(codes); i++)
		if (codes[i].foreign == foreign->code)
			return codes[i].code;
	return VIRT_ERROR_OTHER;
}

void virt_error_set(GError **error, const char *format, ...)
{
	const virError *foreign = virGetLastError();
	g_autofree char *what = NULL;
	va_list arguments;

	va_start(arguments, format);
	what = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	g_set_error(error, VIRT_ERROR, (gint)translate(foreign), "%s: %s", what,
		    foreign && foreign->message ? foreign->message : "unknown libvirt error");
}

void virt_error_set_domain(GError **error, virDomainPtr domain, const char *format, ...)
{
	virErrorPtr foreign = virSaveLastError();
	const char *name = virDomainGetName(domain);
	g_autofree char *what = NULL;
	va_list arguments;

	va_start(arguments, format);
	what = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	g_set_error(error, VIRT_ERROR, (gint)translate(foreign), "VM '%s': %s: %s",
		    name ? name : "?", what,
		    foreign && foreign->message ? foreign->message : "unknown libvirt error");
	virFreeError(foreign);
}

bool virt_error_is_answer(const GError *error)
{
	return !error || g_error_matches(error, VIRT_ERROR, VIRT_ERROR_REFUSED);
}

static void ignore_error(void *data, virErrorPtr error)
{
}

void virt_error_quiet(void)
{
	virSetErrorFunc(NULL, ignore_error);
}
