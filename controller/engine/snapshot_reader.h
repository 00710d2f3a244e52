/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/snapshot_json.h"

/*
 * The reading of a snapshot, shared by its files: snapshot_read.c (system, tasks, numbers),
 * snapshot_read_keys.c (which keys there may be), snapshot_read_places.c (where the tasks are),
 * snapshot_read_shared.c (tasks and places where hosts are shared) and snapshot_read_queues.c (where
 * machines have queues).
 */

/* Larger counts are refused: nothing real has them, and sums of them stay within 32 bits. */
#define COUNT_MAX 1000000

/* A reading in progress. */
struct snapshot_reader {
	struct snapshot_json *read;
	const json_t *object;
	const char *what;
	GError **error;
};

/* Sets the error to "WHAT: ..." and returns false. */
bool snapshot_refuse(const struct snapshot_reader *reader, const char *format, ...)
	G_GNUC_PRINTF(2, 3);

/* A count of `object`, at most COUNT_MAX. False with the error set, here and below. */
bool snapshot_get_count(const struct snapshot_reader *reader, const json_t *object, const char *key,
			uint32_t *ret_value);

/* A finite number of `object`. */
bool snapshot_get_number(const struct snapshot_reader *reader, const json_t *object,
			 const char *key, double *ret_value);

/* True or false; missing is false. */
bool snapshot_get_flag(const struct snapshot_reader *reader, const json_t *object, const char *key,
		       bool *ret_flag);

/* An array of objects or of numbers with at most COUNT_MAX entries, borrowed. */
bool snapshot_get_list(const struct snapshot_reader *reader, const json_t *object, const char *key,
		       json_t **ret_list);

/* The index of the cluster that `object` names. */
bool snapshot_get_cluster(const struct snapshot_reader *reader, const json_t *object,
			  uint32_t *ret_cluster);

/* The task of that id. */
bool snapshot_find_task(const struct snapshot_reader *reader, int64_t id,
			const struct sched_task **ret_task);

/* Refuses keys that are not known, in all objects of the snapshot, by their place. */
bool snapshot_read_keys(const struct snapshot_reader *reader);

/* Whether `task` may follow `before` in a list of mappable tasks. */
bool snapshot_check_order(const struct snapshot_reader *reader, const char *list,
			  const struct sched_task *before, const struct sched_task *task);

/* Reads an entry of the list of suspended tasks, which says different things where hosts are shared. */
typedef bool (*snapshot_suspended_f)(const struct snapshot_reader *reader, const json_t *object,
				     struct sched_suspended *ret_suspended);

/* Reads that list, in its order; absent where nothing is suspended. */
bool snapshot_read_suspended(const struct snapshot_reader *reader, snapshot_suspended_f read_one);

/* Verifies the shape of a shared system. */
bool snapshot_check_shared(const struct snapshot_reader *reader);

/* What a task of a shared system asks for: it can run there when all else is away. */
bool snapshot_read_demand(const struct snapshot_reader *reader, const json_t *object, uint32_t id,
			  struct sched_demand *ret_demand);

/* In a shared system: what is suspended, what runs and what was put off. After the waiting. */
bool snapshot_read_shared_places(const struct snapshot_reader *reader);

/* ... and that it is possible. After the nodes that are down. */
bool snapshot_check_shared_places(const struct snapshot_reader *reader);

/* The settings of machines with queues, if the system has them. */
bool snapshot_read_queueing(const struct snapshot_reader *reader);

/* The deadline of a task there. */
bool snapshot_read_deadline(const struct snapshot_reader *reader, const json_t *object,
			    struct sched_task *task);

/* What is in the queues, and what pruning remembers. After the tasks and the time. */
bool snapshot_read_queued(const struct snapshot_reader *reader);

/* Reads and verifies everything that is somewhere, or was promised nodes. */
bool snapshot_read_places(const struct snapshot_reader *reader);
