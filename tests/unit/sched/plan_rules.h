/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/sched/policy.h"
#include "tests/oracle/sharing_oracle.h"

/* What holds for every plan of a model, whatever the policy. Each asserts it. */
void plan_rules_planning(const struct policy *policy, const struct sched_snapshot *snapshot,
			 const struct sched_plan *plan);
void plan_rules_immediate(const struct policy *policy, const struct sched_snapshot *snapshot,
			  const struct sched_plan *plan);
void plan_rules_sharing(const struct policy *policy, const struct sched_snapshot *snapshot,
			const struct sched_plan *plan);
void plan_rules_queueing(const struct policy *policy, const struct sched_snapshot *snapshot,
			 const struct sched_plan *plan);

/* Carries a plan out on the state of shared hosts, and asserts that the hosts can keep it. */
void plan_rules_carry_out(struct oracle_state *state, const struct sched_plan *plan);

/* Asserts that two plans are the same. */
void plan_rules_same(const struct sched_plan *a, const struct sched_plan *b);
