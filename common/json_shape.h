/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

/*
 * The shape of a JSON document, as text:
 *
 *  integer, number, string, boolean, object, array, any
 *               a value of that type; a number may be an integer
 *  ?TYPE        the same, or null; as the value of a key also absent
 *  [TYPE]       an array of such values, of any length
 *  {key: TYPE, key: TYPE}
 *               an object that has these keys; it may have others
 *
 * e.g. "{tasks: [{task: integer, reason: ?string}]}". Keys are letters, digits and "_". A malformed
 * shape is an error of the program and asserted.
 */

/*
 * Whether `value` (NULL: absent) has the shape. Returns true, or false with JSON_ERROR_KEY and the
 * first place that differs, such as "tasks[0].task: expected integer, got null". The whole document
 * is called "it".
 */
bool json_shape_check(const char *shape, const json_t *value, GError **error);
