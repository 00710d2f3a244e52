/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/power/energy_steps.h"

#include <math.h>

void energy_steps_init(struct energy_steps *steps, uint32_t count)
{
	*steps = (struct energy_steps){.counters = g_new0(struct energy_steps_counter, count),
				       .count = count};
}

void energy_steps_clear(struct energy_steps *steps)
{
	g_clear_pointer(&steps->counters, g_free);
}

void energy_steps_forget(struct energy_steps *steps)
{
	steps->first_ns = 0;
}

static void begin(struct energy_steps *steps, const uint64_t *now_uj, int64_t now_ns)
{
	for (uint32_t i = 0; i < steps->count; i++)
		steps->counters[i] = (struct energy_steps_counter){.uj = now_uj[i]};
	steps->first_ns = now_ns;
}

/*
 * Takes the new value of a counter, which has moved. A wrap, a reset or a jump is a step too, but
 * its size says nothing.
 */
static enum energy_steps_verdict step(struct energy_steps_counter *counter, uint64_t now_uj,
				      int64_t now_ns)
{
	const struct energy_steps_counter before = *counter;
	const double rise_j = ((double)now_uj - (double)before.uj) / 1e6;
	const double apart_s = (double)(now_ns - before.step_ns) / 1e9;

	*counter = (struct energy_steps_counter){.uj = now_uj, .step_ns = now_ns};
	if (rise_j < 0)
		return ENERGY_STEPS_FELL;
	if (before.step_ns == 0)
		return ENERGY_STEPS_FIRST;
	if (rise_j > ENERGY_STEPS_MAX_W * apart_s)
		return ENERGY_STEPS_JUMP;
	counter->rise_j = rise_j;
	counter->apart_s = apart_s;
	return ENERGY_STEPS_OK;
}

/* Whether a counter has not moved for too long. */
static bool stands_still(const struct energy_steps *steps,
			 const struct energy_steps_counter *counter, int64_t now_ns)
{
	const int64_t moved_ns = counter->step_ns > 0 ? counter->step_ns : steps->first_ns;
	const double most_s = counter->apart_s > 0 ? ENERGY_STEPS_STILL_TIMES * counter->apart_s
						   : ENERGY_STEPS_APART_S;

	return (double)(now_ns - moved_ns) / 1e9 > most_s;
}

/* Adds the power of each counter, none of which is the last verdict's yet. */
static enum energy_steps_verdict add_up(struct energy_steps *steps, int64_t now_ns, double *ret_w)
{
	*ret_w = 0;
	for (uint32_t i = 0; i < steps->count; i++) {
		const struct energy_steps_counter *counter = &steps->counters[i];
		const double since_s = (double)(now_ns - counter->step_ns) / 1e9;

		if (stands_still(steps, counter, now_ns)) {
			steps->part = i;
			return ENERGY_STEPS_STILL;
		}
		if (counter->apart_s > 0)
			*ret_w += counter->rise_j / fmax(counter->apart_s, since_s);
		else
			steps->part = i;
	}
	return steps->part == steps->count ? ENERGY_STEPS_OK : ENERGY_STEPS_FIRST;
}

enum energy_steps_verdict energy_steps_add(struct energy_steps *steps, const uint64_t *now_uj,
					   int64_t now_ns, int64_t *ret_mw)
{
	const double unseen_s = (double)(now_ns - steps->seen_ns) / 1e9;
	enum energy_steps_verdict verdict = ENERGY_STEPS_OK;
	bool moved = false;
	double watts;

	steps->seen_ns = now_ns;
	steps->part = steps->count;
	if (steps->first_ns == 0 || unseen_s <= 0 || unseen_s > ENERGY_STEPS_APART_S) {
		begin(steps, now_uj, now_ns);
		return ENERGY_STEPS_FIRST;
	}
	for (uint32_t i = 0; i < steps->count; i++) {
		enum energy_steps_verdict one;

		if (now_uj[i] == steps->counters[i].uj)
			continue;
		moved = true;
		one = step(&steps->counters[i], now_uj[i], now_ns);
		if (one != ENERGY_STEPS_FELL && one != ENERGY_STEPS_JUMP)
			continue;
		verdict = one;
		steps->part = i;
	}
	if (!moved)
		return ENERGY_STEPS_STILL;
	if (verdict != ENERGY_STEPS_OK)
		return verdict;
	verdict = add_up(steps, now_ns, &watts);
	if (verdict != ENERGY_STEPS_OK)
		return verdict;
	*ret_mw = llround(watts * 1e3);
	return ENERGY_STEPS_OK;
}

const char *energy_steps_words(enum energy_steps_verdict verdict)
{
	static const char *const words[] = {
		[ENERGY_STEPS_OK] = "rises",
		[ENERGY_STEPS_FIRST] = "has not moved often enough to say how fast it rises",
		[ENERGY_STEPS_STILL] = "stands still",
		[ENERGY_STEPS_FELL] = "fell: it wrapped or was reset",
		[ENERGY_STEPS_JUMP] = "rose by more than a machine draws",
	};

	return words[verdict];
}
