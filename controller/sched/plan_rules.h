/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/sched/arena.h"
#include "controller/sched/model.h"

/*
 * What holds for every plan, whatever the policy: whether it can be carried out in the state that
 * the snapshot shows. Whether it is a good one is not asked.
 *
 * All models: an action is of a task that the snapshot has in the list that the kind needs, a task
 * gets one action (a task that the plan suspends may get a RESUME besides), and numbers are finite.
 *
 * Nodes of a task's own: the task can run in the cluster at the P-state, its nodes are as many as
 * it needs, in ascending order, and take tasks; no node has two tasks at any time, with what runs
 * and is reserved. A START and a RESUME are now, a PLACEHOLDER and a RESERVE later, all before the
 * end of the day. A SUSPEND is of a preemptible task and stands before the action that takes its
 * nodes. `end_s`, `energy_j` and `utility` are what the estimates say, to 12 digits (rank_key.h).
 * Where the snapshot has a `gate` no action needs more energy than remains of the budget, in the
 * order of the plan.
 *
 * Shared hosts: after the last action no host has more VMs than memory, or gives more than its CPU;
 * yields are above 0 and at most 1; a host that gets a VM is up; a task on its way is neither
 * paused nor migrated; VMs that stay in a migration keep their positions.
 *
 * Queues: none gets longer than the system allows, in the order of the plan, and a cluster of which
 * a node is down gets no tasks.
 */

/*
 * Returns NULL if the plan is legal, else a sentence that names the action, its task and what is
 * wrong: "actions[3], start of task 22: node 5 of cluster \"c1\" has task 18". The index counts the
 * actions of `plan`. Sentence and working memory come from `arena`, which is not reset and may be
 * that of the plan. The plan need not come from a trusted policy; the snapshot has to be as
 * snapshot_json_read() accepts it. O(n log n) for each node with n tasks, and O(tasks + nodes +
 * actions).
 */
const char *plan_rules_broken(const struct sched_snapshot *snapshot, const struct sched_plan *plan,
			      struct arena *arena);
