/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/config/config.h"
#include "controller/config/config_environment.h"
#include "controller/sched/utility.h"
#include "controller/workload/environment.h"
#include "controller/workload/variates.h"

/* The task types of a trial and the utility classes, which environment.c draws first. */

/* A type in a cluster. */
struct environment_place {
	bool usable;
	double single_s;        /* execution time on one node, P-state 0 before scaling */
	double power_w;         /* per node */
	double average;         /* Downey's A: mean nodes of the type's widths */
	double time_scale[64];  /* per P-state: execution time x this */
	double power_scale[64]; /* per P-state */
};

/* A task type. */
struct environment_type {
	/* 0: general; else the place in config_environment(config)->special + 1 */
	uint32_t special;
	double priority;    /* starting utility */
	double urgency;     /* per minute */
	uint32_t cores_min; /* Table 3 */
	uint32_t cores_max;
	uint32_t unit; /* largest number of cores that divides the nodes it may use */
	bool wide;     /* more than 4,096 cores: arrives in working hours */
	double sigma;  /* Downey */
	double phase;  /* of the sinusoidal arrivals, radians */
	double mean_s; /* execution time at the mean width, P-state 0, over its clusters */
	struct environment_place *places; /* per cluster */
};

/* Seconds of a day. */
#define ENVIRONMENT_DAY_S 86400.0

/*
 * The sinusoidal arrival rate of a type with that phase (radians) relative to its mean, `time_s`
 * after a midnight.
 */
double environment_sine(const struct config_environment *environment, double phase, double time_s);

/* Draws an urgency, per minute, for a starting utility: by the shares of its row in Table 2. */
double environment_urgency_draw(struct variates *variates, double priority);

/* A utility class: segments relative to a type's mean execution time and urgency. */
struct environment_class {
	uint32_t segments_count; /* 1 to 4 */
	struct {
		double duration; /* x mean execution time */
		double start_fraction;
		double end_fraction;
		double modifier; /* of the urgency; 0: constant */
	} segments[UTILITY_SEGMENTS_MAX];
};

/* Draws the ENVIRONMENT_TYPES types. The caller frees them with environment_types_free(). */
struct environment_type *environment_types_new(const struct config *config,
					       struct variates *variates);
void environment_types_free(struct environment_type *types);

/* Execution time of `nodes` nodes relative to one: equation (10) over T(1). */
double environment_downey(double nodes, double average, double sigma);

/*
 * Execution time in a usable cluster at a P-state, relative to the first usable cluster at P-state
 * 0, at any width.
 */
double environment_relative(const struct environment_type *type, uint32_t cluster, uint32_t pstate);

/* Draws the ENVIRONMENT_CLASSES classes of a seed. */
void environment_classes_draw(uint64_t seed, struct environment_class *ret_classes);

/* The utility function of a task that takes `mean_s` on average. */
struct utility environment_utility(const struct environment_type *type, double mean_s,
				   const struct environment_class *class_);
