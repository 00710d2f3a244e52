/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config/config.h"

/*
 * A study (`virtbed study`): trials x sizes x values x policies x limits, and the figures that show
 * it.
 */
struct config_study {
	uint32_t trials; /* default 48 */
	/*
	 * What the figures have on their x axis: policy, limit, leniency, drop, size, or the name
	 * of a sweep (config_sweep.h). Default: what there are several of.
	 */
	char *x;
	char **values; /* values_count of what is swept; only with a sweep */
	uint32_t values_count;
	double *sizes; /* sizes_count shares of the nodes of every cluster; default 1 */
	uint32_t sizes_count;
};

/* The rows of the structures above. */
extern const struct config_section config_study_section;

/* The place of the section in config_served. */
#define CONFIG_STUDY 1

/* The study of `config`, borrowed; NULL only where config_controller_load() did not read it. */
static inline struct config_study *config_study(const struct config *config)
{
	return config->served_sections[CONFIG_STUDY];
}

/* Fills in what rows alone cannot; the study itself, too, where there is none. */
void config_study_fill_in(struct config *config);

/* Whether its study makes sense: NULL, or "KEY.PATH: ..." (the caller frees). */
char *config_study_check(const struct config *config);
