/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/backend/remote.h"
#include "controller/run/host_load.h"
#include "controller/run/run_session.h"

/*
 * What a measured run has in the store beside what its engine decides: its baseline, samples,
 * launches, energy; and what a controller that takes over reads of it. `session` names the run
 * under way. A store that cannot be written is told to the session, which ends the run, or is the
 * error.
 */

/* How long the last samples of a run may take to come. */
#define RUN_RECORD_COVER_S 10.0

/* A backend's calls (struct remote_run) with the session as their data. */
void run_record_note(double time_s, const char *kind, const char *text, void *data);
void run_record_sample(double time_s, const struct remote_meter *meter,
		       const struct remote_sample *one, void *data);
/* For recorder_store_tell(): a log line of what became of a task, or what somebody wants of it. */
void run_record_log(const char *kind, const char *detail);

/* How long a launch took, from the decision to all ranks running. */
void run_record_launched(double time_s, uint32_t task, uint32_t attempt, double launch_s,
			 void *data);
/* What the VMs of a task on shared hosts made of their share. */
void run_record_delivered(double time_s, uint32_t task, uint32_t attempt,
			  const struct remote_share *share, void *data);

/* The sample before the start: with it, the counter at the start follows from the store. */
void run_record_first_samples(struct run_session *session);

/*
 * Stores what the meters said since their accounts began and before anybody listened: of a service that goes
 * on; and what had been said just before, but not been heard by then. A sample that is there already stays the
 * only one.
 */
void run_record_known_samples(struct run_session *session);

/* Key of a run's baseline in the store's meta data. Freed with g_free(). */
char *run_record_baseline_key(int64_t run);

/*
 * What a controller that takes over needs to know of run number `run`, beside the store's rows:
 * idle watts, the last samples, and this machine's load so far, which *ret_before is set to.
 */
bool run_record_baseline(struct run_session *session, int64_t run,
			 const struct remote_baseline *baseline, struct host_load *ret_before,
			 GError **error);

/*
 * The run's energy from the counters at row->ended_s, and metering gaps, per host and in all: waits
 * for the samples, sets gap_s and energy_j of `row` (NAN where a host has no meter).
 */
bool run_record_energy(struct run_session *session, struct store_run *row, GError **error);

/* Nothing is held against a limit that no meter can show to be reached: that is to be known. */
void run_record_unmetered(struct run_session *session);

/*
 * Before the first answer of a local scheduler, in a controller that was restarted: has the samples
 * of the interrupted run, if there is one, read again from its start.
 */
void run_record_recall(struct run_session *session);
