/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "common/decimal.h"
#include "common/json.h"
#include "controller/snapshot/snapshot_rows.h"

/* Snapshots and actions are written as JSON values, and plans of any size also as text. */

#define NUMBERS_BITS 8

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

GPtrArray *snapshot_json_tasks(const struct sched_snapshot *snapshot)
{
	GPtrArray *list = g_ptr_array_new();

	for (uint32_t i = 0; i < snapshot->waiting_count; i++)
		g_ptr_array_add(list, (gpointer)snapshot->waiting[i]);
	for (uint32_t i = 0; i < snapshot->suspended_count; i++)
		g_ptr_array_add(list, (gpointer)snapshot->suspended[i].task);
	for (uint32_t i = 0; i < snapshot->running_count; i++)
		g_ptr_array_add(list, (gpointer)snapshot->running[i].task);
	for (uint32_t c = 0; snapshot->queues && c < snapshot->system->clusters_count; c++)
		for (uint32_t i = 0; i < snapshot->queues[c].count; i++)
			if (!runs(snapshot, snapshot->queues[c].tasks[i]))
				g_ptr_array_add(list, (gpointer)snapshot->queues[c].tasks[i]);
	for (uint32_t i = 0; i < snapshot->reservations_count; i++)
		g_ptr_array_add(list, (gpointer)snapshot->reservations[i].task);
	return list;
}

static GArray *copy_tasks(const GPtrArray *tasks)
{
	GArray *copies = g_array_sized_new(FALSE, FALSE, sizeof(struct sched_task), tasks->len);

	for (guint i = 0; i < tasks->len; i++)
		g_array_append_vals(copies, tasks->pdata[i], 1);
	return copies;
}

json_t *snapshot_json_system(const struct sched_system *system)
{
	struct snapshot_json whole = {0};
	json_t *object;

	describe_system(&whole.parts, system, true);
	object =
		record_write(&snapshot_system_record, &whole.parts, system_variant(system), &whole);
	g_free(whole.parts.types);
	g_free(whole.parts.pet);
	return object;
}

json_t *snapshot_json_write_part(const struct sched_snapshot *snapshot, const GPtrArray *tasks)
{
	const struct sched_system *system = snapshot->system;
	g_autoptr(GArray) copies = copy_tasks(tasks);
	struct snapshot_json whole = {
		.snapshot = *snapshot,
		.tasks_count = copies->len,
		.tasks = (struct sched_task *)copies->data,
		.queues_count = system->clusters_count,
		.sufferage_count = snapshot->sufferage ? system->rows_count : 0,
	};
	json_t *object;

	describe_system(&whole.parts, system, false);
	/* Only the names are needed. */
	for (uint32_t row = 0; row < whole.parts.types_count; row++)
		whole.parts.types[row].options_count = 0;
	object = record_write(&snapshot_record, &whole, system_variant(system), &whole);
	json_object_del(object, "system");
	g_free(whole.parts.types);
	return object;
}

json_t *snapshot_json_write(const struct sched_snapshot *snapshot, const struct policy *policy,
			    const char *pet)
{
	const struct sched_system *system = snapshot->system;
	g_autoptr(GPtrArray) list = snapshot_json_tasks(snapshot);
	g_autoptr(GArray) tasks = copy_tasks(list);
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

/*
 * Actions as text, written directly. A plan that fills empty clusters has thousands of them, and
 * building JSON values and printing these takes ten times as long. Most numbers of a plan occur
 * many times (the present time, the durations and energies of types), and printing them with 17
 * digits would take most of the time: printed numbers are kept.
 */

struct number {
	double value;
	char *text; /* NULL: unused */
};

struct writer {
	const struct sched_system *system;
	GString *text;
	char **names;           /* per cluster, with quotes; NULL: not needed so far */
	struct number *numbers; /* by a hash of their value */
};

static void append_text(struct writer *writer, const char *text)
{
	g_string_append(writer->text, text);
}

/* The text of a value; takes over the value. */
static char *text_of(json_t *value)
{
	g_autoptr(json_t) own = value;

	return json_text(own);
}

static void append_number(struct writer *writer, double value)
{
	struct number *number;
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	number = &writer->numbers[(bits * 0x9e3779b97f4a7c15) >> (64 - NUMBERS_BITS)];
	if (!number->text || memcmp(&number->value, &value, sizeof(value)) != 0) {
		g_free(number->text);
		number->text = text_of(json_number_or_null(value));
		number->value = value;
	}
	append_text(writer, number->text);
}

static void append_cluster(struct writer *writer, uint32_t cluster)
{
	char **name = &writer->names[cluster];

	if (!*name)
		*name = text_of(json_string(writer->system->clusters[cluster].name));
	append_text(writer, *name);
}

static void append_value(struct writer *writer, const struct record_field *field,
			 const struct sched_action *action)
{
	const void *place = record_place(field, action);

	switch (field->type) {
	case RECORD_REAL:
		append_number(writer, *(const double *)place);
		break;
	case RECORD_WORD:
		append_text(writer, "\"");
		append_text(writer, field->words[*(const int *)place]);
		append_text(writer, "\"");
		break;
	case RECORD_NUMBERS:
		append_text(writer, "[");
		for (uint32_t i = 0; i < action->nodes_count; i++) {
			append_text(writer, i ? "," : "");
			decimal_append(writer->text, action->nodes[i]);
		}
		append_text(writer, "]");
		break;
	default:
		if (place == &action->cluster)
			append_cluster(writer, action->cluster);
		else
			decimal_append(writer->text, *(const uint32_t *)place);
	}
}

static void append_action(struct writer *writer, const struct sched_action *action)
{
	const unsigned variant = snapshot_action_variant(writer->system, action->kind);
	const char *between = "{\"";

	for (const struct record_field *field = snapshot_action_record.fields; field->name;
	     field++) {
		if (field->variants && !(field->variants & variant))
			continue;
		append_text(writer, between);
		append_text(writer, field->name);
		append_text(writer, "\":");
		append_value(writer, field, action);
		between = ",\"";
	}
	append_text(writer, "}");
}

char *snapshot_text_actions(const struct sched_system *system, const struct sched_plan *plan,
			    bool (*wanted)(const struct sched_action *action))
{
	struct writer writer = {
		.system = system,
		.text = g_string_new("["),
		.names = g_new0(char *, system->clusters_count),
		.numbers = g_new0(struct number, 1 << NUMBERS_BITS),
	};

	for (uint32_t i = 0; i < plan->actions_count; i++) {
		if (wanted && !wanted(&plan->actions[i]))
			continue;
		if (writer.text->len > 1)
			append_text(&writer, ",");
		append_action(&writer, &plan->actions[i]);
	}
	append_text(&writer, "]");
	for (uint32_t c = 0; c < system->clusters_count; c++)
		g_free(writer.names[c]);
	for (uint32_t i = 0; i < 1 << NUMBERS_BITS; i++)
		g_free(writer.numbers[i].text);
	g_free(writer.names);
	g_free(writer.numbers);
	return g_string_free(writer.text, FALSE);
}
