/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "controller/sched/completion_time.h"

/*
 * The completion times of one machine's queue, task by task (completion_time.h), with a memory: walking down a
 * queue once more computes only what is behind the first difference to the walk before. What counts
 * as the same is what decides the result: execution time, deadline, and the machine's free time,
 * which for a task that executes is the same as long as it could not have finished since. Results are
 * to the bit those of a queue without a memory.
 *
 * The entries of a PET matrix stand for themselves here: a queue serves one matrix.
 */

/* A task of the queue. */
struct completion_time_place {
	struct pmf pct;     /* when the machine is done with it */
	double chance;      /* of the task */
	double mean;        /* of the pct, bins */
	double error;       /* what the chance of the task behind it may be off by; 0: exact */

	/* The rest is the queue's own. */
	const struct pet_entry *exec;
	int64_t deadline;
	double skewness;    /* NAN: not known yet */
};

/* Set to zero it is a queue that has no memory yet. */
struct completion_queue {
	uint32_t count;            /* tasks in this walk */
	struct completion_time_place *places;  /* of which `count` are this walk's */

	/* The rest is the queue's own. */
	uint32_t capacity;
	uint32_t known;            /* places that this walk may find again */
	enum completion_time_scenario scenario;
	uint32_t merge;
	struct pmf free;           /* without an executing task: when the machine starts */
	bool executes;             /* the first place is a task that executes */
	int64_t start;             /* of it */
	int64_t now;
	uint64_t computed;         /* places computed so far; for tests and benchmarks */
};

/*
 * Begins a walk at bin `now` on a machine without an executing task, which starts its next task now.
 * With `merge` above 0 completion times are merged to so many impulses at most. Returns PMF_OK or a
 * fault of pct.h.
 */
enum pmf_fault completion_queue_begin(struct completion_queue *queue, int64_t now, enum completion_time_scenario scenario,
			       uint32_t merge);

/*
 * The same on a machine that has executed its first task since bin `start`; the task is the first
 * place of the walk.
 */
enum pmf_fault completion_queue_begin_executing(struct completion_queue *queue, const struct pet_entry *exec,
					 int64_t start, int64_t now, int64_t deadline,
					 enum completion_time_scenario scenario, uint32_t merge);

/* Adds a task to the end of the queue. Returns as above. */
enum pmf_fault completion_queue_push(struct completion_queue *queue, const struct pet_entry *exec,
			      int64_t deadline);

/* Takes the last task off again; there is one. */
void completion_queue_pop(struct completion_queue *queue);

/* When the machine is done with all tasks of the walk. Valid until the next change. */
const struct pmf *completion_queue_free(const struct completion_queue *queue);

/* The bounded skewness of the completion time of a task of the walk. */
double completion_queue_skewness(struct completion_queue *queue, uint32_t place);

/* Frees the memory; the queue has no memory then. */
void completion_queue_finish(struct completion_queue *queue);
