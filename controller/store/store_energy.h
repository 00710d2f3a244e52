/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/store/store.h"

/*
 * Checks that the energy of a run follows from its stored power samples. Two questions, answered
 * from the stored rows alone:
 *
 *
 * 1. Is every host's counter the integral of its samples, to the microjoule? Between two samples it
 * must rise by the trapezoid of their watts (over a gap: by the larger watts, held), rounded down,
 * with the remainder carried over (docs/reference/api.md, "Energy"). All in integers. The remainder
 * that the first stored sample inherited is not recorded, so the check asks whether some remainder
 * in [0, 1) microjoule explains every counter of the host.
 * 2. Is the run's dynamic energy the counters' increase between its start and its end, less the
 * idle baseline? Counters are interpolated linearly between samples, and extrapolated after the
 * last sample with its watts.
 */
struct store_energy {
	uint32_t hosts;
	uint32_t samples;
	uint32_t gaps;        /* samples after a gap */
	uint32_t mismatches;  /* samples whose counter does not follow from those before */
	double total_j;       /* increase of the counters during the run */
	double dynamic_j;     /* total_j less idle_w x ended_s */
	double difference_uj; /* dynamic_j less the run's energy_j, microjoules */
};

/*
 * Computes both from the samples of `run`. A host whose first sample is later than the run's start
 * is assumed to have drawn that sample's watts until then. Returns true, or false with `error` when
 * the samples cannot be read. A run without samples (a simulated one) has all figures 0.
 */
bool store_energy_check(struct store *store, const struct store_run *run,
			struct store_energy *ret_energy, GError **error);
