/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/backend/remote.h"
#include "controller/engine/engine.h"
#include "controller/session/host_load.h"
#include "controller/session/run_session.h"
#include "controller/store/store.h"

/*
 * Records what a measured run has beside its engine's decisions: its baseline, samples, launches
 * and energy; and reads what a controller needs that continues the run. `session` names the run
 * under way. A failed write to the store ends the run through the session, or is the returned
 * error.
 */

/* How long to wait for the last samples of a run, seconds. */
#define RUN_RECORD_COVER_S 10.0

/*
 * A run of the session for remote_backend_new(). Its callbacks, whose `data` is the session, record
 * notes, samples, launches and delivered shares.
 */
struct remote_run run_record_remote(struct run_session *session, int64_t run);

/* A callback of struct remote_run, whose `data` is the session: records a sample. */
void run_record_sample(double time_s, const struct remote_meter *meter,
		       const struct wire_sample *one, void *data);

/* For recorder_store_tell(): logs a change of a task, or a user's request for one. */
void run_record_log(const char *kind, const char *detail);

/*
 * A backend for the tasks of a profile, which belong to no run; their times begin at t0_ns. A
 * repeated profile gets new ids of tasks.
 */
struct backend *run_record_profile_backend(struct run_session *session, int64_t t0_ns,
					   bool profile);

/* Records more of a beginning run, in the same transaction. False with `error`. */
typedef bool (*run_record_also_f)(void *data, GError **error);

/*
 * Begins a run on nodes that are ready: measures the idle baseline, fills in the times and idle
 * watts of `row`, stores it with all that a continuing controller needs, and records the last
 * samples before the start. `also` may be NULL; *ret_before is this machine's load at the start.
 * Sets session->run and t0_ns. False with `error`: there is no run.
 */
bool run_record_begin(struct run_session *session, struct store_run *row,
		      struct host_load *ret_before, run_record_also_f also, void *data,
		      GError **error);

/* Copies the utility and the numbers of tasks to `row`. */
void run_record_result(struct store_run *row, const struct engine_result *result);

/*
 * Records the samples since the meters' accounts began that arrived before a listener was set (of a
 * continued service), and those that arrived just before its end and were not recorded. A sample
 * that is in the store already is not stored twice.
 */
void run_record_known_samples(struct run_session *session);

/* The baseline that run_record_begin() stored of a run; NULL: nothing. New reference. */
json_t *run_record_find_baseline(struct store *store, int64_t run);
/* A host's idle watts in it (NULL is allowed), or NAN. */
double run_record_idle_w(const json_t *baseline, const char *host);

/*
 * Starts the accounts of all meters at `start_ns`, with the idle watts of `baseline`, or 0 of a
 * host that it does not have. To be called before the first answer of a local scheduler.
 */
void run_record_start_meters(struct run_session *session, const json_t *baseline, int64_t start_ns);

/* The number of the last sample read of each cluster, and reading from such numbers on. */
json_t *run_record_samples_seq(const struct run_session *session);
void run_record_samples_from(struct run_session *session, const json_t *seqs);

/*
 * Computes the run's energy from the counters at row->ended_s, and gaps of the meters, per host and
 * in all: waits for the samples, sets gap_s and energy_j of `row` (NAN if a host has no meter).
 */
bool run_record_energy(struct run_session *session, struct store_run *row, GError **error);

/*
 * For a restarted controller, before the first answer of a local scheduler: reads the samples of
 * the interrupted run, if there is one, again from its start.
 */
void run_record_recall(struct run_session *session);
