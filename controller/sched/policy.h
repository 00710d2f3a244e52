/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/sched/model.h"
#include "controller/sched/arena.h"

/*
 * The interface of policies. A policy is a pure function from a snapshot to a plan: it does no I/O,
 * reads no clock and keeps no state between calls; equal snapshots give equal plans. A new policy
 * is one file under policies/ and one line in policies/registry.def. The test sched-conformance
 * checks all registered policies against these rules: meson test -C build sched-conformance.
 *
 * The tools that policies are written with are in the header of each model: mapping.h, immediate.h,
 * sharing.h and queueing.h.
 *
 * A policy is named with modifiers: "max-upr", "max-upr+reservations", "event-based+drop:0.5",
 * "max-upr+filter:resource:4.0". "+no-wait", which is the default of Pair, is accepted and left out
 * of the name.
 *
 * A policy from outside the tree is named by what decides: "exec:COMMAND [ARGUMENT...]" is a
 * program, "so:FILE" a shared object, "batsim:COMMAND" and "batsim-edc:FILE" are schedulers of
 * Batsim. It is in no registry and takes no modifiers, and struct policy_outside stands for it.
 *
 * Ties are broken in one way everywhere: higher objective, then earlier arrival, then lower task
 * id, then cluster order, then lower P-state. Objectives, energies, utilities and computed times
 * are equal if their keys are (rank_key.h).
 */

/* How a policy plans the starts of tasks that cannot start now (Machovec 2018, 3.2). */
enum policy_future {
	POLICY_FUTURE_PLACEHOLDERS = 0, /* dropped at the next mapping event */
	POLICY_FUTURE_RESERVATIONS,     /* permanent */
};

/* How an option's energy is compared with a fair share of the remaining energy (3.8). */
enum policy_filter {
	POLICY_FILTER_NONE = 0,
	POLICY_FILTER_TASK,     /* energy per task, equations (6) to (8) */
	POLICY_FILTER_RESOURCE, /* energy per core-second, equation (9) */
};

/* When a policy is asked. */
enum policy_moments {
	POLICY_AT_PERIODS = 0, /* at the periodic events */
	/* When tasks have arrived or ended, or the time of a deferred task has come. */
	POLICY_AT_CHANGES,
	POLICY_AT_BOTH,
};

struct immediate;
struct mapping;
struct policy;
struct policy_context;
struct queueing;
struct queueing_memory;
struct sharing;

/* Flags of policy_decide(), or'ed together. */
enum policy_flags {
	POLICY_PLAIN = 0,
	/* Fill plan->considered. Slower. */
	POLICY_EXPLAIN = 1 << 0,
	/*
	 * Leave out place-holders that cannot start before the next mapping event where they change
	 * nothing, neither now nor, as long as tasks keep to their estimates, at the next event.
	 * For simulations whose place-holders are not shown. A policy may ignore this flag.
	 */
	POLICY_TRIM = 1 << 1,
};

/*
 * What decides for policies from outside the tree in one run: programs and shared objects that it
 * starts. It belongs to its maker (controller/plugin/).
 */
struct policy_outside {
	/*
	 * Decides one mapping event as policy_decide(). Returns 0; -ENOMEM; or -EIO if there is no
	 * plan: `problem` then says why. May block and do I/O. Calls follow one another, those of
	 * one policy and then of another where the policy of a run is replaced.
	 */
	int (*decide)(struct policy_outside *outside, const struct policy *policy,
		      const struct sched_snapshot *snapshot, struct policy_context *context,
		      struct sched_plan *ret_plan);
	const char *problem; /* of the last call that returned -EIO; owned by `outside` */
};

/* The memory and the flags of one call. */
struct policy_context {
	struct arena *arena; /* everything in the plan comes from it */
	unsigned int flags;  /* enum policy_flags */
	/*
	 * Completion times that a policy with queues (queueing.h) computed at former events of the
	 * same system. They save time and do not change plans. NULL: none.
	 */
	struct queueing_memory *memory;
	struct policy_outside
		*outside; /* what decides if the policy is from outside; else unused */
};

/*
 * The tables of a policy: one for each model that it decides in, with a decide() and the facts of
 * the policy in that model. The system (model.h) says which model it is: with `queueing` that of
 * queues, with `shared` that of shared hosts, else nodes of a task's own. decide() is required. It
 * decides one mapping event with the tools of the model's header and returns 0 or -ENOMEM;
 * policy_decide() alone calls it. A fact that is left out is false or 0.
 */

/* A task has nodes of its own, and the policy plans the starts of tasks that have to wait. */
struct policy_planning {
	enum policy_future future; /* of the policy without a modifier */
	bool future_fixed;         /* the modifiers +placeholders and +reservations are refused */
	bool reads_budget;         /* decisions depend on the budget even without a filter */
	bool by_energy;     /* decisions depend on the energies of options even without a budget */
	bool cluster_order; /* cluster order matters beyond ties, which reports mention */
	bool ordered;       /* an order of the queue: the modifier +easy is accepted */
	/*
	 * mapping.h. Tasks that are dropped are not in mapping->tasks any more; the others are in
	 * the order of the snapshot.
	 */
	int (*decide)(struct mapping *mapping);
};

/*
 * A task has nodes of its own, and starts now or waits: no start is planned. A policy without
 * struct policy_planning decides so wherever tasks have nodes of their own, one with both tables
 * only where the system is `immediate`.
 */
struct policy_immediate {
	/* What the policy is in this model; NULL if it has no struct policy_planning. */
	const char *section;
	const char *summary;
	/* Compares both orderings of two tasks; the modifier +algorithm-3 is accepted. */
	bool pairs;
	int (*decide)(struct immediate *immediate); /* immediate.h */
};

/* VMs of several tasks share hosts (Stillwell 2010). The policy's modifiers have no effect. */
struct policy_sharing {
	enum policy_moments moments;            /* in other models it is not the policy's to say */
	int (*decide)(struct sharing *sharing); /* sharing.h */
};

/* Clusters have queues, which the policy fills (Gentry 2019). Its one modifier is +prune. */
struct policy_queueing {
	bool prunes; /* it drops and defers tasks itself; the modifier +prune is refused */
	bool evicts; /* it evicts executing tasks at their deadlines (scenario C) */
	bool fair;   /* it uses the sufferage of task types (V.D.2) */
	int (*decide)(struct queueing *queueing); /* queueing.h */
};

/* One policy. Its file defines it and its tables as constants. */
struct policy_ops {
	const char *name;
	const char *section; /* of the paper: "Machovec 2018, 3.5" */
	const char *summary; /* one line for `virtbed policies` */
	uint32_t variant;    /* for a file that defines several policies, which alone reads it */
	const struct job_order *order; /* job_order.h: by which it takes the tasks; NULL: none */
	bool reference;                /* policy_reference() */
	/* NULL: the policy does not decide in that model. At least one is there. */
	const struct policy_planning *planning;
	const struct policy_immediate *immediate;
	const struct policy_sharing *sharing;
	const struct policy_queueing *queueing;
};

/* Longest name of a policy with its modifiers, with the final 0. */
#define POLICY_NAME_MAX 256

/* A policy with its modifiers: a value, copied freely. */
struct policy {
	const struct policy_ops *ops;
	enum policy_future future; /* where starts are planned */
	/* +drop was given: tasks that can earn only less than drop_threshold are dropped (3.3). */
	bool drop_given;
	/* 0 with +drop: no task is dropped; without +drop tasks that can earn nothing are. */
	double drop_threshold;
	enum policy_filter filter;
	double leniency;  /* of the filter, > 0; 0 without one */
	bool filter_once; /* the fair share is computed once per event (3.1) */
	/* +reserve-now: reserved nodes are kept free from now on until the start (mapping.h). */
	bool reserve_now;
	/* +easy: EASY Backfilling in the order of the policy (order.h). */
	bool backfills;
	/* +prune: tasks that are unlikely to be on time are dropped and deferred (queueing.h). */
	bool prunes;
	/*
	 * +algorithm-3: Pair exactly as Algorithm 3, where it differs from the paper's text
	 * (preempt_pair.c).
	 */
	bool algorithm_3;
	char name[POLICY_NAME_MAX]; /* as given, without +no-wait */
};

/*
 * Of all policies from outside: they may decide in every model and depend on everything that a
 * snapshot has. Its tables have no decide(), and it is not in the registry.
 */
extern const struct policy_ops policy_outside_ops;

/* Whether the policy is one from outside the tree. */
static inline bool policy_is_outside(const struct policy *policy)
{
	return policy->ops == &policy_outside_ops;
}

/* All policies of the tree, in the order of the table; *ret_count of them. */
const struct policy_ops *const *policy_list(uint32_t *ret_count);

/* The policy of that name without modifiers, or NULL. */
const struct policy_ops *policy_find(const char *name);

/*
 * The policy that Machovec 2018 compares the others with: its energy without a limit is the
 * default budget (6.3), and `simulate` prints utilities as ratios to its utility. The registry has
 * one (sched-conformance).
 */
const struct policy_ops *policy_reference(void);

/*
 * Parses a name with modifiers. Returns 0, or -EINVAL with a line in `message` (`size` bytes,
 * truncated if need be) that says what is wrong and lists the known names; *ret_policy is then
 * untouched.
 */
int policy_parse(const char *text, struct policy *ret_policy, char *message, size_t size);

/*
 * Replaces a name that policy_parse() accepts, in place, by the normal name of the policy, which is
 * not longer. Other text is left as it is.
 */
void policy_normalize_name(char *name);

/* Whether decisions depend on the budget. If not, one run serves all limits of a testbed. */
static inline bool policy_reads_budget(const struct policy *policy)
{
	return policy->filter != POLICY_FILTER_NONE ||
	       (policy->ops->planning && policy->ops->planning->reads_budget);
}

/*
 * Whether decisions depend on the energies of options, at least with a budget. Such a policy makes
 * no sense without energies.
 */
static inline bool policy_by_energy(const struct policy *policy)
{
	return policy_reads_budget(policy) ||
	       (policy->ops->planning && policy->ops->planning->by_energy);
}

/*
 * NULL if the policy has a table for the system's model and so can decide there, else a sentence
 * why not.
 */
const char *policy_misfit(const struct policy *policy, const struct sched_system *system);

/*
 * Whether the policy resumes suspended tasks in the system. Where a policy plans starts it does not
 * know suspended tasks, and the engine resumes these.
 */
bool policy_resumes(const struct policy *policy, const struct sched_system *system);

/*
 * Decides one mapping event of a system that the policy fits. Resets the context's arena first; the
 * plan is valid until the next reset. Returns 0, or -ENOMEM if memory is short; of a policy from
 * outside also -EIO, see struct policy_outside.
 */
int policy_decide(const struct policy *policy, const struct sched_snapshot *snapshot,
		  struct policy_context *context, struct sched_plan *ret_plan);
