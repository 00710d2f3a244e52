/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/wire/wire_report.h"
#include "controller/backend/remote_clock.h"

/*
 * A local scheduler's reports about the time between two samples of a host's meter
 * (docs/reference/api.md, "Usage"), and the tasks that they name.
 */

/*
 * Reads the answer to GET /v1/usage at `now_ns` of our clock. *ret_stream (borrowed from `body`)
 * names the numbering of its intervals, *ret_last is the highest number (0: none). An impossible
 * interval (for example, if it ends more than some seconds from now, or has more energy than any
 * host draws) is left out; *ret_wrong, owned by the caller, says why for the first such interval
 * (NULL: there is none). Returns GPtrArray of struct wire_usage, oldest first, owned by the
 * caller and valid as long as `body`, with times on our clock; or NULL with `error` (JSON_ERROR).
 */
GPtrArray *remote_usage_parse(const json_t *body, const struct remote_clock *clock, int64_t now_ns,
			      const char **ret_stream, int64_t *ret_last, GError **ret_wrong,
			      GError **error);

/*
 * Parses a task's id, EXPERIMENT-RUN-TASK-ATTEMPT. False if it belongs to another experiment or
 * run, or is no id that the controller makes (numbers with leading zeros), so that no two ids name
 * the same attempt. The name of an experiment may end in such numbers itself.
 */
bool remote_usage_task_of(const char *experiment, int64_t run, const char *id, uint32_t *ret_task,
			  uint32_t *ret_attempt);
