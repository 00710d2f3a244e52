/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/power/energy_counter.h"

#include <string.h>

/*
 * Milliwatts times nanoseconds are 1e-6 uJ. The trapezoid's division by two joins the division by
 * 1e6, so that all arithmetic is on integers.
 */
enum { UNITS_PER_UJ = 2000000 };

void energy_counter_init(struct energy_counter *counter, double interval_s)
{
	memset(counter, 0, sizeof *counter);
	energy_counter_set_interval(counter, interval_s);
}

void energy_counter_set_interval(struct energy_counter *counter, double interval_s)
{
	counter->gap_limit_ns = (int64_t)(interval_s * ENERGY_COUNTER_GAP_INTERVALS * 1e9);
}

/*
 * Adds `twice_mw` / 2 over `ns` and returns by how many microjoules the counter rose. The product
 * needs up to 127 bits. The counter stops at INT64_MAX, the limit of JSON integers: 290 years of 1
 * kW.
 */
static uint64_t add_area(struct energy_counter *counter, uint64_t twice_mw, int64_t ns)
{
	const unsigned __int128 units =
		(unsigned __int128)twice_mw * (uint64_t)ns + counter->remainder;
	const unsigned __int128 uj = units / UNITS_PER_UJ;
	const uint64_t room = (uint64_t)INT64_MAX - counter->energy_uj;
	const uint64_t added = uj < room ? (uint64_t)uj : room;

	counter->remainder = (uint32_t)(units % UNITS_PER_UJ);
	counter->energy_uj += added;
	return added;
}

enum energy_counter_step energy_counter_add(struct energy_counter *counter, int64_t t_ns,
					    int64_t mw)
{
	const int64_t last_mw = counter->last_mw;
	enum energy_counter_step step = ENERGY_COUNTER_FIRST;
	int64_t ns;

	if (mw < 0 || t_ns < 0 || (counter->has_last && t_ns <= counter->last_ns))
		return ENERGY_COUNTER_IGNORED;
	if (counter->has_last) {
		ns = t_ns - counter->last_ns;
		if (ns > counter->gap_limit_ns) {
			const int64_t held_mw = mw > last_mw ? mw : last_mw;

			counter->gap_uj += add_area(counter, 2 * (uint64_t)held_mw, ns);
			counter->gap_ns += ns;
			step = ENERGY_COUNTER_GAP;
		} else {
			add_area(counter, (uint64_t)last_mw + (uint64_t)mw, ns);
			counter->covered_ns += ns;
			step = ENERGY_COUNTER_COVERED;
		}
	}
	counter->has_last = true;
	counter->last_ns = t_ns;
	counter->last_mw = mw;
	return step;
}

void energy_counter_forget_last(struct energy_counter *counter)
{
	counter->has_last = false;
	counter->last_ns = 0;
	counter->last_mw = 0;
}
