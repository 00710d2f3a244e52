/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

/*
 * A small random-number generator (xoshiro256**, seeded by SplitMix64) whose streams depend on a
 * seed and a stream number alone, never on threads or call order elsewhere. The pure library uses
 * it too, so this header includes nothing but the C library.
 */
struct random_stream {
	uint64_t s[4];
};

/* Starts stream `stream` of `seed`; equal arguments give equal streams on every machine. */
void random_stream_init(struct random_stream *random, uint64_t seed, uint64_t stream);

/* The next 64 random bits. */
uint64_t random_stream_next(struct random_stream *random);

/* Uniform in [0, 1), 53 bits. */
double random_stream_uniform(struct random_stream *random);

/* Uniform integer in [0, n), n > 0, without modulo bias. */
uint64_t random_stream_below(struct random_stream *random, uint64_t n);

/* Exponential variate with the given mean, > 0. */
double random_stream_exponential(struct random_stream *random, double mean);

/*
 * Normal variate with mean 0 and deviation 1, of two uniform numbers (Box and Muller, "A note on
 * the generation of random normal deviates", 1958).
 */
double random_stream_normal(struct random_stream *random);
