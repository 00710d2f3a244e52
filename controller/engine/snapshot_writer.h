/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/snapshot_json.h"

/* The writing of a snapshot, shared by its files. What is returned is a new reference. */

/* The settings of a system with queues; `pet` stands for its matrix unless it is NULL. */
json_t *snapshot_write_queueing(const struct sched_system *system, const char *pet);

/* The queue of every machine. */
json_t *snapshot_write_queues(const struct sched_snapshot *snapshot);

/* The sufferage of every type, which the snapshot has. */
json_t *snapshot_write_sufferage(const struct sched_snapshot *snapshot);

/* Adds to a list how a policy judged the tasks that were queued: {"kind": "judge"}. */
void snapshot_write_judged(json_t *list, const struct sched_system *system,
			   const struct sched_plan *plan);

/* Whether an action of that kind has a place. */
bool snapshot_write_has_place(enum sched_action_kind kind);
