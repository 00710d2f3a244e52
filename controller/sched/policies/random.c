/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random (paper 002, 3.4.2): tasks in order of arrival, cluster and P-state uniform among those
 * that can run the task, the earliest start there, a permanent reservation. The draws of an event
 * depend on the snapshot's seed and the number of the event alone.
 */
#include "common/random.h"
#include "controller/sched/mapping.h"
#include "controller/sched/policies/registry.h"

static int explain(struct mapping *mapping, const struct sched_task *task,
		   const struct sched_option *options, uint32_t count, uint32_t drawn,
		   enum sched_refusal refusal)
{
	int result = 0;

	for (uint32_t i = 0; result == 0 && i < count; i++)
		result = mapping_consider(mapping, task, &options[i], 0,
					  i == drawn ? refusal : SCHED_REFUSAL_NOT_DRAWN);
	return result;
}

static int decide(struct mapping *mapping)
{
	const struct sched_snapshot *snapshot = mapping->snapshot;
	struct random_stream stream;
	int result = 0;

	random_stream_init(&stream, snapshot->seed, snapshot->event);
	for (uint32_t i = 0; result == 0 && i < mapping->tasks_count; i++) {
		const struct sched_task *task = mapping->tasks[i];
		uint32_t count;
		const struct sched_option *options =
			sched_system_options(mapping->system, task->row, &count);
		const uint32_t drawn = (uint32_t)random_stream_below(&stream, count);
		const double start_s = mapping_start_s(mapping, task->row, &options[drawn]);
		const enum sched_refusal refusal = !isfinite(start_s) ? SCHED_REFUSAL_NO_NODES
						   : start_s >= snapshot->end_s
							   ? SCHED_REFUSAL_AFTER_END
							   : SCHED_REFUSAL_TAKEN;

		result = explain(mapping, task, options, count, drawn, refusal);
		if (result == 0 && refusal == SCHED_REFUSAL_TAKEN)
			result = mapping_place(mapping, task, &options[drawn], 0,
					       SCHED_REASON_CHANCE);
	}
	return result;
}

const struct policy_ops policy_random = {
	.name = "random",
	.section = "002, 3.4.2",
	.summary = "Random: cluster and P-state by chance, in order of arrival",
	.future = POLICY_FUTURE_RESERVATIONS,
	.reads_seed = true,
	.decide = decide,
};
