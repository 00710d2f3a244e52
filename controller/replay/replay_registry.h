/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/replay/replay.h"

/*
 * Any policy of the registry that gives tasks nodes of their own (controller/sched/policy.h), with
 * modifiers, as a policy of replay. What such a policy has to know beyond a trace is made up:
 *
 * - The system has one cluster with one P-state; a processor is a node of one core. A job needs the
 *   power that the trace has of it, else that of a processor of the others on average; 1 W each
 *   where the trace has none.
 * - A job is a task of a type of its own by its width, estimate and power. It is worth 1, whenever
 *   it ends, may not be suspended and suspends no other. So Max UPT is Max 1/r, Max UPR Max
 *   1/(r n), and so is Max UPE without power.
 * - A mapping event follows every instant at which a job was submitted or ended, or for which a
 *   start is reserved; the next one is said to come 1 s later. A job beyond its estimate is
 *   expected to end then.
 * - Place-holders are dropped. A reservation whose nodes are not free at its time, since a job has
 *   outlived its estimate, is given up, and its job waits again.
 *
 * The policies have no budget of energy. Draws have the seed 1.
 */

/* The most processors of a replay under such a policy, which keeps a record of each of them. */
#define REPLAY_REGISTRY_PROCS_MAX (UINT32_C(1) << 24)

/*
 * The policy of that name, which may have modifiers. Returns a new policy, or NULL with the reason
 * in *ret_wrong, which the caller frees: the name is not known, the policy shares hosts or fills
 * queues, or it drops tasks (+drop).
 */
struct replay_policy *replay_registry_new(const char *name, char **ret_wrong);

/* NULL is allowed. */
void replay_registry_free(struct replay_policy *policy);
