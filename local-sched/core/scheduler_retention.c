/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The retention of ended tasks: tasks that the store removes are removed from memory as well. */
#include "common/platform.h"
#include "local-sched/core/scheduler_private.h"

#define SECONDS_PER_DAY 86400.0

/* The time between two steps of some milliseconds, so that the main loop has the rest. */
#define STEP_MS 100

static bool may_go(const char *id, void *data)
{
	const struct scheduler *scheduler = data;
	const struct task *task = g_hash_table_lookup(scheduler->by_id, id);

	return !task || task->state == TASK_ENDED;
}

/* The oldest tasks are removed first, so the search is short. */
static void gone(const char *id, void *data)
{
	struct scheduler *scheduler = data;
	struct task *task = g_hash_table_lookup(scheduler->by_id, id);

	if (!task)
		return;
	g_hash_table_remove(scheduler->by_id, id);
	g_ptr_array_remove(scheduler->tasks, task);
}

void scheduler_begin_retention(struct scheduler *scheduler)
{
	const struct retention_tasks tasks = {may_go, gone, scheduler};

	scheduler->retention =
		retention_new(scheduler->settings.store,
			      config_service_of(scheduler->settings.config).retention_days *
				      SECONDS_PER_DAY,
			      &tasks);
}

static gboolean step(gpointer data)
{
	struct scheduler *scheduler = data;

	if (!scheduler->stopping && retention_step(scheduler->retention))
		return G_SOURCE_CONTINUE;
	scheduler->retention_source = 0;
	return G_SOURCE_REMOVE;
}

void scheduler_taken(struct scheduler *scheduler, uint64_t seq)
{
	retention_taken(scheduler->retention, seq, platform_now_ns(scheduler->settings.platform));
	if (!scheduler->retention_source)
		scheduler->retention_source =
			platform_after_ms(scheduler->settings.platform, STEP_MS, step, scheduler);
}

bool scheduler_is_past(const struct scheduler *scheduler, const char *id)
{
	return retention_is_past(scheduler->retention, id);
}

void scheduler_set_unknown_error(const struct scheduler *scheduler, const char *id, GError **error)
{
	if (scheduler_is_past(scheduler, id))
		g_set_error(error, SCHEDULER_ERROR, SCHEDULER_ERROR_GONE,
			    "task '%s' ended long ago: its record is not kept any more", id);
	else
		g_set_error(error, SCHEDULER_ERROR, SCHEDULER_ERROR_UNKNOWN,
			    "task '%s' is not known", id);
}
