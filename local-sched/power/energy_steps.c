/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/power/energy_steps.h"

#include <math.h>
#include <string.h>

void energy_steps_init(struct energy_steps *steps, uint32_t count)
{
	*steps = (struct energy_steps){.before_uj = g_new0(uint64_t, count), .count = count};
}

void energy_steps_clear(struct energy_steps *steps)
{
	g_clear_pointer(&steps->before_uj, g_free);
}

void energy_steps_forget(struct energy_steps *steps)
{
	steps->before_ns = 0;
	steps->is_step = false;
}

static void keep(struct energy_steps *steps, const uint64_t *now_uj, int64_t now_ns, bool is_step)
{
	memcpy(steps->before_uj, now_uj, steps->count * sizeof *now_uj);
	steps->before_ns = now_ns;
	steps->is_step = is_step;
}

enum energy_steps_verdict energy_steps_add(struct energy_steps *steps, const uint64_t *now_uj,
					   int64_t now_ns, int64_t *ret_mw)
{
	const double elapsed_s = (double)(now_ns - steps->before_ns) / 1e9;
	const double unseen_s = (double)(now_ns - steps->seen_ns) / 1e9;
	const bool was_step = steps->is_step;
	enum energy_steps_verdict verdict = ENERGY_STEPS_OK;
	double sum_j = 0;

	steps->seen_ns = now_ns;
	if (steps->before_ns == 0 || elapsed_s <= 0 || unseen_s > ENERGY_STEPS_APART_S) {
		keep(steps, now_uj, now_ns, false);
		return ENERGY_STEPS_FIRST;
	}
	for (uint32_t i = 0; i < steps->count; i++) {
		if (now_uj[i] < steps->before_uj[i])
			verdict = ENERGY_STEPS_FELL;
		else
			sum_j += (double)(now_uj[i] - steps->before_uj[i]) / 1e6;
	}
	if (verdict == ENERGY_STEPS_OK &&
	    memcmp(now_uj, steps->before_uj, steps->count * sizeof *now_uj) == 0)
		return ENERGY_STEPS_STILL;
	if (verdict == ENERGY_STEPS_OK && was_step && sum_j > ENERGY_STEPS_MAX_W * elapsed_s)
		verdict = ENERGY_STEPS_JUMP;
	/* A wrap, a reset or a jump is a step too, but its size says nothing. */
	keep(steps, now_uj, now_ns, true);
	if (verdict != ENERGY_STEPS_OK)
		return verdict;
	if (!was_step)
		return ENERGY_STEPS_FIRST;
	*ret_mw = llround(sum_j / elapsed_s * 1e3);
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
