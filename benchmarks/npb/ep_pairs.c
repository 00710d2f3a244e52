/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The stream is drawn in LANES strands, strand l being pairs l, l + LANES, l + 2 LANES, ..., so
 * that all loops run over independent strands and the compiler turns them into vector code.  Every
 * strand has sums of its own, in memory, for the same reason: no sum is reordered.
 *
 * ln t with t = 2^k m, m in [sqrt(1/2), sqrt(2)):  k ln 2 + 2 artanh(z), z = (m - 1) / (m + 1).
 * Since |z| < 0.1716, the power series of artanh is exact to 2^-54 after eleven terms.
 */
#include "benchmarks/npb/ep_pairs.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "benchmarks/npb/npb_clones.h"
#include "benchmarks/npb/npb_random.h"

/* Strands: a power of two of at most 2^EP_BATCH_LOG2; few enough for the first-level cache. */
#define LANES 256
/* Pairs in annuli from here on are so rare that they are counted one by one. */
#define FAR 4

/* The bits of 2^52: or-ed over a whole number below 2^52, they make a double of 2^52 plus it. */
#define MAGIC_BITS UINT64_C(0x4330000000000000)
/* The bits of sqrt(1/2) and of 1. */
#define ROOT_HALF_BITS UINT64_C(0x3fe6a09e667f3bcd)
#define ONE_BITS UINT64_C(0x3ff0000000000000)

struct strands {
	uint64_t state[LANES]; /* the deviate before the next pair's x, as x[k] of npb_random.h */
	double x[LANES], y[LANES];
	double radius[LANES]; /* max(|X|, |Y|) of the pairs last drawn; -1 for rejected ones */
};

static const struct ep_class classes[] = {
	{'S', 24, -3.247834652034740e+3, -6.958407078382297e+3},
	{'W', 25, -2.863319731645753e+3, -6.320053679109499e+3},
	{'A', 28, -4.295875165629892e+3, -1.580732573678431e+4},
	{'B', 30, 4.033815542441498e+4, -2.660669192809235e+4},
	{'C', 32, 4.764367927995374e+4, -8.084072988043731e+4},
};

const struct ep_class *ep_class_find(char name)
{
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (classes[i].name == name)
			return &classes[i];
	return NULL;
}

static inline double double_of_bits(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline uint64_t bits_of_double(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/* 2 x 2^-46 - 1, exact: a number below 2^46 has room in the 52 bits. */
static inline double centred(uint64_t x)
{
	return (double_of_bits(x | MAGIC_BITS) - 0x1p52) * 0x1p-45 - 1.0;
}

/* ln @t for a normal @t > 0, to a unit or two in the last place, without a branch. */
static inline double logarithm(double t)
{
	uint64_t bits = bits_of_double(t);
	uint64_t biased = (bits + (ONE_BITS - ROOT_HALF_BITS)) >> 52; /* k + 1023 */
	double k = double_of_bits(biased | MAGIC_BITS) - (0x1p52 + 1023.0);
	double m = double_of_bits(bits - (biased << 52) + ONE_BITS);
	double z = (m - 1.0) / (m + 1.0);
	double zz = z * z;
	double series = 1.0 / 21.0;

	series = series * zz + 1.0 / 19.0;
	series = series * zz + 1.0 / 17.0;
	series = series * zz + 1.0 / 15.0;
	series = series * zz + 1.0 / 13.0;
	series = series * zz + 1.0 / 11.0;
	series = series * zz + 1.0 / 9.0;
	series = series * zz + 1.0 / 7.0;
	series = series * zz + 1.0 / 5.0;
	series = series * zz + 1.0 / 3.0;
	series = series * zz + 1.0;
	return k * 0.693147180559945309417 + 2.0 * z * series;
}

/* a^steps mod 2^46. */
static uint64_t multiplier(uint64_t steps)
{
	struct npb_random random = {.x = 1};

	npb_random_skip(&random, steps);
	return random.x;
}

/* Draw one pair of every strand; @stride leads to a strand's next pair. */
CLONES
static void draw(struct strands *restrict strands, uint64_t stride)
{
	for (int l = 0; l < LANES; l++) {
		uint64_t first = (strands->state[l] * NPB_RANDOM_MULTIPLIER) & NPB_RANDOM_MASK;
		uint64_t second = (first * NPB_RANDOM_MULTIPLIER) & NPB_RANDOM_MASK;
		double x = centred(first);
		double y = centred(second);
		double t = x * x + y * y;
		double inside = t <= 1.0 ? t : 1.0; /* s is 0 for 1 */
		double s = sqrt(-2.0 * logarithm(inside) / inside);
		double ax, ay;

		x *= s;
		y *= s;
		ax = fabs(x);
		ay = fabs(y);
		strands->state[l] = (strands->state[l] * stride) & NPB_RANDOM_MASK;
		strands->x[l] += x;
		strands->y[l] += y;
		strands->radius[l] = t <= 1.0 ? (ax > ay ? ax : ay) : -1.0;
	}
}

/* Count the pairs last drawn by annuli. */
CLONES
static void count_annuli(const struct strands *strands, int64_t *counts)
{
	int64_t reach[FAR + 1] = {0}; /* pairs at this radius or beyond */

	for (int l = 0; l < LANES; l++) {
		double radius = strands->radius[l];

		reach[0] += radius >= 0.0;
		reach[1] += radius >= 1.0;
		reach[2] += radius >= 2.0;
		reach[3] += radius >= 3.0;
		reach[4] += radius >= 4.0;
	}
	for (int a = 0; a < FAR; a++)
		counts[a] += reach[a] - reach[a + 1];
	if (reach[FAR] == 0)
		return;
	for (int l = 0; l < LANES; l++)
		if (strands->radius[l] >= FAR && strands->radius[l] < EP_ANNULI)
			counts[(int)strands->radius[l]]++;
}

static void start_strands(struct strands *strands, int64_t first)
{
	struct npb_random random;

	npb_random_init(&random, NPB_RANDOM_SEED_EP);
	npb_random_skip(&random, (uint64_t)first << (EP_BATCH_LOG2 + 1));
	memset(strands, 0, sizeof(*strands));
	for (int l = 0; l < LANES; l++) {
		strands->state[l] = random.x;
		npb_random_skip(&random, 2);
	}
}

void ep_pairs_add_up(int64_t first, int64_t count, struct npb_progress *progress,
		     struct ep_sums *ret_sums)
{
	const int64_t rounds = (1 << EP_BATCH_LOG2) / LANES; /* of a batch */
	const uint64_t stride = multiplier(2 * LANES);
	struct strands strands;

	memset(ret_sums, 0, sizeof(*ret_sums));
	start_strands(&strands, first);
	for (int64_t batch = 0; batch < count; batch++) {
		for (int64_t i = 0; i < rounds; i++) {
			draw(&strands, stride);
			count_annuli(&strands, ret_sums->counts);
		}
		npb_progress_step(progress);
	}
	for (int l = 0; l < LANES; l++) {
		ret_sums->x += strands.x[l];
		ret_sums->y += strands.y[l];
	}
}
