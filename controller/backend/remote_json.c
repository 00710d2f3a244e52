/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/backend/remote_json.h"

#include <math.h>

#include "common/json.h"

bool remote_json_is_absent(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return !value || json_is_null(value);
}

bool remote_json_time(const json_t *object, const char *key, const char *what, int64_t *ret_ns,
		      GError **error)
{
	*ret_ns = 0;
	return remote_json_is_absent(object, key) ||
	       json_get_integer(object, key, what, 0, INT64_MAX, ret_ns, error);
}

bool remote_json_length(const json_t *object, const char *key, const char *what, double *ret_s,
			GError **error)
{
	int64_t ns;

	*ret_s = (double)NAN;
	if (remote_json_is_absent(object, key))
		return true;
	if (!json_get_integer(object, key, what, 0, INT64_MAX, &ns, error))
		return false;
	*ret_s = (double)ns * 1e-9;
	return true;
}
