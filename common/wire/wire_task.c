/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/wire/wire_task.h"

#include <stddef.h>
#include <string.h>

const char *const task_state_names[] = {TASK_WORD_STARTING,   TASK_WORD_RUNNING,
					TASK_WORD_SUSPENDING, TASK_WORD_SUSPENDED,
					TASK_WORD_RESUMING,   "ended",
					TASK_WORD_QUEUED,     NULL};

const char *const task_outcome_names[] = {"none",     "completed", "failed", "killed",
					  "deadline", "lost",      NULL};

const char *const task_keep_names[] = {"auto", "memory", "disk", NULL};

/* More steps than any task can have are malformed. */
#define STEPS_MAX 1000000

/* Any length of time, or none. */
#define DURATION(struct_, field_)                                                                  \
	{                                                                                          \
		RECORD_AT(struct_, field_), .type = RECORD_I64, .null = RECORD_NULL_MINUS_ONE,     \
					    .min = 0, .max = RECORD_I64_MAX,                       \
					    .flags = RECORD_OPTIONAL                               \
	}

static const struct record_field suspension_vm_fields[] = {
	{RECORD_FIELD_U32(task_vm_durations, node)},
	DURATION(task_vm_durations, freeze_ns),
	DURATION(task_vm_durations, save_ns),
	DURATION(task_vm_durations, move_ns),
	DURATION(task_vm_durations, restore_ns),
	DURATION(task_vm_durations, resume_ns),
	{NULL},
};
static const struct record suspension_vm_record = {.name = "VM of a suspension",
						   .size = sizeof(struct task_vm_durations),
						   .fields = suspension_vm_fields,
						   .open = true};

/* Reads where VMs are kept; a word of a later version is taken as "auto". */
static bool read_keep(const struct record_reading *reading, const struct record_field *field,
		      const json_t *value, void *data)
{
	const int word = record_word_find(field->words, json_string_value(value));

	*(enum config_keep *)record_place(field, data) = (enum config_keep)MAX(word, 0);
	return true;
}

static const struct record_field suspension_fields[] = {
	{RECORD_FIELD_U32(task_suspension, n), .min = 1, .max = STEPS_MAX},
	{.name = "try",
	 .offset = offsetof(struct task_suspension, attempt),
	 .type = RECORD_I64,
	 .flags = RECORD_OPTIONAL},
	{.name = "resume_try",
	 .offset = offsetof(struct task_suspension, resume_attempt),
	 .type = RECORD_I64,
	 .flags = RECORD_OPTIONAL},
	{RECORD_FIELD_WORD(task_suspension, keep, task_keep_names), .flags = RECORD_OPTIONAL,
	 .read = read_keep},
	{RECORD_FIELD_NUMBERS(task_suspension, nodes, count), .null = RECORD_NULL_POINTER,
	 .flags = RECORD_OPTIONAL},
	{RECORD_FIELD_NUMBERS(task_suspension, resumed_nodes, count), .null = RECORD_NULL_POINTER,
	 .flags = RECORD_OPTIONAL},
	{RECORD_FIELD_ARRAY(task_suspension, vms, count, suspension_vm_record),
	 .null = RECORD_NULL_POINTER, .flags = RECORD_OPTIONAL},
	{RECORD_FIELD_TIME(task_suspension, requested_ns)},
	{RECORD_FIELD_TIME(task_suspension, frozen_ns)},
	{RECORD_FIELD_TIME(task_suspension, suspended_ns)},
	{RECORD_FIELD_TIME(task_suspension, resume_requested_ns)},
	{RECORD_FIELD_TIME(task_suspension, running_ns)},
	{RECORD_FIELD_TIME(task_suspension, resumed_ns)},
	DURATION(task_suspension, skew_ns),
	{NULL},
};
const struct record task_suspension_record = {.name = "suspension of a task",
					      .size = sizeof(struct task_suspension),
					      .fields = suspension_fields,
					      .open = true,
					      .free = (GDestroyNotify)task_suspension_free};
RECORD_DEFINE_FREE(task_suspension, task_suspension_record)

static const struct record_field migration_vm_fields[] = {
	{RECORD_FIELD_U32(task_migration_vm, from)},
	{RECORD_FIELD_U32(task_migration_vm, to)},
	{RECORD_FIELD_TEXT(task_migration_vm, from_host), .null = RECORD_NULL_POINTER,
	 .flags = RECORD_OPTIONAL},
	{RECORD_FIELD_TEXT(task_migration_vm, to_host), .null = RECORD_NULL_POINTER,
	 .flags = RECORD_OPTIONAL},
	{RECORD_FIELD_BOOL(task_migration_vm, moved), .flags = RECORD_OPTIONAL},
	DURATION(task_migration_vm, total_ns),
	DURATION(task_migration_vm, downtime_ns),
	{NULL},
};
static const struct record migration_vm_record = {.name = "VM of a migration",
						  .size = sizeof(struct task_migration_vm),
						  .fields = migration_vm_fields,
						  .open = true};

static const struct record_field migration_fields[] = {
	{RECORD_FIELD_U32(task_migration, n), .min = 1, .max = STEPS_MAX},
	{.name = "try",
	 .offset = offsetof(struct task_migration, attempt),
	 .type = RECORD_I64,
	 .flags = RECORD_OPTIONAL},
	{RECORD_FIELD_ARRAY(task_migration, vms, count, migration_vm_record)},
	{RECORD_FIELD_TIME(task_migration, requested_ns)},
	{RECORD_FIELD_TIME(task_migration, begun_ns)},
	{RECORD_FIELD_TIME(task_migration, moved_ns)},
	{RECORD_FIELD_TIME(task_migration, settled_ns)},
	{RECORD_FIELD_TEXT(task_migration, reason), .null = RECORD_NULL_POINTER,
	 .flags = RECORD_OPTIONAL},
	{NULL},
};
const struct record task_migration_record = {.name = "migration of a task",
					     .size = sizeof(struct task_migration),
					     .fields = migration_fields,
					     .open = true,
					     .free = (GDestroyNotify)task_migration_free};

void task_migration_free(struct task_migration *migration)
{
	if (migration)
		g_free(migration->placed);
	record_free(&task_migration_record, migration);
}

static const struct record_field share_fields[] = {
	{RECORD_FIELD_I64(task_share, n), .min = 0, .max = RECORD_I64_MAX},
	{.name = "share", .offset = offsetof(struct task_share, fraction), .type = RECORD_REAL},
	{RECORD_FIELD_TIME(task_share, requested_ns)},
	{RECORD_FIELD_TIME(task_share, set_ns)},
	{RECORD_FIELD_REAL(task_share, asked_cores), .min = 0, .max = INFINITY,
	 .flags = RECORD_OPTIONAL},
	{RECORD_FIELD_REAL(task_share, given_cores), .min = 0, .max = INFINITY,
	 .flags = RECORD_OPTIONAL},
	{NULL},
};
const struct record task_share_record = {.name = "share of a task",
					 .size = sizeof(struct task_share),
					 .fields = share_fields,
					 .open = true};

/* The cause of an end for which only the outcome is known. */
static const enum task_cause implied_causes[] = {
	[TASK_OUTCOME_NONE] = TASK_CAUSE_NONE,         [TASK_OUTCOME_COMPLETED] = TASK_CAUSE_NONE,
	[TASK_OUTCOME_FAILED] = TASK_CAUSE_OTHER,      [TASK_OUTCOME_KILLED] = TASK_CAUSE_KILLED,
	[TASK_OUTCOME_DEADLINE] = TASK_CAUSE_DEADLINE, [TASK_OUTCOME_LOST] = TASK_CAUSE_OTHER,
};

enum task_cause task_end_cause(const struct task *task)
{
	return task->cause ?: implied_causes[task->outcome];
}

void task_free(struct task *task)
{
	if (!task)
		return;
	g_free(task->id);
	g_free(task->nodes);
	g_free(task->reason);
	g_clear_pointer(&task->suspensions, g_ptr_array_unref);
	g_clear_pointer(&task->migrations, g_ptr_array_unref);
	g_free(task->type);
	g_free(task->benchmark);
	g_free(task->script_summary);
	task_script_free(task->script);
	task_migration_free(task->unmoved);
	g_free(task->doubts);
	g_free(task);
}

static const char *const names[] = {
	[TASK_CAUSE_NONE] = NULL,         [TASK_CAUSE_DEADLINE] = "deadline",
	[TASK_CAUSE_STALLED] = "stalled", [TASK_CAUSE_KILLED] = "killed",
	[TASK_CAUSE_VM] = "vm",           [TASK_CAUSE_EXIT] = "exit",
	[TASK_CAUSE_OTHER] = "other",
};

const char *task_cause_name(enum task_cause cause)
{
	return names[cause];
}

enum task_cause task_cause_find(const char *name)
{
	for (size_t i = 0; name && i < sizeof(names) / sizeof(*names); i++)
		if (names[i] && strcmp(names[i], name) == 0)
			return (enum task_cause)i;
	return TASK_CAUSE_NONE;
}
