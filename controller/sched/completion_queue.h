/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "controller/sched/completion_time.h"

/*
 * The completion times of the queue of one cluster (the papers' machine), task by task
 * (completion_time.h; "machine" below means that cluster), with a memory: walking down a queue
 * again computes only the part behind the first difference to the walk before. Two tasks are the
 * same if execution time, deadline and the time at which the machine becomes free are the same; for
 * an executing task the latter is the same as long as it could not have finished since. Results
 * equal those of a queue without memory to the bit.
 *
 * Entries of a PET matrix are compared by address: a queue serves one matrix.
 */

/* A task of the queue. */
struct completion_time_place {
	struct pmf pct; /* when the machine is done with it */
	double chance;  /* of the task */
	double mean;    /* of the pct, bins */
	double error;   /* bound of the error of the next task's chance; 0: exact */

	/* The rest is the queue's own. */
	const struct pet_entry *exec;
	int64_t deadline;
	double skewness; /* NAN: not known yet */
};

/* A queue. All bytes 0: an empty memory. */
struct completion_queue {
	uint32_t count;                       /* tasks in this walk */
	struct completion_time_place *places; /* the first `count` belong to this walk */

	/* The rest is the queue's own. */
	uint32_t capacity;
	uint32_t known; /* places of the former walk that may still match */
	enum completion_time_scenario scenario;
	uint32_t merge;
	struct pmf free; /* when a machine without an executing task starts */
	bool executes;   /* the first place is a task that executes */
	int64_t start;   /* the bin at which the first place started */
	int64_t now;
	uint64_t computed; /* places computed so far; for tests and benchmarks */
};

/*
 * Begins a walk at bin `now` on a machine without an executing task, which starts its next task
 * now. With `merge` above 0 completion times are merged to at most that many impulses. Returns
 * PMF_OK or a fault of pmf.h.
 */
enum pmf_fault completion_queue_begin(struct completion_queue *queue, int64_t now,
				      enum completion_time_scenario scenario, uint32_t merge);

/*
 * Begins a walk on a machine that has executed its first task since bin `start`; that task is the
 * first place of the walk. Returns as completion_queue_begin().
 */
enum pmf_fault completion_queue_begin_executing(struct completion_queue *queue,
						const struct pet_entry *exec, int64_t start,
						int64_t now, int64_t deadline,
						enum completion_time_scenario scenario,
						uint32_t merge);

/* Appends a task to the queue. Returns as completion_queue_begin(). */
enum pmf_fault completion_queue_push(struct completion_queue *queue, const struct pet_entry *exec,
				     int64_t deadline);

/* Removes the last task; there must be one. */
void completion_queue_pop(struct completion_queue *queue);

/* When the machine is done with all tasks of the walk. Valid until the next change. */
const struct pmf *completion_queue_free(const struct completion_queue *queue);

/* The bounded skewness of the completion time of a task of the walk. */
double completion_queue_skewness(struct completion_queue *queue, uint32_t place);

/* Frees the memory of the queue, which is then empty. */
void completion_queue_finish(struct completion_queue *queue);
