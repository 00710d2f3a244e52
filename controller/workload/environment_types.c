/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/workload/environment_types.h"

#include <math.h>
#include <string.h>

/* Table 2: starting utilities and urgencies, with the percentage of task types. */
static const struct {
	double low, high; /* of the starting utility */
	double percent[4];
} priorities[] = {
	{6, 8, {2, 2, 0.05, 0}},
	{4, 6, {3.45, 5, 1.5, 3}},
	{2, 4, {0, 10, 10, 10}},
	{1, 2, {0, 0, 20, 33}},
};
static const double urgencies[] = {0.6, 0.2, 0.1, 0.01};

/* Table 3. 0: the cores of the largest cluster; ROW_WIDE: at most one less than that. */
static const struct {
	double percent;
	uint32_t low, high;
} widths[] = {
	{20, 2, 4}, {20, 5, 256}, {40, 257, 4096}, {19, 4097, 0}, {1, 0, 0},
};
#define ROW_WIDE 3
#define ROW_WHOLE 4

/* Section 4.2.4. */
#define SINGLE_MIN_S 3600.0
#define SINGLE_MAX_S (18 * 3600.0)
#define SINGLE_COV 0.15
#define TIME_COV 0.3
#define POWER_MEAN_W 133.0
#define POWER_COV 0.2
/* Section 4.2.7; general types first. */
static const double randomness_cov[] = {0.3, 0.2};
static const double scale_cov[] = {0.03, 0.02};
/* Types that only run on a special cluster: 20 each with two of them. */
#define SPECIAL_TYPES 40

double environment_downey(double nodes, double average, double sigma)
{
	const double parallel = average + average * sigma - sigma;
	const double single = sigma + parallel;

	return (nodes <= parallel ? sigma + parallel / nodes : sigma + 1) / single;
}

static uint32_t special_of(const struct config *config, const char *cluster)
{
	for (uint32_t i = 0; i < config_environment(config)->special_count; i++)
		if (strcmp(config_environment(config)->special[i], cluster) == 0)
			return i + 1;
	return 0;
}

/* Sum of ceil(width / cores) for the widths from 1 to `most`. */
static double nodes_sum(uint32_t most, uint32_t cores)
{
	const double whole = most / cores;

	return cores * whole * (whole + 1) / 2 + (most % cores) * (whole + 1);
}

static double nodes_mean(const struct environment_type *type, uint32_t cores)
{
	return (nodes_sum(type->cores_max, cores) - nodes_sum(type->cores_min - 1, cores)) /
	       (type->cores_max - type->cores_min + 1);
}

static void draw_priority(struct environment_type *type, struct variates *variates)
{
	double weights[G_N_ELEMENTS(priorities) * G_N_ELEMENTS(urgencies)];
	uint32_t cell;

	for (uint32_t i = 0; i < G_N_ELEMENTS(weights); i++)
		weights[i] = priorities[i / 4].percent[i % 4];
	cell = variates_choice(variates, weights, G_N_ELEMENTS(weights));
	type->priority =
		variates_uniform(variates, priorities[cell / 4].low, priorities[cell / 4].high);
	type->urgency = urgencies[cell % 4];
}

double environment_sine(const struct config_environment *environment, double phase, double time_s)
{
	return 1 + environment->sine_amplitude * sin(2 * G_PI * time_s / ENVIRONMENT_DAY_S + phase);
}

double environment_urgency_draw(struct variates *variates, double priority)
{
	uint32_t row = 0;

	while (row + 1 < G_N_ELEMENTS(priorities) && priority < priorities[row].low)
		row++;
	return urgencies[variates_choice(variates, priorities[row].percent,
					 G_N_ELEMENTS(urgencies))];
}

/* Cores of the largest cluster that the type may use. */
static uint32_t largest_cluster(const struct config *config, const struct environment_type *type)
{
	uint32_t largest = 0;

	for (uint32_t c = 0; c < config->clusters_count; c++) {
		const struct config_cluster *cluster = &config->clusters[c];

		if (special_of(config, cluster->name) == type->special)
			largest = MAX(largest, cluster->nodes * cluster->cores);
	}
	return largest;
}

/*
 * Draws a width. Small clusters have fewer widths than the table: these are limited to the
 * cluster's size.
 */
static void draw_width(const struct config *config, struct environment_type *type,
		       struct variates *variates)
{
	const uint32_t largest = largest_cluster(config, type);
	double weights[G_N_ELEMENTS(widths)];
	uint32_t row;

	for (uint32_t i = 0; i < G_N_ELEMENTS(widths); i++)
		weights[i] = widths[i].percent;
	row = variates_choice(variates, weights, G_N_ELEMENTS(widths));
	type->cores_min = row == ROW_WHOLE ? largest : widths[row].low;
	type->cores_max = row == ROW_WIDE    ? largest - 1
			  : row == ROW_WHOLE ? largest
					     : widths[row].high;
	type->cores_max = MAX(1, MIN(type->cores_max, largest));
	type->cores_min = MIN(type->cores_min, type->cores_max);
	type->wide = row >= ROW_WIDE;
}

static uint32_t greatest_divisor(uint32_t a, uint32_t b)
{
	while (b > 0) {
		const uint32_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/*
 * Draws the times in all clusters. The first cluster that can run a type gets the mean; the others
 * vary around the first one's value.
 */
static void draw_places(const struct config *config, struct environment_type *type,
			struct variates *variates)
{
	const double single_s =
		SINGLE_MIN_S + (SINGLE_MAX_S - SINGLE_MIN_S) * (type->priority - 1) / 7;
	const struct environment_place *first = NULL;

	type->places = g_new0(struct environment_place, config->clusters_count);
	for (uint32_t c = 0; c < config->clusters_count; c++) {
		const struct config_cluster *cluster = &config->clusters[c];
		struct environment_place *place = &type->places[c];

		if (special_of(config, cluster->name) != type->special)
			continue;
		place->usable = true;
		type->unit = greatest_divisor(type->unit, cluster->cores);
		place->average = nodes_mean(type, cluster->cores);
		place->single_s = first ? variates_gamma(variates, first->single_s, TIME_COV)
					: variates_gaussian(variates, single_s, SINGLE_COV);
		place->power_w = first ? variates_gamma(variates, first->power_w, POWER_COV)
				       : variates_gamma(variates, POWER_MEAN_W, POWER_COV);
		first = first ? first : place;
	}
}

/*
 * Section 4.2.7: how P-states scale power and time of a type in a cluster. One randomness factor
 * moves both, as one power scaling factor does.
 */
static void draw_scales(const struct config *config, const struct environment_type *type,
			struct environment_place *place, struct variates *variates)
{
	const uint32_t pstates = config_environment(config)->pstates;
	const uint32_t kind = type->special > 0;
	const double randomness = variates_gamma(variates, 1, randomness_cov[kind]);

	for (uint32_t p = 0; p < pstates; p++) {
		const double factor = pstates > 1 ? 1 - 0.5 * p / (pstates - 1) : 1;

		place->power_scale[p] =
			variates_gamma(variates, factor * randomness, scale_cov[kind]);
		place->time_scale[p] =
			1 / variates_gamma(variates, sqrt(factor * randomness), scale_cov[kind]);
	}
}

static double mean_time_s(const struct config *config, const struct environment_type *type)
{
	double sum_s = 0;
	uint32_t count = 0;

	for (uint32_t c = 0; c < config->clusters_count; c++) {
		const struct environment_place *place = &type->places[c];

		if (!place->usable)
			continue;
		sum_s += place->single_s * place->time_scale[0] *
			 environment_downey(place->average, place->average, type->sigma);
		count++;
	}
	return sum_s / count;
}

static void draw_type(const struct config *config, struct environment_type *type,
		      struct variates *variates)
{
	draw_priority(type, variates);
	draw_width(config, type, variates);
	type->sigma = variates_uniform(variates, 4, 10);
	type->phase = variates_uniform(variates, 0, 2 * G_PI);
	draw_places(config, type, variates);
	for (uint32_t c = 0; c < config->clusters_count; c++)
		if (type->places[c].usable)
			draw_scales(config, type, &type->places[c], variates);
	type->mean_s = mean_time_s(config, type);
}

struct environment_type *environment_types_new(const struct config *config,
					       struct variates *variates)
{
	const uint32_t specials = config_environment(config)->special_count;
	struct environment_type *types = g_new0(struct environment_type, ENVIRONMENT_TYPES);

	for (uint32_t i = 0; i < ENVIRONMENT_TYPES; i++) {
		const uint32_t general = ENVIRONMENT_TYPES - (specials > 0 ? SPECIAL_TYPES : 0);

		if (i >= general)
			types[i].special = 1 + (i - general) * specials / SPECIAL_TYPES;
		draw_type(config, &types[i], variates);
	}
	return types;
}

void environment_types_free(struct environment_type *types)
{
	if (!types)
		return;
	for (uint32_t i = 0; i < ENVIRONMENT_TYPES; i++)
		g_free(types[i].places);
	g_free(types);
}

double environment_relative(const struct environment_type *type, uint32_t cluster, uint32_t pstate)
{
	const struct environment_place *first = type->places;
	const struct environment_place *place = &type->places[cluster];

	while (!first->usable)
		first++;
	return place->single_s * place->time_scale[pstate] /
	       (first->single_s * first->time_scale[0]);
}

/*
 * Draws a class: full value for a while, then up to three steps down, each decaying. The paper's
 * classes are not published; the lengths are chosen such that the best policies earn what the paper
 * reports.
 */
static void draw_class(struct environment_class *class_, struct variates *variates)
{
	double level = 1;

	class_->segments_count = variates_integer(variates, 1, 4);
	for (uint32_t i = 0; i < class_->segments_count; i++) {
		const bool alone = class_->segments_count == 1;

		class_->segments[i].duration = alone    ? variates_uniform(variates, 1, 3)
					       : i == 0 ? variates_uniform(variates, 1, 1.75)
							: variates_uniform(variates, 0.8, 3.2);
		class_->segments[i].start_fraction =
			i == 0 ? 1 : level * variates_uniform(variates, 0.5, 1);
		level = class_->segments[i].start_fraction;
		class_->segments[i].end_fraction =
			i == 0 ? 1 : level * variates_uniform(variates, 0.1, 0.6);
		class_->segments[i].modifier = i == 0 ? 0 : variates_uniform(variates, 0.5, 2);
		level = class_->segments[i].end_fraction;
	}
}

void environment_classes_draw(uint64_t seed, struct environment_class *ret_classes)
{
	struct variates *variates = variates_new(seed, 0);

	for (uint32_t i = 0; i < ENVIRONMENT_CLASSES; i++)
		draw_class(&ret_classes[i], variates);
	variates_free(variates);
}

struct utility environment_utility(const struct environment_type *type, double mean_s,
				   const struct environment_class *class_)
{
	struct utility utility = {
		.max = type->priority,
		.segments_count = class_->segments_count,
	};

	for (uint32_t i = 0; i < class_->segments_count; i++) {
		const double modifier = class_->segments[i].modifier;

		utility.segments[i] = (struct utility_segment){
			.curve = modifier > 0 ? UTILITY_EXPONENTIAL : UTILITY_CONSTANT,
			.duration_s = class_->segments[i].duration * mean_s,
			.start_fraction = class_->segments[i].start_fraction,
			.end_fraction = class_->segments[i].end_fraction,
			.rate_per_s = type->urgency * modifier / 60,
		};
	}
	return utility;
}
