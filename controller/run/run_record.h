/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/backend/remote.h"
#include "controller/run/host_load.h"
#include "controller/run/run_session.h"

/*
 * Records what a measured run has beside its engine's decisions: its baseline, samples, launches
 * and energy; and reads what a controller needs that continues the run. `session` names the run
 * under way. A failed write to the store ends the run through the session, or is the returned
 * error.
 */

/* How long to wait for the last samples of a run, seconds. */
#define RUN_RECORD_COVER_S 10.0

/* Callbacks of struct remote_run; their `data` is the session. */
void run_record_note(double time_s, const char *kind, const char *text, void *data);
void run_record_sample(double time_s, const struct remote_meter *meter,
		       const struct wire_sample *one, void *data);
/* For recorder_store_tell(): logs a change of a task, or a user's request for one. */
void run_record_log(const char *kind, const char *detail);

/* Records the duration of a launch, from the decision until all ranks run. */
void run_record_launched(double time_s, uint32_t task, uint32_t attempt, double launch_s,
			 void *data);
/* Records how much CPU the VMs of a task on shared hosts got of their share. */
void run_record_delivered(double time_s, uint32_t task, uint32_t attempt,
			  const struct task_share *share, void *data);

/* Records the last sample before the start, from which the counter at the start follows. */
void run_record_first_samples(struct run_session *session);

/*
 * Records the samples since the meters' accounts began that arrived before a listener was set (of a
 * continued service), and those that arrived just before its end and were not recorded. A sample
 * that is in the store already is not stored twice.
 */
void run_record_known_samples(struct run_session *session);

/* Key of a run's baseline in the store's meta data. Freed with g_free(). */
char *run_record_baseline_key(int64_t run);

/*
 * Restores what a continuing controller needs of run number `run` beside the store's rows: idle
 * watts, the last samples, and this machine's load so far, which *ret_before is set to.
 */
bool run_record_baseline(struct run_session *session, int64_t run,
			 const struct remote_baseline *baseline, struct host_load *ret_before,
			 GError **error);

/*
 * Computes the run's energy from the counters at row->ended_s, and gaps of the meters, per host and
 * in all: waits for the samples, sets gap_s and energy_j of `row` (NAN if a host has no meter).
 */
bool run_record_energy(struct run_session *session, struct store_run *row, GError **error);

/* Makes a note that no energy limit is enforced, since a host has no meter. */
void run_record_unmetered(struct run_session *session);

/*
 * For a restarted controller, before the first answer of a local scheduler: reads the samples of
 * the interrupted run, if there is one, again from its start.
 */
void run_record_recall(struct run_session *session);
