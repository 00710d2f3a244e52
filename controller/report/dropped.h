/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdint.h>

#include "controller/report/summary.h"

/*
 * The reasons for which tasks were dropped, under each policy and limit, and on queueing clusters
 * (Gentry 2019) their chance of completing on time.
 */
struct dropped {
	const char *policy; /* borrowed from the summary */
	double limit;
	char *reason;
	uint32_t tasks;     /* over all repeats; in a simulation those of the first trial */
	double chance_mean; /* NAN: unknown, as without queueing clusters */
	double chance_max;
};

/*
 * By limit and policy in the order of the summary's cells, then by reason: GArray of struct
 * dropped, owned by the caller; empty where no task was dropped. NULL with `error` (DATABASE_ERROR)
 * where the tasks cannot be read.
 */
GArray *dropped_new(const struct summary *summary, GError **error);

/* As a table with its heading, or NULL where no task was dropped. The caller frees. */
char *dropped_text(const GArray *dropped);

/* [{"policy", "limit", "reason", "tasks", "chance_mean", "chance_max"}]. New reference. */
json_t *dropped_json(const GArray *dropped);
