/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

/*
 * Shows on standard error how a controller is getting on: asks its API once a second and prints, on
 * a terminal, a live line under the notices; elsewhere a line per notice and one every ten seconds.
 */
struct run_watch;

/*
 * Starts to ask the controller at `address`; `shows`: how far it is, not only what happens. Returns
 * NULL with `error` for a bad address.
 */
struct run_watch *run_watch_new(const char *address, bool shows, GError **error);
/* Stops, and ends the live line. NULL is allowed. */
void run_watch_free(struct run_watch *watch);

/* What a watch tells its owner, who must not free it meanwhile; either may be NULL. */
struct run_watch_events {
	void (*notice)(const char *kind, const char *text, void *data);
	/*
	 * The controller took each of the last RUN_WATCH_SILENCES questions without answering it in
	 * time: its main loop does not turn. Counted from zero again afterwards.
	 */
	void (*hung)(void *data);
	void *data;
};

/* Ten seconds each: two minutes. */
#define RUN_WATCH_SILENCES 12

/* `events` is copied. */
void run_watch_listen(struct run_watch *watch, const struct run_watch_events *events);

/* Prints a line of our own above the live line. `watch` may be NULL: plainly. */
void run_watch_say(struct run_watch *watch, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* The controller is started again: it numbers its notices anew. */
void run_watch_anew(struct run_watch *watch);

/* Why the controller failed, if it said so (borrowed), or NULL. */
const char *run_watch_error(const struct run_watch *watch);

/* Tells the controller that a local scheduler died, for its records (event "scheduler-died"). */
void run_watch_tell(struct run_watch *watch, const char *text);

/* The progress line for a status document (run_progress_json()). The caller frees. */
char *run_watch_line(const json_t *status);
