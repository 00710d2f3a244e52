/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "common/json.h"
#include "controller/engine/snapshot_reader.h"

bool snapshot_refuse(const struct snapshot_reader *reader, const char *format, ...)
{
	va_list arguments;
	g_autofree char *text = NULL;

	va_start(arguments, format);
	text = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	g_set_error(reader->error, JSON_ERROR, JSON_ERROR_KEY, "%s: %s", reader->what, text);
	return false;
}

bool snapshot_get_count(const struct snapshot_reader *reader, const json_t *object, const char *key,
			uint32_t *ret_value)
{
	int64_t value;

	if (!json_get_integer(object, key, reader->what, 0, COUNT_MAX, &value, reader->error))
		return false;
	*ret_value = (uint32_t)value;
	return true;
}

bool snapshot_get_number(const struct snapshot_reader *reader, const json_t *object,
			 const char *key, double *ret_value)
{
	return json_get_number(object, key, reader->what, ret_value, reader->error);
}

/* Reads an array of the snapshot itself, of at most COUNT_MAX entries. */
bool snapshot_get_list(const struct snapshot_reader *reader, const json_t *object, const char *key,
		       json_t **ret_list)
{
	if (!json_get_array(object, key, reader->what, ret_list, reader->error))
		return false;
	if (json_array_size(*ret_list) > COUNT_MAX)
		return snapshot_refuse(reader, "\"%s\" has more than %d entries", key, COUNT_MAX);
	return true;
}

bool snapshot_get_cluster(const struct snapshot_reader *reader, const json_t *object,
			  uint32_t *ret_cluster)
{
	const struct sched_system *system = reader->read->system;
	const char *name;

	if (!json_get_string(object, "cluster", reader->what, &name, reader->error))
		return false;
	for (uint32_t c = 0; c < system->clusters_count; c++) {
		if (strcmp(system->clusters[c].name, name) != 0)
			continue;
		*ret_cluster = c;
		return true;
	}
	return snapshot_refuse(reader, "unknown cluster \"%s\"", name);
}

static bool read_cluster(const struct snapshot_reader *reader, const json_t *object,
			 struct sched_cluster *ret_cluster)
{
	return json_get_string(object, "name", reader->what, &ret_cluster->name, reader->error) &&
	       snapshot_get_count(reader, object, "nodes", &ret_cluster->nodes) &&
	       snapshot_get_count(reader, object, "cores", &ret_cluster->cores) &&
	       snapshot_get_count(reader, object, "pstates", &ret_cluster->pstates);
}

static bool read_option(const struct snapshot_reader *reader, const json_t *object, uint32_t row)
{
	struct sched_system *system = reader->read->system;
	uint32_t cluster;
	uint32_t pstate;
	uint32_t nodes;
	double etc_s;
	double eec_j;

	if (!snapshot_get_cluster(reader, object, &cluster) ||
	    !snapshot_get_count(reader, object, "pstate", &pstate) ||
	    !snapshot_get_count(reader, object, "nodes", &nodes) ||
	    !snapshot_get_number(reader, object, "etc_s", &etc_s) ||
	    !snapshot_get_number(reader, object, "eec_j", &eec_j))
		return false;
	if (pstate >= system->clusters[cluster].pstates)
		return snapshot_refuse(reader, "cluster \"%s\" has no P-state %u",
				       system->clusters[cluster].name, pstate);

	const size_t cell =
		(size_t)row * system->columns_count + system->clusters[cluster].column + pstate;
	uint32_t *width = &system->nodes[row * system->clusters_count + cluster];

	if (!isnan(system->etc_s[cell]) || (*width != 0 && *width != nodes))
		return snapshot_refuse(reader,
				       "type \"%s\" has contradicting options on cluster \"%s\"",
				       system->row_names[row], system->clusters[cluster].name);
	system->etc_s[cell] = etc_s;
	system->eec_j[cell] = eec_j;
	*width = nodes;
	return true;
}

static bool read_type(const struct snapshot_reader *reader, const json_t *object, uint32_t row)
{
	struct sched_system *system = reader->read->system;
	json_t *options;
	json_t *option;
	size_t i;

	if (!json_get_string(object, "name", reader->what, &system->row_names[row],
			     reader->error) ||
	    !snapshot_get_list(reader, object, "options", &options))
		return false;
	json_array_foreach(options, i, option)
		if (!read_option(reader, option, row))
			return false;
	return true;
}

static bool finish_system(const struct snapshot_reader *reader)
{
	struct sched_system *system = reader->read->system;
	uint32_t index = 0;
	const enum sched_system_fault fault = sched_system_finish(system, &index);

	if (fault == SCHED_SYSTEM_OK)
		return true;
	return snapshot_refuse(reader, "%s \"%s\": %s",
			       fault == SCHED_SYSTEM_CLUSTER ? "cluster" : "type",
			       fault == SCHED_SYSTEM_CLUSTER ? system->clusters[index].name
							     : system->row_names[index],
			       sched_system_fault_text(fault));
}

static bool make_system(const struct snapshot_reader *reader, const json_t *clusters,
			const json_t *types)
{
	const uint32_t count = (uint32_t)json_array_size(clusters);
	const uint32_t rows = (uint32_t)json_array_size(types);
	g_autofree struct sched_cluster *list = g_new0(struct sched_cluster, count);
	uint64_t columns = 0;
	uint64_t nodes = 0;

	for (uint32_t c = 0; c < count; c++) {
		if (!read_cluster(reader, json_array_get(clusters, c), &list[c]))
			return false;
		columns += MAX(list[c].pstates, 1);
		nodes += list[c].nodes;
	}
	if (columns * rows > COUNT_MAX)
		return snapshot_refuse(reader, "too many clusters, P-states and types");
	if (nodes > COUNT_MAX)
		return snapshot_refuse(reader, "the clusters have more than %d nodes", COUNT_MAX);
	reader->read->system = sched_system_new(list, count, rows);
	if (!reader->read->system)
		return snapshot_refuse(reader, "out of memory");
	for (uint32_t row = 0; row < rows; row++)
		if (!read_type(reader, json_array_get(types, row), row))
			return false;
	return finish_system(reader);
}

static bool read_system(const struct snapshot_reader *reader)
{
	const json_t *system = json_object_get(reader->object, "system");
	const json_t *immediate = json_object_get(system, "immediate");
	const json_t *shared = json_object_get(system, "shared");
	json_t *clusters;
	json_t *types;

	if (!json_is_object(system))
		return snapshot_refuse(reader, "\"system\" is not an object");
	if (immediate && !json_is_boolean(immediate))
		return snapshot_refuse(reader, "\"immediate\" must be true or false");
	if (shared && !json_is_boolean(shared))
		return snapshot_refuse(reader, "\"shared\" must be true or false");
	if (!snapshot_get_list(reader, system, "clusters", &clusters) ||
	    !snapshot_get_list(reader, system, "types", &types) ||
	    !make_system(reader, clusters, types))
		return false;
	reader->read->system->immediate = json_is_true(immediate);
	reader->read->system->shared = json_is_true(shared);
	return (!json_is_true(shared) || snapshot_check_shared(reader)) &&
	       snapshot_read_queueing(reader);
}

static bool get_curve(const struct snapshot_reader *reader, const json_t *object,
		      enum utility_curve *ret_curve)
{
	const char *name;

	if (!json_get_string(object, "curve", reader->what, &name, reader->error))
		return false;
	for (int curve = 0; utility_curve_name((enum utility_curve)curve); curve++) {
		if (strcmp(utility_curve_name((enum utility_curve)curve), name) != 0)
			continue;
		*ret_curve = (enum utility_curve)curve;
		return true;
	}
	return snapshot_refuse(reader, "unknown curve \"%s\"; known: constant linear exponential",
			       name);
}

static bool read_segment(const struct snapshot_reader *reader, const json_t *object,
			 struct utility_segment *ret_segment)
{
	return get_curve(reader, object, &ret_segment->curve) &&
	       snapshot_get_number(reader, object, "duration_s", &ret_segment->duration_s) &&
	       snapshot_get_number(reader, object, "start_fraction",
				   &ret_segment->start_fraction) &&
	       snapshot_get_number(reader, object, "end_fraction", &ret_segment->end_fraction) &&
	       snapshot_get_number(reader, object, "rate_per_s", &ret_segment->rate_per_s);
}

static bool read_utility(const struct snapshot_reader *reader, const json_t *object, uint32_t id,
			 struct utility *ret_utility)
{
	json_t *segments;
	json_t *segment;
	size_t i;
	uint32_t at;

	if (!json_is_object(object))
		return snapshot_refuse(reader, "task %u has no utility function", id);
	if (!snapshot_get_number(reader, object, "max", &ret_utility->max) ||
	    !snapshot_get_list(reader, object, "segments", &segments))
		return false;
	if (json_array_size(segments) > UTILITY_SEGMENTS_MAX)
		return snapshot_refuse(reader, "task %u: more than %d segments", id,
				       UTILITY_SEGMENTS_MAX);
	ret_utility->segments_count = (uint32_t)json_array_size(segments);
	json_array_foreach(segments, i, segment)
		if (!read_segment(reader, segment, &ret_utility->segments[i]))
			return false;

	const enum utility_fault fault = utility_check(ret_utility, &at);

	if (fault == UTILITY_FAULT_NONE)
		return true;
	return snapshot_refuse(reader, "task %u: utility, segment %u: %s", id, at,
			       utility_fault_text(fault));
}

static bool get_row(const struct snapshot_reader *reader, const json_t *object, uint32_t *ret_row)
{
	const struct sched_system *system = reader->read->system;
	const char *name;

	if (!json_get_string(object, "type", reader->what, &name, reader->error))
		return false;
	for (uint32_t row = 0; row < system->rows_count; row++) {
		if (strcmp(system->row_names[row], name) != 0)
			continue;
		if (system->options_first[row] == system->options_first[row + 1])
			return snapshot_refuse(reader,
					       "type \"%s\" has no options: tasks cannot have this type",
					       name);
		*ret_row = row;
		return true;
	}
	return snapshot_refuse(reader, "unknown type \"%s\"", name);
}

/* Reads a boolean; absent: false. */
bool snapshot_get_flag(const struct snapshot_reader *reader, const json_t *object, const char *key,
		       bool *ret_flag)
{
	const json_t *value = json_object_get(object, key);

	if (value && !json_is_boolean(value))
		return snapshot_refuse(reader, "\"%s\" must be true or false", key);
	*ret_flag = json_is_true(value);
	return true;
}

/* Reads a task's type with its utility or deadline or, in a shared system, its demand. */
static bool read_nature(const struct snapshot_reader *reader, const json_t *object,
			struct sched_task *task)
{
	if (reader->read->system->shared)
		return snapshot_read_demand(reader, object, task->id, &task->demand);
	if (reader->read->queueing)
		return get_row(reader, object, &task->row) &&
		       snapshot_read_deadline(reader, object, task);
	return get_row(reader, object, &task->row) &&
	       read_utility(reader, json_object_get(object, "utility"), task->id, &task->utility);
}

/* Reads a task's priority; absent: 0. */
static bool read_priority(const struct snapshot_reader *reader, const json_t *object,
			  struct sched_task *task)
{
	int64_t priority;

	if (!json_object_get(object, "priority"))
		return true;
	if (!json_get_integer(object, "priority", reader->what, -SCHED_PRIORITY_MAX,
			      SCHED_PRIORITY_MAX, &priority, reader->error))
		return false;
	task->priority = (int32_t)priority;
	return true;
}

static int compare_ids(const void *left, const void *right)
{
	const struct sched_task *a = left;
	const struct sched_task *b = right;

	return (a->id > b->id) - (a->id < b->id);
}

static bool read_tasks(const struct snapshot_reader *reader)
{
	struct snapshot_json *read = reader->read;
	json_t *list;
	json_t *object;
	size_t i;

	if (!snapshot_get_list(reader, reader->object, "tasks", &list))
		return false;
	read->tasks_count = (uint32_t)json_array_size(list);
	read->tasks = g_new0(struct sched_task, read->tasks_count);
	json_array_foreach(list, i, object) {
		struct sched_task *task = &read->tasks[i];

		if (!snapshot_get_count(reader, object, "id", &task->id) ||
		    !snapshot_get_number(reader, object, "arrival_s", &task->arrival_s) ||
		    !read_nature(reader, object, task) || !read_priority(reader, object, task) ||
		    !snapshot_get_flag(reader, object, "may_preempt", &task->may_preempt) ||
		    !snapshot_get_flag(reader, object, "preemptible", &task->preemptible))
			return false;
	}
	if (read->tasks_count > 0)
		qsort(read->tasks, read->tasks_count, sizeof(*read->tasks), compare_ids);
	for (i = 1; i < read->tasks_count; i++)
		if (read->tasks[i].id == read->tasks[i - 1].id)
			return snapshot_refuse(reader, "task %u is there twice", read->tasks[i].id);
	return true;
}

bool snapshot_find_task(const struct snapshot_reader *reader, int64_t id,
			const struct sched_task **ret_task)
{
	const struct snapshot_json *read = reader->read;
	const struct sched_task key = { .id = (uint32_t)id };

	*ret_task = read->tasks_count > 0 ? bsearch(&key, read->tasks, read->tasks_count,
						    sizeof(key), compare_ids)
					  : NULL;
	return *ret_task || snapshot_refuse(reader, "task %u is not among \"tasks\"", (uint32_t)id);
}

/* Reads what filters and the gate use; absent in snapshots recorded by versions without these. */
static bool read_energy(const struct snapshot_reader *reader)
{
	struct sched_snapshot *snapshot = &reader->read->snapshot;
	json_t *completed = json_object_get(reader->object, "completed");
	json_t *gate = json_object_get(reader->object, "gate");

	if (gate && !json_is_boolean(gate))
		return snapshot_refuse(reader, "\"gate\" must be true or false");
	snapshot->gate = json_is_true(gate);
	if (!completed)
		return true;
	if (!json_is_object(completed))
		return snapshot_refuse(reader, "\"completed\": expected an object");
	if (!snapshot_get_count(reader, completed, "tasks", &snapshot->completed_count) ||
	    !snapshot_get_number(reader, completed, "energy_j", &snapshot->completed_j) ||
	    !snapshot_get_number(reader, completed, "resources", &snapshot->completed_resources))
		return false;
	if (snapshot->completed_j < 0 || snapshot->completed_resources < 0)
		return snapshot_refuse(reader, "\"completed\": a number below 0");
	return true;
}

/*
 * Reads whether the event is between two periodic ones; absent in snapshots of policies without
 * such events.
 */
static bool read_between(const struct snapshot_reader *reader)
{
	return snapshot_get_flag(reader, reader->object, "between",
				 &reader->read->snapshot.between);
}

/* Reads the numbers of the snapshot itself. No budget is written as null. */
static bool read_numbers(const struct snapshot_reader *reader)
{
	struct sched_snapshot *snapshot = &reader->read->snapshot;
	const json_t *object = reader->object;
	int64_t seed;
	int64_t event;

	if (!json_get_integer(object, "seed", reader->what, 0, INT64_MAX, &seed, reader->error) ||
	    !json_get_integer(object, "event", reader->what, 0, INT64_MAX, &event, reader->error) ||
	    !snapshot_get_number(reader, object, "now_s", &snapshot->now_s) ||
	    !snapshot_get_number(reader, object, "next_event_s", &snapshot->next_event_s) ||
	    !snapshot_get_number(reader, object, "day_start_s", &snapshot->day_start_s) ||
	    !snapshot_get_number(reader, object, "consumed_j", &snapshot->consumed_j))
		return false;
	snapshot->end_s = INFINITY;
	if (!json_is_null(json_object_get(object, "end_s")) &&
	    !snapshot_get_number(reader, object, "end_s", &snapshot->end_s))
		return false;
	snapshot->seed = (uint64_t)seed;
	snapshot->event = (uint64_t)event;
	snapshot->budget_j = INFINITY;
	if (!json_is_null(json_object_get(object, "budget_j")) &&
	    !snapshot_get_number(reader, object, "budget_j", &snapshot->budget_j))
		return false;
	if (snapshot->budget_j < 0)
		return snapshot_refuse(reader, "budget_j is below 0; write null for no budget");
	if (snapshot->next_event_s <= snapshot->now_s)
		return snapshot_refuse(reader, "next_event_s must be above now_s");
	if (snapshot->end_s <= snapshot->day_start_s)
		return snapshot_refuse(reader, "end_s must be above day_start_s");
	if (isinf(snapshot->end_s) && isfinite(snapshot->budget_j))
		return snapshot_refuse(reader, "a budget needs an end_s, which is null");
	return true;
}

static bool read_all(const struct snapshot_reader *reader)
{
	struct snapshot_json *read = reader->read;

	if (!json_is_object(reader->object))
		return snapshot_refuse(reader, "not an object");
	read->policy = json_string_value(json_object_get(reader->object, "policy"));
	if (!snapshot_read_keys(reader) || !read_system(reader) || !read_numbers(reader) ||
	    !read_between(reader) || !read_energy(reader) || !read_tasks(reader) ||
	    !snapshot_read_places(reader))
		return false;
	read->snapshot.system = read->system;
	return true;
}

struct snapshot_json *snapshot_json_read(const json_t *object, const char *what, GError **error)
{
	g_autoptr(snapshot_json_t) read = g_new0(struct snapshot_json, 1);
	const struct snapshot_reader reader = { read, object, what, error };

	read->text = json_incref((json_t *)object); /* names are borrowed from it */
	read->places = g_ptr_array_new_with_free_func(g_free);
	return read_all(&reader) ? g_steal_pointer(&read) : NULL;
}

void snapshot_json_free(struct snapshot_json *read)
{
	if (!read)
		return;
	sched_system_free(read->system);
	g_free(read->tasks);
	g_free(read->waiting);
	g_free(read->suspended);
	g_free(read->running);
	g_free(read->reservations);
	g_free(read->placeholders);
	g_free(read->down);
	g_free(read->deferred);
	g_ptr_array_unref(read->places);
	pet_free(read->pet);
	g_free(read->queueing);
	g_free(read->queues);
	g_free(read->sufferage);
	json_decref(read->text);
	g_free(read);
}
