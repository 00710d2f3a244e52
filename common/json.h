/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Reading untrusted JSON without a crash: typed getters that name the missing or wrong key. All
 * return true on success; on failure the output is untouched and `error` (JSON_ERROR) says which
 * key of `what` is wrong and how.
 */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(json_t, json_decref)

#define JSON_ERROR (json_error_quark())
GQuark json_error_quark(void);
enum json_error_kind {
	JSON_ERROR_SYNTAX = 1, /* not JSON */
	JSON_ERROR_KEY,        /* a key is missing, or its value is of the wrong kind */
};

/* Parses `length` bytes; `what` names the document in errors. Returns a new reference or NULL. */
json_t *json_parse(const char *text, size_t length, const char *what, GError **error);

/*
 * Parses a text that is not JSON only because of numbers that JSON cannot represent, or that are
 * too large (NaN, -Infinity, 1e999, 0x10 become strings), or of commas behind the last member. NULL
 * if it is not JSON even so. A new reference.
 */
json_t *json_parse_mended(const char *text, size_t length);

/*
 * Parses what a device sends as JSON, such as a BMC: of a key that is there twice the last value
 * counts; what is not UTF-8 in a string becomes U+FFFD, and a raw control character a space;
 * numbers and commas are as for json_parse_mended(). As json_parse() otherwise: nesting is limited
 * to 2048 levels.
 */
json_t *json_parse_lenient(const char *text, size_t length, const char *what, GError **error);

/* Serialises compactly (sorted keys, 17 digits); the caller frees the text with g_free(). */
char *json_text(const json_t *value);

/* As json_text(), indented by two, for people. */
char *json_pretty(const json_t *value);

/* What a value is, in errors: "an object". */
const char *json_type_name(const json_t *value);

/* The numbers as an array. New reference. */
json_t *json_numbers(const uint32_t *numbers, uint32_t count);

/* The value as JSON; null for NaN, infinities and NULL. New references. */
json_t *json_number_or_null(double value);
json_t *json_string_or_null(const char *text);

/* ret_value is borrowed from the object. */
bool json_get_string(const json_t *object, const char *key, const char *what,
		     const char **ret_value, GError **error);
/* A number, integer or real; NaN and infinities do not exist in JSON. */
bool json_get_number(const json_t *object, const char *key, const char *what, double *ret_value,
		     GError **error);
/* An integer in [min, max]. */
bool json_get_integer(const json_t *object, const char *key, const char *what, int64_t min,
		      int64_t max, int64_t *ret_value, GError **error);
/* An array; borrowed. */
bool json_get_array(const json_t *object, const char *key, const char *what, json_t **ret_value,
		    GError **error);

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
