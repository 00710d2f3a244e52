/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/workload/lublin.h"

#include <glib.h>
#include <gsl/gsl_cdf.h>
#include <math.h>

/* Half hours of a day. */
#define BUCKETS 48
#define BUCKET_S 1800.0
/* First half hour of the distribution of arrivals over the day. */
#define DAY_BEGINS 11
/* Limits of the logarithms of run times and of gaps. */
#define RUN_LOG_MAX 12
#define GAP_LOG_MAX 13

/* A gamma distribution: shape and scale. */
struct gamma {
	double shape;
	double scale;
};

/* One kind of jobs. */
struct kind {
	double serial;   /* probability of one node */
	double powers;   /* probability of a power of two, beside serial */
	double size_low; /* the two-stage uniform: of the logarithm (base 2) of the nodes */
	double size_middle;
	double size_high;
	double size_lower;   /* probability of the lower stage */
	struct gamma run[2]; /* of the logarithm of the run time */
	double run_slope;    /* probability of the first: slope x nodes + offset */
	double run_offset;
	struct gamma gap;   /* of the logarithm of the gap at the rush hours */
	double gap_all_day; /* factor of its shape for all hours */
	struct gamma day;   /* of arrivals over the half hours of the day */
};

static const struct kind kinds[] = {
	{/* interactive */
	 .serial = 0.1541,
	 .powers = 0.625,
	 .size_low = 1,
	 .size_middle = 3,
	 .size_high = 5.5,
	 .size_lower = 0.705,
	 .run = {{3.8351, 0.6605}, {7.073, 0.6856}},
	 .run_slope = -0.0118,
	 .run_offset = 0.9156,
	 .gap = {6.5510, 0.6621},
	 .gap_all_day = 0.9797,
	 .day = {8.9186, 3.6680}},
	{/* batch */
	 .serial = 0.2927,
	 .powers = 0.6686,
	 .size_low = 1.2,
	 .size_middle = 5,
	 .size_high = 7,
	 .size_lower = 0.875,
	 .run = {{6.57, 0.823}, {639.1, 0.0156}},
	 .run_slope = -0.003,
	 .run_offset = 0.6986,
	 .gap = {6.0415, 0.8531},
	 .gap_all_day = 1.0519,
	 .day = {6.1271, 5.2740}},
};

#define KINDS G_N_ELEMENTS(kinds)

/* The arrivals of a kind. */
struct arrivals {
	double weights[BUCKETS]; /* of the half hours, 1 on average */
	uint32_t bucket;         /* of the last arrival */
	double units;            /* units that have passed in it */
	double time_s;           /* of the next arrival */
};

static double draw_gamma(struct variates *variates, const struct gamma *gamma, double most)
{
	double value;

	do
		value = variates_gamma(variates, gamma->shape * gamma->scale,
				       1 / sqrt(gamma->shape));
	while (value > most);
	return value;
}

static void weigh_day(struct arrivals *arrivals, const struct gamma *day)
{
	double sum = 0;

	for (uint32_t i = DAY_BEGINS; i < BUCKETS + DAY_BEGINS; i++) {
		double *weight = &arrivals->weights[(i - 1) % BUCKETS];

		*weight = gsl_cdf_gamma_P(i + 0.5, day->shape, day->scale) -
			  gsl_cdf_gamma_P(i - 0.5, day->shape, day->scale);
		sum += *weight;
	}
	for (uint32_t i = 0; i < BUCKETS; i++)
		arrivals->weights[i] *= BUCKETS / sum;
}

/* Moves on to the next arrival: the gap is used up half hour by half hour. */
static void advance(struct arrivals *arrivals, const struct kind *kind, struct variates *variates)
{
	const struct gamma gap = {kind->gap.shape * kind->gap_all_day, kind->gap.scale};
	const double *weights = arrivals->weights;
	const double begun = arrivals->units / weights[arrivals->bucket];

	arrivals->units += exp(draw_gamma(variates, &gap, GAP_LOG_MAX)) / BUCKET_S;
	while (arrivals->units > weights[arrivals->bucket]) {
		arrivals->units -= weights[arrivals->bucket];
		arrivals->bucket = (arrivals->bucket + 1) % BUCKETS;
		arrivals->time_s += BUCKET_S;
	}
	arrivals->time_s += BUCKET_S * (arrivals->units / weights[arrivals->bucket] - begun);
}

static uint32_t draw_nodes(struct variates *variates, const struct kind *kind)
{
	const double chance = variates_uniform(variates, 0, 1);
	double size;

	if (chance < kind->serial)
		return 1;
	if (variates_uniform(variates, 0, 1) < kind->size_lower)
		size = variates_uniform(variates, kind->size_low, kind->size_middle);
	else
		size = variates_uniform(variates, kind->size_middle, kind->size_high);
	if (chance < kind->serial + kind->powers)
		size = floor(size + 0.5);
	return (uint32_t)floor(exp2(size) + 0.5);
}

static double draw_run_s(struct variates *variates, const struct kind *kind, uint32_t nodes)
{
	const double first = fmin(1, fmax(0, kind->run_slope * nodes + kind->run_offset));
	double value;

	do {
		const int part = variates_uniform(variates, 0, 1) < first ? 0 : 1;

		value = draw_gamma(variates, &kind->run[part], INFINITY);
	} while (value > RUN_LOG_MAX);
	return floor(exp(value));
}

void lublin_draw(struct variates *variates, uint32_t count, struct lublin_job *ret_jobs)
{
	struct arrivals arrivals[KINDS] = {0};

	for (size_t k = 0; k < KINDS; k++) {
		weigh_day(&arrivals[k], &kinds[k].day);
		advance(&arrivals[k], &kinds[k], variates);
	}
	for (uint32_t i = 0; i < count; i++) {
		const size_t k = arrivals[1].time_s < arrivals[0].time_s;

		ret_jobs[i].arrival_s = arrivals[k].time_s;
		ret_jobs[i].nodes = draw_nodes(variates, &kinds[k]);
		ret_jobs[i].run_s = draw_run_s(variates, &kinds[k], ret_jobs[i].nodes);
		advance(&arrivals[k], &kinds[k], variates);
	}
}

double lublin_load(const struct lublin_job *jobs, uint32_t count, uint32_t nodes)
{
	double work_s = 0;

	for (uint32_t i = 0; i < count; i++)
		work_s += jobs[i].run_s * jobs[i].nodes;
	return work_s / (nodes * (jobs[count - 1].arrival_s - jobs[0].arrival_s));
}

void lublin_scale(struct lublin_job *jobs, uint32_t count, uint32_t nodes, double load)
{
	const double factor = lublin_load(jobs, count, nodes) / load;
	const double first_s = jobs[0].arrival_s;

	for (uint32_t i = 0; i < count; i++)
		jobs[i].arrival_s = first_s + factor * (jobs[i].arrival_s - first_s);
}
