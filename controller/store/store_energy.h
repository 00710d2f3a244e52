/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/store/store.h"

/*
 * Does the energy that a run is charged follow from the power samples that are stored with it? Two
 * questions, both answered from the stored rows alone:
 *
 * 1. Is every host's counter the integral of its samples, to the microjoule? Between two samples it
 *    must rise by the trapezoid of their watts (over a gap: by the larger watts, held), rounded
 *    down, with the remainder carried on (docs/reference/api.md, "Energy"). All in integers. The remainder
 *    that the first stored sample inherited is not on record, so the check asks whether one in [0,
 *    1) microjoule explains every counter of the host.
 * 2. Is the run's dynamic energy what the counters rose by between its start and its end, less the
 *    idle baseline? Counters are read between samples as the straight line from one to the next,
 *    and after the last one held at its watts.
 */
struct store_energy {
	uint32_t hosts;
	uint32_t samples;
	uint32_t gaps;          /* samples after a gap */
	uint32_t mismatches;    /* samples whose counter does not follow from those before */
	double total_j;         /* what the counters rose by during the run */
	double dynamic_j;       /* total_j less idle_w x ended_s */
	double difference_uj;   /* dynamic_j less the run's energy_j, microjoules */
};

/*
 * Works out both from the samples of `run`. A host whose first sample lies after the run's start is
 * taken to have drawn that sample's watts until then. Returns true, or false with `error` set when
 * the samples cannot be read. A run without samples (a simulated one) has all figures 0.
 */
bool store_energy_check(struct store *store, const struct store_run *run,
			struct store_energy *ret_energy, GError **error);
