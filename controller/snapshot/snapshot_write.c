/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/json.h"
#include "controller/snapshot/snapshot_rows.h"

static unsigned system_variant(const struct sched_system *system)
{
	return system->shared ? SHARED : system->queueing ? QUEUES : PLAIN;
}

/* Describes a system; the caller frees `types` and, with `pet`, the array of that name. */
static void describe_system(struct snapshot_system *parts, const struct sched_system *system,
			    bool pet)
{
	*parts = (struct snapshot_system){
		.clusters_count = system->clusters_count,
		.clusters = system->clusters,
		.types_count = system->rows_count,
		.types = g_new0(struct snapshot_type, system->rows_count),
		.immediate = system->immediate,
		.shared = system->shared,
	};
	for (uint32_t row = 0; row < system->rows_count; row++) {
		struct snapshot_type *type = &parts->types[row];

		type->name = system->row_names[row];
		type->options = (struct sched_option *)sched_system_options(system, row,
									    &type->options_count);
	}
	if (!system->queueing)
		return;
	parts->queueing = *system->queueing;
	parts->pet = pet ? g_new0(struct snapshot_pair, system->rows_count * system->clusters_count)
			 : NULL;
	for (uint32_t row = 0; pet && row < system->rows_count; row++)
		for (uint32_t c = 0; c < system->clusters_count; c++)
			parts->pet[parts->pet_count++] =
				(struct snapshot_pair){row, c,
						       pet_at(system->queueing->pet, row, c)->pmf};
}

static bool runs(const struct sched_snapshot *snapshot, const struct sched_task *task)
{
	for (uint32_t i = 0; i < snapshot->running_count; i++)
		if (snapshot->running[i].task->id == task->id)
			return true;
	return false;
}

/* Every task of the snapshot, once; tasks with place-holders are among the waiting. */
static GArray *list_tasks(const struct sched_snapshot *snapshot)
{
	GArray *list = g_array_new(FALSE, FALSE, sizeof(struct sched_task));

	for (uint32_t i = 0; i < snapshot->waiting_count; i++)
		g_array_append_vals(list, snapshot->waiting[i], 1);
	for (uint32_t i = 0; i < snapshot->suspended_count; i++)
		g_array_append_vals(list, snapshot->suspended[i].task, 1);
	for (uint32_t i = 0; i < snapshot->running_count; i++)
		g_array_append_vals(list, snapshot->running[i].task, 1);
	for (uint32_t c = 0; snapshot->queues && c < snapshot->system->clusters_count; c++)
		for (uint32_t i = 0; i < snapshot->queues[c].count; i++)
			if (!runs(snapshot, snapshot->queues[c].tasks[i]))
				g_array_append_vals(list, snapshot->queues[c].tasks[i], 1);
	for (uint32_t i = 0; i < snapshot->reservations_count; i++)
		g_array_append_vals(list, snapshot->reservations[i].task, 1);
	return list;
}

json_t *snapshot_json_write(const struct sched_snapshot *snapshot, const struct policy *policy,
			    const char *pet)
{
	const struct sched_system *system = snapshot->system;
	g_autoptr(GArray) tasks = list_tasks(snapshot);
	struct snapshot_json whole = {
		.snapshot = *snapshot,
		.policy = policy ? policy->name : NULL,
		.tasks_count = tasks->len,
		.tasks = (struct sched_task *)tasks->data,
		.queues_count = system->clusters_count,
		.sufferage_count = snapshot->sufferage ? system->rows_count : 0,
	};
	json_t *object;

	describe_system(&whole.parts, system, !pet);
	object = record_write(&snapshot_record, &whole, system_variant(system), &whole);
	if (system->queueing && pet)
		json_object_set_new(json_object_get(json_object_get(object, "system"), "queueing"),
				    "pet", json_string(pet));
	g_free(whole.parts.types);
	g_free(whole.parts.pet);
	return object;
}

json_t *snapshot_json_pet(const struct sched_system *system)
{
	struct snapshot_json whole = {0};
	g_autoptr(json_t) queueing = NULL;

	describe_system(&whole.parts, system, true);
	queueing = record_write(&snapshot_queueing_record, &whole.parts, QUEUES, &whole);
	g_free(whole.parts.types);
	g_free(whole.parts.pet);
	return json_incref(json_object_get(queueing, "pet"));
}

unsigned snapshot_action_variant(const struct sched_system *system, enum sched_action_kind kind)
{
	const bool leaves = kind == SCHED_ACTION_DROP || kind == SCHED_ACTION_SUSPEND ||
			    kind == SCHED_ACTION_PAUSE;

	return (system->queueing ? QUEUES : 0) | (leaves                         ? ACTION_BARE
						  : kind == SCHED_ACTION_DEFER   ? ACTION_DEFER
						  : kind == SCHED_ACTION_ENQUEUE ? ACTION_ENQUEUE
						  : system->shared               ? ACTION_SHARE
										 : ACTION_PLACE);
}

json_t *snapshot_json_action(const struct sched_system *system, const struct sched_action *action)
{
	const struct snapshot_json names = {.parts.clusters = system->clusters};

	return record_write(&snapshot_action_record, action,
			    snapshot_action_variant(system, action->kind), &names);
}

/* The object of a task that got no action; appended at the first call. */
static json_t *wait_json(json_t *list, uint32_t first, uint32_t task)
{
	json_t *object;

	for (size_t i = first; i < json_array_size(list); i++) {
		object = json_array_get(list, i);
		if (json_integer_value(json_object_get(object, "task")) == task)
			return object;
	}
	object = json_pack("{s:s, s:i, s:[]}", "kind", "wait", "task", task, "considered");
	json_array_append_new(list, object);
	return object;
}

json_t *snapshot_json_actions(const struct sched_system *system, const struct sched_plan *plan,
			      bool explain)
{
	const struct snapshot_json names = {.parts.clusters = system->clusters};
	json_t *list = json_array();

	for (uint32_t i = 0; i < plan->actions_count; i++) {
		json_t *object = snapshot_json_action(system, &plan->actions[i]);

		if (explain)
			json_object_set_new(object, "considered", json_array());
		json_array_append_new(list, object);
	}
	for (uint32_t i = 0; explain && i < plan->considered_count; i++) {
		const struct sched_considered *considered = &plan->considered[i];
		json_t *object = considered->action == UINT32_MAX
					 ? wait_json(list, plan->actions_count, considered->task)
					 : json_array_get(list, considered->action);

		json_array_append_new(json_object_get(object, "considered"),
				      record_write(&snapshot_considered_record, considered,
						   system_variant(system), &names));
	}
	for (uint32_t i = 0; explain && system->queueing && i < plan->judged_count; i++) {
		json_t *object =
			record_write(&snapshot_judged_record, &plan->judged[i], QUEUES, &names);

		json_object_set_new(object, "kind", json_string("judge"));
		json_array_append_new(list, object);
	}
	return list;
}
