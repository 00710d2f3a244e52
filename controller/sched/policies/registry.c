/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/sched/policies/registry.h"

static const struct policy_ops *const policies[] = {
	&policy_fcfs,
	&policy_easy,
	&policy_conservative,
	&policy_fcfs_multi_queue,
	&policy_random,
	&policy_max_util,
	&policy_max_upt,
	&policy_max_upr,
	&policy_max_upe,
	&policy_event_based,
	&policy_task_based,
	&policies_preempt[0],
	&policies_preempt[1],
	&policies_preempt[2],
	&policies_preempt[3],
	&policies_preempt[4],
	&policies_preempt[5],
	&policies_dfrs_greedy[0],
	&policies_dfrs_greedy[1],
	&policies_dfrs_greedy[2],
	&policies_dfrs_dynmcb8[0],
	&policies_dfrs_dynmcb8[1],
	&policies_dfrs_dynmcb8[2],
	&policies_dfrs_dynmcb8[3],
	&policies_pam[0],
	&policies_pam[1],
	&policies_min_completion[0],
	&policies_min_completion[1],
	&policies_min_completion[2],
	&policy_moc,
};

const struct policy_ops *const *policy_list(uint32_t *ret_count)
{
	*ret_count = sizeof(policies) / sizeof(policies[0]);
	return policies;
}
