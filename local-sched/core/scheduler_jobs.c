/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The life of a task on record: its turn, start and end, the ends of its suspensions, migrations
 * and shares, and its removal once it ended long ago. The store gets each as an event, and the
 * listener is called.
 */
#include "common/clock.h"
#include "common/platform.h"
#include "local-sched/core/scheduler_private.h"
#include "local-sched/launch/task_fsm.h"

#define LOG_SUBSYSTEM "scheduler"
#include "common/log.h"

#define SECONDS_PER_DAY 86400.0

/* The time between two steps of some milliseconds, so that the main loop has the rest. */
#define STEP_MS 100

/* The record, also of events of nodes and hosts. */

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

/* Events of executors. */

void scheduler_task_started(struct task *task, void *data)
{
	log_info_of(LOG_LOCAL(task->id), "started after %.3f s",
		    clock_elapsed_s(task->requested_ns, task->started_ns));
	scheduler_record_task(data, task, "task-started");
}

/* Removes the last suspension, whose request failed. */
static void drop_suspension(struct task *task)
{
	const struct task_suspension *last = task_last_suspension(task);

	task->refused_n = last->n;
	task->refused_attempt = last->attempt;
	g_ptr_array_remove_index(task->suspensions, task->suspensions->len - 1);
}

/* Removes the last migration if it failed for all VMs. */
static void drop_unmoved(struct task *task)
{
	const struct task_migration *last = task_last_migration(task);

	if (!last || task_migration_came_about(last) || (last->settled_ns && !last->reason))
		return;
	task_migration_free(task->unmoved);
	task->unmoved = g_ptr_array_steal_index(task->migrations, task->migrations->len - 1);
}

void scheduler_drop_open(struct task *task)
{
	if (task_last_suspension(task) && task_last_suspension(task)->frozen_ns == 0)
		drop_suspension(task);
	drop_unmoved(task);
}

/*
 * Drops the files of an ended task's script, which are of no use for the long time that the task is
 * kept.
 */
static void drop_script(struct task *task)
{
	g_clear_pointer(&task->script, task_script_free);
}

void scheduler_task_results(struct task *task, GBytes *stream, void *data)
{
	struct scheduler *scheduler = data;
	g_autoptr(GError) error = NULL;

	if (!task_store_save_results(scheduler->settings.store, task->id, stream, &error))
		log_error("task '%s': results not kept: %s", task->id, error->message);
}

void scheduler_task_ended(struct task *task, const char *output, size_t length, void *data)
{
	struct scheduler *scheduler = data;
	g_autoptr(GError) error = NULL;

	if (!task_store_save_output(scheduler->settings.store, task->id, output, length, &error))
		log_error_of(LOG_LOCAL(task->id), "output not kept: %s", error->message);
	log_info_of(LOG_LOCAL(task->id), "%s after %.3f s%s%s", task_outcome_name(task->outcome),
		    clock_elapsed_s(task->requested_ns, task->ended_ns), task->reason ? ": " : "",
		    task->reason ? task->reason : "");
	scheduler_drop_open(task);
	drop_script(task);
	scheduler_record_task(scheduler, task, "task-ended");
	scheduler_look_for_turns(scheduler);
}

/*
 * Records a failed suspension, resumption or migration. The detail of the event is the task object,
 * with the reason.
 */
static void record_stayed(struct scheduler *scheduler, struct task *task, const char *kind,
			  const char *reason)
{
	char *own = task->reason;

	log_warning_of(LOG_LOCAL(task->id), "%s: %s", kind, reason);
	task->reason = (char *)reason;
	scheduler_record_task(scheduler, task, kind);
	task->reason = own;
}

void scheduler_task_changed(struct task *task, const char *reason, void *data)
{
	struct scheduler *scheduler = data;
	struct task_suspension *last = task_last_suspension(task);
	const bool suspends = task->state == TASK_SUSPENDING;
	const enum task_fsm_event event =
		suspends ? (reason ? TASK_FSM_SUSPEND_FAILED : TASK_FSM_SUSPEND_DONE)
			 : (reason ? TASK_FSM_RESUME_FAILED : TASK_FSM_RESUME_DONE);

	if (!task_fsm_move(task, event))
		return;
	if (suspends && !reason) {
		log_info_of(LOG_LOCAL(task->id), "suspended, kept %s",
			    last->keep == CONFIG_KEEP_DISK ? "on disk" : "in memory");
		scheduler_record_task(scheduler, task, "task-suspended");
	} else if (!reason) {
		scheduler_record_task(scheduler, task, "task-resumed");
	} else if (suspends) {
		drop_suspension(task);
		record_stayed(scheduler, task, "task-suspend-failed", reason);
	} else {
		task_suspension_undo(last);
		record_stayed(scheduler, task, "task-resume-failed", reason);
	}
}

void scheduler_task_moved(struct task *task, const char *reason, void *data)
{
	struct scheduler *scheduler = data;
	g_autofree char *why = g_strdup(reason); /* `reason` is the record's, which may be freed */

	drop_unmoved(task);
	if (why)
		record_stayed(scheduler, task, "task-migrate-failed", why);
	else
		scheduler_record_task(scheduler, task, "task-migrated");
}

void scheduler_task_printed(void *data)
{
	scheduler_changed(data);
}

void scheduler_task_shared(struct task *task, const char *reason, void *data)
{
	if (reason)
		record_stayed(data, task, "task-share-failed", reason);
	else
		scheduler_record_task(data, task, "task-shared");
}

/* Turns. */

static bool node_is_free(uint32_t node, void *data)
{
	const struct scheduler *scheduler = data;

	return scheduler->executor->ops->node_is_ready(scheduler->executor, node);
}

/*
 * Starts a task. Its time counts from here on, and its intent is stored before its ranks are
 * started.
 */
static void take_turn(struct scheduler *scheduler, struct task *task)
{
	task_fsm_move(task, TASK_FSM_TURN);
	task->requested_ns = platform_now_ns(scheduler->settings.platform);
	log_info_of(LOG_LOCAL(task->id), "its turn has come after %.3f s",
		    clock_elapsed_s(task->queued_ns, task->requested_ns));
	scheduler_record_task(scheduler, task, "task-begun");
	scheduler->executor->ops->start(scheduler->executor, task);
}

bool scheduler_nodes_ready(const struct scheduler *scheduler, const uint32_t *nodes, uint32_t count,
			   GError **error)
{
	const struct executor *executor = scheduler->executor;

	for (uint32_t i = 0; i < count; i++) {
		struct wire_node node;

		if (executor->ops->node_is_ready(executor, nodes[i]))
			continue;
		executor->ops->describe_node(executor, nodes[i], &node);
		g_set_error(error, SCHEDULER_ERROR, SCHEDULER_ERROR_CONFLICT,
			    "node %u is not ready: it is %s%s%s", nodes[i], node.state,
			    node.task ? " with task " : "", node.task ?: "");
		record_clear(&wire_node_record, &node);
		return false;
	}
	return true;
}

bool scheduler_vms_suit(struct scheduler *scheduler, const struct task *task, bool renew)
{
	struct executor *executor = scheduler->executor;

	return !executor->ops->suits || executor->ops->suits(executor, task, renew);
}

/* Where a VM was another user's, the turn comes again when the new VM is ready. */
void scheduler_take_turns(struct scheduler *scheduler)
{
	struct task *task;

	while (!scheduler->stopping &&
	       (task = task_queue_take(scheduler->queue,
				       platform_now_ns(scheduler->settings.platform), node_is_free,
				       scheduler))) {
		if (scheduler_vms_suit(scheduler, task, true))
			take_turn(scheduler, task);
		else
			task_queue_push_front(scheduler->queue, task);
	}
}

static gboolean turns_are_due(gpointer data)
{
	struct scheduler *scheduler = data;

	scheduler->turn_source = 0;
	scheduler_take_turns(scheduler);
	return G_SOURCE_REMOVE;
}

/*
 * Schedules scheduler_take_turns() for after the callback under way, in which nodes have changed.
 */
void scheduler_look_for_turns(struct scheduler *scheduler)
{
	if (!scheduler->turn_source)
		scheduler->turn_source = platform_soon(scheduler->settings.platform,
						       G_PRIORITY_HIGH, turns_are_due, scheduler);
}

void scheduler_end_queued(struct scheduler *scheduler, struct task *task, enum task_outcome outcome,
			  const char *reason)
{
	task_queue_remove(scheduler->queue, task);
	task_end(task, outcome, reason, platform_now_ns(scheduler->settings.platform));
	drop_script(task);
	scheduler_record_task(scheduler, task, "task-ended");
	scheduler_look_for_turns(scheduler); /* for the tasks behind it */
}

/* The retention of ended tasks: those that the store removes are removed from memory as well. */

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
