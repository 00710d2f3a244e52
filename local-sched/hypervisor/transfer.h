/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>
#include <stdbool.h>
#include <stdint.h>

#include "local-sched/hypervisor/host.h"

/*
 * Brings a VM from one host of a cluster to another. A VM in memory, frozen or running, is migrated
 * by the hosts' libvirts. A saved VM is a set of volumes, which this local scheduler copies from
 * storage pool to storage pool. A VM's swap disk goes with it.
 *
 * A migration continues when its caller is gone. transfer_find() finds out how it ended.
 */

/* How a VM moves. */
enum transfer_manner {
	TRANSFER_STILL = 0, /* in memory, and stays frozen */
	TRANSFER_SAVED,     /* it is volumes */
	TRANSFER_LIVE,      /* in memory, and runs throughout */
};

/* The VM and its way; copied. */
struct transfer {
	struct host *from;
	struct host *to;
	const char *to_uri; /* URI by which the libvirt of `from` reaches that of `to` */
	const char *domain;
	/* owner of the VM; a VM of that name with another owner counts as missing */
	const char *keeper;
	const char *const *changes; /* to its XML (domain_xml_changes()) */
	enum transfer_manner manner;
	bool swap;            /* it has a swap disk */
	bool tls;             /* the contents of memory travel by TLS, or not at all */
	GCancellable *cancel; /* for transfer_cancel() */
};

/* Durations of a live migration; -1: not known. */
struct transfer_took {
	int64_t total_ns;    /* of the call that migrates */
	int64_t downtime_ns; /* the VM ran on neither host, as libvirt reports */
};

/*
 * Starts the transfer. Result: struct transfer_took of a live transfer, freed with g_free(); else
 * none. After a failure, saved volumes are where they were, and until the next attempt perhaps at
 * `to` as well; transfer_find() finds a VM in memory. What a success leaves behind at `from` is not
 * removed.
 */
void transfer_start(const struct transfer *transfer, host_done_f done, gpointer data);

/*
 * Ends a transfer. A transfer that waits for its turn does not begin. A live transfer fails, unless
 * it had ended. Otherwise the VM is not wanted any more: volumes are not copied further, and a VM
 * in memory is destroyed at `from`, which ends its migration even where its QEMU hangs. The `done`
 * of transfer_start() follows soon, with an error unless the transfer had ended before.
 */
void transfer_cancel(const struct transfer *transfer);

/* The host that a VM is on. */
enum transfer_place {
	TRANSFER_FROM = 1, /* the old host */
	TRANSFER_TO,       /* the new host */
};

/*
 * Finds out where a VM in memory is after its transfer failed. Result: enum transfer_place
 * (GINT_TO_POINTER). Fails with VIRT_ERROR_NO_DOMAIN where the VM is gone. Fails with
 * VIRT_ERROR_CONNECTION where the place cannot be found out now, because a host is out of reach or
 * the transfer still runs, which this call then ends. A live VM that runs on the old host is there,
 * whatever the new host has or reports. A live VM that runs on the new host is there, even if the
 * old host is out of reach: the new host's libvirtd starts it only when all of it has arrived, and
 * the rest of it stands still.
 */
void transfer_find(const struct transfer *transfer, host_done_f done, gpointer data);
