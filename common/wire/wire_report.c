/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/wire/wire_report.h"

#include <inttypes.h>
#include <string.h>

/* More than any CPU time; a few of them can be added in 64 bits. */
#define CPU_MAX_NS (INT64_C(1) << 56)

/* more than any host has used (nine years of a kilowatt) */
#define COUNTER_MAX_UJ (INT64_C(1) << 58)

/* a UUID has 36 */
#define COUNTER_ID_MAX 64

#define TEXT(field_)                                                                               \
	RECORD_FIELD_TEXT(wire_node, field_), .null = RECORD_NULL_POINTER, .flags = RECORD_OPTIONAL

static bool check_node(const struct record_reading *reading, void *data)
{
	const struct wire_node *node = data;
	const uint32_t nodes = *(const uint32_t *)reading->context;

	return node->index < nodes ||
	       record_refuse(reading, "key \"index\": %u is outside 0..%u", node->index, nodes - 1);
}

static const struct record_field node_fields[] = {
	{RECORD_FIELD_U32(wire_node, index)},
	{TEXT(name)},
	{TEXT(host)},
	{RECORD_FIELD_TEXT(wire_node, state)},
	{TEXT(step)},
	{TEXT(vm)},
	{TEXT(task)},
	{TEXT(reason)},
	{RECORD_FIELD_REAL(wire_node, boot_s), .flags = RECORD_OPTIONAL},
	{RECORD_AT(wire_node, caps), .type = RECORD_JSON, .null = RECORD_NULL_POINTER,
	 .flags = RECORD_OPTIONAL},
	{NULL},
};
const struct record wire_node_record = {.name = "node",
					.size = sizeof(struct wire_node),
					.fields = node_fields,
					.open = true,
					.check = check_node};

bool wire_node_read(const json_t *object, uint32_t nodes, struct wire_node *ret_node,
		    GError **error)
{
	record_init(&wire_node_record, ret_node);
	return record_read(&wire_node_record, object, ret_node, 0, &nodes, error);
}

static json_t *write_host(const struct record_field *field, const void *data, const void *context)
{
	return json_string(((const char *const *)context)[*(uint32_t *)record_place(field, data)]);
}

static bool read_host(const struct record_reading *reading, const struct record_field *field,
		      const json_t *value, void *data)
{
	const int host = record_word_find(reading->context, json_string_value(value));

	*(uint32_t *)record_place(field, data) = (uint32_t)host;
	return host >= 0 ||
	       record_refuse(reading, "unknown host '%.64s'", json_string_value(value) ?: "");
}

static const struct record_field sample_fields[] = {
	{RECORD_FIELD_I64(wire_sample, seq), .min = 0, .max = WIRE_SEQ_MAX},
	{RECORD_FIELD_U32(wire_sample, host), .write = write_host, .read = read_host},
	{RECORD_FIELD_I64(wire_sample, t_ns), .min = 0, .max = RECORD_I64_MAX},
	{RECORD_FIELD_I64(wire_sample, mw), .min = 0, .max = INT32_MAX},
	{RECORD_FIELD_I64(wire_sample, energy_uj), .min = 0, .max = RECORD_I64_MAX},
	{RECORD_FIELD_BOOL(wire_sample, gap), .flags = RECORD_OPTIONAL},
	{NULL},
};
const struct record wire_sample_record = {.name = "sample",
					  .size = sizeof(struct wire_sample),
					  .fields = sample_fields,
					  .open = true};

static const struct record_field usage_task_fields[] = {
	{RECORD_AT(wire_usage_task, id), .type = RECORD_BORROWED},
	{RECORD_FIELD_I64(wire_usage_task, cpu_ns)},
	{NULL},
};
static const struct record usage_task_record = {.name = "usage of a task",
						.size = sizeof(struct wire_usage_task),
						.fields = usage_task_fields};

/* The tasks are an object of CPU times by id. */
static json_t *write_tasks(const struct record_field *field, const void *data, const void *context)
{
	const struct wire_usage *usage = data;
	json_t *tasks = json_object();

	for (uint32_t i = 0; i < usage->tasks_count; i++)
		json_object_set_new(tasks, usage->tasks[i].id,
				    json_integer(usage->tasks[i].cpu_ns));
	return tasks;
}

static bool read_tasks(const struct record_reading *reading, const struct record_field *field,
		       const json_t *value, void *data)
{
	struct wire_usage *usage = data;
	const char *id;
	json_t *time;

	if (!json_is_object(value))
		return record_refuse(reading, "tasks: not an object");
	usage->tasks = g_new0(struct wire_usage_task, json_object_size(value) + 1);
	json_object_foreach ((json_t *)value, id, time) {
		const json_int_t cpu_ns = json_integer_value(time);

		if (!json_is_integer(time) || cpu_ns < 0 || cpu_ns > CPU_MAX_NS)
			return record_refuse(reading,
					     "tasks: '%.64s' must have CPU time in nanoseconds",
					     id);
		usage->tasks[usage->tasks_count++] = (struct wire_usage_task){id, cpu_ns};
	}
	return true;
}

static bool is_not_below(const struct record_reading *reading, const char *key, int64_t value,
			 int64_t least, int64_t most)
{
	return value >= least ||
	       record_refuse(reading, "key \"%s\": %" PRId64 " is outside %" PRId64 "..%" PRId64,
			     key, value, least, most);
}

static bool check_usage(const struct record_reading *reading, void *data)
{
	const struct wire_usage *usage = data;

	if (usage->counter && (!*usage->counter || strlen(usage->counter) > COUNTER_ID_MAX))
		return record_refuse(reading, "counter: must have 1 to %d characters",
				     COUNTER_ID_MAX);
	return is_not_below(reading, "to_ns", usage->to_ns, usage->from_ns, WIRE_CLOCK_MAX_NS) &&
	       is_not_below(reading, "to_uj", usage->to_uj, usage->from_uj, COUNTER_MAX_UJ);
}

#define NUMBER(field_, most_) RECORD_FIELD_I64(wire_usage, field_), .min = 0, .max = (most_)

static const struct record_field usage_fields[] = {
	{RECORD_FIELD_I64(wire_usage, seq), .min = 1, .max = WIRE_SEQ_MAX},
	{RECORD_AT(wire_usage, host), .type = RECORD_BORROWED},
	{RECORD_AT(wire_usage, counter), .type = RECORD_BORROWED, .null = RECORD_NULL_POINTER,
	 .flags = RECORD_OPTIONAL},
	{NUMBER(from_seq, WIRE_SEQ_MAX), .flags = RECORD_OPTIONAL},
	{NUMBER(to_seq, WIRE_SEQ_MAX), .flags = RECORD_OPTIONAL},
	{NUMBER(from_ns, WIRE_CLOCK_MAX_NS)},
	{NUMBER(to_ns, WIRE_CLOCK_MAX_NS)},
	{NUMBER(from_uj, COUNTER_MAX_UJ)},
	{NUMBER(to_uj, COUNTER_MAX_UJ)},
	{RECORD_FIELD_BOOL(wire_usage, gap), .flags = RECORD_OPTIONAL},
	{RECORD_FIELD_BOOL(wire_usage, read), .flags = RECORD_OPTIONAL},
	{RECORD_FIELD_ARRAY(wire_usage, tasks, tasks_count, usage_task_record),
	 .write = write_tasks, .read = read_tasks},
	{NUMBER(vms_ns, CPU_MAX_NS)},
	{NUMBER(others_ns, CPU_MAX_NS), .null = RECORD_NULL_MINUS_ONE},
	{NULL},
};
const struct record wire_usage_record = {.name = "usage of the local scheduler",
					 .size = sizeof(struct wire_usage),
					 .fields = usage_fields,
					 .open = true,
					 .check = check_usage,
					 .free = (GDestroyNotify)wire_usage_free};
RECORD_DEFINE_FREE(wire_usage, wire_usage_record)
