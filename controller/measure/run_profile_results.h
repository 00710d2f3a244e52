/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/measure/run_overhead.h"
#include "controller/measure/run_profiled.h"
#include "controller/session/run_session.h"

/* The results of a profile. */
struct run_profile_results {
	struct run_profiled profiled;
	/* struct run_measurement elements, without those of pairs that were given up */
	GArray *counting;
	struct config_estimate *estimates; /* estimates_count of them, from `counting` */
	uint32_t estimates_count;
	struct run_overheads overheads;
};

/*
 * Writes RUN/profile.json, RUN/pet.yaml (run_pet.h) and RUN/estimates.yaml, and this machine's load
 * to the run's store (meta `profile_host_load`). Returns true, or false with `error` if one of them
 * cannot be written.
 */
bool run_profile_save(struct run_session *session, const struct run_profile_results *results,
		      GError **error);
