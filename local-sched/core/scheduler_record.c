/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records events of tasks, nodes and hosts in the store, and reports them to the listener. */
#include "local-sched/core/scheduler_private.h"

void scheduler_changed(struct scheduler *scheduler)
{
	if (scheduler->changed)
		scheduler->changed(scheduler->changed_data);
}

void scheduler_record(struct scheduler *scheduler, const char *kind, int64_t node, const char *host,
		      json_t *detail, int64_t t_ns)
{
	task_store_event(scheduler->settings.store, kind, t_ns, NULL, node, host, detail);
	scheduler_changed(scheduler);
}

void scheduler_record_task(struct scheduler *scheduler, const struct task *task, const char *kind)
{
	task_store_update(scheduler->settings.store, task, kind);
	scheduler_changed(scheduler);
}
