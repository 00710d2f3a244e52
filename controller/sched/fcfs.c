/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/sched/fcfs.h"

#include <errno.h>

#include "controller/sched/rank_key.h"

struct fcfs_place fcfs_find(struct mapping *mapping, const struct sched_task *task)
{
	struct fcfs_place place = {.start_s = INFINITY, .refusal = SCHED_REFUSAL_NO_NODES};
	uint32_t count;
	const struct sched_option *options =
		sched_system_options(mapping->system, task->row, &count);

	for (uint32_t i = 0; i < count; i++) {
		if (options[i].pstate != 0)
			continue;

		const enum sched_refusal energy = energy_judge(&mapping->energy, &options[i]);

		if (energy != SCHED_REFUSAL_TAKEN) {
			if (!place.option)
				place.refusal = energy;
			place.costly = true;
			continue;
		}
		const double start_s = mapping_start_s(mapping, task->row, &options[i]);

		if (rank_key_compare(start_s, place.start_s) < 0) {
			place.option = &options[i];
			place.start_s = start_s;
		}
	}
	if (place.option)
		place.refusal = place.start_s < mapping->snapshot->end_s ? SCHED_REFUSAL_TAKEN
									 : SCHED_REFUSAL_AFTER_END;
	return place;
}

/* Why an option was not taken instead of the one in `place`. */
static enum sched_refusal refusal_of(struct mapping *mapping, const struct sched_task *task,
				     const struct sched_option *option,
				     const struct fcfs_place *place)
{
	const enum sched_refusal energy = energy_judge(&mapping->energy, option);

	if (option == place->option)
		return place->refusal;
	if (energy != SCHED_REFUSAL_TAKEN)
		return energy;
	return isfinite(mapping_start_s(mapping, task->row, option)) ? SCHED_REFUSAL_LATER
								     : SCHED_REFUSAL_NO_NODES;
}

int fcfs_explain(struct mapping *mapping, const struct sched_task *task,
		 const struct fcfs_place *place)
{
	uint32_t count;
	const struct sched_option *options =
		sched_system_options(mapping->system, task->row, &count);
	int result = 0;

	for (uint32_t i = 0; mapping_explains(mapping) && result == 0 && i < count; i++)
		if (options[i].pstate == 0)
			result = mapping_consider(mapping, task, &options[i], 0,
						  refusal_of(mapping, task, &options[i], place));
	return result;
}

int fcfs_map(struct mapping *mapping, uint32_t reservations)
{
	const bool single = reservations <= 1;
	/*
	 * Rows that cannot start now; this holds for the whole event, as placements only take
	 * nodes. (It does not hold for the energy that an option may need.)
	 */
	bool *late = arena_array(mapping->arena, mapping->system->rows_count, sizeof(*late));
	bool promised = mapping->snapshot->reservations_count > 0;
	int result = 0;

	if (!late)
		return -ENOMEM;
	for (uint32_t i = 0; result == 0 && i < mapping->tasks_count; i++) {
		const struct sched_task *task = mapping->tasks[i];
		struct fcfs_place place;
		bool now;

		if (late[task->row] && reservations == 0 && !mapping_explains(mapping))
			continue;
		place = fcfs_find(mapping, task);
		now = place.start_s == mapping->snapshot->now_s;
		late[task->row] = !now && !place.costly;

		if (place.refusal == SCHED_REFUSAL_TAKEN && !now && reservations == 0)
			place.refusal = SCHED_REFUSAL_RESERVED;
		result = fcfs_explain(mapping, task, &place);
		if (result < 0 || place.refusal != SCHED_REFUSAL_TAKEN)
			continue;
		result = mapping_place(mapping, task, place.option, 0,
				       now ? promised ? SCHED_REASON_BACKFILL : SCHED_REASON_FIRST
				       : single ? SCHED_REASON_HEAD
						: SCHED_REASON_EARLIEST);
		if (!now) {
			promised = true;
			reservations--;
		}
	}
	return result;
}

int fcfs_map_in_turn(struct mapping *mapping)
{
	const double now_s = mapping->snapshot->now_s;
	/* Reservations of a policy before this one come first as well. */
	bool blocked = mapping->snapshot->reservations_count > 0;
	int result = 0;

	for (uint32_t i = 0; result == 0 && i < mapping->tasks_count; i++) {
		const struct sched_task *task = mapping->tasks[i];
		struct fcfs_place place;

		if (blocked && !mapping_explains(mapping))
			break;
		place = fcfs_find(mapping, task);
		if (blocked)
			place.refusal = SCHED_REFUSAL_OVERTAKES;
		blocked |= place.start_s != now_s;
		result = fcfs_explain(mapping, task, &place);
		if (result == 0 && place.refusal == SCHED_REFUSAL_TAKEN)
			result = mapping_place(mapping, task, place.option, 0,
					       blocked ? SCHED_REASON_HEAD : SCHED_REASON_FIRST);
	}
	return result;
}
