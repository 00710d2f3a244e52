/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/platform.h"

struct engine;
struct remote_baseline;
struct run_service;

/*
 * What a controller works with: the run directory, its plan, the store, the local schedulers, and
 * the progress that it shows. Opened at start, closed at the end. view.h answers questions about
 * it.
 */
struct run_session;

#define RUN_ERROR (run_error_quark())
GQuark run_error_quark(void);
enum run_error {
	RUN_ERROR_INPUT = 1, /* the plan or the configuration is invalid */
	RUN_ERROR_MEASURE,   /* a measurement failed */
	RUN_ERROR_STOPPED,   /* stopped on request; can be resumed */
	RUN_ERROR_STORE,     /* the store could not be written; the disk may be full */
};

/*
 * Opens the session of run directory `dir`, which holds plan.json and run_paths_config(), creates
 * the store if need be, and starts to talk to the local schedulers. Returns NULL with `error` set.
 */
struct run_session *run_session_open(const struct platform *platform, const char *dir,
				     GError **error);
/* NULL is allowed. */
void run_session_close(struct run_session *session);

/* Ends in order what is under way: remote_fleet_stop(). `reason` is shown to users. */
void run_session_stop(struct run_session *session, const char *reason);

/*
 * Makes a note: stores it as an event of the run under way, then shows it in the progress, so that
 * what users see is on record. A store that cannot be written stops the session.
 */
void run_session_note(struct run_session *session, const char *kind, const char *format, ...)
	G_GNUC_PRINTF(3, 4);
/* As run_session_note(), at time_s of the run; NAN: now. */
void run_session_note_at(struct run_session *session, double time_s, const char *kind,
			 const char *text);

/*
 * Stops the session after a failed write to the store. The state in memory may be ahead of the
 * store, and the transaction may be undone as a whole, so nothing more of the run is stored. Takes
 * over `error`.
 */
void run_session_store_failed(struct run_session *session, GError *error);

/*
 * Commits the present transaction, so that other connections see it. False with `error`: it is
 * lost.
 */
bool run_session_commit(struct run_session *session, GError **error);

/* Seconds since the start of the run under way, or of the run before; 0: no run has begun. */
double run_session_now_s(const struct run_session *session);

/* The longest duration of a run, seconds: duration, baseline, and some time for nodes to settle. */
double run_session_run_s(const struct run_session *session);
/* The number of planned runs. */
uint32_t run_session_runs(const struct run_session *session);

/* Boots are slow under emulation, and all VMs boot at once. */
#define RUN_SESSION_READY_S 300.0

/*
 * Ends all tasks and waits until every node is ready. Gives up if no further node got ready for
 * RUN_SESSION_READY_S, or longer if a boot may take longer.
 */
bool run_session_settle(struct run_session *session, GError **error);

/*
 * As run_session_settle(); but if some nodes do not get ready and others are, it continues without
 * them (remote_fleet_excuse_unready()) and makes a note.
 */
bool run_session_settle_some(struct run_session *session, GError **error);

/*
 * Waits until every local scheduler has answered and reported which nodes are up; the progress
 * shows what is missing.
 */
bool run_session_wait_known(struct run_session *session, GError **error);

/*
 * As run_session_wait_known(), but at most `timeout_s`: local schedulers that have not answered by
 * then join later. False: the session was stopped.
 */
bool run_session_wait_heard(struct run_session *session, double timeout_s, GError **error);

/* Stores the estimates of the configuration, and the pairs that have none. */
bool run_session_record_estimates(struct run_session *session, GError **error);

/* Measures the idle baseline and starts the account of all meters at *ret_t0_ns (now). */
bool run_session_baseline(struct run_session *session, struct remote_baseline *ret_baseline,
			  int64_t *ret_t0_ns, GError **error);

/* The baseline as JSON: {"sum_w": ., "duration_s": ., "hosts": [{"host": ., "idle_w": .}]}. */
json_t *run_session_baseline_json(const struct run_session *session,
				  const struct remote_baseline *baseline);
