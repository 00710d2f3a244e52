/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "controller/report/summary.h"

/*
 * The effect of the overheads of preemption: the measured experiment is simulated on its own
 * arrivals, once with the measured overheads and once without, as in Machovec 2017. The overheads
 * are those of its profile, or without one those that its own runs recorded.
 */
struct overhead;
typedef struct overhead overhead_t; /* for g_autoptr() */

/* Whether tasks of the runs were suspended, or the configuration has overheads of suspensions. */
bool overhead_is_known(const struct summary *measured);

/*
 * Simulates `measured`, which is borrowed for the call. Returns NULL without `error` where no task
 * was suspended and no overheads are known, or with `error` where the experiment cannot be
 * simulated.
 */
struct overhead *overhead_new(const struct summary *measured, GError **error);
/* NULL is allowed. */
void overhead_free(struct overhead *overhead);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(overhead_t, overhead_free)

/* As a table with its heading; the caller frees. */
char *overhead_text(const struct overhead *overhead);
/* {"samples": ., "from": "profile"|"runs", "rows": [...]}. New reference. */
json_t *overhead_json(const struct overhead *overhead);
