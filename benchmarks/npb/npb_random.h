/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The pseudo-random sequence that all kernels draw from (NPB report RNR-94-007).
 *
 *     x[k+1] = 5^13 * x[k]  mod 2^46,      u[k] = x[k] * 2^-46  in (0, 1)
 *
 * The seed x[0] itself is never handed out.  A rank reaches its own part of the sequence by
 * npb_random_skip(), in time logarithmic in the distance.
 */
#ifndef NPB_RANDOM_H
#define NPB_RANDOM_H

#include <stdint.h>

/* Multiplier 5^13. */
#define NPB_RANDOM_MULTIPLIER UINT64_C(1220703125)
/* All residues are taken modulo 2^46. */
#define NPB_RANDOM_MASK ((UINT64_C(1) << 46) - 1)
/* Seed of IS, CG and MG, and that of EP. */
#define NPB_RANDOM_SEED UINT64_C(314159265)
#define NPB_RANDOM_SEED_EP UINT64_C(271828183)

/* State of one stream: the value last handed out, or the seed.  Embedded by its user. */
struct npb_random {
	uint64_t x; /* always below 2^46 */
};

/* Start a stream at @seed (below 2^46); the first value drawn is x[1]. */
void npb_random_init(struct npb_random *random, uint64_t seed);

/* Advance the stream as if @steps values (any number) had been drawn. */
void npb_random_skip(struct npb_random *random, uint64_t steps);

/*
 * Draw the next x[k].  A 64-bit product may wrap: 2^46 divides 2^64, so the low 46 bits are right.
 */
static inline uint64_t npb_random_next(struct npb_random *random)
{
	random->x = (NPB_RANDOM_MULTIPLIER * random->x) & NPB_RANDOM_MASK;
	return random->x;
}

/* Draw the next deviate u[k], exact in a double since 46 < 53 bits. */
static inline double npb_random_uniform(struct npb_random *random)
{
	return (double)npb_random_next(random) * 0x1p-46;
}

#endif
