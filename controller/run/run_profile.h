/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/run/run_session.h"

/*
 * Measures ETC and EEC of every type on every cluster that it fits: all clusters at once, every
 * node filled as in a run, in an order that is shuffled per cluster from the workload's seed. When
 * a cluster has all its measurements, further tasks keep its nodes busy until the others have
 * theirs; those that complete count as well. Times are those of a run: from the request to the end
 * of the last rank, launch included. The first task of a node does not count: under emulation it
 * pays for translating MPI's code, which no later task does.
 *
 * Writes RUN/estimates.yaml (mean, standard deviation, count), replaces the session's estimates,
 * and records the single measurements in RUN/profile.json. Fails when a pair cannot be measured.
 */
bool run_profile(struct run_session *session, GError **error);
