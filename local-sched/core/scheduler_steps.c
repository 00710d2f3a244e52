/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kinds of operations on a task that is under way: steps and shares. */
#include <math.h>

#include "common/error_fail.h"
#include "common/platform.h"
#include "local-sched/core/scheduler_private.h"
#include "local-sched/launch/task_fsm.h"

/* What is common to several kinds. */

/* Whether its task is known and operations on it are accepted. */
static bool is_open(const struct operation *operation, GError **error)
{
	if (!operation->task) {
		scheduler_set_unknown_error(operation->scheduler, operation->id, error);
		return false;
	}
	return !operation->scheduler->stopping ||
	       error_fail(error, SCHEDULER_ERROR, SCHEDULER_ERROR_NOT_NOW, "shutting down");
}

static bool parse_nodes(struct operation *operation, const char *n, const json_t *body,
			GError **error)
{
	return is_open(operation, error) &&
	       task_operation_parse_nodes(n, body, operation->scheduler->cluster->nodes,
					  &operation->request, error);
}

static bool conflict(GError **error, const struct task *task, const char *what)
{
	return error_fail(error, SCHEDULER_ERROR, SCHEDULER_ERROR_CONFLICT, "task '%s' is %s: %s",
			  task->id, task_state_names[task->state], what);
}

/* Whether a running task can be changed; `only` and `moving` say why not. */
static bool may_change(const struct scheduler *scheduler, const struct task *task, const char *only,
		       const char *moving, GError **error)
{
	if (task->state != TASK_RUNNING)
		return conflict(error, task, only);
	if (task_is_migrating(task))
		return conflict(error, task, moving);
	return scheduler->executor->ops->may_step(scheduler->executor, task) ||
	       conflict(error, task, "it is coming to its end");
}

/* Whether the request has the number after that of the last of the `count` so far. */
static bool is_next(const struct operation *operation, uint32_t count, const char *what,
		    GError **error)
{
	g_autofree char *why = NULL;

	if (operation->request.n == (int64_t)count + 1)
		return true;
	why = g_strdup_printf("its next %s is number %u, not %u", what, count + 1,
			      (uint32_t)operation->request.n);
	return conflict(error, operation->task, why);
}

static bool store_intent(const struct operation *operation, GError **error)
{
	struct task_store *store = operation->scheduler->settings.store;

	task_store_update(store, operation->task, NULL);
	return task_store_flush(store) ||
	       error_fail(error, SCHEDULER_ERROR, SCHEDULER_ERROR_NOT_NOW,
			  "request cannot be stored");
}

/* Suspensions. */

static bool parse_suspend(struct operation *operation, const char *n, const json_t *body,
			  GError **error)
{
	return is_open(operation, error) &&
	       task_operation_parse_suspend(n, body, &operation->request, error);
}

static bool repeats_suspend(const struct operation *operation)
{
	const struct task_operation *request = &operation->request;
	const struct task *task = operation->task;

	if (task->refused_n == request->n && task->refused_attempt >= request->attempt)
		return true;
	for (guint i = 0; i < task->suspensions->len; i++) {
		const struct task_suspension *known = task->suspensions->pdata[i];

		if (known->n == request->n && known->attempt >= request->attempt &&
		    known->asked == request->keep)
			return true;
	}
	return false;
}

static bool may_suspend(struct operation *operation, GError **error)
{
	return may_change(operation->scheduler, operation->task,
			  "only a running task can be suspended",
			  "its VMs are being moved to other nodes", error) &&
	       is_next(operation, operation->task->suspensions->len, "suspension", error);
}

static void apply_suspend(struct operation *operation)
{
	const struct task_operation *request = &operation->request;
	struct task *task = operation->task;
	struct task_suspension *suspension =
		task_suspension_new((uint32_t)request->n, task_placed(task), task->nodes_count,
				    platform_now_ns(operation->scheduler->settings.platform));

	suspension->attempt = request->attempt;
	suspension->keep = suspension->asked = request->keep;
	g_ptr_array_add(task->suspensions, suspension);
	task_fsm_move(task, TASK_FSM_SUSPEND);
}

static void undo_suspend(struct operation *operation)
{
	GPtrArray *suspensions = operation->task->suspensions;

	g_ptr_array_remove_index(suspensions, suspensions->len - 1);
	task_fsm_move(operation->task, TASK_FSM_SUSPEND_FAILED);
}

static void suspend_task(struct scheduler *scheduler, struct task *task)
{
	scheduler->executor->ops->suspend(scheduler->executor, task);
}

const struct operation_kind scheduler_suspend_kind = {
	.parse = parse_suspend,
	.is_repetition = repeats_suspend,
	.may = may_suspend,
	.apply = apply_suspend,
	.store = store_intent,
	.undo = undo_suspend,
	.carry_out = suspend_task,
};

/* Resumptions. */

static bool repeats_resume(const struct operation *operation)
{
	const struct task_suspension *last = task_last_suspension(operation->task);
	const struct task_operation *request = &operation->request;

	return last && (request->n < last->n ||
			(request->n == last->n && request->attempt <= last->resume_attempt));
}

static bool may_resume(struct operation *operation, GError **error)
{
	const struct executor *executor = operation->scheduler->executor;
	const struct task_operation *request = &operation->request;
	const struct task *task = operation->task;
	g_autoptr(GError) cause = NULL;

	if (task->state != TASK_SUSPENDED)
		return conflict(error, task, "only a suspended task can be resumed");
	if (request->n != task->suspensions->len)
		return conflict(error, task, "another suspension is its last one");
	if (request->count != task->nodes_count)
		return conflict(error, task, "it has another number of nodes");
	if (!scheduler_nodes_ready(operation->scheduler, request->nodes, request->count, error))
		return false;
	if (!executor->ops->match_nodes(executor, task, request->nodes, &cause))
		return conflict(error, task, cause->message);
	return true;
}

static void apply_resume(struct operation *operation)
{
	struct task_suspension *last = task_last_suspension(operation->task);

	operation->resume_attempt_before = last->resume_attempt;
	last->resume_attempt = operation->request.attempt;
	last->resumed_nodes = g_steal_pointer(&operation->request.nodes);
	last->resume_requested_ns = platform_now_ns(operation->scheduler->settings.platform);
	task_fsm_move(operation->task, TASK_FSM_RESUME);
}

static void undo_resume(struct operation *operation)
{
	struct task_suspension *last = task_last_suspension(operation->task);

	task_suspension_undo(last);
	last->resume_attempt = operation->resume_attempt_before;
	task_fsm_move(operation->task, TASK_FSM_RESUME_FAILED);
}

static void resume_task(struct scheduler *scheduler, struct task *task)
{
	scheduler->executor->ops->resume(scheduler->executor, task);
}

const struct operation_kind scheduler_resume_kind = {
	.parse = parse_nodes,
	.is_repetition = repeats_resume,
	.may = may_resume,
	.apply = apply_resume,
	.store = store_intent,
	.undo = undo_resume,
	.carry_out = resume_task,
};

/* Migrations. */

/* The migration of a repeated request or of a later attempt; NULL: none. */
static const struct task_migration *known_migration(const struct operation *operation)
{
	const struct task_operation *request = &operation->request;
	const struct task *task = operation->task;
	const struct task_migration *known = task->unmoved;

	if (known && known->n == request->n && known->attempt >= request->attempt)
		return known;
	for (guint i = 0; i < task->migrations->len; i++) {
		known = task->migrations->pdata[i];
		if (known->n == request->n && known->attempt >= request->attempt)
			return known;
	}
	return NULL;
}

/* The same attempt may not go to other nodes. */
static bool repeats_migrate(const struct operation *operation)
{
	const struct task_operation *request = &operation->request;
	const struct task_migration *known = known_migration(operation);

	return known && (known->attempt != request->attempt ||
			 task_migration_goes_to(known, request->nodes, request->count));
}

/* Whether the targets are ready; nodes that the task has already need not be. */
static bool targets_ready(const struct operation *operation, GError **error)
{
	const struct task_operation *request = &operation->request;
	const struct task *task = operation->task;

	for (uint32_t i = 0; i < request->count; i++)
		if (!task_has_node(task_placed(task), task->nodes_count, request->nodes[i]) &&
		    !scheduler_nodes_ready(operation->scheduler, &request->nodes[i], 1, error))
			return false;
	return true;
}

static bool may_migrate(struct operation *operation, GError **error)
{
	const struct executor *executor = operation->scheduler->executor;
	const struct task_operation *request = &operation->request;
	const struct task *task = operation->task;
	g_autoptr(GError) cause = NULL;

	if (known_migration(operation))
		return conflict(error, task, "this migration is known with other nodes");
	if (!may_change(operation->scheduler, task, "only VMs of a running task can be moved",
			"its VMs are being moved already", error) ||
	    !is_next(operation, task->migrations->len, "migration", error))
		return false;
	if (request->count != task->nodes_count)
		return conflict(error, task, "it has another number of nodes");
	if (!targets_ready(operation, error))
		return false;
	if (!executor->ops->match_targets(executor, task, request->nodes, &cause))
		return conflict(error, task, cause->message);
	return true;
}

static void apply_migrate(struct operation *operation)
{
	const struct task_operation *request = &operation->request;
	struct task *task = operation->task;
	struct task_migration *migration =
		task_migration_new((uint32_t)request->n, task_placed(task), request->nodes,
				   request->count,
				   platform_now_ns(operation->scheduler->settings.platform));

	migration->attempt = request->attempt;
	g_ptr_array_add(task->migrations, migration);
}

static void undo_migrate(struct operation *operation)
{
	GPtrArray *migrations = operation->task->migrations;

	g_ptr_array_remove_index(migrations, migrations->len - 1);
}

static void migrate_task(struct scheduler *scheduler, struct task *task)
{
	scheduler->executor->ops->migrate(scheduler->executor, task);
}

const struct operation_kind scheduler_migrate_kind = {
	.parse = parse_nodes,
	.is_repetition = repeats_migrate,
	.may = may_migrate,
	.apply = apply_migrate,
	.store = store_intent,
	.undo = undo_migrate,
	.carry_out = migrate_task,
};

/* Shares. */

static bool parse_share(struct operation *operation, const char *n, const json_t *body,
			GError **error)
{
	return is_open(operation, error) &&
	       task_operation_parse_share(n, body, &operation->request, error);
}

static bool repeats_share(const struct operation *operation)
{
	return operation->request.n <= operation->task->share.n;
}

static bool may_share(struct operation *operation, GError **error)
{
	return may_change(operation->scheduler, operation->task,
			  "only a running task can be given a share",
			  "its VMs are being moved to other nodes", error);
}

static void apply_share(struct operation *operation)
{
	struct task_share *share = &operation->task->share;

	operation->share_before = *share;
	share->n = operation->request.n;
	share->fraction = operation->request.share;
	share->requested_ns = platform_now_ns(operation->scheduler->settings.platform);
	share->set_ns = 0;
	share->given_cores = share->asked_cores = (double)NAN;
}

static void undo_share(struct operation *operation)
{
	operation->task->share = operation->share_before;
}

static void share_task(struct scheduler *scheduler, struct task *task)
{
	scheduler->executor->ops->share(scheduler->executor, task);
}

const struct operation_kind scheduler_share_kind = {
	.parse = parse_share,
	.is_repetition = repeats_share,
	.may = may_share,
	.apply = apply_share,
	.store = store_intent,
	.undo = undo_share,
	.carry_out = share_task,
};
