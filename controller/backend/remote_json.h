/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * Optional members of a local scheduler's description of a task's steps (docs/reference/api.md):
 * null is the same as absent. `what` names the object in errors (JSON_ERROR, common/json.h), as in
 * json_get_integer().
 */
#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Whether the member `key` of `object` is absent or null. */
bool remote_json_is_absent(const json_t *object, const char *key);

/* An instant in nanoseconds of the local scheduler's clock; absent: 0. */
bool remote_json_time(const json_t *object, const char *key, const char *what, int64_t *ret_ns,
		      GError **error);

/* A duration given in nanoseconds, as seconds; absent: NAN. */
bool remote_json_length(const json_t *object, const char *key, const char *what, double *ret_s,
			GError **error);
