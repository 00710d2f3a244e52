/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/engine/engine_private.h"
#include "controller/engine/placement.h"

const struct placement_ops *placement_of(const struct sched_system *system)
{
	if (system->shared)
		return &placement_shared;
	return system->queueing ? &placement_queued : &placement_exclusive;
}

bool engine_decides_apart(const struct engine *engine)
{
	return engine->setup.apart && engine->placement->decides_apart;
}

void placement_without_state(struct engine *engine)
{
}

void placement_without_progress(struct engine *engine, uint32_t task, double unused_s)
{
}

void placement_without_share(struct engine *engine, uint32_t task)
{
}

const char *placement_without_limit(const struct engine *engine)
{
	return NULL;
}

struct queueing_memory *placement_without_memory(const struct engine *engine)
{
	return NULL;
}

bool placement_without_queued(const struct engine *engine)
{
	return false;
}

void placement_without_queues(struct engine *engine)
{
}

bool placement_without_queue_events(struct engine *engine, const struct backend_event *event)
{
	return false;
}

void placement_without_deadlines(struct engine *engine, uint32_t task,
				 enum engine_task_state former)
{
}

void placement_without_notes(struct engine *engine, const struct sched_plan *plan,
			     const struct sched_snapshot *snapshot)
{
}

void placement_without_pruner(struct engine *engine, const struct sched_pruner *pruner)
{
}
