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
	int64_t round;   /* on its cluster; STORE_NO_ROUND: it kept nodes busy, and counts all the same */
};

/*
 * Means, sample standard deviations (0 below two measurements) and counts per pair, pairs in the
 * order of types, then clusters; pairs without a measurement are left out. Energies that are not
 * known count for times alone; a pair without any that is known has an EEC of 0. Returns *ret_count
 * estimates; names are borrowed from `config`; the caller frees the array with g_free().
 */
struct config_estimate *run_estimate(const struct config *config,
				     const struct run_measurement *measurements, uint32_t count,
				     uint32_t *ret_count);
