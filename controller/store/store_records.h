/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/record/record.h"

/*
 * The rows of the store's tables: docs/reference/store.md explains every column.
 */
extern const struct record store_run_record, store_task_record, store_event_record,
	store_decision_record, store_sample_record, store_estimate_record, store_suspension_record,
	store_vm_overhead_record, store_migration_record, store_migration_vm_record,
	store_share_record, store_delivery_record, store_lost_record, store_input_record,
	store_input_pack_record, store_state_record;

/* store_service.c, store_account.c, store_profile.c */
extern const struct record store_submission_record, store_drain_record;
extern const struct record store_account_meter_record, store_energy_interval_record,
	store_energy_part_record, store_energy_day_record, store_energy_task_record;
extern const struct record store_measurement_record, store_unmeasured_record, store_overhead_record;

/* The `run` column of all tables but that of the runs. */
#define STORE_RUN_COLUMN(struct_)                                                                  \
	{                                                                                          \
		RECORD_FIELD_I64(struct_, run), .flags = RECORD_KEY, .references = "run"           \
	}

/* A column of the primary key. */
#define STORE_KEY(kind_, struct_, field_)                                                          \
	{                                                                                          \
		RECORD_FIELD_##kind_(struct_, field_), .flags = RECORD_KEY                         \
	}

/* A text or whole number that may be NULL, and a real number that may not. */
#define STORE_TEXT_OR_NULL(struct_, field_)                                                        \
	{                                                                                          \
		RECORD_FIELD_TEXT(struct_, field_), .null = RECORD_NULL_POINTER                    \
	}
#define STORE_INTEGER_OR_NULL(struct_, field_)                                                     \
	{                                                                                          \
		RECORD_AT(struct_, field_), .type = RECORD_I64, .null = RECORD_NULL_MINUS_ONE      \
	}
#define STORE_REAL_NOT_NULL(struct_, field_)                                                       \
	{                                                                                          \
		RECORD_AT(struct_, field_), .type = RECORD_REAL                                    \
	}
