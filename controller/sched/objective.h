/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <math.h>

#include "controller/sched/model.h"

/*
 * The value of a task that completes at a given time: the objective functions of Machovec 2017,
 * III.D. Both use only the task's remaining execution time (RET), not what it executed before.
 */
enum objective {
	OBJECTIVE_UTIL = 0, /* utility at its completion, equation (1) */
	OBJECTIVE_UPT,      /* utility per second of remaining execution time, equation (2), 1/s */
};

/*
 * The value of a task with `ret_s` (>= 0) left to execute that completes at `end_s`. If ret_s is 0
 * the task is complete, and its UPT is infinite while it earns something.
 */
static inline double objective_at(enum objective objective, const struct sched_task *task,
				  double end_s, double ret_s)
{
	const double utility = sched_task_utility(task, end_s);

	if (objective == OBJECTIVE_UTIL || utility <= 0)
		return utility;
	return ret_s > 0 ? utility / ret_s : (double)INFINITY;
}

/*
 * The factor that turns the value of a task that completes at `end_s` into a bound for its value at
 * any later time. It exceeds 1 only because exp() may be off by a rounding; it is 1 where the
 * function is constant and then falls by more than that.
 */
static inline double objective_margin(const struct sched_task *task, double end_s)
{
	const struct utility *utility = &task->utility;
	uint32_t i = utility_segment_at(utility, task->arrival_s, end_s);

	if (i < utility->segments_count && utility->segments[i].curve == UTILITY_CONSTANT &&
	    (i + 1 == utility->segments_count ||
	     utility->segments[i + 1].start_fraction <
		     utility->segments[i].start_fraction * (1 - 1e-12)))
		return 1;
	for (; i < utility->segments_count; i++)
		if (utility->segments[i].curve == UTILITY_EXPONENTIAL)
			return 1 + 1e-12;
	return 1;
}
