/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>
#include <stdbool.h>
#include <stdint.h>

#include "local-sched/hypervisor/host.h"

/*
 * Bringing a VM from one host of a cluster to another: one in memory, whether it stands still or
 * runs, by a migration that the hosts' libvirts do between them, one that is saved as volumes,
 * which travel from storage pool to storage pool through us. Its swap disk, if it has one, goes
 * with it.
 *
 * A migration goes on when whoever asked for it is gone: where its end is not known,
 * transfer_find() tells.
 */

/* What is to be brought where; copied. */
struct transfer {
	struct host *from;
	struct host *to;
	const char *to_uri;         /* by which the libvirt of `from` reaches that of `to` */
	const char *domain;
	const char *keeper;         /* whom it belongs to; one of that name that does not is not there */
	const char *const *changes; /* of its XML (domain_xml_changes()) */
	bool saved;                 /* volumes; else the VM itself, which is frozen and stays so */
	bool live;                  /* the VM itself, which runs and goes on running */
	bool swap;                  /* it has a swap disk */
	bool tls;                   /* what is in memory travels by TLS, or not at all */
	GCancellable *cancel;       /* for transfer_cancel() and transfer_abort() */
};

/* What a live one took; -1: not known. */
struct transfer_took {
	int64_t total_ns;    /* of the call that migrates */
	int64_t downtime_ns; /* the VM ran nowhere, as libvirt tells */
};

/*
 * Does it. Result: of a live one struct transfer_took, freed with g_free(); of others none. After a
 * failure saved volumes are where they were, and perhaps at `to` as well until the next attempt;
 * where a VM is is to be found out. What a success leaves behind at `from` is not removed.
 */
void transfer_start(const struct transfer *transfer, host_done_f done, gpointer data);

/*
 * Ends a transfer of a VM that nobody wants any more: volumes are not carried on, and a VM in
 * memory is destroyed at `from`, which ends its migration even where its QEMU hangs.
 * transfer_start()'s `done` comes soon, with an error unless all was over before.
 */
void transfer_cancel(const struct transfer *transfer);

/* Where a VM is. */
enum transfer_place {
	TRANSFER_FROM = 1, /* where it was */
	TRANSFER_TO,       /* where it was to go */
};

/*
 * Finds out where a VM in memory is after its transfer failed. Result: enum transfer_place
 * (GINT_TO_POINTER). Fails with VIRT_ERROR_CONNECTION where that cannot be told now: a host is out
 * of reach, or the transfer is not over, which is then ended; with VIRT_ERROR_NO_DOMAIN where the
 * VM is gone. One that was live and runs where it was is there, whatever the other host has or
 * says; one that runs where it was to go is there, also when the first host is out of reach: its
 * libvirtd sets it going only when all of it has come, and what is left of it stands still.
 */
void transfer_find(const struct transfer *transfer, host_done_f done, gpointer data);

/*
 * Ends a live transfer: one that waits for its turn does not begin, one that is under way fails,
 * unless it was over. No result.
 */
void transfer_abort(const struct transfer *transfer, host_done_f done, gpointer data);
