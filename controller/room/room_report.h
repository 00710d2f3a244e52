/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

#include "controller/report/compare.h"
#include "controller/report/summary.h"
#include "controller/report/table.h"
#include "controller/room/room.h"

/*
 * The room of the verdict of a directory, or of two that are compared: per pair of policies at a
 * limit and kind of error, the least size at which the simulated winner changes, beside the size
 * that was measured. The room is the quotient of the two: above 1 the winner stands.
 */
struct room_report;
typedef struct room_report room_report_t; /* for g_autoptr() */

/* What is asked for. Summaries are borrowed for the call. */
struct room_request {
	const struct summary *simulated; /* whose configuration is simulated */
	const struct summary *measured;  /* what errors were measured; NULL: nothing was */
	const struct compare *compare;   /* its pairs; NULL: all pairs of `simulated` */
	uint32_t trials, jobs;           /* as in struct room_setup */
	/* Called once before the first simulation, with the number of pairs; may be NULL. */
	void (*begin)(uint64_t most_runs, uint32_t pairs, void *data);
	bool (*progress)(uint64_t done, enum room_kind kind, void *data); /* as in room_setup */
	void *data;
};

#define ROOM_ERROR (room_error_quark())
GQuark room_error_quark(void);
enum room_error { ROOM_ERROR_NOTHING = 1 /* no pair that this build can simulate */ };

/*
 * Simulates. NULL with `error`: ROOM_ERROR, CONFIG_ERROR, EXPERIMENT_ERROR, DATABASE_ERROR,
 * G_IO_ERROR_CANCELLED.
 */
struct room_report *room_report_new(const struct room_request *request, GError **error);

/* NULL is allowed. */
void room_report_free(struct room_report *report);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(room_report_t, room_report_free)

/* The table with its heading, notes and sentences; the caller frees. */
char *room_report_text(const struct room_report *report);

/* The table and the sentences as a part of a page; the caller frees. */
char *room_report_html(const struct room_report *report);

/*
 * {"trials", "simulated_runs", "largest_size", "overhead_unit_s", "pairs": [{"limit", "first",
 * "second", "winner", "error", "changes_at", "low", "high", "measured", "room"}], "sentences"}. New
 * reference.
 */
json_t *room_report_json(const struct room_report *report);

/* The file of a run directory with the JSON of its room. */
#define ROOM_FILE "room.json"

/* Writes ROOM_FILE for the page of the directory of `summary`. */
bool room_report_save(const struct room_report *report, const struct summary *summary,
		      GError **error);

/* What was saved for the runs of a directory as they are; NULL: nothing. */
struct room_report *room_report_load(const struct summary *summary);
