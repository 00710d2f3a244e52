/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests about tasks: start, end, suspend, resume, migrate, share. A repeated request gets the
 * known answer, a request that is not possible now is refused, and the intent is stored before
 * anything is done.
 */
#include <math.h>

#include "common/clock.h"
#include "common/error_fail.h"
#include "local-sched/core/scheduler_private.h"
#include "local-sched/launch/task_fsm.h"

#define LOG_SUBSYSTEM "scheduler"

/* Requests. */

static bool nodes_ready(struct scheduler *scheduler, const uint32_t *nodes, uint32_t count,
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

/* A task that does not wait cannot have its VMs booted again first. */
static bool vms_suit(struct scheduler *scheduler, const struct task *task, GError **error)
{
	if (scheduler_vms_suit(scheduler, task, false))
		return true;
	return error_fail(error, SCHEDULER_ERROR, SCHEDULER_ERROR_CONFLICT,
			  "task '%s': a VM on its nodes was another user's; \"queue\": true has it "
			  "booted again",
			  task->id);
}

static bool same_request(const struct task *a, const struct task *b)
{
	g_autofree char *text_a = task_request_text(a);
	g_autofree char *text_b = task_request_text(b);

	return g_str_equal(text_a, text_b);
}

static bool store_task(struct scheduler *scheduler, const struct task *task, GError **error)
{
	g_autoptr(GError) cause = NULL;

	if (task_store_add(scheduler->settings.store, task, &cause))
		return true;
	return error_fail(error, SCHEDULER_ERROR, SCHEDULER_ERROR_NOT_NOW,
			  "task cannot be stored: %s", cause->message);
}

const struct task *scheduler_put_task(struct scheduler *scheduler, const char *id,
				      const json_t *body, bool *ret_new, GError **error)
{
	int64_t now_ns = clock_now_ns();
	g_autoptr(task_t) task = task_parse_request(id, body, scheduler->cluster->nodes,
						    scheduler->cluster->cores, error);
	struct task *known;

	if (!task)
		return NULL;
	known = g_hash_table_lookup(scheduler->by_id, id);
	if (known && same_request(known, task)) {
		*ret_new = false;
		return known;
	}
	if (known)
		return error_null(error, SCHEDULER_ERROR, SCHEDULER_ERROR_CONFLICT,
				  "task '%s' is known with another body", id);
	if (scheduler_is_past(scheduler, id)) {
		scheduler_set_unknown_error(scheduler, id, error);
		return NULL;
	}
	if (scheduler->stopping)
		return error_null(error, SCHEDULER_ERROR, SCHEDULER_ERROR_NOT_NOW, "shutting down");
	task->requested_ns = now_ns;
	if (task->queue) {
		task->queued_ns = now_ns;
		task_fsm_move(task, TASK_FSM_ENQUEUE);
	}
	if ((!task->queue && (!nodes_ready(scheduler, task->nodes, task->nodes_count, error) ||
			      !vms_suit(scheduler, task, error))) ||
	    !store_task(scheduler, task, error))
		return NULL;
	*ret_new = true;
	known = g_steal_pointer(&task);
	g_ptr_array_add(scheduler->tasks, known);
	g_hash_table_insert(scheduler->by_id, known->id, known);
	if (known->state == TASK_QUEUED) {
		task_queue_push(scheduler->queue, known);
		scheduler_take_turns(scheduler);
	} else {
		scheduler->executor->ops->start(scheduler->executor, known);
	}
	return known;
}

const struct task *scheduler_delete_task(struct scheduler *scheduler, const char *id)
{
	struct task *task = g_hash_table_lookup(scheduler->by_id, id);

	if (task && task->state == TASK_QUEUED)
		scheduler_end_queued(scheduler, task, TASK_OUTCOME_KILLED,
				     "killed before its turn came");
	else if (task && task->state != TASK_ENDED)
		scheduler->executor->ops->kill(scheduler->executor, task, TASK_OUTCOME_KILLED,
					       "killed by request");
	return task;
}

/* Suspending and resuming. */

static bool conflict(GError **error, const struct task *task, const char *what)
{
	return error_fail(error, SCHEDULER_ERROR, SCHEDULER_ERROR_CONFLICT, "task '%s' is %s: %s",
			  task->id, task_state_names[task->state], what);
}

static struct task *find_task(struct scheduler *scheduler, const char *id, GError **error)
{
	struct task *task = g_hash_table_lookup(scheduler->by_id, id);

	if (!task)
		scheduler_set_unknown_error(scheduler, id, error);
	else if (scheduler->stopping)
		g_set_error(error, SCHEDULER_ERROR, SCHEDULER_ERROR_NOT_NOW, "shutting down");
	else
		return task;
	return NULL;
}

/*
 * Reads a request that puts a task on other nodes. Returns the task; the caller frees the request's
 * nodes. NULL with `error`: an invalid request.
 */
static struct task *read_nodes_request(struct scheduler *scheduler, const char *id, const char *n,
				       const json_t *body, struct task_resume_request *ret_request,
				       GError **error)
{
	struct task *task = find_task(scheduler, id, error);

	if (task &&
	    task_resume_request_parse(n, body, scheduler->cluster->nodes, ret_request, error))
		return task;
	return NULL;
}

/* Stores the intent, before anything is done. */
static bool store_intent(struct scheduler *scheduler, const struct task *task, GError **error)
{
	task_store_update(scheduler->settings.store, task, NULL);
	if (task_store_flush(scheduler->settings.store))
		return true;
	return error_fail(error, SCHEDULER_ERROR, SCHEDULER_ERROR_NOT_NOW,
			  "request cannot be stored");
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

static bool was_asked_to_suspend(const struct task *task,
				 const struct task_suspend_request *request)
{
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

static bool may_suspend(struct scheduler *scheduler, const struct task *task,
			const struct task_suspend_request *request, GError **error)
{
	uint32_t next = task->suspensions->len + 1;
	g_autofree char *what = NULL;

	if (!may_change(scheduler, task, "only a running task can be suspended",
			"its VMs are being moved to other nodes", error))
		return false;
	if (request->n == next)
		return true;
	what = g_strdup_printf("its next suspension is number %u, not %u", next, request->n);
	return conflict(error, task, what);
}

const struct task *scheduler_suspend_task(struct scheduler *scheduler, const char *id,
					  const char *n, const json_t *body, bool *ret_new,
					  GError **error)
{
	struct task *task = find_task(scheduler, id, error);
	struct task_suspend_request request;
	struct task_suspension *suspension;

	if (!task || !task_suspend_request_parse(n, body, &request, error))
		return NULL;
	*ret_new = false;
	if (was_asked_to_suspend(task, &request))
		return task;
	if (!may_suspend(scheduler, task, &request, error))
		return NULL;
	suspension = task_suspension_new(request.n, task_placed(task), task->nodes_count,
					 clock_now_ns());
	suspension->attempt = request.attempt;
	suspension->keep = suspension->asked = request.keep;
	g_ptr_array_add(task->suspensions, suspension);
	task_fsm_move(task, TASK_FSM_SUSPEND);
	if (!store_intent(scheduler, task, error)) {
		scheduler_drop_suspension(task);
		task->refused_n = 0;
		task_fsm_move(task, TASK_FSM_SUSPEND_FAILED);
		return NULL;
	}
	*ret_new = true;
	scheduler->executor->ops->suspend(scheduler->executor, task);
	return task;
}

static bool may_resume(struct scheduler *scheduler, const struct task *task,
		       const struct task_resume_request *request, GError **error)
{
	const struct executor *executor = scheduler->executor;
	g_autoptr(GError) cause = NULL;

	if (task->state != TASK_SUSPENDED)
		return conflict(error, task, "only a suspended task can be resumed");
	if (request->n != task->suspensions->len)
		return conflict(error, task, "another suspension is its last one");
	if (request->count != task->nodes_count)
		return conflict(error, task, "it has another number of nodes");
	if (!nodes_ready(scheduler, request->nodes, request->count, error))
		return false;
	if (!executor->ops->match_nodes(executor, task, request->nodes, &cause))
		return conflict(error, task, cause->message);
	return true;
}

const struct task *scheduler_resume_task(struct scheduler *scheduler, const char *id, const char *n,
					 const json_t *body, bool *ret_new, GError **error)
{
	struct task_resume_request request = {0};
	struct task *task = read_nodes_request(scheduler, id, n, body, &request, error);
	g_autofree uint32_t *nodes = request.nodes;
	struct task_suspension *last;

	if (!task)
		return NULL;
	last = task_last_suspension(task);
	*ret_new = false;
	if (last && (request.n < last->n ||
		     (request.n == last->n && request.attempt <= last->resume_attempt)))
		return task;
	if (!may_resume(scheduler, task, &request, error))
		return NULL;
	last->resume_attempt = request.attempt;
	last->resumed_nodes = g_steal_pointer(&nodes);
	last->resume_requested_ns = clock_now_ns();
	task_fsm_move(task, TASK_FSM_RESUME);
	if (!store_intent(scheduler, task, error)) {
		task_suspension_undo(last);
		last->resume_attempt--;
		task_fsm_move(task, TASK_FSM_RESUME_FAILED);
		return NULL;
	}
	*ret_new = true;
	scheduler->executor->ops->resume(scheduler->executor, task);
	return task;
}

/* Migrating. */

/* The migration of a repeated request or of a later attempt; NULL: none. */
static const struct task_migration *known_migration(const struct task *task,
						    const struct task_resume_request *request)
{
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

/* Whether the targets are ready; nodes that the task has already need not be. */
static bool targets_ready(struct scheduler *scheduler, const struct task *task,
			  const struct task_resume_request *request, GError **error)
{
	for (uint32_t i = 0; i < request->count; i++)
		if (!task_has_node(task_placed(task), task->nodes_count, request->nodes[i]) &&
		    !nodes_ready(scheduler, &request->nodes[i], 1, error))
			return false;
	return true;
}

static bool may_migrate(struct scheduler *scheduler, const struct task *task,
			const struct task_resume_request *request, GError **error)
{
	const struct executor *executor = scheduler->executor;
	uint32_t next = task->migrations->len + 1;
	g_autofree char *what = NULL;
	g_autoptr(GError) cause = NULL;

	if (!may_change(scheduler, task, "only VMs of a running task can be moved",
			"its VMs are being moved already", error))
		return false;
	what = g_strdup_printf("its next migration is number %u, not %u", next, request->n);
	if (request->n != next)
		return conflict(error, task, what);
	if (request->count != task->nodes_count)
		return conflict(error, task, "it has another number of nodes");
	if (!targets_ready(scheduler, task, request, error))
		return false;
	if (!executor->ops->match_targets(executor, task, request->nodes, &cause))
		return conflict(error, task, cause->message);
	return true;
}

const struct task *scheduler_migrate_task(struct scheduler *scheduler, const char *id,
					  const char *n, const json_t *body, bool *ret_new,
					  GError **error)
{
	struct task_resume_request request = {0};
	struct task *task = read_nodes_request(scheduler, id, n, body, &request, error);
	g_autofree uint32_t *nodes = request.nodes;
	const struct task_migration *known;
	struct task_migration *migration;

	if (!task)
		return NULL;
	*ret_new = false;
	known = known_migration(task, &request);
	if (known && known->attempt == request.attempt &&
	    !task_migration_goes_to(known, nodes, request.count)) {
		conflict(error, task, "this migration is known with other nodes");
		return NULL;
	}
	if (known)
		return task;
	if (!may_migrate(scheduler, task, &request, error))
		return NULL;
	migration = task_migration_new(request.n, task_placed(task), nodes, request.count,
				       clock_now_ns());
	migration->attempt = request.attempt;
	g_ptr_array_add(task->migrations, migration);
	if (!store_intent(scheduler, task, error)) {
		g_ptr_array_remove_index(task->migrations, task->migrations->len - 1);
		return NULL;
	}
	*ret_new = true;
	scheduler->executor->ops->migrate(scheduler->executor, task);
	return task;
}

/* Sharing. */

const struct task *scheduler_share_task(struct scheduler *scheduler, const char *id, const char *n,
					const json_t *body, bool *ret_new, GError **error)
{
	struct task *task = find_task(scheduler, id, error);
	struct task before;
	int64_t number;
	double share;

	if (!task || !task_share_request_parse(n, body, &number, &share, error))
		return NULL;
	*ret_new = false;
	if (number <= task->share.n)
		return task;
	if (!may_change(scheduler, task, "only a running task can be given a share",
			"its VMs are being moved to other nodes", error))
		return NULL;
	before = *task;
	task->share.n = number;
	task->share.fraction = share;
	task->share.requested_ns = clock_now_ns();
	task->share.set_ns = 0;
	task->share.given_cores = task->share.asked_cores = (double)NAN;
	if (!store_intent(scheduler, task, error)) {
		*task = before;
		return NULL;
	}
	*ret_new = true;
	scheduler->executor->ops->share(scheduler->executor, task);
	return task;
}

/* Updates the fields of a task that change without an event. */
static void update(const struct scheduler *scheduler, struct task *task)
{
	if (scheduler->executor->ops->update && task->state != TASK_QUEUED &&
	    task->state != TASK_ENDED)
		scheduler->executor->ops->update(scheduler->executor, task);
}

const struct task *scheduler_task(const struct scheduler *scheduler, const char *id)
{
	struct task *task = g_hash_table_lookup(scheduler->by_id, id);

	if (task)
		update(scheduler, task);
	return task;
}

GPtrArray *scheduler_tasks(const struct scheduler *scheduler)
{
	for (guint i = 0; i < scheduler->tasks->len; i++)
		update(scheduler, scheduler->tasks->pdata[i]);
	return scheduler->tasks;
}

struct task_store *scheduler_store(const struct scheduler *scheduler)
{
	return scheduler->settings.store;
}
