/* SPDX-License-Identifier: GPL-3.0-or-later */

#include "common/json.h"
#include "controller/engine/snapshot_json.h"
#include "controller/engine/snapshot_writer.h"

static json_t *node_list(const uint32_t *nodes, uint32_t count)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < count; i++)
		json_array_append_new(list, json_integer(nodes[i]));
	return list;
}

static json_t *clusters_json(const struct sched_system *system)
{
	json_t *list = json_array();

	for (uint32_t c = 0; c < system->clusters_count; c++) {
		const struct sched_cluster *cluster = &system->clusters[c];

		json_array_append_new(list, json_pack("{s:s, s:i, s:i, s:i}", "name", cluster->name,
						      "nodes", cluster->nodes, "cores",
						      cluster->cores, "pstates", cluster->pstates));
	}
	return list;
}

static json_t *types_json(const struct sched_system *system)
{
	json_t *list = json_array();

	for (uint32_t row = 0; row < system->rows_count; row++) {
		json_t *options = json_array();
		uint32_t count;
		const struct sched_option *option = sched_system_options(system, row, &count);

		for (uint32_t i = 0; i < count; i++, option++)
			json_array_append_new(
				options,
				json_pack("{s:s, s:i, s:i, s:o, s:o}", "cluster",
					  system->clusters[option->cluster].name, "pstate",
					  option->pstate, "nodes", option->nodes, "etc_s",
					  json_number_or_null(option->etc_s),
					  "eec_j", json_number_or_null(option->eec_j)));
		json_array_append_new(list, json_pack("{s:s, s:o}", "name", system->row_names[row],
						      "options", options));
	}
	return list;
}

static json_t *utility_json(const struct utility *utility)
{
	json_t *segments = json_array();

	for (uint32_t i = 0; i < utility->segments_count; i++) {
		const struct utility_segment *segment = &utility->segments[i];

		json_array_append_new(
			segments, json_pack("{s:s, s:o, s:o, s:o, s:o}", "curve",
					    utility_curve_name(segment->curve), "duration_s",
					    json_number_or_null(segment->duration_s), "start_fraction",
					    json_number_or_null(segment->start_fraction), "end_fraction",
					    json_number_or_null(segment->end_fraction), "rate_per_s",
					    json_number_or_null(segment->rate_per_s)));
	}
	return json_pack("{s:o, s:o}", "max", json_number_or_null(utility->max), "segments",
			 segments);
}

static void append_task(json_t *list, const struct sched_system *system,
			const struct sched_task *task)
{
	json_t *object = json_pack("{s:i, s:o}", "id", task->id, "arrival_s",
				   json_number_or_null(task->arrival_s));

	if (system->shared) {
		json_object_set_new(object, "vms", json_integer(task->demand.vms));
		json_object_set_new(object, "cpu", json_number_or_null(task->demand.cpu));
		json_object_set_new(object, "memory", json_number_or_null(task->demand.memory));
		json_array_append_new(list, object);
		return;
	}
	json_object_set_new(object, "type", json_string(system->row_names[task->row]));
	if (task->priority != 0)
		json_object_set_new(object, "priority", json_integer(task->priority));
	if (system->queueing) {
		json_object_set_new(object, "deadline_s", json_number_or_null(task->deadline_s));
		json_array_append_new(list, object);
		return;
	}
	json_object_set_new(object, "utility", utility_json(&task->utility));

	if (task->may_preempt)
		json_object_set_new(object, "may_preempt", json_true());
	if (task->preemptible)
		json_object_set_new(object, "preemptible", json_true());
	json_array_append_new(list, object);
}

static bool runs(const struct sched_snapshot *snapshot, const struct sched_task *task)
{
	for (uint32_t i = 0; i < snapshot->running_count; i++)
		if (snapshot->running[i].task->id == task->id)
			return true;
	return false;
}

static void append_queued(json_t *list, const struct sched_snapshot *snapshot)
{
	for (uint32_t c = 0; snapshot->queues && c < snapshot->system->clusters_count; c++)
		for (uint32_t i = 0; i < snapshot->queues[c].count; i++)
			if (!runs(snapshot, snapshot->queues[c].tasks[i]))
				append_task(list, snapshot->system, snapshot->queues[c].tasks[i]);
}

/* Every task of the snapshot, once; tasks with place-holders are among the waiting. */
static json_t *tasks_json(const struct sched_snapshot *snapshot)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < snapshot->waiting_count; i++)
		append_task(list, snapshot->system, snapshot->waiting[i]);
	for (uint32_t i = 0; i < snapshot->suspended_count; i++)
		append_task(list, snapshot->system, snapshot->suspended[i].task);
	for (uint32_t i = 0; i < snapshot->running_count; i++)
		append_task(list, snapshot->system, snapshot->running[i].task);
	append_queued(list, snapshot);
	for (uint32_t i = 0; i < snapshot->reservations_count; i++)
		append_task(list, snapshot->system, snapshot->reservations[i].task);
	return list;
}

static json_t *place_json(const struct sched_system *system, uint32_t task, uint32_t cluster,
			  uint32_t pstate, json_t *nodes, double start_s, double end_s)
{
	return json_pack("{s:i, s:s, s:i, s:o, s:o, s:o}", "task", task, "cluster",
			 system->clusters[cluster].name, "pstate", pstate, "nodes", nodes,
			 "start_s", json_number_or_null(start_s), "end_s", json_number_or_null(end_s));
}

/* A task on shared hosts: the hosts of its VMs, its yield and its virtual time. */
static json_t *sharing_json(const struct sched_snapshot *snapshot, const struct sched_running *r)
{
	json_t *object = json_pack("{s:i, s:s, s:o, s:o, s:o}", "task", r->task->id, "cluster",
				   snapshot->system->clusters[r->cluster].name, "nodes",
				   node_list(r->nodes, r->nodes_count), "yield",
				   json_number_or_null(r->yield), "virtual_s", json_number_or_null(r->virtual_s));

	if (r->busy)
		json_object_set_new(object, "busy", json_true());
	return object;
}

static json_t *running_json(const struct sched_snapshot *snapshot)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < snapshot->running_count; i++) {
		const struct sched_running *r = &snapshot->running[i];
		json_t *object;

		if (snapshot->system->shared) {
			json_array_append_new(list, sharing_json(snapshot, r));
			continue;
		}
		object = place_json(snapshot->system, r->task->id, r->cluster, r->pstate,
					    node_list(r->nodes, r->nodes_count), r->start_s,
					    r->end_s);

		if (r->executed_s > 0)
			json_object_set_new(object, "executed_s",
					    json_number_or_null(r->executed_s));
		json_array_append_new(list, object);
	}
	return list;
}

static json_t *suspended_json(const struct sched_snapshot *snapshot)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < snapshot->suspended_count; i++) {
		const struct sched_suspended *s = &snapshot->suspended[i];

		if (snapshot->system->shared) {
			json_array_append_new(
				list,
				json_pack("{s:i, s:s, s:o}", "task", s->task->id, "cluster",
					  snapshot->system->clusters[s->cluster].name,
					  "virtual_s", json_number_or_null(s->virtual_s)));
			continue;
		}
		json_array_append_new(
			list, json_pack("{s:i, s:s, s:i, s:o}", "task", s->task->id, "cluster",
					snapshot->system->clusters[s->cluster].name, "pstate",
					s->pstate, "executed_s", json_number_or_null(s->executed_s)));
	}
	return list;
}

static json_t *planned_json(const struct sched_system *system, const struct sched_planned *planned,
			    uint32_t count)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < count; i++) {
		const struct sched_planned *p = &planned[i];

		json_array_append_new(list, place_json(system, p->task->id, p->cluster, p->pstate,
						       node_list(p->nodes, p->nodes_count),
						       p->start_s, p->end_s));
	}
	return list;
}

static json_t *waiting_json(const struct sched_snapshot *snapshot)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < snapshot->waiting_count; i++)
		json_array_append_new(list, json_integer(snapshot->waiting[i]->id));
	return list;
}

static json_t *deferred_json(const struct sched_snapshot *snapshot)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < snapshot->deferred_count; i++) {
		const struct sched_deferred *d = &snapshot->deferred[i];

		json_array_append_new(list, json_pack("{s:i, s:i, s:o}", "task", d->task->id,
						      "count", d->count, "until_s",
						      json_number_or_null(d->until_s)));
	}
	return list;
}

static json_t *down_json(const struct sched_snapshot *snapshot)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < snapshot->down_count; i++)
		json_array_append_new(
			list,
			json_pack("{s:s, s:i}", "cluster",
				  snapshot->system->clusters[snapshot->down[i].cluster].name,
				  "node", snapshot->down[i].node));
	return list;
}

static json_t *completed_json(const struct sched_snapshot *snapshot)
{
	return json_pack("{s:I, s:o, s:o}", "tasks", (json_int_t)snapshot->completed_count,
			 "energy_j", json_number_or_null(snapshot->completed_j), "resources",
			 json_number_or_null(snapshot->completed_resources));
}

/* Adds what a snapshot of a system with queues has. */
static void add_queues(json_t *object, const struct sched_snapshot *snapshot, const char *pet)
{
	json_object_set_new(json_object_get(object, "system"), "queueing",
			    snapshot_write_queueing(snapshot->system, pet));
	json_object_set_new(object, "queues", snapshot_write_queues(snapshot));
	json_object_set_new(object, "pruner",
			    json_pack("{s:f, s:b}", "level", snapshot->pruner.level, "dropping",
				      (int)snapshot->pruner.dropping));
	json_object_set_new(object, "missed", json_integer(snapshot->missed));
	if (snapshot->sufferage)
		json_object_set_new(object, "sufferage", snapshot_write_sufferage(snapshot));
}

json_t *snapshot_json_write(const struct sched_snapshot *snapshot, const struct policy *policy)
{
	return snapshot_json_write_brief(snapshot, policy, NULL);
}

json_t *snapshot_json_write_brief(const struct sched_snapshot *snapshot,
				  const struct policy *policy, const char *pet)
{
	const struct sched_system *system = snapshot->system;
	json_t *object = json_pack(
		"{s:{s:o, s:o, s:b}, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "system", "clusters",
		clusters_json(system), "types", types_json(system), "immediate",
		(int)system->immediate, "seed", (json_int_t)snapshot->seed, "event", (json_int_t)snapshot->event, "now_s",
		json_number_or_null(snapshot->now_s), "next_event_s", json_number_or_null(snapshot->next_event_s),
		"day_start_s", json_number_or_null(snapshot->day_start_s),
		"end_s", json_number_or_null(snapshot->end_s),
		"consumed_j", json_number_or_null(snapshot->consumed_j), "budget_j",
		json_number_or_null(snapshot->budget_j));

	json_object_set_new(object, "gate", json_boolean(snapshot->gate));
	json_object_set_new(object, "completed", completed_json(snapshot));
	if (policy)
		json_object_set_new(object, "policy", json_string(policy->name));
	json_object_set_new(object, "tasks", tasks_json(snapshot));
	json_object_set_new(object, "waiting", waiting_json(snapshot));
	if (snapshot->suspended_count > 0)
		json_object_set_new(object, "suspended", suspended_json(snapshot));
	json_object_set_new(object, "running", running_json(snapshot));
	json_object_set_new(object, "reservations",
			    planned_json(system, snapshot->reservations,
					 snapshot->reservations_count));
	json_object_set_new(object, "placeholders",
			    planned_json(system, snapshot->placeholders,
					 snapshot->placeholders_count));
	json_object_set_new(object, "down", down_json(snapshot));
	if (system->shared)
		json_object_set_new(json_object_get(object, "system"), "shared", json_true());
	if (snapshot->between)
		json_object_set_new(object, "between", json_true());
	if (snapshot->deferred_count > 0)
		json_object_set_new(object, "deferred", deferred_json(snapshot));
	if (system->queueing)
		add_queues(object, snapshot, pet);
	return object;
}

bool snapshot_write_has_place(enum sched_action_kind kind)
{
	return kind != SCHED_ACTION_DROP && kind != SCHED_ACTION_SUSPEND &&
	       kind != SCHED_ACTION_PAUSE && kind != SCHED_ACTION_DEFER;
}

json_t *snapshot_json_action(const struct sched_system *system, const struct sched_action *action)
{
	json_t *object;

	if (!snapshot_write_has_place(action->kind)) {
		object = json_pack("{s:i}", "task", action->task);
		if (action->kind == SCHED_ACTION_DEFER)
			json_object_set_new(object, "start_s",
					    json_number_or_null(action->start_s));
	} else if (action->kind == SCHED_ACTION_ENQUEUE) {
		object = json_pack("{s:i, s:s, s:o, s:o}", "task", action->task, "cluster",
				   system->clusters[action->cluster].name, "start_s",
				   json_number_or_null(action->start_s), "end_s", json_number_or_null(action->end_s));
	} else if (system->shared) {
		object = json_pack("{s:i, s:s, s:o, s:o, s:o}", "task", action->task, "cluster",
				   system->clusters[action->cluster].name, "nodes",
				   node_list(action->nodes, action->nodes_count), "start_s",
				   json_number_or_null(action->start_s), "yield", json_number_or_null(action->yield));
	} else {
		object = place_json(system, action->task, action->cluster, action->pstate,
				    node_list(action->nodes, action->nodes_count), action->start_s,
				    action->end_s);
		json_object_set_new(object, "energy_j", json_number_or_null(action->energy_j));
		json_object_set_new(object, "utility", json_number_or_null(action->utility));
	}
	json_object_set_new(object, "kind", json_string(sched_action_kind_name(action->kind)));
	json_object_set_new(object, "objective", json_number_or_null(action->objective));
	if (system->queueing) {
		json_object_set_new(object, "chance", json_number_or_null(action->chance));
		json_object_set_new(object, "threshold", json_number_or_null(action->threshold));
	}
	json_object_set_new(object, "reason", json_string(sched_reason_name(action->reason)));
	return object;
}

static json_t *considered_json(const struct sched_system *system,
			       const struct sched_considered *considered)
{
	if (system->shared)
		return json_pack("{s:o, s:o, s:s}", "yield",
				 json_number_or_null(considered->utility),
				 "objective", json_number_or_null(considered->objective), "verdict",
				 sched_refusal_name(considered->refusal));
	if (system->queueing)
		return json_pack("{s:s, s:o, s:o, s:s}", "cluster",
				 system->clusters[considered->cluster].name, "end_s",
				 json_number_or_null(considered->end_s), "chance",
				 json_number_or_null(considered->objective), "verdict",
				 sched_refusal_name(considered->refusal));
	return json_pack("{s:s, s:i, s:o, s:o, s:o, s:o, s:s}", "cluster",
			 system->clusters[considered->cluster].name, "pstate", considered->pstate,
			 "start_s", json_number_or_null(considered->start_s),
			 "end_s", json_number_or_null(considered->end_s),
			 "utility", json_number_or_null(considered->utility), "objective",
			 json_number_or_null(considered->objective), "verdict",
			 sched_refusal_name(considered->refusal));
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
				      considered_json(system, considered));
	}
	if (explain && system->queueing)
		snapshot_write_judged(list, system, plan);
	return list;
}
