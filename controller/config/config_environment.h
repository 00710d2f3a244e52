/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config/config.h"
#include "controller/config/config_pruning.h"
#include "controller/config/config_serial.h"
#include "controller/config/config_sharing.h"

/*
 * A simulated environment (Machovec 2018, section 4.2): task types, estimates and arrivals are
 * drawn for every trial on the configured clusters; types and estimates stay empty, but with
 * pruning; a workload that the file does not give is filled in.
 */
struct config_environment {
	double tasks_per_day; /* mean number of arrivals in 24 h, > 0; of no use with a trace */
	char *trace;          /* SWF file whose jobs are the tasks (4.3); NULL: drawn ones */
	/* that trial 1 runs, from 1; days without jobs do not count; default 1 */
	uint32_t trace_day;
	uint32_t trace_cores;  /* jobs that ask for more cores are left out; default 4096 */
	uint32_t pstates;      /* default 3; scaling factors evenly from 1 to 0.5 */
	double lead_s;         /* time before the day that counts; default 4 h */
	uint64_t seed;         /* default 1 */
	uint64_t classes_seed; /* of the 20 utility classes; default 1 */
	char **special;        /* special_count clusters that only run types of their own */
	uint32_t special_count;
	double sine_amplitude;          /* of the arrival rates, relative, [0, 1]; default 0.5 */
	struct config_serial *serial;   /* serial tasks in bursts instead; NULL: parallel ones */
	struct config_sharing *sharing; /* jobs on shared hosts instead; NULL: none */
	struct config_pruning *pruning; /* tasks with deadlines instead; NULL: none */
};

/* The rows of the structures above. */
extern const struct config_section config_environment_section;

/* The place of the section in config_served. */
#define CONFIG_ENVIRONMENT 0

/* The environment of `config`, borrowed; NULL: it has the configured types and workload. */
static inline struct config_environment *config_environment(const struct config *config)
{
	return config->served_sections[CONFIG_ENVIRONMENT];
}

/*
 * Fills in what rows alone cannot, the workload included; `config` has an environment. As of
 * config_served.
 */
bool config_environment_fill_in(struct config *config, const char *path, GHashTable *given,
				GError **error);

/*
 * Whether its environment, which it has, makes sense: NULL, or "KEY.PATH: ..." (the caller frees).
 */
char *config_environment_check(const struct config *config);
