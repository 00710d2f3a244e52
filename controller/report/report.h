/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

#include "controller/report/listing.h"
#include "controller/report/summary.h"
#include "controller/report/table.h"

/*
 * Runs as text: a table for a person, CSV for a spreadsheet, JSON for a script. All three have a
 * row per run directory, policy and limit, in that order, with the same field names (the table's
 * titles are shorter). Every figure is a mean over the repeats or trials that the heading names.
 */

/* The recorded parts in the order of a report, NULL-terminated. */
extern const struct listing_part *const report_parts[];

/* The table of one run directory; the caller frees it with table_free(). */
struct table *report_table(const struct summary *summary);

/*
 * Heading and table of a run directory, and its parts (listing.h) that have rows. The caller
 * frees; NULL with `error` (DATABASE_ERROR) where those cannot be read.
 */
char *report_text(const struct summary *summary, GError **error);

/* The names of the CSV tables, for messages and completion; the first is the default. */
#define REPORT_CSV_TABLES                                                                          \
	"policies suspensions suspension-steps migrations migrations-by-policy shares"

/* Whether `table` is one of them. */
bool report_csv_known(const char *table);

/*
 * A table as a CSV document (RFC 4180, newlines as "\n") of several directories; `table` must be
 * known, and unknown numbers are empty. Fields are those of report_json(). The caller frees; NULL
 * with `error` (DATABASE_ERROR) where the store cannot be read.
 */
char *report_csv(struct summary *const *summaries, guint count, const char *table, GError **error);

/*
 * An array with an object per directory: summary_json(); "runs": every run with its own figures and
 * the check of its energy against its power samples (store_energy.h); and its parts (listing.h):
 * "suspensions", "migrations", "shares" and "dropped". New reference, or NULL with `error` when the
 * store cannot be read.
 */
json_t *report_json(struct summary *const *summaries, guint count, GError **error);

/*
 * A table of the single runs, with the check of each run's energy against its power samples (in
 * microjoules). The caller frees it; NULL with `error` when samples cannot be read.
 */
struct table *report_runs_table(const struct summary *summary, GError **error);
