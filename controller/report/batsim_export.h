/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/replay/batsim_output.h"
#include "controller/report/summary.h"

/*
 * A run as a schedule of Batsim. Jobs are tasks, numbered as in a trace (swf_export.h), profiles
 * their types, resources the nodes of all clusters, numbered from 0 through the clusters in
 * configured order. A job starts with its first attempt and ends with its last; its execution time,
 * as Batsim defines it, is the time between, also where it was suspended. Energies are dynamic.
 */

/*
 * The schedule of a run of the summary. `version` is that of the program. Returns a new schedule,
 * or NULL with `error` (DATABASE_ERROR) where the store cannot be read.
 */
struct batsim_schedule *batsim_export(const struct summary *summary, const struct store_run *run,
				      const char *version, GError **error);
