/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/experiment/run_overshoot.h"

/* The counter for tasks in this state; NULL: the state is not final. */
static uint32_t *count_of(struct engine_result *result, enum engine_task_state state)
{
	switch (state) {
	case ENGINE_TASK_COMPLETED:
		return &result->tasks_completed;
	case ENGINE_TASK_FAILED:
	case ENGINE_TASK_KILLED:
		return &result->tasks_failed;
	case ENGINE_TASK_DROPPED:
		return &result->tasks_dropped;
	default:
		return NULL;
	}
}

bool run_overshoot_correct(const struct engine_task *task, struct engine_result *result,
			   struct engine_task *ret_late)
{
	uint32_t *count = count_of(result, task->state);

	if (!count || !(task->ended_s > result->ended_s))
		return false;
	(*count)--;
	result->utility -= task->utility;
	*ret_late = *task;
	engine_task_correct_late(&ret_late->state);
	ret_late->utility = 0;
	ret_late->reason = "ended after the energy limit was reached";
	return true;
}
