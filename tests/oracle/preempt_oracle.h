/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

#include "controller/sched/model.h"

/*
 * The heuristics of Machovec 2017 once more, line by line as Algorithms 1 to 3 have them: every
 * task on its own, every core looked at for each of them after every decision. Shares no code with
 * the library but the utility functions and the random numbers.
 */

enum oracle_preempt {
	ORACLE_NEVER = 0,
	ORACLE_GREEDY,
	ORACLE_DIFF,
	ORACLE_PAIR,
	ORACLE_FCFS,
	ORACLE_RANDOM,
};

/* What to decide, and how. */
struct preempt_oracle {
	const struct sched_snapshot *snapshot;
	enum oracle_preempt preempt;
	bool upt;
	/*
	 * Pair by Algorithm 3; else by the text: not where r is to go first (III.E.4), nor if t
	 * earns no more than r (II.D)
	 */
	bool algorithm_3;
	/*
	 * Look at single cores, as the paper does: for systems where every task takes one node and
	 * none is down. Else by the rule for tasks of several nodes, which must say the same there.
	 */
	bool cores;
};

/* The actions: a GArray of struct sched_action whose nodes are g_malloc()ed. */
GArray *preempt_oracle_decide(const struct preempt_oracle *oracle);

/* Frees the actions. */
void preempt_oracle_free(GArray *actions);
