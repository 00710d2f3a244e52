/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdint.h>

#include "common/config/config.h"

/* One measurement of a profile. */
struct run_measurement {
	uint32_t type;
	uint32_t cluster;
	double exec_s;
	double energy_j; /* NAN: not known */
	/* on its cluster; STORE_NO_ROUND: a task that kept nodes busy; it counts, too */
	int64_t round;
};

/*
 * Means, sample standard deviations (0 below two measurements) and counts per pair, ordered by
 * type, then cluster; pairs without a measurement are left out. A measurement with unknown energy
 * counts for the time alone; a pair without any known energy has an EEC of 0. Returns *ret_count
 * estimates; names are borrowed from `config`; the caller frees the array with g_free().
 */
struct config_estimate *run_estimate(const struct config *config,
				     const struct run_measurement *measurements, uint32_t count,
				     uint32_t *ret_count);
