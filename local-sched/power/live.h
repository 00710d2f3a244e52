/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

#include "common/config/config.h"

/*
 * The current readings of the meters of a configuration's hosts, without VMs or tasks (`virtbed
 * energy --live`). A cluster that names a running local scheduler is asked there, and its meters
 * are left to it. The meters of all others are read from here. Main loop only.
 */
struct live;
typedef struct live live_t;

/*
 * Opens the meters of `config` (borrowed; with its lab resolved) and begins to read them. A meter
 * that can never work is no failure here: it is an error of its host.
 */
struct live *live_new(const struct config *config);

/* NULL is allowed. */
void live_free(struct live *live);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(live_t, live_free)

/* Waits until every meter has answered or failed, at most `timeout_s`, or until *interrupted. */
void live_settle(struct live *live, double timeout_s, const bool *interrupted);

/* Waits `seconds`, or until *interrupted, while the meters are read further. */
void live_wait(struct live *live, double seconds, const bool *interrupted);

/*
 * The readings, a new reference: {"hosts": [{"cluster", "host", "kind" ("redfish"; for a running
 * local scheduler "remote"), "source" ("dcmi" ...), "modelled" (true: the watts of a model),
 * "mean_s" (what a reading is a mean of; 0: not known), "mean_unknown" (true: of a time that is
 * not known), "watts", "energy_j" and "gap_s" (since the
 * start), "age_s", "error"}]}; null where a value is not
 * known. `energy_j` of a local scheduler is its own counter.
 */
json_t *live_json(struct live *live);

/* Whether every host of `json` (from live_json()) has watts. */
bool live_all_answered(const json_t *json);

/*
 * `json` as a table with headings, and notes on the limits of the watts below it. The caller frees
 * it.
 */
char *live_table(const json_t *json);
