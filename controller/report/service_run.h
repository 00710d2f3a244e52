/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "controller/store/store.h"

/*
 * The one run of a service, which never ends: what a run says of itself when it has ended (counts, utility,
 * when) is summed up from its tasks, as of the time until which the service is on record.
 */

/* What `ended_by` of such a run is while it goes on. */
#define SERVICE_RUN_OPEN "open"

/*
 * Fills in `run` where it is that of a service, and tells so in *ret_service; any other is left as it is. Its
 * `limit_j` becomes NAN: it has no budget. False with `error` (STORE_ERROR): its tasks cannot be read, and
 * nothing has changed.
 */
bool service_run_fill(struct store *store, struct store_run *run, bool *ret_service, GError **error);

/*
 * "policies: easy until TIME, then max-util": what the service decided by, in order, where that changed or is not
 * all on record; else NULL. The caller frees.
 */
char *service_run_policies_text(struct store *store);

/* All of them: an array of objects with `policy`, `from_s`, `from_utc` and `until_s` (null: now). New reference. */
json_t *service_run_policies_json(struct store *store);
