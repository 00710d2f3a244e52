/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/record/record.h"

/* Where a field and its count are; for the files of common/record and common/sqlite. */

static inline void *record_place(const struct record_field *field, const void *data)
{
	return (char *)data + field->offset;
}

static inline bool record_is_counted(const struct record_field *field)
{
	return field->type == RECORD_NUMBERS || field->type == RECORD_ARRAY;
}

static inline uint32_t *record_count(const struct record_field *field, const void *data)
{
	return (uint32_t *)((char *)data + field->count_offset);
}

/* Whether the field of `data` has the value that stands for null. */
bool record_is_null(const struct record_field *field, const void *data);
