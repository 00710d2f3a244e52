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

/* Those that share hosts in time (paper 003). */
#define POLICIES_DFRS_GREEDY 3
extern const struct policy_ops policies_dfrs_greedy[POLICIES_DFRS_GREEDY];
#define POLICIES_DFRS_DYNMCB8 4
extern const struct policy_ops policies_dfrs_dynmcb8[POLICIES_DFRS_DYNMCB8];

/* Those that queue tasks on machines (paper 004). */
#define POLICIES_PAM 2
extern const struct policy_ops policies_pam[POLICIES_PAM];
#define POLICIES_MIN_COMPLETION 3
extern const struct policy_ops policies_min_completion[POLICIES_MIN_COMPLETION];
extern const struct policy_ops policy_moc;

/* The heuristics with preemption, one file for all. */
#define POLICIES_PREEMPT 6
extern const struct policy_ops policies_preempt[POLICIES_PREEMPT];
