/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

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
	struct experiment_trial trial;
	struct engine_setup setup;
};

/* Fills *ret_made, which the caller clears. False with `error`. */
bool rerun_setup_init(struct store *store, const struct store_run *run,
		      struct rerun_setup *ret_made, GError **error);
void rerun_setup_clear(struct rerun_setup *made);
