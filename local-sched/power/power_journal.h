/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "local-sched/power/energy_counter.h"
#include "local-sched/power/sample_ring.h"

/*
 * A file that keeps the counters and the last samples over a restart of the local scheduler, so
 * that counters stay monotonic and nobody misses a sample. Two text lines are appended per sample,
 * in one write and without fsync: it survives the death of the process, not that of the machine
 * (after a reboot what was written counts, and the samples' clock is void anyway).
 *
 *   virtbed-power 1 BOOT_ID
 *   C energy_uj gap_uj covered_ns gap_ns remainder has_last last_ns last_mw HOST   a counter
 *   I id HOST                                                                      its name
 *   S seq t_ns mw energy_uj gap HOST                                               a sample
 *   N seq                                                                          the next number
 *
 * Lines that are cut or rubbish are passed over. The file is rewritten when it has grown much
 * larger than the ring.
 */
struct power_journal;
typedef struct power_journal power_journal_t;

/*
 * Opens the journal `path`, made if missing. Reads what it holds into `ring`, `counters` and their names
 * `ids` (UUIDs), all indexed by `hosts` (`count` names, which outlive the journal; as do ring, counters and
 * ids); hosts that it does not know stay as they are: a counter at 0 keeps the new name that it has. After a reboot
 * the counters keep their sums and forget their last sample, and the samples are dropped but not their numbers.
 * Returns NULL with `error` if the file can be neither read nor made.
 */
struct power_journal *power_journal_open(const char *path, const char *const *hosts, uint32_t count,
					 struct sample_ring *ring, struct energy_counter *counters,
					 char **ids, GError **error);

/* Closes; NULL is allowed. */
void power_journal_close(struct power_journal *journal);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(power_journal_t, power_journal_close)

/*
 * Appends the ring's last entry and the counter of its host. A failure (a full disk) is logged
 * once, and sampling goes on; the file is written whole again once it can be.
 */
void power_journal_append(struct power_journal *journal);
