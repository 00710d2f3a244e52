/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/backend/backend.h"
#include "controller/sched/model.h"

/*
 * The simulated backend: clusters in virtual time. A task takes exactly its ETC and draws its EEC at
 * constant power, so the instant at which the energy reaches the limit is computed, not sampled.
 * Waiting costs nothing: wait() jumps to the next event.
 *
 * At one instant completions come before the energy limit, in the order of their starts.
 */

/*
 * A simulation of `system`, which is borrowed until backend_destroy(), at time 0 with nothing
 * running. `tasks_max`: as many tasks can run at once at most (a bound on memory, e.g. the size of
 * the workload). Never fails.
 */
struct backend *backend_sim_new(const struct sched_system *system, uint32_t tasks_max);
