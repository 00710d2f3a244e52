/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/sched/model.h"
#include "controller/sched/completion_queue.h"
#include "controller/sched/policy.h"
#include "controller/sched/arena.h"

/*
 * A mapping event on clusters with queues (Gentry 2019, sections III and V): the tools for policies
 * that queue tasks. A machine, here as in the paper, is such a cluster. The event holds the virtual
 * queue of every machine with its completion times, and for every waiting task its chance and its
 * expected end on every machine, if it is executed there: the expectation of the machine's
 * completion time so far plus that of its execution.
 *
 * Times are bins from the start of the run: starts are rounded to the nearest bin, the present and
 * deadlines down; whether a deadline has passed is decided by the exact time. Chances are rounded
 * to 2^-30 and expected times to 2^-20 bins, so that rounding errors of sums do not decide between
 * equals: these are sums over thousands of bins, which 12 significant digits (rank_key.h) would not
 * always make equal.
 *
 * When the event begins, tasks whose deadlines have passed are dropped, and the oversubscription
 * level is computed (eq. 8).
 */

/* Longest queue that is accepted as a setting. */
#define QUEUEING_LENGTH_MOST 1000
/* Times that differ by at most this part of a bin are equal: they may be sums. */
#define QUEUEING_TOLERANCE 1e-6

/*
 * Whether no completion time on a queue of `tasks` tasks can have more bins than a PMF holds. Each
 * task adds the bins of an execution time; where a task may be dropped, the first bin of an
 * execution time is the least that it can have besides (completion_time_next()).
 */
bool queueing_fits(const struct pet *pet, uint64_t tasks);

/* NULL, or what is wrong with the settings of a system with queues. */
const char *queueing_fault(const struct sched_system *system);

/* Completion times kept from one event to the next; plans are the same without them. */
struct queueing_memory;

/* Returns an empty memory for one system, or NULL if memory is short. */
struct queueing_memory *queueing_memory_new(void);

/* NULL is allowed. */
void queueing_memory_free(struct queueing_memory *memory);

/* A machine with its virtual queue. */
struct queueing_machine {
	struct completion_queue *times;
	uint32_t count; /* number of tasks, at most the length of queues */
	const struct sched_task **tasks;
	bool executes; /* the first task executes */
	/* One of its nodes is down: no more tasks are mapped to it. */
	bool down;
	double free; /* expected time at which all its tasks are done, bins */
};

/* A waiting task on a machine. */
struct queueing_pair {
	double chance; /* chance to be on time with QUEUEING_CHANCES; else 0 */
	double end;    /* expected end if it is executed, bins */
};

/* A waiting task. */
struct queueing_task {
	const struct sched_task *task;
	int64_t deadline; /* bins */
	bool out;         /* not considered any more */
	bool queued;      /* queued in this event; then it is out, too */
	/* Machine that the policy paired it with; for the policy's use. */
	uint32_t machine;
	struct queueing_pair *pairs; /* per machine; out of date where the queue is full */
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

	/* The fields below are private to queueing.c. */
	struct queueing_memory *memory;
	bool owns_memory;
	unsigned int wishes; /* enum queueing_options */
	uint32_t actions_count;
	struct sched_action *actions;
	uint32_t considered_count;
	struct sched_considered *considered;
	uint32_t judged_count;
	struct sched_judged *judged;
};

/* Whether the policy evicts executing tasks at their deadlines. */
bool queueing_evicts(const struct policy *policy, const struct sched_system *system);

/*
 * Begins the mapping event of `snapshot`, whose system has queues. Completion times are not known
 * until queueing_load(). Returns 0, or -ENOMEM.
 */
int queueing_begin(struct queueing *queueing, const struct policy *policy,
		   const struct sched_snapshot *snapshot, struct policy_context *context);

/* The amount by which the thresholds of a type are lowered (V.D.2); 0 unless the policy is fair. */
double queueing_relief(const struct queueing *queueing, uint32_t row);

/*
 * The chance below which a waiting task is deferred to a later event (V.D.1): the deferring
 * threshold less the relief of its type, or 0 unless the policy prunes, by itself or with +prune.
 */
double queueing_deferral(const struct queueing *queueing, uint32_t row);

/*
 * With +prune: whether a waiting task that the policy would put into the queue of `machine` is
 * deferred, as its chance there is too low. It is excluded then: the pruning mechanism of Gentry
 * 2019 around a heuristic that knows nothing of it (Denninnart, Gentry, Amini Salehi, "Improving
 * robustness of heterogeneous serverless computing systems via probabilistic task pruning", HCW
 * 2019).
 */
bool queueing_defers(struct queueing *queueing, struct queueing_task *task, uint32_t machine);

/* Options of queueing_load(), or'ed together. */
enum queueing_options {
	QUEUEING_PRUNES = 1 << 0,  /* compare queued tasks with their dropping thresholds */
	QUEUEING_CHANCES = 1 << 1, /* compute the chances of pairs, now and as they change */
};

/*
 * Computes the completion times of all queues, and the pairs of all waiting tasks. With
 * QUEUEING_PRUNES, and while dropping is on, every task, from the head to the tail, is compared
 * with its dropping threshold (eq. 7) and dropped if its chance is not higher; the tasks behind it
 * are judged without it. With +prune both options are added. Returns 0, or -ENOMEM.
 */
int queueing_load(struct queueing *queueing, unsigned int wishes);

/* Whether a chance, which is rounded, reaches a configured threshold. */
bool queueing_reaches(double chance, double threshold);

/* Whether the queue of a machine takes another task. */
static inline bool queueing_has_place(const struct queueing *queueing, uint32_t machine)
{
	return !queueing->machines[machine].down &&
	       queueing->machines[machine].count < queueing->settings->length;
}

/* The execution time of a task on a machine. */
const struct pet_entry *queueing_exec(const struct queueing *queueing,
				      const struct sched_task *task, uint32_t machine);

/* Excludes a waiting task for the rest of the event, and notes why it was not queued. */
void queueing_exclude(struct queueing *queueing, struct queueing_task *task);

/* The chance of a task behind all tasks in the queue of a machine now. */
double queueing_chance(const struct queueing *queueing, const struct queueing_task *task,
		       uint32_t machine);

/*
 * For a trial: appends a task to the queue, which must not be full, and removes it again. Pairs are
 * not recomputed. Returns 0, or -ENOMEM.
 */
int queueing_push(struct queueing *queueing, const struct queueing_task *task, uint32_t machine);
void queueing_pop(struct queueing *queueing, uint32_t machine);

/*
 * Appends a task to the queue of a machine, which must not be full, for good, and recomputes the
 * pairs of the machine. Returns 0, or -ENOMEM.
 */
int queueing_enqueue(struct queueing *queueing, struct queueing_task *task, uint32_t machine,
		     double threshold, enum sched_reason reason);

/* Ends the event and returns the plan in *ret_plan. */
void queueing_end(struct queueing *queueing, struct sched_plan *ret_plan);

/*
 * Frees memory that is not from the arena. To be called after queueing_begin(), whatever it
 * returned.
 */
void queueing_finish(struct queueing *queueing);
