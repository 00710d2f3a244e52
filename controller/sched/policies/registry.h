/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/sched/policy.h"

/* The tables of all policies: one line here, one in registry.c and one file each. */
extern const struct policy_ops policy_conservative;
extern const struct policy_ops policy_easy;
extern const struct policy_ops policy_event_based;
extern const struct policy_ops policy_fcfs;
extern const struct policy_ops policy_fcfs_multi_queue;
extern const struct policy_ops policy_max_upe;
extern const struct policy_ops policy_max_upr;
extern const struct policy_ops policy_max_upt;
extern const struct policy_ops policy_max_util;
extern const struct policy_ops policy_random;
extern const struct policy_ops policy_task_based;

/* The heuristics with preemption, one file for all. */
#define POLICIES_PREEMPT 6
extern const struct policy_ops policies_preempt[POLICIES_PREEMPT];
