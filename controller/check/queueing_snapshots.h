/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/sched/pet.h"
#include "controller/sched/policy.h"

/* Random snapshots of machines with queues. */

#define QUEUEING_MACHINES_MAX 4
#define QUEUEING_TYPES_MAX 4
#define QUEUEING_LENGTH_MAX 6
#define QUEUEING_TASKS_MAX 40

struct queueing_random {
	struct sched_snapshot snapshot;

	/* What it borrows. */
	struct sched_system *system;
	struct sched_queueing settings;
	struct pet *pet;
	struct sched_task tasks[QUEUEING_TASKS_MAX];
	const struct sched_task *pointers[QUEUEING_TASKS_MAX];
	struct sched_queue queues[QUEUEING_MACHINES_MAX];
	double sufferage[QUEUEING_TYPES_MAX];
};

/*
 * A snapshot that depends on the seed alone: few types and short times, so that ties are frequent
 * and all parts of the rules are met. Free it with queueing_random_free().
 */
struct queueing_random *queueing_random_new(uint64_t seed);

void queueing_random_free(struct queueing_random *random);
