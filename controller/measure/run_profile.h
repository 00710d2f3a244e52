/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/session/run_session.h"

/*
 * Measures ETC and EEC of every type on every cluster that it fits: all clusters at once, every
 * node filled as in a run, tasks started at mapping events. A cluster measures each of its types
 * once, in random order from the workload's seed, then once more, and so on, so that a pair's
 * measurements lie far apart (run_profile_schedule.h). When a cluster has all of its measurements,
 * further tasks, drawn by their arrival fractions, keep its nodes busy until the other clusters
 * have theirs; those that complete count as well. Times are those of a run: from the request to the
 * end of the last rank, launch included.
 *
 * The first task of a benchmark on a node does not count: it reads the program into memory and,
 * under emulation, pays for translating its code and MPI's, which no later task does. Neither does
 * the first task after a task that made the VM swap, if the latter's type never arrives in a
 * run.
 *
 * Each measurement is stored when it is made (run_profiled.h), and an interrupted profile continues
 * with the rest. A pair that cannot be measured is given up and recorded with its reason, and the
 * rest is measured: at once if a task reached its deadline or made no progress, after three times
 * in a row if it failed or was lost, and at the end if its cluster lacks nodes.
 *
 * Writes RUN/estimates.yaml (mean, standard deviation, count; the pairs that were given up),
 * RUN/pet.yaml and the single measurements, RUN/profile.json, all from the store. False with
 * `error`: it was stopped, or no pair can be measured, or a file cannot be written.
 */
bool run_profile(struct run_session *session, GError **error);
