/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/sched/fcfs.h"

/* The option of `row` that starts earliest, or NULL when none ever can. */
static const struct sched_option *earliest(struct mapping *mapping, uint32_t row,
					   double *ret_start_s)
{
	const struct sched_option *best = NULL;
	uint32_t count;
	const struct sched_option *options = sched_system_options(mapping->system, row, &count);

	*ret_start_s = INFINITY;
	for (uint32_t i = 0; i < count; i++) {
		if (options[i].pstate != 0)
			continue;

		const double start_s = mapping_start_s(mapping, row, &options[i]);

		if (start_s < *ret_start_s) {
			best = &options[i];
			*ret_start_s = start_s;
		}
	}
	return best;
}

/* Notes the options of a task; `best` starts earliest and is refused for `refusal`. */
static int explain(struct mapping *mapping, const struct sched_task *task,
		   const struct sched_option *best, enum sched_refusal refusal)
{
	uint32_t count;
	const struct sched_option *options =
		sched_system_options(mapping->system, task->row, &count);
	int result = 0;

	for (uint32_t i = 0; result == 0 && i < count; i++) {
		const double start_s = mapping_start_s(mapping, task->row, &options[i]);

		if (options[i].pstate == 0)
			result = mapping_consider(mapping, task, &options[i], 0,
						  &options[i] == best ? refusal
						  : isfinite(start_s) ? SCHED_REFUSAL_LATER
								      : SCHED_REFUSAL_NO_NODES);
	}
	return result;
}

/* What to do with a task that can start at `start_s`. */
static enum sched_refusal judge(const struct mapping *mapping, double start_s,
				uint32_t reservations)
{
	if (!isfinite(start_s))
		return SCHED_REFUSAL_NO_NODES;
	if (start_s >= mapping->snapshot->end_s)
		return SCHED_REFUSAL_AFTER_END;
	if (start_s > mapping->snapshot->now_s && reservations == 0)
		return SCHED_REFUSAL_RESERVED;
	return SCHED_REFUSAL_TAKEN;
}

int fcfs_map(struct mapping *mapping, uint32_t reservations)
{
	const bool single = reservations <= 1;
	bool promised = mapping->snapshot->reservations_count > 0;
	int result = 0;

	for (uint32_t i = 0; result == 0 && i < mapping->tasks_count; i++) {
		const struct sched_task *task = mapping->tasks[i];
		double start_s;
		const struct sched_option *option = earliest(mapping, task->row, &start_s);
		const enum sched_refusal refusal = judge(mapping, start_s, reservations);
		const bool now = start_s == mapping->snapshot->now_s;

		if (mapping_explains(mapping))
			result = explain(mapping, task, option, refusal);
		if (result < 0 || refusal != SCHED_REFUSAL_TAKEN)
			continue;
		result = mapping_place(mapping, task, option, 0,
				       now	? promised ? SCHED_REASON_BACKFILL
							   : SCHED_REASON_FIRST
				       : single ? SCHED_REASON_HEAD
						: SCHED_REASON_EARLIEST);
		if (!now) {
			promised = true;
			reservations--;
		}
	}
	return result;
}
