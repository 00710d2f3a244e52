/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "benchmarks/npb/npb_random.h"

void npb_random_init(struct npb_random *random, uint64_t seed)
{
	random->x = seed & NPB_RANDOM_MASK;
}

/* Multiply the state by a^steps, squaring and multiplying modulo 2^46. */
void npb_random_skip(struct npb_random *random, uint64_t steps)
{
	uint64_t power = NPB_RANDOM_MULTIPLIER;
	uint64_t x = random->x;

	for (; steps > 0; steps >>= 1) {
		if (steps & 1)
			x = (x * power) & NPB_RANDOM_MASK;
		power = (power * power) & NPB_RANDOM_MASK;
	}
	random->x = x;
}
