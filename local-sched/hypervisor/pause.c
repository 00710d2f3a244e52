/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/hypervisor/pause.h"

#include <glib.h>
#include <libvirt/libvirt.h>

#define IO_ERROR "an I/O error"
#define WATCHDOG "its watchdog"
#define MIGRATION "a migration that failed"

static const char *failure_of(const char *const *failures, int count, int code)
{
	return code >= 0 && code < count ? failures[code] : NULL;
}

const char *pause_failure_of_event(int detail)
{
	static const char *const failures[] = {
		[VIR_DOMAIN_EVENT_SUSPENDED_IOERROR] = IO_ERROR,
		[VIR_DOMAIN_EVENT_SUSPENDED_WATCHDOG] = WATCHDOG,
		[VIR_DOMAIN_EVENT_SUSPENDED_API_ERROR] = "an operation of libvirt that failed",
		[VIR_DOMAIN_EVENT_SUSPENDED_POSTCOPY_FAILED] = MIGRATION,
	};

	return failure_of(failures, G_N_ELEMENTS(failures), detail);
}

const char *pause_failure_of_reason(int reason)
{
	static const char *const failures[] = {
		[VIR_DOMAIN_PAUSED_IOERROR] = IO_ERROR,
		[VIR_DOMAIN_PAUSED_WATCHDOG] = WATCHDOG,
		[VIR_DOMAIN_PAUSED_CRASHED] = "a crash of its guest",
		[VIR_DOMAIN_PAUSED_POSTCOPY_FAILED] = MIGRATION,
	};

	return failure_of(failures, G_N_ELEMENTS(failures), reason);
}
