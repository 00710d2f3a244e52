/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/backend/backend.h"
#include "controller/sched/model.h"

/*
 * The simulated backend: clusters in virtual time. A task takes exactly its ETC and draws its EEC
 * at constant power, so the instant at which the energy reaches the limit is computed, not sampled.
 * Waiting costs no time: backend_sim_wait() jumps to the next event.
 *
 * At one instant completions come before the energy limit, in the order of their starts.
 *
 * On shared hosts (Stillwell 2010) the progress of a task is the integral of its yield, and the
 * task ends when that equals its ETC. Its execution time is the time on hosts. The backend does not
 * check which hosts are taken.
 *
 * A suspended task keeps its progress to the last bit and draws no power. While it is being frozen
 * it executes, and may end first; after a resumption it executes when the whole resumption is over.
 */

/*
 * A simulation of `system`, which is borrowed until backend_destroy(), at time 0 with no task
 * running. `tasks_max` bounds the tasks that run at once, and so the memory; the size of the
 * workload suffices. Never fails.
 */
struct backend *backend_sim_new(const struct sched_system *system, uint32_t tasks_max);

/*
 * Advances the clock to the next event, or to `until_s`: its kind is then NONE and its time
 * `until_s`. Events at until_s itself come before NONE. If until_s has passed the clock stands
 * still.
 */
void backend_sim_wait(struct backend *backend, double until_s, struct backend_event *ret_event);

/*
 * A simulation that continues the run of another backend from time_s on, which has used energy_j by
 * then. To be called first; backend_sim_carry() follows for each task that the other backend has.
 */
void backend_sim_continue(struct backend *backend, double time_s, double energy_j);

/* A task that the simulation takes over, as it is at that time. */
struct backend_sim_carried {
	struct sched_allocation placed;
	uint32_t attempt;
	double earlier_s;     /* execution time of the intervals before the last */
	double interval_s;    /* of the last one so far; 0: it does not execute */
	double progress_s;    /* of its estimate, it has done */
	double yield;         /* on shared hosts; else 1 */
	uint32_t suspensions; /* of the attempt, with a suspension that is under way */
	bool reported;        /* that it STARTED was reported */
	bool suspended;       /* it is suspended, or was until it is to resume */
};

/*
 * Takes a task over. It has executed as long as it has, and takes as long as its estimate says, or
 * ends at once where it has taken longer. A suspension or a resumption that is under way is to be
 * requested again.
 */
void backend_sim_carry(struct backend *backend, const struct backend_sim_carried *task);

/* The overheads that were observed, per cluster; docs/reference/store.md, "suspension". */
struct backend_sim_overheads {
	/* Per cluster of the system, finite, >= 0; NULL: none at all. */
	const struct backend_overhead *const *samples;
	const uint32_t *counts; /* per cluster; 0: no overhead there */
	uint64_t seed;
	uint64_t stream; /* the number of the repetition: streams of a seed are independent */
};

/*
 * From now on every suspension, with its resumption, takes as long as one of its cluster's samples,
 * drawn uniformly. The draw depends on seed, stream, task and number of the suspension alone, so
 * policies that suspend the same task meet the same overhead. Without samples, and without this
 * call, suspending and resuming take no time (Machovec 2017, section II). The samples must outlive
 * the backend. To be called before the first start.
 */
void backend_sim_set_overheads(struct backend *backend,
			       const struct backend_sim_overheads *overheads);

/*
 * From now on a task that resumes holds its nodes for `penalty_s` (>= 0, finite) before it makes
 * progress: the rescheduling penalty of Stillwell 2010, IV.A. RESUMED comes at once, so the policy
 * cannot see the penalty; another suspension and resumption starts the penalty again.
 */
void backend_sim_set_penalty(struct backend *backend, double penalty_s);

/* How one measured task differed from its estimates: measured / estimated. */
struct backend_sim_ratio {
	double time;   /* > 0 */
	double energy; /* >= 0 */
};

/* The ratios that were observed, per cluster; for repeating a measurement in simulation. */
struct backend_sim_spread {
	const struct backend_sim_ratio *const *ratios; /* per cluster of the system */
	const uint32_t *counts;                        /* per cluster, > 0 */
	uint64_t seed;
	uint64_t stream; /* the number of the repetition: streams of a seed are independent */
};

/*
 * From now on every task takes its ETC (on queueing clusters: the drawn time, see below) and EEC
 * times a ratio drawn uniformly from those of its cluster. What `spread` points to must outlive the
 * backend. To be called before the first start.
 */
void backend_sim_set_spread(struct backend *backend, const struct backend_sim_spread *spread);

/*
 * On queueing clusters (sched_system.queueing) execution times are drawn from the distributions
 * that policies know, to the bin; the draws for a task depend on seed, stream and the task's index
 * alone. Without this call both are 0.
 */
void backend_sim_set_exec_seed(struct backend *backend, uint64_t seed, uint64_t stream);

/* The course of a task on a cluster, where that is not as estimated. All 0: as estimated. */
struct backend_sim_course {
	double time;    /* measured / estimated: its execution time is that times its ETC; > 0 */
	double more_s;  /* added to this; the sum is > 0 */
	double power;   /* its power over EEC / ETC; >= 0 */
	double drawn_s; /* on queueing clusters, instead of the drawn time; 0: it is drawn */
};

/* An attempt that does not complete. */
struct backend_sim_loss {
	uint32_t task, attempt;
	double exec_s; /* it has executed so long; a task that completes before is not lost */
	enum backend_outcome outcome; /* LOST, or FAILED or KILLED */
};

/* What the nth suspension of a task takes, in each of its attempts. */
struct backend_sim_step {
	uint32_t task, n;
	struct backend_overhead overhead;
};

/* What a migration of a running task takes. */
struct backend_sim_migration {
	double total_s;    /* until the nodes that its VMs left take tasks again */
	double downtime_s; /* of that, without progress */
};

/* How far estimates are off, as draws; all 0: not at all. */
struct backend_sim_error {
	/*
	 * Deviations of the logarithms of two factors of execution times and energies: one for all
	 * tasks of a row on a cluster, the error of that estimate, and one for each task, its
	 * noise. Both factors are lognormal with mean 1.
	 */
	double estimate_sd, noise_sd;
	/*
	 * For so long every task holds its nodes before it makes progress: after its start, and
	 * after each resumption. It draws its power meanwhile.
	 */
	double overhead_s;
	/*
	 * Draws depend on these and the row and cluster, or the task, alone: simulations of other
	 * policies and of errors of other sizes meet the same draws.
	 */
	uint64_t seed;
	uint64_t stream; /* of the seed, such as the trial */
};

/*
 * How tasks go where that is not as estimated, beside any spread: by draws, or as those of a run
 * went, or both. All 0: as estimated.
 */
struct backend_sim_courses {
	struct backend_sim_error error;
	const struct backend_sim_course *of;   /* tasks_max x clusters (row = task); NULL: none */
	const struct backend_sim_loss *losses; /* ascending by task, attempt */
	uint32_t losses_count;
	const struct backend_sim_step *steps; /* ascending by task, n */
	uint32_t steps_count;
	const struct backend_event *nodes; /* NODE_DOWN and NODE_UP, ascending by time */
	uint32_t nodes_count;
	/*
	 * Running tasks migrate, and the migration of a task takes what one of these takes, drawn
	 * as the overheads are. 0: they cannot, and the engine suspends and resumes them instead.
	 */
	const struct backend_sim_migration *migrations;
	uint32_t migrations_count;
	double base_w; /* what hosts draw beside tasks; below 0: less than their idle watts */
};

/*
 * From now on tasks go as `courses` says. What it points to must outlive the backend. To be called
 * before the first start.
 */
void backend_sim_set_courses(struct backend *backend, const struct backend_sim_courses *courses);
