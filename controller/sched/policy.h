/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/sched/model.h"
#include "controller/sched/arena.h"

/*
 * The policy seam: a pure function from a snapshot to a plan. It does no I/O, reads no clock and
 * keeps no state between calls; equal snapshots give equal plans. A new policy is one file under
 * policies/ and one line in policies/registry.def. The test sched-conformance holds all that are there against the rules:
 * meson test -C build sched-conformance.
 *
 * The tools that policies are written with are in mapping.h.
 *
 * A policy is asked for by name with modifiers: "max-upr", "max-upr+reservations",
 * "event-based+drop:0.5", "max-upr+filter:resource:4.0". "+no-wait", which says what Pair does anyhow, is
 * taken and left out of the name.
 *
 * Ties are broken in one way everywhere: higher objective, then earlier arrival, then lower task id,
 * then cluster order, then lower P-state. Objectives, energies, utilities and computed times are equal
 * if their keys are (rank_key.h).
 */

/* How a policy promises nodes to tasks that cannot start now (3.2). */
enum policy_future {
	POLICY_FUTURE_DEFAULT = 0,  /* the policy's own default */
	POLICY_FUTURE_PLACEHOLDERS, /* dropped at the next mapping event */
	POLICY_FUTURE_RESERVATIONS, /* permanent */
	POLICY_FUTURE_NONE,         /* no promises: tasks start now or wait (immediate.h) */
};

/* Which share of the remaining energy an option may need (3.8). */
enum policy_filter {
	POLICY_FILTER_NONE = 0,
	POLICY_FILTER_TASK,     /* energy per task, equations (6) to (8) */
	POLICY_FILTER_RESOURCE, /* energy per core-second, equation (9) */
};

/*
 * When a policy that shares hosts is to be asked (model.h): at the periodic events, when tasks have
 * arrived or ended or the time of a deferred one has come, or both. The others are asked
 * periodically.
 */
enum policy_moments {
	POLICY_AT_PERIODS = 0,
	POLICY_AT_CHANGES,
	POLICY_AT_BOTH,
};

struct immediate;
struct mapping;
struct queueing;
struct queueing_memory;
struct sharing;

/* What the caller of policy_decide() can ask for, or'ed together. */
enum policy_flags {
	POLICY_PLAIN = 0,
	/* Fills plan->considered. Slower. */
	POLICY_EXPLAIN = 1 << 0,
	/*
	 * Leaves out place-holders that cannot start before the next mapping event where they
	 * change nothing, neither now nor, as long as tasks keep to their estimates, at the next
	 * event. For simulations in which nobody sees them. A policy may ignore it.
	 */
	POLICY_TRIM = 1 << 1,
};

/* The memory and the wishes of one call. */
struct policy_context {
	struct arena *arena; /* everything in the plan comes from it */
	unsigned int flags;      /* enum policy_flags */
	/*
	 * Of a policy that queues tasks (queueing.h): what it computed at former events of the same
	 * system, which spares time and changes no plan. NULL: none.
	 */
	struct queueing_memory *memory;
};

/* The table of one policy. */
struct policy_ops {
	const char *name;
	const char *section; /* of the paper: "Machovec 2018, 3.5" */
	const char *summary; /* one line for `virtbed policies` */
	enum policy_future future;  /* the default; with POLICY_FUTURE_NONE no +filter is taken */
	bool future_fixed;   /* the modifiers +placeholders and +reservations are refused */
	bool reads_budget;   /* decisions depend on the budget even without a filter */
	bool by_energy;      /* decisions depend on the energies of options even without a budget */
	bool reads_placeholders; /* decisions depend on the place-holders of the last event */
	bool reads_seed;     /* decisions depend on the seed */
	bool resumes;        /* decide() says when suspended tasks go on: policy_resumes() */
	bool cluster_order;  /* cluster order matters beyond ties: say it beside results */
	bool pairs;          /* weighs both orderings of two tasks: takes +algorithm-3 */
	enum policy_moments moments;
	uint32_t variant;    /* for files that serve several names */
	/*
	 * Decides one mapping event on shared hosts (sharing.h, Stillwell 2010). A policy with this
	 * decides in shared systems alone, takes no modifiers and has none of the functions below;
	 * its future is POLICY_FUTURE_NONE.
	 */
	int (*decide_sharing)(struct sharing *sharing);
	/*
	 * Decides one mapping event on machines with queues (queueing.h, Gentry 2019), in the same
	 * way: alone there, without modifiers and without the functions below.
	 */
	int (*decide_queueing)(struct queueing *queueing);
	bool evicts; /* it takes executing tasks off their machines, too (Gentry 2019, scenario C) */
	bool fair;   /* it heeds the sufferage of task types (Gentry 2019, V.D.2) */
	/*
	 * Decides one mapping event, required unless the future is POLICY_FUTURE_NONE. Tasks that
	 * are to be dropped are gone from mapping->tasks; the others are in the order of the snapshot.
	 * Called by policy_decide() only. Returns 0, or -ENOMEM.
	 */
	int (*decide)(struct mapping *mapping);
	/*
	 * The same without promises (immediate.h): required where the future is POLICY_FUTURE_NONE.
	 * For other policies optional: what they do in an immediate system (model.h), if that is
	 * something else there. `immediate_section` and `immediate_summary` then say what.
	 */
	int (*decide_immediate)(struct immediate *immediate);
	const char *immediate_section; /* NULL: the policy is the same everywhere */
	const char *immediate_summary;
};

/* Longest name of a policy with its modifiers, with the final 0. */
#define POLICY_NAME_MAX 64

/* A policy with its modifiers: a value, copied freely. */
struct policy {
	const struct policy_ops *ops;
	enum policy_future future; /* never POLICY_FUTURE_DEFAULT; unused in an immediate system */
	bool drop_given;           /* +drop: what earns less than the threshold leaves (3.3) ... */
	double drop_threshold;     /* ... so with 0 nothing does; without +drop what earns nothing */
	enum policy_filter filter;
	double leniency;           /* of the filter, > 0; 0 without one */
	bool filter_once;          /* the filter's share is found once per event (3.1) */
	bool reserve_now;          /* +reserve-now: reserved nodes are free from now on until the start (mapping.h) */
	bool algorithm_3;          /* +algorithm-3: Pair by the letter of Algorithm 3, not by the text (preempt_pair.c) */
	char name[POLICY_NAME_MAX];     /* as it was asked for, but for +no-wait */
};

/* All policies, in the order of the table; *ret_count of them. */
const struct policy_ops *const *policy_list(uint32_t *ret_count);

/* The policy of that name without modifiers, or NULL. */
const struct policy_ops *policy_find(const char *name);

/*
 * Reads a name with modifiers. Returns 0, or -EINVAL with a line in `message` (`size` bytes, cut
 * off if need be) that says what is wrong and lists what is known; *ret_policy is then untouched.
 */
int policy_parse(const char *text, struct policy *ret_policy, char *message, size_t size);

/* Replaces a name that policy_parse() takes by the name of the policy, which is no longer, in place. Other text stays. */
void policy_normalize_name(char *name);

/* Whether decisions depend on the budget; if not, one run serves all limits of a testbed. */
static inline bool policy_reads_budget(const struct policy *policy)
{
	return policy->ops->reads_budget || policy->filter != POLICY_FILTER_NONE;
}

/* Whether decisions depend on the energies of options, with a budget at least: without energies they mean nothing. */
static inline bool policy_by_energy(const struct policy *policy)
{
	return policy->ops->by_energy || policy_reads_budget(policy);
}

/*
 * NULL if the policy can decide in the system, else a sentence why not: some need shared hosts, some
 * machines with queues, all others nodes of their own.
 */
const char *policy_misfit(const struct policy *policy, const struct sched_system *system);

/*
 * Whether the policy says when suspended tasks go on. Those that make promises know of none: under them it is for
 * others to say.
 */
bool policy_resumes(const struct policy *policy, const struct sched_system *system);

/*
 * Decides one mapping event of a system that the policy fits. Resets the context's arena first; the plan lasts until
 * the next reset. Returns 0, or -ENOMEM when memory is short.
 */
int policy_decide(const struct policy *policy, const struct sched_snapshot *snapshot,
		  struct policy_context *context, struct sched_plan *ret_plan);
