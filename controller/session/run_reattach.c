/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/session/run_reattach.h"

#include "controller/backend/remote.h"

/* Whether the local schedulers know the task. */
static bool is_under_way(const struct engine_task *task)
{
	return engine_task_state_in(task->state, ENGINE_TASK_UNDER_WAY);
}

static struct remote_past past_of(const struct engine_task *task)
{
	bool suspending = task->state == ENGINE_TASK_SUSPENDING;
	bool off = task->state == ENGINE_TASK_SUSPENDED || task->state == ENGINE_TASK_RESUMING;

	return (struct remote_past){
		.suspended = task->suspensions - suspending,
		.resumed = task->suspensions - suspending - off,
		.queued = task->queued_n > 0,
		.migrated = task->migrations > 0,
	};
}

void run_reattach(const struct engine *engine, struct backend *backend, uint32_t tasks_count)
{
	for (uint32_t i = 0; i < tasks_count; i++) {
		const struct engine_task *task = engine_task_at(engine, i);
		const struct sched_allocation placed = engine_task_allocation(task);
		const struct remote_past past = past_of(task);

		if (is_under_way(task))
			remote_backend_adopt(backend, &placed, task->attempts, &past);
	}
}
