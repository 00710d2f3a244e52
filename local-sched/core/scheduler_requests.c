/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the API requests: operations on tasks, and documents. scheduler_operate() is the way of each
 * operation, whatever its kind: if it is repeated, the answer is the known one; if it is not
 * possible now, it is refused; the intent is stored before anything is done. Here are also the
 * kinds that begin and end a task.
 */
#include "common/error_fail.h"
#include "common/platform.h"
#include "common/version/build_version.h"
#include "local-sched/core/scheduler_private.h"
#include "local-sched/launch/task_fsm.h"

/* Starts. */

static bool parse_start(struct operation *operation, const char *n, const json_t *body,
			GError **error)
{
	const struct config_cluster *cluster = operation->scheduler->cluster;

	operation->made =
		task_parse_request(operation->id, body, cluster->nodes, cluster->cores, error);
	return operation->made != NULL;
}

static bool repeats_start(const struct operation *operation)
{
	g_autofree char *known = operation->task ? task_request_text(operation->task) : NULL;
	g_autofree char *requested = task_request_text(operation->made);

	return g_strcmp0(known, requested) == 0;
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

static bool may_start(struct operation *operation, GError **error)
{
	struct scheduler *scheduler = operation->scheduler;
	const struct task *made = operation->made;

	if (operation->task)
		return error_fail(error, SCHEDULER_ERROR, SCHEDULER_ERROR_CONFLICT,
				  "task '%s' is known with another body", operation->id);
	if (scheduler_is_past(scheduler, operation->id)) {
		scheduler_set_unknown_error(scheduler, operation->id, error);
		return false;
	}
	if (scheduler->stopping)
		return error_fail(error, SCHEDULER_ERROR, SCHEDULER_ERROR_NOT_NOW, "shutting down");
	return made->queue ||
	       (scheduler_nodes_ready(scheduler, made->nodes, made->nodes_count, error) &&
		vms_suit(scheduler, made, error));
}

static void apply_start(struct operation *operation)
{
	struct task *task = operation->task = g_steal_pointer(&operation->made);

	task->requested_ns = platform_now_ns(operation->scheduler->settings.platform);
	if (!task->queue)
		return;
	task->queued_ns = task->requested_ns;
	task_fsm_move(task, TASK_FSM_ENQUEUE);
}

static bool store_start(const struct operation *operation, GError **error)
{
	g_autoptr(GError) cause = NULL;

	if (task_store_add(operation->scheduler->settings.store, operation->task, &cause))
		return true;
	return error_fail(error, SCHEDULER_ERROR, SCHEDULER_ERROR_NOT_NOW,
			  "task cannot be stored: %s", cause->message);
}

static void undo_start(struct operation *operation)
{
	operation->made = g_steal_pointer(&operation->task);
}

static void start_task(struct scheduler *scheduler, struct task *task)
{
	g_ptr_array_add(scheduler->tasks, task);
	g_hash_table_insert(scheduler->by_id, task->id, task);
	if (task->state == TASK_QUEUED) {
		task_queue_push(scheduler->queue, task);
		scheduler_take_turns(scheduler);
	} else {
		scheduler->executor->ops->start(scheduler->executor, task);
	}
}

/* Kills. */

static bool parse_kill(struct operation *operation, const char *n, const json_t *body,
		       GError **error)
{
	if (!operation->task)
		scheduler_set_unknown_error(operation->scheduler, operation->id, error);
	return operation->task != NULL;
}

static bool repeats_kill(const struct operation *operation)
{
	return operation->task->state == TASK_ENDED;
}

static void kill_task(struct scheduler *scheduler, struct task *task)
{
	if (task->state == TASK_QUEUED)
		scheduler_end_queued(scheduler, task, TASK_OUTCOME_KILLED,
				     "killed before its turn came");
	else
		scheduler->executor->ops->kill(scheduler->executor, task, TASK_OUTCOME_KILLED,
					       "killed by request");
}

/* All kinds. */

static const struct operation_kind start_kind = {
	.parse = parse_start,
	.is_repetition = repeats_start,
	.may = may_start,
	.apply = apply_start,
	.store = store_start,
	.undo = undo_start,
	.carry_out = start_task,
};
static const struct operation_kind kill_kind = {
	.parse = parse_kill,
	.is_repetition = repeats_kill,
	.carry_out = kill_task,
};

static const struct operation_kind *const kinds[] = {
	[SCHEDULER_START] = &start_kind,
	[SCHEDULER_SUSPEND] = &scheduler_suspend_kind,
	[SCHEDULER_RESUME] = &scheduler_resume_kind,
	[SCHEDULER_MIGRATE] = &scheduler_migrate_kind,
	[SCHEDULER_SHARE] = &scheduler_share_kind,
	[SCHEDULER_KILL] = &kill_kind,
};

/*
 * Makes the intent and stores it. False with `error`: it is taken back. The store keeps a write
 * that failed and repeats it, so the task as it was is written after it. Of a start the store keeps
 * nothing.
 */
static bool intend(const struct operation_kind *kind, struct operation *operation, GError **error)
{
	kind->apply(operation);
	if (kind->store(operation, error))
		return true;
	kind->undo(operation);
	if (operation->task)
		task_store_update(operation->scheduler->settings.store, operation->task, NULL);
	return false;
}

/* Does what is not known yet. */
static bool operate(const struct operation_kind *kind, struct operation *operation, bool *ret_new,
		    GError **error)
{
	const bool has_intent = kind->store != NULL;

	if ((kind->may && !kind->may(operation, error)) ||
	    (has_intent && !intend(kind, operation, error)))
		return false;
	*ret_new = has_intent;
	kind->carry_out(operation->scheduler, operation->task);
	return true;
}

const struct task *scheduler_operate(struct scheduler *scheduler, enum scheduler_operation of,
				     const char *id, const char *n, const json_t *body,
				     bool *ret_new, GError **error)
{
	const struct operation_kind *kind = kinds[of];
	struct operation operation = {
		.scheduler = scheduler,
		.id = id,
		.task = g_hash_table_lookup(scheduler->by_id, id),
	};
	const struct task *task = NULL;

	*ret_new = false;
	if (kind->parse(&operation, n, body, error) &&
	    (kind->is_repetition(&operation) || operate(kind, &operation, ret_new, error)))
		task = operation.task;
	task_free(operation.made);
	g_free(operation.request.nodes);
	return task;
}

/* Documents. */

static bool all_were_ready(const struct scheduler *scheduler)
{
	for (uint32_t i = 0; i < scheduler->cluster->nodes; i++)
		if (!scheduler->was_ready[i])
			return false;
	return true;
}

/*
 * Whether the host's watts come from a model, as those of a lab, of a simulated cluster, and of
 * some meters do.
 */
static bool has_modelled_watts(const struct scheduler *scheduler)
{
	for (uint32_t i = 0; i < scheduler->cluster->hosts_count; i++) {
		const struct config_host *host = &scheduler->cluster->hosts[i];

		if (host->blade || (host->meter && (host->meter->kind == CONFIG_METER_MODEL ||
						    host->meter->kind == CONFIG_METER_SIMULATED)))
			return true;
	}
	return false;
}

static json_t *capabilities(const struct scheduler *scheduler)
{
	g_autofree char *boot_id = platform_boot_id(scheduler->settings.platform);
	json_t *object = scheduler->executor->ops->describe(scheduler->executor);

	json_object_set_new(object, "cluster", json_string(scheduler->cluster->name));
	json_object_set_new(object, "version", json_string(build_version()));
	json_object_set_new(object, "boot_id", json_string(boot_id));
	json_object_set_new(object, "incarnation",
			    json_string(task_store_incarnation(scheduler->settings.store)));
	json_object_set_new(object, "meter", json_string(power_source(scheduler->power)));
	json_object_set_new(object, "meter_mean_s", json_real(power_mean_s(scheduler->power)));
	json_object_set_new(object, "meter_mean_unknown",
			    json_boolean(power_mean_unknown(scheduler->power)));
	json_object_set_new(object, "modelled_watts", json_boolean(has_modelled_watts(scheduler)));
	json_object_set_new(object, "ready", json_boolean(all_were_ready(scheduler)));
	return object;
}

static json_t *nodes(const struct scheduler *scheduler)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < scheduler->cluster->nodes; i++) {
		struct wire_node node;

		scheduler->executor->ops->describe_node(scheduler->executor, i, &node);
		json_array_append_new(array, record_to_json(&wire_node_record, &node));
		record_clear(&wire_node_record, &node);
	}
	return json_pack("{s:o, s:i}", "nodes", array, "spares_booting",
			 (int)scheduler->executor->ops->spares_booting(scheduler->executor));
}

/* Whether an executor has the task. */
static bool is_carried(const struct task *task)
{
	return task->state != TASK_ENDED && task->state != TASK_QUEUED;
}

struct scheduler_output scheduler_output(const struct scheduler *scheduler, const struct task *task)
{
	const struct executor *executor = scheduler->executor;
	struct scheduler_output output = {.ended = task->state == TASK_ENDED};
	const char *printed;
	size_t length;

	if (output.ended) {
		output.bytes = task_store_output_bytes(scheduler->settings.store, task->id);
	} else if (is_carried(task) && executor->ops->printed) {
		printed = executor->ops->printed(executor, task, &length, &output.looks);
		output.bytes = g_bytes_new(printed, length);
	}
	if (!output.bytes)
		output.bytes = g_bytes_new_static("", 0);
	return output;
}

void scheduler_look(struct scheduler *scheduler, const struct task *task)
{
	struct executor *executor = scheduler->executor;

	if (is_carried(task) && executor->ops->look)
		executor->ops->look(executor, task);
}

json_t *scheduler_document(struct scheduler *scheduler, enum scheduler_document document,
			   uint64_t after)
{
	switch (document) {
	case SCHEDULER_CAPABILITIES:
		return capabilities(scheduler);
	case SCHEDULER_NODES:
		return nodes(scheduler);
	case SCHEDULER_ENERGY:
		return power_energy_json(scheduler->power);
	case SCHEDULER_SAMPLES:
		return power_samples_json(scheduler->power, after);
	case SCHEDULER_USAGE:
		break;
	}
	return host_usage_json(scheduler->usage, after);
}

/* Updates the fields of a task that change without an event. */
static void update(const struct scheduler *scheduler, struct task *task)
{
	if (is_carried(task) && scheduler->executor->ops->update)
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
