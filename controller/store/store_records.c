/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/store/store_records.h"

#include "controller/store/store.h"

static const struct record_field run_fields[] = {
	STORE_KEY(I64, store_run, run),
	{RECORD_FIELD_TEXT(store_run, policy)},
	{.name = "limit_fraction",
	 .offset = offsetof(struct store_run, limit),
	 .type = RECORD_REAL},
	STORE_REAL_NOT_NULL(store_run, limit_j),
	{RECORD_FIELD_U32(store_run, repeat)},
	{RECORD_FIELD_I64(store_run, seed)},
	{RECORD_FIELD_BOOL(store_run, measured)},
	STORE_TEXT_OR_NULL(store_run, started_utc),
	{RECORD_FIELD_I64(store_run, t0_ns)},
	STORE_TEXT_OR_NULL(store_run, boot_id),
	STORE_TEXT_OR_NULL(store_run, ended_by),
	{RECORD_FIELD_REAL(store_run, ended_s)},
	{RECORD_FIELD_REAL(store_run, utility)},
	{RECORD_FIELD_REAL(store_run, energy_j)},
	{RECORD_FIELD_REAL(store_run, idle_w)},
	{RECORD_FIELD_REAL(store_run, gap_s)},
	{RECORD_FIELD_REAL(store_run, host_load)},
	{RECORD_FIELD_U32(store_run, tasks_arrived)},
	{RECORD_FIELD_U32(store_run, tasks_completed)},
	{RECORD_FIELD_U32(store_run, tasks_failed)},
	{RECORD_FIELD_U32(store_run, tasks_dropped)},
	{NULL},
};
const struct record store_run_record = {.name = "run",
					.size = sizeof(struct store_run),
					.fields = run_fields,
					.free = (GDestroyNotify)store_run_free,
					.table = "run",
					.since = 1,
					.rowid = true};
RECORD_DEFINE_FREE(store_run, store_run_record)

static const struct record_field task_fields[] = {
	STORE_RUN_COLUMN(store_task),
	STORE_KEY(U32, store_task, task),
	STORE_TEXT_OR_NULL(store_task, type),
	{RECORD_FIELD_REAL(store_task, arrival_s)},
	{RECORD_FIELD_REAL(store_task, utility_max)},
	{RECORD_FIELD_TEXT(store_task, state)},
	STORE_TEXT_OR_NULL(store_task, cluster),
	STORE_TEXT_OR_NULL(store_task, nodes),
	{RECORD_FIELD_U32(store_task, pstate)},
	{RECORD_FIELD_BOOL(store_task, reservation)},
	{RECORD_FIELD_U32(store_task, attempts)},
	{RECORD_FIELD_REAL(store_task, planned_start_s)},
	{RECORD_FIELD_REAL(store_task, started_s)},
	{RECORD_FIELD_REAL(store_task, ended_s)},
	{RECORD_FIELD_REAL(store_task, exec_s)},
	{RECORD_FIELD_REAL(store_task, etc_s)},
	{RECORD_FIELD_REAL(store_task, energy_j)},
	{RECORD_FIELD_REAL(store_task, eec_j)},
	{RECORD_FIELD_REAL(store_task, utility)},
	STORE_TEXT_OR_NULL(store_task, reason),
	{RECORD_FIELD_REAL(store_task, deadline_s), .since = 3},
	{RECORD_FIELD_REAL(store_task, chance), .since = 3},
	{RECORD_FIELD_REAL(store_task, threshold), .since = 3},
	{RECORD_FIELD_U32(store_task, queued_n), .since = 3, .sql_default = "0"},
	{NULL},
};
const struct record store_task_record = {.name = "task",
					 .size = sizeof(struct store_task),
					 .fields = task_fields,
					 .free = (GDestroyNotify)store_task_free,
					 .table = "task",
					 .since = 1};
RECORD_DEFINE_FREE(store_task, store_task_record)

static const struct record_field event_fields[] = {
	STORE_KEY(I64, store_event, id),
	{RECORD_FIELD_I64(store_event, run), .references = "run"},
	{RECORD_FIELD_REAL(store_event, time_s)},
	{RECORD_FIELD_TEXT(store_event, kind)},
	STORE_TEXT_OR_NULL(store_event, detail),
	{NULL},
};
const struct record store_event_record = {.name = "event",
					  .size = sizeof(struct store_event),
					  .fields = event_fields,
					  .free = (GDestroyNotify)store_event_free,
					  .table = "event",
					  .since = 1,
					  .rowid = true};
RECORD_DEFINE_FREE(store_event, store_event_record)

static const struct record_field decision_fields[] = {
	STORE_KEY(I64, store_decision, id),
	{RECORD_FIELD_I64(store_decision, run), .references = "run"},
	{RECORD_FIELD_REAL(store_decision, time_s)},
	{RECORD_FIELD_TEXT(store_decision, snapshot)},
	{RECORD_FIELD_TEXT(store_decision, actions)},
	{NULL},
};
const struct record store_decision_record = {.name = "decision",
					     .size = sizeof(struct store_decision),
					     .fields = decision_fields,
					     .free = (GDestroyNotify)store_decision_free,
					     .table = "decision",
					     .since = 1,
					     .rowid = true};

RECORD_DEFINE_FREE(store_decision, store_decision_record)

static const struct record_field input_fields[] = {
	STORE_RUN_COLUMN(store_input),
	STORE_KEY(U32, store_input, n),
	STORE_TEXT_OR_NULL(store_input, kind),
	{RECORD_FIELD_REAL(store_input, time_s)},
	STORE_INTEGER_OR_NULL(store_input, task),
	STORE_INTEGER_OR_NULL(store_input, attempt),
	{RECORD_FIELD_REAL(store_input, exec_s)},
	{RECORD_FIELD_REAL(store_input, energy_j)},
	STORE_TEXT_OR_NULL(store_input, detail),
	STORE_TEXT_OR_NULL(store_input, answers),
	STORE_INTEGER_OR_NULL(store_input, snapshot_sum),
	STORE_INTEGER_OR_NULL(store_input, plan_sum),
	STORE_INTEGER_OR_NULL(store_input, cut),
	{RECORD_AT(store_input, request_sum), .type = RECORD_I64, .null = RECORD_NULL_MINUS_ONE,
	 .since = 12},
	{NULL},
};
const struct record store_input_record = {.name = "input",
					  .size = sizeof(struct store_input),
					  .fields = input_fields,
					  .free = (GDestroyNotify)store_input_free,
					  .table = "input",
					  .since = 11};
RECORD_DEFINE_FREE(store_input, store_input_record)

static const struct record_field input_pack_fields[] = {
	STORE_RUN_COLUMN(store_input_pack),
	STORE_KEY(U32, store_input_pack, n),
	{RECORD_FIELD_U32(store_input_pack, last)},
	{RECORD_FIELD_U32(store_input_pack, begins)},
	{RECORD_FIELD_U32(store_input_pack, restores)},
	{RECORD_FIELD_I64(store_input_pack, sums)},
	{RECORD_AT(store_input_pack, inputs), .type = RECORD_BYTES},
	{NULL},
};
const struct record store_input_pack_record = {.name = "pack of inputs",
					       .size = sizeof(struct store_input_pack),
					       .fields = input_pack_fields,
					       .free = (GDestroyNotify)store_input_pack_free,
					       .table = "input_pack",
					       .since = 13};
RECORD_DEFINE_FREE(store_input_pack, store_input_pack_record)

static const struct record_field state_fields[] = {
	STORE_RUN_COLUMN(store_state),
	STORE_KEY(U32, store_state, n),
	{RECORD_FIELD_REAL(store_state, time_s)},
	{RECORD_FIELD_BOOL(store_state, start)},
	{RECORD_AT(store_state, state), .type = RECORD_BYTES},
	{NULL},
};
const struct record store_state_record = {.name = "full state",
					  .size = sizeof(struct store_state),
					  .fields = state_fields,
					  .free = (GDestroyNotify)store_state_free,
					  .table = "full_state",
					  .since = 12};
RECORD_DEFINE_FREE(store_state, store_state_record)

static const struct record_field sample_fields[] = {
	STORE_RUN_COLUMN(store_sample),
	STORE_KEY(TEXT, store_sample, host),
	STORE_KEY(I64, store_sample, seq),
	{RECORD_AT(store_sample, time_s), .type = RECORD_REAL, .flags = RECORD_KEY},
	{RECORD_FIELD_I64(store_sample, mw)},
	{RECORD_FIELD_I64(store_sample, energy_uj)},
	{RECORD_FIELD_BOOL(store_sample, gap)},
	{NULL},
};
const struct record store_sample_record = {.name = "power sample",
					   .size = sizeof(struct store_sample),
					   .fields = sample_fields,
					   .free = (GDestroyNotify)store_sample_free,
					   .table = "sample",
					   .since = 1,
					   .key = "run, host, time_s, seq"};
RECORD_DEFINE_FREE(store_sample, store_sample_record)

static const struct record_field estimate_fields[] = {
	STORE_KEY(TEXT, config_estimate, type),      STORE_KEY(TEXT, config_estimate, cluster),
	STORE_REAL_NOT_NULL(config_estimate, etc_s), {RECORD_FIELD_REAL(config_estimate, etc_sd_s)},
	STORE_REAL_NOT_NULL(config_estimate, eec_j), {RECORD_FIELD_REAL(config_estimate, eec_sd_j)},
	{RECORD_FIELD_U32(config_estimate, count)},  {NULL},
};
RECORD_DEFINE_FREE_OF(free_estimate, store_estimate_record)
const struct record store_estimate_record = {.name = "estimate",
					     .size = sizeof(struct config_estimate),
					     .fields = estimate_fields,
					     .free = free_estimate,
					     .table = "estimate",
					     .since = 1};

static const struct record_field suspension_fields[] = {
	STORE_RUN_COLUMN(store_suspension),
	STORE_KEY(U32, store_suspension, task),
	STORE_KEY(U32, store_suspension, attempt),
	STORE_KEY(U32, store_suspension, n),
	{RECORD_FIELD_TEXT(store_suspension, cluster)},
	{RECORD_FIELD_TEXT(store_suspension, nodes)},
	STORE_TEXT_OR_NULL(store_suspension, to_nodes),
	{RECORD_FIELD_BOOL(store_suspension, by_person)},
	{RECORD_FIELD_BOOL(store_suspension, held)},
	{RECORD_FIELD_REAL(store_suspension, requested_s)},
	{RECORD_FIELD_REAL(store_suspension, suspended_s)},
	{RECORD_FIELD_REAL(store_suspension, exec_s)},
	{RECORD_FIELD_REAL(store_suspension, resume_requested_s)},
	{RECORD_FIELD_REAL(store_suspension, resumed_s)},
	{RECORD_FIELD_REAL(store_suspension, since_s)},
	{RECORD_FIELD_REAL(store_suspension, freeze_s)},
	{RECORD_FIELD_REAL(store_suspension, save_s)},
	{RECORD_FIELD_REAL(store_suspension, restore_s)},
	{RECORD_FIELD_REAL(store_suspension, resume_s)},
	{RECORD_FIELD_REAL(store_suspension, skew_s)},
	{NULL},
};
const struct record store_suspension_record = {.name = "suspension",
					       .size = sizeof(struct store_suspension),
					       .fields = suspension_fields,
					       .free = (GDestroyNotify)store_suspension_free,
					       .table = "suspension",
					       .since = 2};
RECORD_DEFINE_FREE(store_suspension, store_suspension_record)

static const struct record_field vm_overhead_fields[] = {
	STORE_RUN_COLUMN(store_vm_overhead),
	STORE_KEY(U32, store_vm_overhead, task),
	STORE_KEY(U32, store_vm_overhead, attempt),
	STORE_KEY(U32, store_vm_overhead, n),
	STORE_KEY(U32, store_vm_overhead, vm),
	{RECORD_FIELD_REAL(store_vm_overhead, freeze_s)},
	{RECORD_FIELD_REAL(store_vm_overhead, save_s)},
	{RECORD_FIELD_REAL(store_vm_overhead, restore_s)},
	{RECORD_FIELD_REAL(store_vm_overhead, resume_s)},
	{NULL},
};
const struct record store_vm_overhead_record = {.name = "VM of a suspension",
						.size = sizeof(struct store_vm_overhead),
						.fields = vm_overhead_fields,
						.free = g_free,
						.table = "suspension_vm",
						.since = 2};

static const struct record_field migration_fields[] = {
	STORE_RUN_COLUMN(store_migration),
	STORE_KEY(U32, store_migration, task),
	STORE_KEY(U32, store_migration, attempt),
	STORE_KEY(U32, store_migration, n),
	{RECORD_FIELD_TEXT(store_migration, cluster)},
	{RECORD_FIELD_TEXT(store_migration, nodes)},
	{RECORD_FIELD_TEXT(store_migration, to_nodes)},
	{RECORD_FIELD_BOOL(store_migration, by_person)},
	{RECORD_FIELD_REAL(store_migration, requested_s)},
	{RECORD_FIELD_REAL(store_migration, ended_s)},
	STORE_TEXT_OR_NULL(store_migration, reason),
	{NULL},
};
const struct record store_migration_record = {.name = "migration",
					      .size = sizeof(struct store_migration),
					      .fields = migration_fields,
					      .free = (GDestroyNotify)store_migration_free,
					      .table = "migration",
					      .since = 4};
RECORD_DEFINE_FREE(store_migration, store_migration_record)

static const struct record_field migration_vm_fields[] = {
	STORE_RUN_COLUMN(store_migration_vm),
	STORE_KEY(U32, store_migration_vm, task),
	STORE_KEY(U32, store_migration_vm, attempt),
	STORE_KEY(U32, store_migration_vm, n),
	STORE_KEY(U32, store_migration_vm, vm),
	{RECORD_FIELD_U32(store_migration_vm, from_node)},
	{RECORD_FIELD_U32(store_migration_vm, to_node)},
	{RECORD_FIELD_REAL(store_migration_vm, total_s)},
	{RECORD_FIELD_REAL(store_migration_vm, downtime_s)},
	{NULL},
};
const struct record store_migration_vm_record = {.name = "VM of a migration",
						 .size = sizeof(struct store_migration_vm),
						 .fields = migration_vm_fields,
						 .free = g_free,
						 .table = "migration_vm",
						 .since = 4};

static const struct record_field share_fields[] = {
	STORE_RUN_COLUMN(store_share),
	STORE_KEY(U32, store_share, task),
	STORE_KEY(U32, store_share, attempt),
	{RECORD_AT(store_share, time_s), .type = RECORD_REAL, .flags = RECORD_KEY},
	STORE_REAL_NOT_NULL(store_share, yield),
	{RECORD_FIELD_REAL(store_share, virtual_s)},
	{NULL},
};
const struct record store_share_record = {.name = "share",
					  .size = sizeof(struct store_share),
					  .fields = share_fields,
					  .free = g_free,
					  .table = "share",
					  .since = 4};

static const struct record_field delivery_fields[] = {
	STORE_RUN_COLUMN(store_delivery),
	STORE_KEY(U32, store_delivery, task),
	STORE_KEY(U32, store_delivery, attempt),
	{RECORD_AT(store_delivery, time_s), .type = RECORD_REAL, .flags = RECORD_KEY},
	STORE_REAL_NOT_NULL(store_delivery, share),
	{RECORD_FIELD_REAL(store_delivery, asked_cores)},
	{RECORD_FIELD_REAL(store_delivery, given_cores)},
	{NULL},
};
const struct record store_delivery_record = {.name = "delivery",
					     .size = sizeof(struct store_delivery),
					     .fields = delivery_fields,
					     .free = g_free,
					     .table = "delivery",
					     .since = 4};

/* The columns of a task that a lost attempt has. */
static const struct record_field lost_fields[] = {
	STORE_RUN_COLUMN(store_task),
	STORE_KEY(U32, store_task, task),
	{.name = "attempt",
	 .offset = offsetof(struct store_task, attempts),
	 .type = RECORD_U32,
	 .flags = RECORD_KEY},
	{RECORD_FIELD_TEXT(store_task, cluster)},
	{RECORD_FIELD_TEXT(store_task, nodes)},
	STORE_REAL_NOT_NULL(store_task, started_s),
	STORE_REAL_NOT_NULL(store_task, ended_s),
	STORE_TEXT_OR_NULL(store_task, reason),
	{NULL},
};
const struct record store_lost_record = {.name = "lost attempt",
					 .size = sizeof(struct store_task),
					 .fields = lost_fields,
					 .free = (GDestroyNotify)store_task_free,
					 .table = "lost_attempt",
					 .since = 10};
