/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/record/record.h"
#include "controller/snapshot/snapshot_json.h"

/*
 * The description of snapshots and actions (common/record/record.h), for the files that read and
 * write them. The context of all rows is the struct snapshot_json whose names they use.
 */

/* Larger counts are refused: real systems have none, and sums of counts stay within 32 bits. */
#define COUNT_MAX 1000000

/* The variants of a snapshot, by its system. */
enum {
	PLAIN = 1 << 0,
	SHARED = 1 << 1,
	QUEUES = 1 << 2,
	UNSHARED = PLAIN | QUEUES,
};

/* The variants of an action: one of these, and QUEUES in a system with queues. */
enum {
	ACTION_BARE = 1 << 3, /* says which task */
	ACTION_DEFER = 1 << 4,
	ACTION_ENQUEUE = 1 << 5,
	ACTION_SHARE = 1 << 6, /* has hosts and a yield */
	ACTION_PLACE = 1 << 7, /* has nodes, a P-state, a start and an end */
};

extern const struct record snapshot_record;            /* struct snapshot_json */
extern const struct record snapshot_system_record;     /* struct snapshot_system */
extern const struct record snapshot_queueing_record;   /* struct snapshot_system */
extern const struct record snapshot_action_record;     /* struct sched_action */
extern const struct record snapshot_considered_record; /* struct sched_considered */
extern const struct record snapshot_judged_record;     /* struct sched_judged */

/* The variant of an action in a system. */
unsigned snapshot_action_variant(const struct sched_system *system, enum sched_action_kind kind);

/* The system of the snapshot that is read. */
static inline const struct snapshot_system *reading_parts(const struct record_reading *reading)
{
	return &((const struct snapshot_json *)reading->context)->parts;
}

/* Verify what was read, so that any policy can decide on it; as `check` of struct record. */
bool snapshot_check(const struct record_reading *reading, void *data);
bool snapshot_check_system(const struct record_reading *reading, void *data);
bool snapshot_check_task(const struct record_reading *reading, void *data);
bool snapshot_check_suspended(const struct record_reading *reading, void *data);
bool snapshot_check_running(const struct record_reading *reading, void *data);
bool snapshot_check_planned(const struct record_reading *reading, void *data);
bool snapshot_check_down(const struct record_reading *reading, void *data);
bool snapshot_check_queue(const struct record_reading *reading, void *data);
