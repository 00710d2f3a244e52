/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/config/config_measured.h"

static const struct record_field unmeasured_fields[] = {
	{RECORD_FIELD_TEXT(config_unmeasured, type)},
	{RECORD_FIELD_TEXT(config_unmeasured, cluster)},
	{RECORD_FIELD_TEXT(config_unmeasured, reason)},
	{NULL},
};
const struct record config_unmeasured_record = {.size = sizeof(struct config_unmeasured),
						.fields = unmeasured_fields};

static const struct record_field overhead_fields[] = {
	{RECORD_FIELD_TEXT(config_overhead, cluster)},
	{RECORD_FIELD_TEXT(config_overhead, keep), .null = RECORD_NULL_POINTER},
	{RECORD_FIELD_REAL(config_overhead, freeze_s)},
	{RECORD_FIELD_REAL(config_overhead, save_s)},
	{RECORD_FIELD_REAL(config_overhead, restore_s)},
	{RECORD_FIELD_REAL(config_overhead, resume_s)},
	{RECORD_FIELD_REAL(config_overhead, skew_s)},
	{NULL},
};
const struct record config_overhead_record = {.size = sizeof(struct config_overhead),
					      .fields = overhead_fields,
					      .open = true};
