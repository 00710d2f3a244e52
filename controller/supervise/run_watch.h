/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

/*
 * Shows the progress of a controller on standard error: asks its API once a second and prints, on a
 * terminal, a live line under the notices; elsewhere a line per notice and one every ten seconds.
 */
struct run_watch;

/*
 * Starts to poll the controller at `address`; `shows`: prints progress lines, not only notices.
 * Returns NULL with `error` for a bad address.
 */
struct run_watch *run_watch_new(const char *address, bool shows, GError **error);
/* Stops, and ends the live line. NULL is allowed. */
void run_watch_free(struct run_watch *watch);

/* Callbacks of a watch; they must not free it, and either may be NULL. */
struct run_watch_events {
	void (*notice)(const char *kind, const char *text, void *data);
	/*
	 * The controller accepted each of the last RUN_WATCH_SILENCES requests without an answer in
	 * time: its main loop does not turn. The count then restarts.
	 */
	void (*hung)(void *data);
	void *data;
};

/* Ten seconds each: two minutes. */
#define RUN_WATCH_SILENCES 12

/* `events` is copied. */
void run_watch_listen(struct run_watch *watch, const struct run_watch_events *events);

/* Prints a line above the live line. `watch` may be NULL: a plain line. */
void run_watch_say(struct run_watch *watch, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* The controller was restarted: it numbers its notices from 1 again. */
void run_watch_restarted(struct run_watch *watch);

/* Why the controller failed, if it said so (borrowed), or NULL. */
const char *run_watch_error(const struct run_watch *watch);

/*
 * Reports the death of a local scheduler to the controller, for its records (event
 * "scheduler-died").
 */
void run_watch_report(struct run_watch *watch, const char *text);

/* The progress line for a status document (run_progress_json()). The caller frees. */
char *run_watch_line(const json_t *status);
