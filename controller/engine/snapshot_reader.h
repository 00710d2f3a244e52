/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/snapshot_json.h"

/*
 * The reading of a snapshot, shared by its files: snapshot_read.c (system, tasks, numbers),
 * snapshot_read_keys.c (known keys), snapshot_read_places.c (placements of tasks),
 * snapshot_read_shared.c (tasks and placements on shared hosts) and snapshot_read_queues.c
 * (clusters with queues).
 */

/* Larger counts are refused: real systems have none, and sums of counts stay within 32 bits. */
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

/*
 * Reads a count of `object`, at most COUNT_MAX. Returns false with the error set, as do all
 * functions below.
 */
bool snapshot_get_count(const struct snapshot_reader *reader, const json_t *object, const char *key,
			uint32_t *ret_value);

/* Reads a finite number of `object`. */
bool snapshot_get_number(const struct snapshot_reader *reader, const json_t *object,
			 const char *key, double *ret_value);

/* Reads a boolean; a missing key is false. */
bool snapshot_get_flag(const struct snapshot_reader *reader, const json_t *object, const char *key,
		       bool *ret_flag);

/* Reads an array of objects or numbers with at most COUNT_MAX entries, borrowed. */
bool snapshot_get_list(const struct snapshot_reader *reader, const json_t *object, const char *key,
		       json_t **ret_list);

/* Finds the index of the cluster that `object` names. */
bool snapshot_get_cluster(const struct snapshot_reader *reader, const json_t *object,
			  uint32_t *ret_cluster);

/* Finds the task with that id. */
bool snapshot_find_task(const struct snapshot_reader *reader, int64_t id,
			const struct sched_task **ret_task);

/* Refuses unknown keys, in all objects of the snapshot. */
bool snapshot_read_keys(const struct snapshot_reader *reader);

/* Whether `task` may follow `before` in a list of mappable tasks. */
bool snapshot_check_order(const struct snapshot_reader *reader, const char *list,
			  const struct sched_task *before, const struct sched_task *task);

/* Reads an entry of the list of suspended tasks, whose keys differ on shared hosts. */
typedef bool (*snapshot_suspended_f)(const struct snapshot_reader *reader, const json_t *object,
				     struct sched_suspended *ret_suspended);

/* Reads the list of suspended tasks, in its order. The key may be absent. */
bool snapshot_read_suspended(const struct snapshot_reader *reader, snapshot_suspended_f read_one);

/* Verifies the shape of a shared system. */
bool snapshot_check_shared(const struct snapshot_reader *reader);

/* Reads the demand of a task in a shared system. The task must fit on otherwise empty hosts. */
bool snapshot_read_demand(const struct snapshot_reader *reader, const json_t *object, uint32_t id,
			  struct sched_demand *ret_demand);

/* In a shared system: reads the suspended, running and deferred tasks. After the waiting ones. */
bool snapshot_read_shared_places(const struct snapshot_reader *reader);

/* In a shared system: verifies that hosts are not overcommitted. After the nodes that are down. */
bool snapshot_check_shared_places(const struct snapshot_reader *reader);

/* Reads the settings of clusters with queues, if the system has them. */
bool snapshot_read_queueing(const struct snapshot_reader *reader);

/* Reads the deadline of a task in a system with queues. */
bool snapshot_read_deadline(const struct snapshot_reader *reader, const json_t *object,
			    struct sched_task *task);

/* Reads the queues and the state of pruning. After the tasks and the time. */
bool snapshot_read_queued(const struct snapshot_reader *reader);

/* Reads and verifies all running, suspended and planned tasks. */
bool snapshot_read_places(const struct snapshot_reader *reader);
