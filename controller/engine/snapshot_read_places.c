/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the placements of the tasks of a snapshot. */
#include <string.h>

#include "common/json.h"
#include "controller/engine/snapshot_reader.h"

bool snapshot_check_order(const struct snapshot_reader *reader, const char *list,
			  const struct sched_task *before, const struct sched_task *task)
{
	if (sched_task_before(before, task))
		return true;
	return snapshot_refuse(
		reader,
		before->priority < task->priority
			? "\"%s\": task %u stands before task %u, which has a higher priority; sort "
			  "by priority, then arrival, then id"
			: "\"%s\": task %u stands before task %u, which arrived earlier; sort by "
			  "arrival, then id",
		list, before->id, task->id);
}

static bool read_waiting(const struct snapshot_reader *reader)
{
	struct snapshot_json *read = reader->read;
	json_t *list;
	json_t *entry;
	size_t i;

	if (!snapshot_get_list(reader, reader->object, "waiting", &list))
		return false;
	read->waiting = g_new0(const struct sched_task *, json_array_size(list));
	json_array_foreach(list, i, entry) {
		const json_int_t id = json_integer_value(entry);

		if (!json_is_integer(entry) || id < 0 || id > COUNT_MAX)
			return snapshot_refuse(reader, "\"waiting\" must be a list of task ids");
		if (!snapshot_find_task(reader, id, &read->waiting[i]))
			return false;
		if (i > 0 &&
		    !snapshot_check_order(reader, "waiting", read->waiting[i - 1],
					  read->waiting[i]))
			return false;
	}
	read->snapshot.waiting = read->waiting;
	read->snapshot.waiting_count = (uint32_t)json_array_size(list);
	return true;
}

static bool read_suspended_one(const struct snapshot_reader *reader, const json_t *object,
			       struct sched_suspended *ret_suspended)
{
	const struct sched_system *system = reader->read->system;
	const struct sched_option *option;
	uint32_t id;

	if (!snapshot_get_count(reader, object, "task", &id) ||
	    !snapshot_find_task(reader, id, &ret_suspended->task) ||
	    !snapshot_get_cluster(reader, object, &ret_suspended->cluster) ||
	    !snapshot_get_count(reader, object, "pstate", &ret_suspended->pstate) ||
	    !snapshot_get_number(reader, object, "executed_s", &ret_suspended->executed_s))
		return false;
	option = sched_system_option(system, ret_suspended->task->row, ret_suspended->cluster,
				     ret_suspended->pstate);
	if (!option)
		return snapshot_refuse(reader, "task %u cannot run in cluster \"%s\" at P-state %u",
				       id, system->clusters[ret_suspended->cluster].name,
				       ret_suspended->pstate);
	if (ret_suspended->executed_s < 0)
		return snapshot_refuse(reader, "task %u: executed_s is below 0", id);
	ret_suspended->nodes_count = option->nodes;
	return true;
}

bool snapshot_read_suspended(const struct snapshot_reader *reader, snapshot_suspended_f read_one)
{
	struct snapshot_json *read = reader->read;
	json_t *list;
	json_t *object;
	size_t i;

	if (!json_object_get(reader->object, "suspended"))
		return true;
	if (!snapshot_get_list(reader, reader->object, "suspended", &list))
		return false;
	read->suspended = g_new0(struct sched_suspended, json_array_size(list));
	json_array_foreach(list, i, object) {
		if (!read_one(reader, object, &read->suspended[i]))
			return false;
		if (i > 0 && !snapshot_check_order(reader, "suspended", read->suspended[i - 1].task,
					  read->suspended[i].task))
			return false;
	}
	read->snapshot.suspended = read->suspended;
	read->snapshot.suspended_count = (uint32_t)json_array_size(list);
	return true;
}

/*
 * Reads the nodes of a placement: ascending indices within the cluster, as many as the option
 * needs.
 */
static bool read_nodes(const struct snapshot_reader *reader, const json_t *object,
		       const struct sched_planned *place, uint32_t **ret_nodes)
{
	const struct sched_system *system = reader->read->system;
	const struct sched_option *option =
		sched_system_option(system, place->task->row, place->cluster, place->pstate);
	json_t *list;
	json_t *entry;
	size_t i;
	json_int_t last = -1;

	if (!snapshot_get_list(reader, object, "nodes", &list))
		return false;
	if (!option || json_array_size(list) != option->nodes)
		return snapshot_refuse(
			reader, "task %u cannot have %zu nodes of cluster \"%s\" at P-state %u",
			place->task->id, json_array_size(list),
			system->clusters[place->cluster].name, place->pstate);

	uint32_t *nodes = g_new(uint32_t, json_array_size(list));

	g_ptr_array_add(reader->read->places, nodes);
	json_array_foreach(list, i, entry) {
		const json_int_t node = json_integer_value(entry);

		if (!json_is_integer(entry) || node <= last ||
		    node >= system->clusters[place->cluster].nodes)
			return snapshot_refuse(
				reader, "task %u: the nodes must be ascending indices below %u",
				place->task->id, system->clusters[place->cluster].nodes);
		last = node;
		nodes[i] = (uint32_t)node;
	}
	*ret_nodes = nodes;
	return true;
}

/* Reads a placement with its times. `runs`: its end may equal its start. */
static bool read_place(const struct snapshot_reader *reader, const json_t *object, bool runs,
		       struct sched_planned *ret_place)
{
	uint32_t id;
	uint32_t *nodes = NULL;

	if (!snapshot_get_count(reader, object, "task", &id) ||
	    !snapshot_find_task(reader, id, &ret_place->task) ||
	    !snapshot_get_cluster(reader, object, &ret_place->cluster) ||
	    !snapshot_get_count(reader, object, "pstate", &ret_place->pstate) ||
	    !read_nodes(reader, object, ret_place, &nodes) ||
	    !snapshot_get_number(reader, object, "start_s", &ret_place->start_s) ||
	    !snapshot_get_number(reader, object, "end_s", &ret_place->end_s))
		return false;
	ret_place->nodes = nodes;
	ret_place->nodes_count = (uint32_t)json_array_size(json_object_get(object, "nodes"));
	if (ret_place->end_s < ret_place->start_s ||
	    (!runs && ret_place->end_s == ret_place->start_s))
		return snapshot_refuse(reader, "task %u ends before it starts", id);
	return true;
}

static bool read_planned(const struct snapshot_reader *reader, const char *key,
			 struct sched_planned **ret_planned, uint32_t *ret_count)
{
	json_t *list;
	json_t *object;
	size_t i;

	if (!snapshot_get_list(reader, reader->object, key, &list))
		return false;
	*ret_planned = g_new0(struct sched_planned, json_array_size(list));
	json_array_foreach(list, i, object)
		if (!read_place(reader, object, strcmp(key, "running") == 0, &(*ret_planned)[i]))
			return false;
	*ret_count = (uint32_t)json_array_size(list);
	return true;
}

/* Reads what the running task at `index` executed before; absent: 0. */
static bool read_executed(const struct snapshot_reader *reader, size_t index,
			  double *ret_executed_s)
{
	const json_t *object = json_array_get(json_object_get(reader->object, "running"), index);

	if (!json_object_get(object, "executed_s"))
		return true;
	if (!snapshot_get_number(reader, object, "executed_s", ret_executed_s))
		return false;
	return *ret_executed_s >= 0 ||
	       snapshot_refuse(reader, "a running task: executed_s is below 0");
}

static bool read_running(const struct snapshot_reader *reader)
{
	struct snapshot_json *read = reader->read;
	g_autofree struct sched_planned *places = NULL;
	uint32_t count;

	if (!read_planned(reader, "running", &places, &count))
		return false;
	read->running = g_new0(struct sched_running, count);
	for (uint32_t i = 0; i < count; i++) {
		const struct sched_planned *place = &places[i];

		if (place->end_s < read->snapshot.now_s)
			return snapshot_refuse(reader, "running task %u ends before now_s",
					       place->task->id);
		read->running[i] = (struct sched_running){
			.task = place->task,
			.cluster = place->cluster,
			.pstate = place->pstate,
			.nodes_count = place->nodes_count,
			.nodes = place->nodes,
			.start_s = place->start_s,
			.end_s = place->end_s,
		};
		if (!read_executed(reader, i, &read->running[i].executed_s))
			return false;
	}
	read->snapshot.running = read->running;
	read->snapshot.running_count = count;
	return true;
}

/* Notes that a task is in a list. Fails if it is in another one already. */
static bool note_task(const struct snapshot_reader *reader, bool *noted,
		      const struct sched_task *task)
{
	bool *was = &noted[task - reader->read->tasks];

	if (*was)
		return snapshot_refuse(reader,
				       "task %u is in two of \"waiting\", \"suspended\", "
				       "\"queues\", \"running\" and \"reservations\", or twice in one",
				       task->id);
	*was = true;
	return true;
}

static bool note_nodes(const struct snapshot_reader *reader, bool *const *taken,
		       const struct sched_running *running)
{
	for (uint32_t i = 0; i < running->nodes_count; i++) {
		bool *was = &taken[running->cluster][running->nodes[i]];

		if (*was)
			return snapshot_refuse(
				reader,
				"\"running\": task %u is on node %u of cluster "
				"\"%s\" beside another task",
				running->task->id, running->nodes[i],
				reader->read->system->clusters[running->cluster].name);
		*was = true;
	}
	return true;
}

/* Whether a running task is the executing task of its cluster's queue. */
static bool executes(const struct sched_snapshot *snapshot, const struct sched_running *running)
{
	const struct sched_queue *queue =
		snapshot->queues ? &snapshot->queues[running->cluster] : NULL;

	return queue && queue->executes && queue->tasks[0] == running->task;
}

static bool note_queues(const struct snapshot_reader *reader, bool *noted)
{
	const struct sched_snapshot *snapshot = &reader->read->snapshot;

	for (uint32_t c = 0; snapshot->queues && c < reader->read->system->clusters_count; c++)
		for (uint32_t i = 0; i < snapshot->queues[c].count; i++)
			if (!note_task(reader, noted, snapshot->queues[c].tasks[i]))
				return false;
	return true;
}

/* Reads the place-holders of mappable tasks, at most one for each. */
static bool check_placeholders(const struct snapshot_reader *reader, bool *mappable)
{
	const struct sched_snapshot *snapshot = &reader->read->snapshot;

	for (uint32_t i = 0; i < snapshot->placeholders_count; i++) {
		const struct sched_task *task = snapshot->placeholders[i].task;
		bool *is = &mappable[task - reader->read->tasks];

		if (!*is)
			return snapshot_refuse(reader,
					       "\"placeholders\": task %u is neither in \"waiting\" "
					       "nor in \"suspended\", or it is there twice",
					       task->id);
		*is = false;
	}
	return true;
}

/* Checks that a task is in one list only, and that a node has one task unless it is shared. */
static bool check_places(const struct snapshot_reader *reader)
{
	const struct snapshot_json *read = reader->read;
	const struct sched_snapshot *snapshot = &read->snapshot;
	g_autofree bool *noted = g_new0(bool, read->tasks_count);
	g_autofree bool *mappable = NULL;
	g_autoptr(GPtrArray) taken = g_ptr_array_new_with_free_func(g_free);

	for (uint32_t c = 0; c < read->system->clusters_count; c++)
		g_ptr_array_add(taken, g_new0(bool, read->system->clusters[c].nodes));
	for (uint32_t i = 0; i < snapshot->waiting_count; i++)
		if (!note_task(reader, noted, snapshot->waiting[i]))
			return false;
	for (uint32_t i = 0; i < snapshot->suspended_count; i++)
		if (!note_task(reader, noted, snapshot->suspended[i].task))
			return false;
	mappable = g_memdup2(noted, read->tasks_count * sizeof(*noted));
	if (!note_queues(reader, noted))
		return false;
	for (uint32_t i = 0; i < snapshot->running_count; i++)
		if ((!executes(snapshot, &snapshot->running[i]) &&
		     !note_task(reader, noted, snapshot->running[i].task)) ||
		    (!read->system->shared &&
		     !note_nodes(reader, (bool *const *)taken->pdata, &snapshot->running[i])))
			return false;
	for (uint32_t i = 0; i < snapshot->reservations_count; i++)
		if (!note_task(reader, noted, snapshot->reservations[i].task))
			return false;
	return check_placeholders(reader, mappable);
}

static bool read_down(const struct snapshot_reader *reader)
{
	struct snapshot_json *read = reader->read;
	json_t *list;
	json_t *object;
	size_t i;

	if (!snapshot_get_list(reader, reader->object, "down", &list))
		return false;
	read->down = g_new0(struct sched_node, json_array_size(list));
	json_array_foreach(list, i, object) {
		struct sched_node *node = &read->down[i];

		if (!snapshot_get_cluster(reader, object, &node->cluster) ||
		    !snapshot_get_count(reader, object, "node", &node->node))
			return false;
		if (node->node >= read->system->clusters[node->cluster].nodes)
			return snapshot_refuse(
				reader, "\"down\": there is no node %u in cluster \"%s\"",
				node->node, read->system->clusters[node->cluster].name);
	}
	read->snapshot.down = read->down;
	read->snapshot.down_count = (uint32_t)json_array_size(list);
	return true;
}

static bool read_promises(const struct snapshot_reader *reader)
{
	struct snapshot_json *read = reader->read;
	struct sched_snapshot *snapshot = &read->snapshot;

	if (!read_planned(reader, "reservations", &read->reservations,
			  &snapshot->reservations_count) ||
	    !read_planned(reader, "placeholders", &read->placeholders,
			  &snapshot->placeholders_count))
		return false;
	snapshot->reservations = read->reservations;
	snapshot->placeholders = read->placeholders;
	return true;
}

bool snapshot_read_places(const struct snapshot_reader *reader)
{
	if (reader->read->system->shared)
		return read_waiting(reader) && snapshot_read_shared_places(reader) &&
		       check_places(reader) && read_down(reader) &&
		       snapshot_check_shared_places(reader);
	return read_waiting(reader) &&
	       snapshot_read_suspended(reader, read_suspended_one) && read_running(reader) &&
	       (!reader->read->queueing || snapshot_read_queued(reader)) &&
	       read_promises(reader) && check_places(reader) && read_down(reader);
}
