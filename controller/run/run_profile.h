/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/run/run_session.h"

/*
 * Measures ETC and EEC of every type on every cluster that it fits: all clusters at once, every
 * node filled as in a run, tasks started at mapping events. A cluster measures each of its types
 * once, in random order from the workload's seed, then once more, and so on, so that a pair's
 * measurements lie far apart (run_profile_schedule.h). When a cluster has all of its measurements, further
 * tasks, drawn by their shares of the arrivals, keep its nodes busy until the others have theirs;
 * those that complete count as well. Times are those of a run: from the request to the end of the
 * last rank, launch included.
 *
 * The first task of a benchmark on a node does not count: it reads the program into memory and,
 * under emulation, pays for translating its code and MPI's, which no later task does. Neither does
 * the first one after a task that made the VM swap, where none of that type ever arrives in a run.
 *
 * Each measurement is on record as it is made (run_profiled.h), and a profile that was interrupted goes on
 * with the rest. A pair that cannot be measured is given up, recorded with its reason, and the rest is
 * measured: one that reached its deadline or made no progress at once, one that failed or was lost after
 * three times in a row, one whose cluster lacks nodes when all else is done.
 *
 * Writes RUN/estimates.yaml (mean, standard deviation, count; the pairs that were given up),
 * RUN/pet.yaml and the single measurements, RUN/profile.json: all of it from the record. False with `error`:
 * it was stopped, or nothing can be measured or written.
 */
bool run_profile(struct run_session *session, GError **error);
