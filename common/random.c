/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Generator: xoshiro256** 1.0 (D. Blackman, S. Vigna, "Scrambled linear pseudorandom number
 * generators", ACM TOMS 47(4), 2021). Seeding: SplitMix64 (G. Steele et al., "Fast splittable
 * pseudorandom number generators", OOPSLA 2014), as the authors of the first advise.
 */
#include "common/random.h"

#include <math.h>

#define TWO_PI 6.283185307179586476925287

/* The finaliser of SplitMix64: a bijection that maps 0 to 0 and scatters every other value. */
static uint64_t mix_splitmix(uint64_t z)
{
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static uint64_t rotate_left(uint64_t x, int bits)
{
	return (x << bits) | (x >> (64 - bits));
}

void random_stream_init(struct random_stream *random, uint64_t seed, uint64_t stream)
{
	/* Stream 0 is the textbook seeding; others start at a scattered distance from it. */
	uint64_t state = seed ^ mix_splitmix(stream);

	for (int i = 0; i < 4; i++) {
		state += UINT64_C(0x9e3779b97f4a7c15);
		random->s[i] = mix_splitmix(state);
	}
}

uint64_t random_stream_next(struct random_stream *random)
{
	uint64_t *s = random->s;
	const uint64_t result = rotate_left(s[1] * 5, 7) * 9;
	const uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate_left(s[3], 45);
	return result;
}

double random_stream_uniform(struct random_stream *random)
{
	return (double)(random_stream_next(random) >> 11) * 0x1.0p-53;
}

uint64_t random_stream_below(struct random_stream *random, uint64_t n)
{
	/*
	 * The lowest 2^64 mod n values would make small results more likely, so they are drawn
	 * again.
	 */
	const uint64_t surplus = (0 - n) % n;
	uint64_t bits;

	do
		bits = random_stream_next(random);
	while (bits < surplus);
	return bits % n;
}

double random_stream_exponential(struct random_stream *random, double mean)
{
	return -mean * log1p(-random_stream_uniform(random));
}

double random_stream_normal(struct random_stream *random)
{
	const double length = sqrt(random_stream_exponential(random, 2));

	return length * cos(TWO_PI * random_stream_uniform(random));
}
