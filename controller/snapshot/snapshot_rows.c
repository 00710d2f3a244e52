/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/snapshot/snapshot_rows.h"

#include <math.h>
#include <string.h>

#include "common/json.h"

/* How values are read and written that are no plain numbers and texts. */

static bool read_flag(const struct record_reading *reading, const struct record_field *field,
		      const json_t *value, void *data)
{
	return json_is_boolean(value)
		       ? record_read_value(reading, field, value, data)
		       : record_refuse(reading, "\"%s\" must be true or false", field->name);
}

/* Reads a number from 0 to 1. */
static bool read_fraction(const struct record_reading *reading, const struct record_field *field,
			  const json_t *value, void *data)
{
	const double *fraction = record_place(field, data);

	return record_read_value(reading, field, value, data) &&
	       ((*fraction >= 0 && *fraction <= 1) ||
		record_refuse(reading, "\"%s\" is %g; give a number from 0 to 1", field->name,
			      *fraction));
}

/* Reads the name of a policy; anything else is no policy. */
static bool read_policy(const struct record_reading *reading, const struct record_field *field,
			const json_t *value, void *data)
{
	*(const char **)record_place(field, data) = json_string_value(value);
	return true;
}

/* The text of a value, or NULL with the error set. */
static const char *read_name(const struct record_reading *reading, const struct record_field *field,
			     const json_t *value)
{
	if (!json_is_string(value))
		record_refuse(reading, "key \"%s\": expected a string, got %s", field->name,
			      json_type_name(value));
	return json_string_value(value);
}

/* Clusters and types: indices in C, names in JSON. */

static json_t *write_cluster(const struct record_field *field, const void *data,
			     const void *context)
{
	const struct snapshot_json *snapshot = context;
	const uint32_t *cluster = record_place(field, data);

	return json_string(snapshot->parts.clusters[*cluster].name);
}

static json_t *write_type(const struct record_field *field, const void *data, const void *context)
{
	const struct snapshot_json *snapshot = context;

	return json_string(
		snapshot->parts.types[*(const uint32_t *)record_place(field, data)].name);
}

static bool read_cluster(const struct record_reading *reading, const struct record_field *field,
			 const json_t *value, void *data)
{
	const struct snapshot_system *parts = reading_parts(reading);
	const char *name = read_name(reading, field, value);
	uint32_t *cluster = record_place(field, data);

	for (*cluster = 0; name && *cluster < parts->clusters_count; ++*cluster)
		if (strcmp(parts->clusters[*cluster].name, name) == 0)
			return true;
	return name && record_refuse(reading, "unknown cluster \"%s\"", name);
}

static bool read_type(const struct record_reading *reading, const struct record_field *field,
		      const json_t *value, void *data)
{
	const struct snapshot_system *parts = reading_parts(reading);
	const char *name = read_name(reading, field, value);
	uint32_t *row = record_place(field, data);

	for (*row = 0; name && *row < parts->types_count; ++*row)
		if (strcmp(parts->types[*row].name, name) == 0)
			return true;
	return name && record_refuse(reading, "unknown type \"%s\"", name);
}

/* Tasks: pointers in C, ids in JSON. */

static json_t *write_task(const struct record_field *field, const void *data, const void *context)
{
	const struct sched_task *const *task = record_place(field, data);

	return json_integer((*task)->id);
}

/* Finds a task by its id; `what` says what a key with such values is. */
static bool find_task(const struct record_reading *reading, const struct record_field *field,
		      const char *what, const json_t *value, const struct sched_task **ret_task)
{
	const struct snapshot_json *snapshot = reading->context;
	const json_int_t id = json_is_integer(value) ? json_integer_value(value) : -1;

	if (id < 0 || id > COUNT_MAX)
		return record_refuse(reading, "\"%s\" must be %s", field->name, what);
	*ret_task = g_hash_table_lookup(snapshot->by_id, GUINT_TO_POINTER((guint)id));
	return *ret_task || record_refuse(reading, "task %u is not among \"tasks\"", (guint)id);
}

static bool read_task(const struct record_reading *reading, const struct record_field *field,
		      const json_t *value, void *data)
{
	return find_task(reading, field, "a task id", value, record_place(field, data));
}

static json_t *write_tasks(const struct record_field *field, const void *data, const void *context)
{
	const struct sched_task *const *const *tasks = record_place(field, data);
	json_t *list = json_array();

	for (uint32_t i = 0; i < *record_count(field, data); i++)
		json_array_append_new(list, json_integer((*tasks)[i]->id));
	return list;
}

static bool read_tasks(const struct record_reading *reading, const struct record_field *field,
		       const json_t *value, void *data)
{
	const struct snapshot_json *snapshot = reading->context;
	const struct sched_task **tasks = g_malloc0_n(json_array_size(value) + 1, sizeof(*tasks));

	g_ptr_array_add(snapshot->lists, tasks);
	*(const struct sched_task ***)record_place(field, data) = tasks;
	*record_count(field, data) = (uint32_t)json_array_size(value);
	for (size_t i = 0; i < json_array_size(value); i++)
		if (!find_task(reading, field, "a list of task ids", json_array_get(value, i),
			       &tasks[i]))
			return false;
	return json_is_array(value) ||
	       record_refuse(reading, "\"%s\" must be a list of task ids", field->name);
}

/* Reads indices of nodes; UINT32_MAX stands for what is none, which is above all of a cluster. */
static bool read_nodes(const struct record_reading *reading, const struct record_field *field,
		       const json_t *value, void *data)
{
	uint32_t *nodes = g_new0(uint32_t, json_array_size(value) + 1);

	*(uint32_t **)record_place(field, data) = nodes;
	*record_count(field, data) = (uint32_t)json_array_size(value);
	for (size_t i = 0; i < json_array_size(value); i++) {
		const json_t *entry = json_array_get(value, i);
		const json_int_t node = json_is_integer(entry) ? json_integer_value(entry) : -1;

		nodes[i] = node >= 0 && node < UINT32_MAX ? (uint32_t)node : UINT32_MAX;
	}
	return json_is_array(value) || record_read_value(reading, field, value, data);
}

/* A queue belongs to the cluster at its index, its owner. */

static json_t *write_owner(const struct record_field *field, const void *data, const void *context)
{
	const struct snapshot_json *snapshot = context;
	const struct sched_queue *queue = data;

	return json_string(snapshot->parts.clusters[queue - snapshot->snapshot.queues].name);
}

static bool read_owner(const struct record_reading *reading, const struct record_field *field,
		       const json_t *value, void *data)
{
	const struct record_field in_place = {.name = field->name};
	uint32_t cluster;

	return read_cluster(reading, &in_place, value, &cluster) &&
	       (cluster == reading->index ||
		record_refuse(reading, "\"queues\" are not in the order of the clusters"));
}

static json_t *write_queue_start(const struct record_field *field, const void *data,
				 const void *context)
{
	const struct sched_queue *queue = data;

	return queue->executes ? json_number_or_null(queue->start_s) : NULL;
}

static bool read_queue_start(const struct record_reading *reading, const struct record_field *field,
			     const json_t *value, void *data)
{
	((struct sched_queue *)data)->executes = true;
	return record_read_value(reading, field, value, data);
}

/* Reads "reservations" and "placeholders" of a shared system, which has none. */
static bool read_none(const struct record_reading *reading, const struct record_field *field,
		      const json_t *value, void *data)
{
	return json_array_size(value) + json_object_size(value) == 0 ||
	       record_refuse(reading, "a shared system has no reservations and place-holders");
}

static bool read_utility(const struct record_reading *reading, const struct record_field *field,
			 const json_t *value, void *data)
{
	return json_is_object(value) ? record_read_value(reading, field, value, data)
				     : record_refuse(reading, "task %u has no utility function",
						     ((struct sched_task *)data)->id);
}

static bool read_curve(const struct record_reading *reading, const struct record_field *field,
		       const json_t *value, void *data)
{
	const char *name = read_name(reading, field, value);
	const int curve = record_word_find(utility_curve_names, name);

	if (curve < 0)
		return name && record_refuse(reading,
					     "unknown curve \"%s\"; known: "
					     "constant linear exponential",
					     name);
	((struct utility_segment *)data)->curve = (enum utility_curve)curve;
	return true;
}

/* Reads an objective; null: it is infinite. */
static bool read_objective(const struct record_reading *reading, const struct record_field *field,
			   const json_t *value, void *data)
{
	if (!json_is_null(value))
		return record_read_value(reading, field, value, data);
	*(double *)record_place(field, data) = (double)INFINITY;
	return true;
}

#define OMITTED (RECORD_OPTIONAL | RECORD_OMIT_ZERO)

/* The beginnings of rows; more may follow. */
#define COUNT(type_, field_) RECORD_FIELD_U32(type_, field_), .max = COUNT_MAX
#define NUMBER(type_, field_) RECORD_AT(type_, field_), .type = RECORD_REAL
#define FRACTION(type_, field_) NUMBER(type_, field_), .read = read_fraction
#define NAME(type_, field_) RECORD_AT(type_, field_), .type = RECORD_BORROWED
#define FLAG(type_, field_, flags_)                                                                \
	RECORD_FIELD_BOOL(type_, field_), .read = read_flag, .flags = (flags_)
#define ARRAY(type_, field_, of_)                                                                  \
	RECORD_FIELD_ARRAY(type_, field_, field_##_count, of_), .longest = COUNT_MAX
#define CLUSTER(type_)                                                                             \
	RECORD_FIELD_U32(type_, cluster), .read = read_cluster, .write = write_cluster
#define TYPE(type_)                                                                                \
	NAMED(type_, type, row), .type = RECORD_U32, .read = read_type, .write = write_type
#define TASK(type_) NAME(type_, task), .read = read_task, .write = write_task
#define NODES(type_) RECORD_FIELD_NUMBERS(type_, nodes, nodes_count), .read = read_nodes
/* An object whose keys are fields of the structure itself. */
#define GROUP(name_, of_) .name = #name_, .type = RECORD_STRUCT, .of = &(of_)
/* The record of a structure, with what follows. */
#define RECORD(type_, name_, ...)                                                                  \
	static const struct record name_##_record = {.size = sizeof(struct type_),                 \
						     .fields = name_##_fields,                     \
						     __VA_ARGS__}
/* A field under another name, and a field in a structure within the structure. */
#define NAMED(type_, name_, field_) .name = #name_, .offset = offsetof(struct type_, field_)
#define WITHIN(type_, within_, field_)                                                             \
	.name = #field_, .offset = offsetof(struct type_, within_.field_)

/* The system. */

static const struct record_field cluster_fields[] = {
	{NAME(sched_cluster, name)},
	{COUNT(sched_cluster, nodes)},
	{COUNT(sched_cluster, cores)},
	{COUNT(sched_cluster, pstates)},
	{NULL},
};
RECORD(sched_cluster, cluster);

static const struct record_field option_fields[] = {
	{CLUSTER(sched_option)},       {COUNT(sched_option, pstate)}, {COUNT(sched_option, nodes)},
	{NUMBER(sched_option, etc_s)}, {NUMBER(sched_option, eec_j)}, {NULL},
};
RECORD(sched_option, option);

static const struct record_field type_fields[] = {
	{NAME(snapshot_type, name)},
	{ARRAY(snapshot_type, options, option_record)},
	{NULL},
};
RECORD(snapshot_type, type);

static const struct record_field pruning_fields[] = {
	{FRACTION(sched_pruning, drop_threshold)},
	{FRACTION(sched_pruning, defer_threshold)},
	{FRACTION(sched_pruning, adjustment)},
	{FRACTION(sched_pruning, recency)},
	{NUMBER(sched_pruning, toggle)},
	{FRACTION(sched_pruning, separation)},
	{FRACTION(sched_pruning, fairness)},
	{FRACTION(sched_pruning, cull_threshold)},
	{FLAG(sched_pruning, evicting_baselines, RECORD_OPTIONAL)},
	{COUNT(sched_pruning, merge)},
	{NULL},
};
RECORD(sched_pruning, pruning);

static const struct record_field pair_fields[] = {
	{TYPE(snapshot_pair)},
	{CLUSTER(snapshot_pair)},
	{WITHIN(snapshot_pair, pmf, first), .type = RECORD_I64, .min = 1, .max = PMF_BINS_MAX},
	{NAMED(snapshot_pair, masses, pmf.mass), .type = RECORD_REALS, .longest = PMF_BINS_MAX,
	 .count_offset = offsetof(struct snapshot_pair, pmf.count)},
	{NULL},
};
RECORD(snapshot_pair, pair);

static const struct record_field queueing_fields[] = {
	{WITHIN(snapshot_system, queueing, bin_s), .type = RECORD_REAL},
	{WITHIN(snapshot_system, queueing, length), .type = RECORD_U32, .max = COUNT_MAX},
	{WITHIN(snapshot_system, queueing, pruning), .type = RECORD_STRUCT, .of = &pruning_record},
	{ARRAY(snapshot_system, pet, pair_record)},
	{NULL},
};
const struct record snapshot_queueing_record = {.fields = queueing_fields};

static const struct record_field system_fields[] = {
	{ARRAY(snapshot_system, clusters, cluster_record)},
	{ARRAY(snapshot_system, types, type_record)},
	{FLAG(snapshot_system, immediate, RECORD_OPTIONAL)},
	{FLAG(snapshot_system, shared, OMITTED)},
	{GROUP(queueing, snapshot_queueing_record), .variants = QUEUES},
	{NULL},
};
const struct record snapshot_system_record = {.size = sizeof(struct snapshot_system),
					      .fields = system_fields,
					      .check = snapshot_check_system};

/* Tasks and their places. */

static const struct record_field segment_fields[] = {
	{RECORD_FIELD_WORD(utility_segment, curve, utility_curve_names), .read = read_curve},
	{NUMBER(utility_segment, duration_s)},
	{NUMBER(utility_segment, start_fraction)},
	{NUMBER(utility_segment, end_fraction)},
	{NUMBER(utility_segment, rate_per_s)},
	{NULL},
};
RECORD(utility_segment, segment);

static const struct record_field utility_fields[] = {
	{NUMBER(utility, max)},
	{RECORD_FIELD_ARRAY(utility, segments, segments_count, segment_record),
	 .flags = RECORD_EMBEDDED, .longest = UTILITY_SEGMENTS_MAX},
	{NULL},
};
RECORD(utility, utility);

static const struct record_field task_fields[] = {
	{COUNT(sched_task, id)},
	{TYPE(sched_task), .variants = UNSHARED},
	{NUMBER(sched_task, arrival_s)},
	{RECORD_FIELD_STRUCT(sched_task, utility, utility_record), .read = read_utility,
	 .variants = PLAIN},
	{FLAG(sched_task, may_preempt, OMITTED), .variants = PLAIN},
	{FLAG(sched_task, preemptible, OMITTED), .variants = PLAIN},
	{RECORD_AT(sched_task, priority), .type = RECORD_I32, .min = -SCHED_PRIORITY_MAX,
	 .max = SCHED_PRIORITY_MAX, .flags = OMITTED, .variants = UNSHARED},
	{NUMBER(sched_task, deadline_s), .variants = QUEUES},
	{WITHIN(sched_task, demand, vms), .type = RECORD_U32, .max = COUNT_MAX, .variants = SHARED},
	{WITHIN(sched_task, demand, cpu), .type = RECORD_REAL, .variants = SHARED},
	{WITHIN(sched_task, demand, memory), .type = RECORD_REAL, .variants = SHARED},
	{NULL},
};
RECORD(sched_task, task, .check = snapshot_check_task);

static const struct record_field suspended_fields[] = {
	{TASK(sched_allocation)},
	{CLUSTER(sched_allocation)},
	{COUNT(sched_allocation, pstate), .variants = PLAIN},
	{NUMBER(sched_allocation, executed_s), .variants = PLAIN},
	{NUMBER(sched_allocation, virtual_s), .variants = SHARED},
	{NULL},
};
RECORD(sched_allocation, suspended, .check = snapshot_check_suspended);

static const struct record_field running_fields[] = {
	{TASK(sched_allocation)},
	{CLUSTER(sched_allocation)},
	{COUNT(sched_allocation, pstate), .variants = UNSHARED},
	{NODES(sched_allocation)},
	{NUMBER(sched_allocation, start_s), .variants = UNSHARED},
	{NUMBER(sched_allocation, end_s), .variants = UNSHARED},
	{NUMBER(sched_allocation, executed_s), .flags = OMITTED, .variants = UNSHARED},
	{NUMBER(sched_allocation, yield), .variants = SHARED},
	{NUMBER(sched_allocation, virtual_s), .variants = SHARED},
	{FLAG(sched_allocation, busy, OMITTED), .variants = SHARED},
	{NULL},
};
RECORD(sched_allocation, running, .check = snapshot_check_running);

static const struct record_field planned_fields[] = {
	{TASK(sched_allocation)},
	{CLUSTER(sched_allocation)},
	{COUNT(sched_allocation, pstate)},
	{NODES(sched_allocation)},
	{NUMBER(sched_allocation, start_s)},
	{NUMBER(sched_allocation, end_s)},
	{NULL},
};
RECORD(sched_allocation, planned, .check = snapshot_check_planned);

static const struct record_field deferred_fields[] = {
	{TASK(sched_allocation)},
	{NAMED(sched_allocation, count, deferrals), .type = RECORD_U32, .max = COUNT_MAX},
	{NAMED(sched_allocation, until_s, start_s), .type = RECORD_REAL},
	{NULL},
};
RECORD(sched_allocation, deferred);

static const struct record_field down_fields[] = {
	{CLUSTER(sched_node)},
	{COUNT(sched_node, node)},
	{NULL},
};
RECORD(sched_node, down, .check = snapshot_check_down);

static const struct record_field queue_fields[] = {
	{.name = "cluster", .type = RECORD_U32, .read = read_owner, .write = write_owner},
	{NAME(sched_queue, tasks), .count_offset = offsetof(struct sched_queue, count),
	 .read = read_tasks, .write = write_tasks},
	{NUMBER(sched_queue, start_s), .flags = RECORD_OPTIONAL, .read = read_queue_start,
	 .write = write_queue_start},
	{NULL},
};
RECORD(sched_queue, queue, .check = snapshot_check_queue);

static const struct record_field pruner_fields[] = {
	{NUMBER(sched_pruner, level)},
	{FLAG(sched_pruner, dropping, RECORD_OPTIONAL)},
	{NULL},
};
RECORD(sched_pruner, pruner);

/* The snapshot. */

#define AT(field) WITHIN(snapshot_json, snapshot, field)
#define COUNTED(count) .count_offset = offsetof(struct snapshot_json, count)
#define AT_ARRAY(field, of_)                                                                       \
	AT(field), .type = RECORD_ARRAY, .longest = COUNT_MAX, .of = &(of_),                       \
		   COUNTED(snapshot.field##_count)

static const struct record_field completed_fields[] = {
	{NAMED(snapshot_json, tasks, snapshot.completed_count), .type = RECORD_U32,
	 .max = COUNT_MAX},
	{NAMED(snapshot_json, energy_j, snapshot.completed_j), .type = RECORD_REAL},
	{NAMED(snapshot_json, resources, snapshot.completed_resources), .type = RECORD_REAL},
	{NULL},
};
static const struct record completed_record = {.fields = completed_fields};

static const struct record_field snapshot_fields[] = {
	{NAME(snapshot_json, policy), .read = read_policy, .flags = OMITTED},
	{AT(seed), .type = RECORD_I64, .max = RECORD_I64_MAX},
	{AT(event), .type = RECORD_I64, .max = RECORD_I64_MAX},
	{AT(now_s), .type = RECORD_REAL},
	{AT(next_event_s), .type = RECORD_REAL},
	{AT(day_start_s), .type = RECORD_REAL},
	{AT(end_s), .type = RECORD_REAL, .null = RECORD_NULL_INFINITY},
	{AT(consumed_j), .type = RECORD_REAL},
	{AT(budget_j), .type = RECORD_REAL, .null = RECORD_NULL_INFINITY},
	{AT(gate), .type = RECORD_BOOL, .read = read_flag, .flags = RECORD_OPTIONAL},
	{AT(between), .type = RECORD_BOOL, .read = read_flag, .flags = OMITTED},
	{GROUP(completed, completed_record), .flags = RECORD_OPTIONAL},
	{NAMED(snapshot_json, system, parts), .type = RECORD_STRUCT, .of = &snapshot_system_record},
	{ARRAY(snapshot_json, tasks, task_record)},
	{AT(waiting), .type = RECORD_BORROWED, COUNTED(snapshot.waiting_count), .read = read_tasks,
	 .write = write_tasks},
	{AT_ARRAY(suspended, suspended_record), .flags = OMITTED, .variants = PLAIN | SHARED},
	{AT_ARRAY(deferred, deferred_record), .flags = OMITTED, .variants = SHARED},
	{AT_ARRAY(running, running_record)},
	{AT(queues), .type = RECORD_ARRAY, .of = &queue_record, .longest = COUNT_MAX,
	 COUNTED(queues_count), .variants = QUEUES},
	{AT(pruner), .type = RECORD_STRUCT, .of = &pruner_record, .variants = QUEUES},
	{AT(missed), .type = RECORD_U32, .max = COUNT_MAX, .variants = QUEUES},
	{AT(sufferage), .type = RECORD_REALS, .min = 0, .max = 1, COUNTED(sufferage_count),
	 .flags = OMITTED, .variants = QUEUES},
	{AT_ARRAY(reservations, planned_record), .variants = UNSHARED},
	{AT_ARRAY(placeholders, planned_record), .variants = UNSHARED},
	{AT_ARRAY(reservations, planned_record), .flags = RECORD_OPTIONAL, .read = read_none,
	 .variants = SHARED},
	{AT_ARRAY(placeholders, planned_record), .flags = RECORD_OPTIONAL, .read = read_none,
	 .variants = SHARED},
	{AT_ARRAY(down, down_record)},
	{NULL},
};
const struct record snapshot_record = {.size = offsetof(struct snapshot_json, system),
				       .fields = snapshot_fields,
				       .check = snapshot_check};

/* Plans. What estimates say may be missing where actions are read. */

#define PLACED (ACTION_SHARE | ACTION_PLACE)

/* In the order of their names, in which texts have them. */
static const struct record_field action_fields[] = {
	{FRACTION(sched_action, chance), .flags = RECORD_OPTIONAL, .variants = QUEUES},
	{CLUSTER(sched_action), .variants = PLACED | ACTION_ENQUEUE},
	{NUMBER(sched_action, end_s), .flags = RECORD_OPTIONAL,
	 .variants = ACTION_PLACE | ACTION_ENQUEUE},
	{NUMBER(sched_action, energy_j), .flags = RECORD_OPTIONAL, .variants = ACTION_PLACE},
	{RECORD_FIELD_WORD(sched_action, kind, sched_action_kind_names)},
	{RECORD_FIELD_NUMBERS(sched_action, nodes, nodes_count), .longest = COUNT_MAX,
	 .variants = PLACED},
	{NUMBER(sched_action, objective), .flags = RECORD_OPTIONAL, .read = read_objective},
	{RECORD_FIELD_U32(sched_action, pstate), .flags = RECORD_OPTIONAL,
	 .variants = ACTION_PLACE},
	{RECORD_FIELD_WORD(sched_action, reason, sched_reason_names), .flags = RECORD_OPTIONAL},
	{NUMBER(sched_action, start_s), .flags = RECORD_OPTIONAL,
	 .variants = PLACED | ACTION_ENQUEUE | ACTION_DEFER},
	{RECORD_FIELD_U32(sched_action, task)},
	{FRACTION(sched_action, threshold), .flags = RECORD_OPTIONAL, .variants = QUEUES},
	{NUMBER(sched_action, utility), .flags = RECORD_OPTIONAL, .variants = ACTION_PLACE},
	{NUMBER(sched_action, yield), .variants = ACTION_SHARE},
	{NULL},
};
const struct record snapshot_action_record = {.fields = action_fields};

static const struct record_field considered_fields[] = {
	{CLUSTER(sched_considered), .variants = UNSHARED},
	{RECORD_FIELD_U32(sched_considered, pstate), .variants = PLAIN},
	{NUMBER(sched_considered, start_s), .variants = PLAIN},
	{NUMBER(sched_considered, end_s), .variants = UNSHARED},
	{NUMBER(sched_considered, utility), .variants = PLAIN},
	{NAMED(sched_considered, yield, utility), .type = RECORD_REAL, .variants = SHARED},
	{NUMBER(sched_considered, objective), .variants = PLAIN | SHARED},
	{NAMED(sched_considered, chance, objective), .type = RECORD_REAL, .variants = QUEUES},
	{NAMED(sched_considered, verdict, refusal), .type = RECORD_WORD,
	 .words = sched_refusal_names},
	{NULL},
};
const struct record snapshot_considered_record = {.fields = considered_fields};

static const struct record_field judged_fields[] = {
	{CLUSTER(sched_judged)},
	{RECORD_FIELD_U32(sched_judged, task)},
	{RECORD_FIELD_U32(sched_judged, position)},
	{NUMBER(sched_judged, mean_s)},
	{NUMBER(sched_judged, skewness)},
	{NUMBER(sched_judged, chance)},
	{NUMBER(sched_judged, threshold)},
	{RECORD_FIELD_BOOL(sched_judged, dropped)},
	{NULL},
};
const struct record snapshot_judged_record = {.fields = judged_fields};
