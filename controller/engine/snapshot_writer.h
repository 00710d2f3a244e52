/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/snapshot_json.h"

/*
 * The writing of a snapshot, shared by its files. Functions that return json_t return a new
 * reference.
 */

/*
 * The settings of a system with queues; `pet`, unless NULL, stands for the matrix of execution
 * times.
 */
json_t *snapshot_write_queueing(const struct sched_system *system, const char *pet);

/* The queue of every cluster. */
json_t *snapshot_write_queues(const struct sched_snapshot *snapshot);

/* The sufferage of every type; the snapshot must have it. */
json_t *snapshot_write_sufferage(const struct sched_snapshot *snapshot);

/* Appends the policy's judgements of queued tasks to a list: {"kind": "judge"}. */
void snapshot_write_judged(json_t *list, const struct sched_system *system,
			   const struct sched_plan *plan);

/* Whether an action of that kind has a placement. */
bool snapshot_write_has_place(enum sched_action_kind kind);
