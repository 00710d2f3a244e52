/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

#include "common/config/config.h"
#include "controller/experiment/experiment.h"
#include "controller/store/store.h"

/*
 * The setup of a stored run, made again from what its store says: the configuration as it was
 * resolved, the policy, the limit, the seed and the trial.
 */
struct rerun_setup {
	struct config *config;
	struct experiment *experiment;
	struct experiment_trial trial; /* empty for a service */
	struct workload *open;         /* the tasks of a service; else NULL */
	struct engine_setup setup;
};

/*
 * Fills *ret_made, which the caller clears; of a service as it was at its first full state. False
 * with `error`.
 */
bool rerun_setup_init(struct store *store, const struct store_run *run,
		      struct rerun_setup *ret_made, GError **error);
void rerun_setup_clear(struct rerun_setup *made);

/* A stored full state of a service, as recorder_store_keep_state() records it. */
struct rerun_state {
	json_t *whole;
	const json_t *engine, *setup; /* borrowed from it, as `config` */
	const char *config;
	int64_t decision; /* id of the last decision that was stored by then; 0: none was */
};

/* False with RERUN_ERROR_DAMAGED: it is no such state. */
bool rerun_state_read(const struct store_state *stored, struct rerun_state *ret_state,
		      GError **error);
void rerun_state_clear(struct rerun_state *state);

/*
 * Makes the setup of the service at a state, with its tasks, which the caller clears. False with
 * `error`.
 */
bool rerun_state_setup(const struct rerun_state *state, struct rerun_setup *ret_made,
		       GError **error);
