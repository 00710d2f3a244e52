/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random (Machovec 2018, 3.4.2): tasks in order of arrival, cluster and P-state uniform among those
 * that can run the task and that energy allows, the earliest start there, a permanent reservation.
 * The draws of an event depend only on the snapshot's seed and the number of the event.
 *
 * Cost: one query of a schedule and one choice of nodes per mappable task (availability.h).
 */
#include <errno.h>

#include "common/random.h"
#include "controller/sched/immediate_order.h"
#include "controller/sched/mapping.h"
#include "controller/sched/policies/registry.h"

static int explain(struct mapping *mapping, const struct sched_task *task,
		   const struct sched_option *drawn, enum sched_refusal refusal)
{
	uint32_t count;
	const struct sched_option *options =
		sched_system_options(mapping->system, task->row, &count);
	int result = 0;

	for (uint32_t i = 0; mapping_explains(mapping) && result == 0 && i < count; i++) {
		enum sched_refusal why = energy_judge(&mapping->energy, &options[i]);

		if (&options[i] == drawn)
			why = refusal;
		else if (why == SCHED_REFUSAL_TAKEN)
			why = SCHED_REFUSAL_NOT_DRAWN;
		result = mapping_consider(mapping, task, &options[i], 0, why);
	}
	return result;
}

/* Draws one of the options that energy allows; NULL: it allows none. */
static const struct sched_option *draw_option(struct mapping *mapping,
					      const struct sched_task *task,
					      const struct sched_option **allowed,
					      struct random_stream *stream)
{
	uint32_t count;
	const struct sched_option *options =
		sched_system_options(mapping->system, task->row, &count);
	uint32_t allowed_count = 0;

	for (uint32_t i = 0; i < count; i++)
		if (energy_judge(&mapping->energy, &options[i]) == SCHED_REFUSAL_TAKEN)
			allowed[allowed_count++] = &options[i];
	if (allowed_count == 0)
		return NULL;
	return allowed[random_stream_below(stream, allowed_count)];
}

/* SCHED_REFUSAL_TAKEN if the drawn option is placed, else why not. */
static enum sched_refusal placement_refusal(struct mapping *mapping, const struct sched_task *task,
					    const struct sched_option *option)
{
	const double start_s =
		option ? mapping_start_s(mapping, task->row, option) : (double)INFINITY;

	if (!isfinite(start_s))
		return SCHED_REFUSAL_NO_NODES;
	return start_s < mapping->snapshot->end_s ? SCHED_REFUSAL_TAKEN : SCHED_REFUSAL_AFTER_END;
}

static int decide(struct mapping *mapping)
{
	const struct sched_snapshot *snapshot = mapping->snapshot;
	const struct sched_option **allowed =
		arena_array(mapping->arena, mapping->system->columns_count,
			    sizeof(struct sched_option *));
	struct random_stream stream;
	int result = allowed ? 0 : -ENOMEM;

	random_stream_init(&stream, snapshot->seed, snapshot->event);
	for (uint32_t i = 0; result == 0 && i < mapping->tasks_count; i++) {
		const struct sched_task *task = mapping->tasks[i];
		const struct sched_option *drawn = draw_option(mapping, task, allowed, &stream);
		const enum sched_refusal refusal = placement_refusal(mapping, task, drawn);

		result = explain(mapping, task, drawn, refusal);
		if (result == 0 && refusal == SCHED_REFUSAL_TAKEN)
			result = mapping_place(mapping, task, drawn, 0, SCHED_REASON_CHANCE);
	}
	return result;
}

static const struct policy_planning planning = {
	.future = POLICY_FUTURE_RESERVATIONS,
	.decide = decide,
};

static const struct policy_immediate immediate = {
	.section = "Machovec 2017, III.C.2",
	.summary = "tasks in random order, each on a random idle node where it earns something",
	.decide = immediate_random,
};

const struct policy_ops policy_random = {
	.name = "random",
	.section = "Machovec 2018, 3.4.2",
	.summary = "Random: cluster and P-state by chance, in order of arrival",
	.planning = &planning,
	.immediate = &immediate,
};
