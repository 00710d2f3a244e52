/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/sched/model.h"
#include "controller/sched/completion_queue.h"
#include "controller/sched/policy.h"
#include "controller/sched/arena.h"

/*
 * A mapping event on machines with queues (Gentry 2019, sections III and V): what policies that queue
 * tasks are written with. It knows the virtual queue of every machine with its completion times, and
 * for every waiting task its chance on every machine and when it is expected to be done there if it is
 * executed: the expectation of the machine's completion time so far plus that of its execution.
 *
 * Times are bins from the start of the run: starts to the nearest bin, the present and deadlines
 * down; whether a deadline has passed is told to the instant. Chances are rounded to 2^-30 and expected times to
 * 2^-20 bins, so that not the rounding errors of sums decide between what is equal: these are sums over thousands of
 * bins, which 12 significant digits (rank_key.h) would not always make equal.
 *
 * When the event begins, tasks whose deadlines have passed are dropped, and the oversubscription level
 * is worked out (eq. 8).
 */

/* Longest queue that is taken for meant. */
#define QUEUEING_LENGTH_MOST 1000
/* Times that differ by so little of a bin are the same: they may have been computed. */
#define QUEUEING_HAIR 1e-6

/*
 * Whether no completion time on a queue of `tasks` tasks can have more bins than a PMF holds. With
 * each task it has those of an execution time more; where a task may be dropped, the first bin of an
 * execution time is the least that it can have besides (completion_time_next()).
 */
bool queueing_fits(const struct pet *pet, uint64_t tasks);

/* What is wrong with the settings of a system that has queues, or NULL. */
const char *queueing_fault(const struct sched_system *system);

/* The memory of completion times from one event to the next; the plans are the same without it. */
struct queueing_memory;

/* Returns an empty memory, or NULL when there is none to be had. It serves one system. */
struct queueing_memory *queueing_memory_new(void);

/* How many completion times were computed so far. */
uint64_t queueing_memory_computed(const struct queueing_memory *memory);

/* NULL is allowed. */
void queueing_memory_free(struct queueing_memory *memory);

/* A machine with its virtual queue. */
struct queueing_machine {
	struct completion_queue *times;
	uint32_t count;                  /* of tasks, at most the length of queues */
	const struct sched_task **tasks;
	bool executes;                   /* the first one does */
	bool down;                       /* one of its nodes is: nothing more is mapped to it */
	double free;                     /* expected time when it is done with all, bins */
};

/* A task on a machine. */
struct queueing_pair {
	double chance; /* if it was asked for; else 0 */
	double end;    /* expected, if it is executed; bins */
};

/* A waiting task. */
struct queueing_task {
	const struct sched_task *task;
	int64_t deadline;            /* bins */
	bool out;                    /* not to be looked at any more */
	bool queued;                 /* by this event; then it is out, too */
	uint32_t machine;            /* that a policy paired it with; the policy's own */
	struct queueing_pair *pairs; /* per machine; stale where that has no place left */
};

/* The event. */
struct queueing {
	const struct policy *policy;
	const struct sched_snapshot *snapshot;
	const struct sched_system *system;
	const struct sched_queueing *settings;
	struct arena *arena;
	unsigned int flags; /* enum policy_flags */
	int64_t now;        /* bins */
	enum completion_time_scenario scenario;
	struct sched_pruner pruner;
	uint32_t machines_count;
	struct queueing_machine *machines;
	uint32_t tasks_count;
	struct queueing_task *tasks; /* in the order of the snapshot */

	/* The rest is queueing.c's own. */
	struct queueing_memory *memory;
	bool owns_memory;
	unsigned int wishes; /* enum queueing_wishes */
	uint32_t actions_count;
	struct sched_action *actions;
	uint32_t considered_count;
	struct sched_considered *considered;
	uint32_t judged_count;
	struct sched_judged *judged;
};

/* Whether the policy takes executing tasks off their machines at their deadlines. */
bool queueing_evicts(const struct policy *policy, const struct sched_system *system);

/*
 * Starts the mapping event of `snapshot`, whose system has queues. Completion times are not known
 * until queueing_load(). Returns 0, or -ENOMEM.
 */
int queueing_begin(struct queueing *queueing, const struct policy *policy,
		   const struct sched_snapshot *snapshot, struct policy_context *context);

/* By what the thresholds of a type are lowered (V.D.2); 0 unless the policy is fair. */
double queueing_relief(const struct queueing *queueing, uint32_t row);

/* What queueing_load() does besides, or'ed together. */
enum queueing_wishes {
	QUEUEING_PRUNES = 1 << 0,  /* holds queued tasks against their dropping thresholds */
	QUEUEING_CHANCES = 1 << 1, /* the chances of pairs, now and as they change */
};

/*
 * Works out the completion times of all queues, and the pairs of all waiting tasks. If it prunes, and
 * while dropping is on, every task, from the head to the tail, is held against its dropping threshold
 * (eq. 7) and leaves if it has no higher chance; what is behind it is judged as it is without it.
 * Returns 0, or -ENOMEM.
 */
int queueing_load(struct queueing *queueing, unsigned int wishes);

/* Whether a chance, which is rounded, is not below a threshold as it was configured. */
bool queueing_reaches(double chance, double threshold);

/* Whether a machine has a place left in its queue. */
static inline bool queueing_has_place(const struct queueing *queueing, uint32_t machine)
{
	return !queueing->machines[machine].down &&
	       queueing->machines[machine].count < queueing->settings->length;
}

/* The execution time of a task on a machine. */
const struct pet_entry *queueing_exec(const struct queueing *queueing,
				      const struct sched_task *task, uint32_t machine);

/* Gives up a waiting task for the rest of the event: it is out, and why it was not queued is noted. */
void queueing_put_out(struct queueing *queueing, struct queueing_task *task);

/* The chance of a task behind all that is in the queue of a machine now. */
double queueing_chance(const struct queueing *queueing, const struct queueing_task *task,
		       uint32_t machine);

/*
 * For a try: a task at the end of the queue, which has a place left, and off it again. Pairs are not
 * worked out anew. Returns 0, or -ENOMEM.
 */
int queueing_push(struct queueing *queueing, const struct queueing_task *task, uint32_t machine);
void queueing_pop(struct queueing *queueing, uint32_t machine);

/*
 * Puts a task into the queue of a machine that has a place left, for good, and works out the pairs of
 * the machine anew. Returns 0, or -ENOMEM.
 */
int queueing_enqueue(struct queueing *queueing, struct queueing_task *task, uint32_t machine,
		     double threshold, enum sched_reason reason);

/* Hands out the plan. */
void queueing_end(struct queueing *queueing, struct sched_plan *ret_plan);

/* Frees what is not from the arena. To be called after queueing_begin(), whatever it returned. */
void queueing_finish(struct queueing *queueing);
