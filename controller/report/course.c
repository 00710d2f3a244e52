/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/course.h"

#include <math.h>

/*
 * Adds the execution time of an attempt: from its start to its end without its suspensions. A
 * suspension that was rolled back took no time.
 */
static void add_attempt(struct courses *courses, struct course *course,
			const struct store_task *attempt)
{
	double since_s = attempt->started_s;

	for (; courses->at_suspension < courses->suspensions->len; courses->at_suspension++) {
		const struct store_suspension *one =
			courses->suspensions->pdata[courses->at_suspension];

		if (one->task > attempt->task ||
		    (one->task == attempt->task && one->attempt > attempt->attempts))
			break;
		if (one->task < attempt->task || one->attempt < attempt->attempts ||
		    !isfinite(one->suspended_s) || !isfinite(one->exec_s))
			continue;
		course->suspended = true;
		course->executed_s += one->exec_s;
		since_s = one->since_s;
	}
	if (isfinite(since_s))
		course->executed_s += fmax(0, attempt->ended_s - since_s);
	if (!isfinite(course->started_s))
		course->started_s = attempt->started_s;
	course->ended_s = attempt->ended_s;
	course->nodes = attempt->nodes;
	course->attempts++;
}

struct course courses_next(struct courses *courses, const struct store_task *task)
{
	struct course course = {.started_s = NAN};
	bool listed = false;

	for (; courses->at_lost < courses->lost->len; courses->at_lost++) {
		const struct store_task *lost = courses->lost->pdata[courses->at_lost];

		if (lost->task > task->task)
			break;
		if (lost->task < task->task || !isfinite(lost->started_s))
			continue;
		add_attempt(courses, &course, lost);
		listed = listed || lost->attempts == task->attempts;
	}
	if (!listed && isfinite(task->started_s))
		add_attempt(courses, &course, task);
	if (course.attempts == 0 || !isfinite(task->ended_s))
		course.ended_s = course.executed_s = NAN;
	return course;
}
