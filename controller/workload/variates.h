/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/random.h"

/*
 * Random variates of GSL's distributions drawn from a random_stream, so that the streams do not
 * depend on GSL.
 */
struct variates;

/* Starts stream `stream` of `seed`. Never fails. */
struct variates *variates_new(uint64_t seed, uint64_t stream);

/* NULL is allowed. */
void variates_free(struct variates *variates);

/* Uniform in [low, high). */
double variates_uniform(struct variates *variates, double low, double high);

/* Uniform integer in [low, high]. */
uint32_t variates_integer(struct variates *variates, uint32_t low, uint32_t high);

/* Gaussian, above 0: draws of 0 or less are repeated. `mean` > 0. */
double variates_gaussian(struct variates *variates, double mean, double cov);

/* Gamma with a mean > 0 and a coefficient of variation > 0 (the COV method of [21]). */
double variates_gamma(struct variates *variates, double mean, double cov);

/* Exponential. */
double variates_exponential(struct variates *variates, double mean);

/*
 * An index of `weights` (`count` of them, >= 0, not all 0) with a probability proportional to its
 * weight.
 */
uint32_t variates_choice(struct variates *variates, const double *weights, uint32_t count);
