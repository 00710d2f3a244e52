/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/record/record.h"

/* For the files of common/record and common/sqlite. */

/* Whether the field is a list with a count. */
static inline bool record_is_counted(const struct record_field *field)
{
	return field->type == RECORD_NUMBERS || field->type == RECORD_REALS ||
	       field->type == RECORD_ARRAY;
}

/* The entries of a list with a count, or NULL. */
static inline char *record_entries(const struct record_field *field, const void *data)
{
	void *place = record_place(field, data);

	return field->flags & RECORD_EMBEDDED ? place : *(char **)place;
}

/* The size of an entry of a list with a count. */
static inline size_t record_entry_size(const struct record_field *field)
{
	return field->type == RECORD_ARRAY   ? field->of->size
	       : field->type == RECORD_REALS ? sizeof(double)
					     : sizeof(uint32_t);
}

/* Whether the field of `data` has the value that stands for null. */
bool record_is_null(const struct record_field *field, const void *data);

/* Whether the field of `data` is 0, false or NULL, or an array without entries. */
bool record_is_zero(const struct record_field *field, const void *data);
