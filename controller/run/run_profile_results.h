/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/run/run_overhead.h"
#include "controller/run/run_profiled.h"
#include "controller/run/run_session.h"

/* What a profile found out; all of it borrowed. */
struct run_profile_results {
	const struct run_profiled *profiled;
	const GArray *counting; /* struct run_measurement: without those of pairs that were given up */
	const struct config_estimate *estimates; /* estimates_count of them, from those */
	uint32_t estimates_count;
	const struct run_overheads *overheads;
};

/*
 * Writes RUN/profile.json, RUN/pet.yaml (run_pet.h) and RUN/estimates.yaml, and the load to the run's store (meta
 * `profile_host_load`). Returns true, or false with `error` where one cannot be written.
 */
bool run_profile_save(struct run_session *session, const struct run_profile_results *results,
		      GError **error);
