/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdint.h>

#include "common/platform.h"
#include "local-sched/power/energy_counter.h"
#include "local-sched/power/sample_ring.h"

/*
 * A file that preserves the counters and the last samples over a restart of the local scheduler, so
 * that counters stay monotonic and no reader misses a sample. Each sample appends two text lines in
 * one write, without fsync: they survive the death of the process, not that of the machine (after a
 * reboot the lines that were written count, and the samples' clock is void anyway).
 *
 *   virtbed-power 1 BOOT_ID
 *   C energy_uj gap_uj covered_ns gap_ns remainder has_last last_ns last_mw HOST   a counter
 *   I id HOST                                                                      its id
 *   S seq t_ns mw energy_uj gap HOST                                               a sample
 *   N seq                                                                          the next number
 *
 * Truncated or invalid lines are skipped. Once a file has as many samples as the ring it is renamed
 * to PATH.old, over the one before it, and a new file begins: both together have all samples of the
 * ring, at no other cost than that of the lines.
 */
struct power_journal;
typedef struct power_journal power_journal_t;

/*
 * Opens the journal `path`, created if missing. Reads it into `ring`, `counters` and their `ids`
 * (UUIDs), all indexed by `hosts` (`count` names). The names, ring, counters and ids outlive the
 * journal. Hosts that are not in the file stay as they are: a counter at 0 keeps its new id. After
 * a reboot the counters keep their sums and forget their last sample, and the samples are dropped,
 * but not their numbers. Returns NULL with `error` if the file can be neither read nor created.
 */
struct power_journal *power_journal_open(const struct platform *platform, const char *path,
					 const char *const *hosts, uint32_t count,
					 struct sample_ring *ring, struct energy_counter *counters,
					 char **ids, GError **error);

/* Closes; NULL is allowed. */
void power_journal_close(struct power_journal *journal);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(power_journal_t, power_journal_close)

/*
 * Appends the ring's last entry and the counter of its host. A failure (a full disk) is logged
 * once, and sampling continues. The whole file is written again once that is possible.
 */
void power_journal_append(struct power_journal *journal);
