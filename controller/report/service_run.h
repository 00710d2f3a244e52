/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "controller/store/store.h"

/*
 * The run of a service, which never ends: the figures that an ended run records (counts, utility,
 * end) are summed up from its tasks, as of the last recorded time of the service.
 */

/* `ended_by` of such a run. */
#define SERVICE_RUN_OPEN "open"

/*
 * Fills in `run` if it is that of a service, and sets *ret_service; any other run is left as it is.
 * `limit_j` becomes NAN, since a service has no budget. False with `error` (DATABASE_ERROR): its
 * tasks cannot be read, and `run` is unchanged.
 */
bool service_run_fill(struct store *store, struct store_run *run, bool *ret_service,
		      GError **error);

/*
 * "policies: easy until TIME, then max-util": the policies of the service in order, if they changed
 * or are not all recorded; else NULL. The caller frees.
 */
char *service_run_policies_text(struct store *store);

/*
 * The policies as an array of objects with `policy`, `from_s`, `from_utc` and `until_s` (null:
 * now). New reference.
 */
json_t *service_run_policies_json(struct store *store);
