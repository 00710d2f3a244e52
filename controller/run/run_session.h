/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/config/config.h"
#include "common/http_listener.h"
#include "controller/backend/remote_fleet.h"
#include "controller/run/run_plan.h"
#include "controller/run/run_progress.h"
#include "controller/store/store.h"

struct engine;
struct run_service;

/*
 * What a controller works with: the run directory, what it is to do there, the store, the local
 * schedulers, and what it tells those who watch. Opened at start, closed at the end.
 */
struct run_session {
	char *dir;
	struct run_plan *plan;
	struct config *config;
	struct store *store;
	struct remote_fleet *fleet;
	struct run_progress *progress;
	bool go_on;    /* a run that was interrupted may go on: its VMs and tasks are still there */
	bool retries;  /* pairs that were given up as stalled or lost are to be profiled once more */
	int64_t run;   /* row id of the run under way; 0: none */
	int64_t t0_ns; /* its start */
	struct run_utc *utc;   /* what that is by the wall clock; NULL: not wanted */
	struct engine *engine; /* while its engine runs: for what people ask of tasks; else NULL */
	struct recorder_store *recorder; /* of the run under way; NULL: none */
	uint32_t tasks_count;  /* of its workload, so far */
	bool store_failed;     /* that is why it was stopped */
	struct run_service *service; /* that is under way; NULL: none, or it is an experiment */
	bool reload_wanted;          /* of a service that is not under way yet */
};

#define RUN_ERROR (run_error_quark())
GQuark run_error_quark(void);
enum run_error {
	RUN_ERROR_INPUT = 1, /* the plan or the configuration makes no sense */
	RUN_ERROR_MEASURE,   /* a measurement failed */
	RUN_ERROR_STOPPED,   /* stopped on request; can be resumed */
	RUN_ERROR_STORE,     /* the store could not be written: disk full? */
};

/*
 * Opens the session of run directory `dir`, which holds plan.json and run_paths_config(), creates the
 * store if need be, and starts to talk to the local schedulers. Returns NULL with `error` set.
 */
struct run_session *run_session_open(const char *dir, GError **error);
/* NULL is allowed. */
void run_session_close(struct run_session *session);

/*
 * Does what the plan says: the profile unless RUN/estimates.yaml is there, and has all that can be had, then the runs that have
 * not ended yet. Returns true when all is done.
 */
bool run_session_work(struct run_session *session, GError **error);

/*
 * Makes a note: as an event of the run under way, and then for those who watch, so that what they were told is on
 * record. `time_s` NAN: now. A store that cannot be written stops the session.
 */
void run_session_note(struct run_session *session, double time_s, const char *kind,
		      const char *text);

/*
 * Stops the session with what a failed write to the store said. What is known may be ahead of the record then, and the
 * transaction may be undone as a whole: nothing more of the run goes on record. Takes over `error`.
 */
void run_session_store_failed(struct run_session *session, GError *error);

/*
 * Commits what is being recorded, for other connections to see. False with `error`: it is not on record, nor will be.
 */
bool run_session_commit(struct run_session *session, GError **error);

/*
 * With what a controller speaks TLS at `address`: fills in *ret_tls with the files of the configuration
 * (borrowed) and returns it; NULL where it does not, or has no certificate.
 */
const struct http_tls *run_session_tls(const char *address, const struct config *config,
				       struct http_tls *ret_tls);

/* What a run takes at most: duration, baseline, and a little for nodes to settle. Seconds. */
double run_session_run_s(const struct run_session *session);
/* How many runs are planned in all. */
uint32_t run_session_runs(const struct run_session *session);

/*
 * Sees to it that nothing runs and every node is ready. Gives up when no more got ready for `timeout_s`, or longer
 * where a boot may take so long.
 */
bool run_session_settle(struct run_session *session, double timeout_s, GError **error);

/*
 * As run_session_settle(); but where some nodes do not get ready, and others are, it goes on without them
 * (remote_fleet_excuse_unready()) and says so.
 */
bool run_session_settle_some(struct run_session *session, double timeout_s, GError **error);

/*
 * Waits until every local scheduler has answered and said which nodes are up, while those who watch
 * are shown for what.
 */
bool run_session_wait_known(struct run_session *session, GError **error);

/* The same, but only `timeout_s`: who has not answered by then comes in later. False: it was stopped. */
bool run_session_wait_heard(struct run_session *session, double timeout_s, GError **error);

/* Measures the idle baseline and starts the account of all meters at *ret_t0_ns (now). */
bool run_session_baseline(struct run_session *session, struct remote_baseline *ret_baseline,
			  int64_t *ret_t0_ns, GError **error);

/* The baseline as JSON: {"sum_w": ., "duration_s": ., "hosts": [{"host": ., "idle_w": .}]}. */
json_t *run_session_baseline_json(const struct run_session *session,
				  const struct remote_baseline *baseline);
