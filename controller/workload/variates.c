/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/workload/variates.h"

#include <glib.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>

struct variates {
	gsl_rng *rng; /* its state is a struct random_stream */
};

static void seed_stream(void *state, unsigned long seed)
{
	random_stream_init(state, seed, 0);
}

static unsigned long next_integer(void *state)
{
	return random_stream_next(state) >> 32;
}

static double next_uniform(void *state)
{
	return random_stream_uniform(state);
}

static const gsl_rng_type stream_type = {
	.name = "random_stream",
	.max = UINT32_MAX,
	.min = 0,
	.size = sizeof(struct random_stream),
	.set = seed_stream,
	.get = next_integer,
	.get_double = next_uniform,
};

struct variates *variates_new(uint64_t seed, uint64_t stream)
{
	struct variates *variates = g_new0(struct variates, 1);

	variates->rng = gsl_rng_alloc(&stream_type);
	if (!variates->rng)
		g_error("out of memory");
	random_stream_init(variates->rng->state, seed, stream);
	return variates;
}

void variates_free(struct variates *variates)
{
	if (!variates)
		return;
	gsl_rng_free(variates->rng);
	g_free(variates);
}

double variates_uniform(struct variates *variates, double low, double high)
{
	return low + (high - low) * random_stream_uniform(variates->rng->state);
}

uint32_t variates_integer(struct variates *variates, uint32_t low, uint32_t high)
{
	return low + (uint32_t)random_stream_below(variates->rng->state, (uint64_t)high - low + 1);
}

double variates_gaussian(struct variates *variates, double mean, double cov)
{
	double value;

	do
		value = mean + gsl_ran_gaussian(variates->rng, cov * mean);
	while (value <= 0);
	return value;
}

double variates_gamma(struct variates *variates, double mean, double cov)
{
	const double shape = 1 / (cov * cov);

	return gsl_ran_gamma(variates->rng, shape, mean / shape);
}

double variates_exponential(struct variates *variates, double mean)
{
	return random_stream_exponential(variates->rng->state, mean);
}

uint32_t variates_choice(struct variates *variates, const double *weights, uint32_t count)
{
	double sum = 0;
	uint32_t last = 0;

	for (uint32_t i = 0; i < count; i++)
		sum += weights[i];
	sum = variates_uniform(variates, 0, sum);
	for (uint32_t i = 0; i < count; i++) {
		if (weights[i] <= 0)
			continue;
		last = i;
		sum -= weights[i];
		if (sum < 0)
			break;
	}
	return last;
}
