/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/engine/state_json.h"

#include <math.h>
#include <string.h>

#include "common/json.h"

json_t *state_write_real(double value)
{
	return isinf(value) ? json_string(value > 0 ? "inf" : "-inf") : json_number_or_null(value);
}

bool state_read_real(const json_t *value, double *ret_value)
{
	const char *text = json_string_value(value);

	if (text && strcmp(text, "inf") != 0 && strcmp(text, "-inf") != 0)
		return false;
	if (!text && !json_is_number(value) && !json_is_null(value))
		return false;
	*ret_value = text                  ? (*text == '-' ? -(double)INFINITY : (double)INFINITY)
		     : json_is_null(value) ? (double)NAN
					   : json_number_value(value);
	return true;
}

bool state_is_period(double seconds)
{
	return isfinite(seconds) && seconds >= STATE_PERIOD_MIN_S;
}

bool state_read_u32(const json_t *value, uint32_t end, uint32_t *ret_value)
{
	const json_int_t number = json_integer_value(value);

	if (!json_is_integer(value) || number < 0 || number >= (json_int_t)end)
		return false;
	*ret_value = (uint32_t)number;
	return true;
}

bool state_read_list(const json_t *list, uint32_t most, uint32_t end, uint32_t *ret_numbers,
		     uint32_t *ret_count)
{
	const size_t count = json_array_size(list);

	*ret_count = 0;
	if (count > most || (list && !json_is_array(list)))
		return false;
	for (size_t i = 0; i < count; i++)
		if (!state_read_u32(json_array_get(list, i), end, &ret_numbers[i]))
			return false;
	*ret_count = (uint32_t)count;
	return true;
}

void state_put(json_t *object, const char *name, json_t *value)
{
	const bool empty = (json_is_array(value) && json_array_size(value) == 0) ||
			   (json_is_object(value) && json_object_size(value) == 0);

	if (value && !empty)
		json_object_set_new(object, name, value);
	else
		json_decref(value);
}

/* The usual value of a real number. */
static double usual(enum state_type type)
{
	return type == STATE_SUM ? 0 : type == STATE_FAR ? (double)INFINITY : (double)NAN;
}

static json_t *write_field(const struct state_field *field, const void *at)
{
	double value;

	switch (field->type) {
	case STATE_BOOL:
		return *(const bool *)at ? json_true() : NULL;
	case STATE_U32:
		return *(const uint32_t *)at ? json_integer(*(const uint32_t *)at) : NULL;
	case STATE_I32:
		return *(const int32_t *)at ? json_integer(*(const int32_t *)at) : NULL;
	case STATE_U64:
		return *(const uint64_t *)at ? json_integer((json_int_t) * (const uint64_t *)at)
					     : NULL;
	default:
		value = *(const double *)at;
		if (value == usual(field->type) || (field->type == STATE_TIME && isnan(value)))
			return signbit(value) && value == 0 ? json_real(value) : NULL;
		return state_write_real(value);
	}
}

json_t *state_write(const struct state_field *fields, const void *data)
{
	json_t *object = json_object();

	for (const struct state_field *field = fields; field->name; field++)
		state_put(object, field->name,
			  write_field(field, (const char *)data + field->offset));
	return object;
}

/* `value` is NULL where the field has its usual value. */
static bool read_field(const struct state_field *field, const json_t *value, void *at)
{
	const json_int_t number = json_integer_value(value);
	const bool whole = !value || json_is_integer(value);

	switch (field->type) {
	case STATE_BOOL:
		*(bool *)at = json_is_true(value);
		return !value || json_is_boolean(value);
	case STATE_U32:
		*(uint32_t *)at = (uint32_t)number;
		return whole && number >= 0 && number <= UINT32_MAX;
	case STATE_I32:
		*(int32_t *)at = (int32_t)number;
		return whole && number >= INT32_MIN && number <= INT32_MAX;
	case STATE_U64:
		*(uint64_t *)at = (uint64_t)number;
		return whole;
	default:
		*(double *)at = usual(field->type);
		return !value || state_read_real(value, at);
	}
}

bool state_read(const struct state_field *fields, const json_t *object, void *data)
{
	bool good = !object || json_is_object(object);

	for (const struct state_field *field = fields; good && field->name; field++)
		good = read_field(field, json_object_get(object, field->name),
				  (char *)data + field->offset);
	return good;
}
