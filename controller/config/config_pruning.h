/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config/config.h"

/*
 * The execution time of a task type on a machine: as samples, or as a PMF. One of both lists is
 * empty.
 */
struct config_pet_entry {
	char *type;
	char *machine;   /* a cluster's name */
	double *samples; /* samples_count measured times, seconds, > 0 */
	uint32_t samples_count;
	uint32_t first; /* bin of the first mass, from 1; default 1 */
	/* masses_count probabilities of that bin and the next ones; they sum to 1 */
	double *masses;
	uint32_t masses_count;
};

/* A task with a deadline that a configuration lists. */
struct config_pruning_task {
	char *type;
	double arrival_s;  /* >= 0, in order */
	double deadline_s; /* hard; after arrival_s */
};

/*
 * Tasks with hard deadlines on machines with queues, which are the clusters (Gentry 2019, VI):
 * policies put tasks into queues, and drop them. Chances, thresholds and factors are in [0, 1].
 */
struct config_pruning {
	double level;  /* tasks that arrive in span_s; default 34000 */
	double span_s; /* default 250000, calibrated (docs/explanation/reproduction.md) */
	/*
	 * Tasks arrive so many times as fast as the machines could do tasks of all types in turn;
	 * level and span_s do not count then. Default 0: they do.
	 */
	double demand;
	uint32_t tasks;    /* of them the first so many make a trial; default 800 */
	uint32_t left_out; /* first and last tasks to leave that do not count; default 100 */
	double variance;   /* of a type's gaps, as a share of their mean; default 0.1 */
	double slack;      /* beta of the deadlines; default 1.7, calibrated */
	/* list_count tasks, the same in all trials; none: drawn */
	struct config_pruning_task *list;
	uint32_t list_count;
	char *pet; /* file of entries; NULL once it is read into the list below */
	/*
	 * entries_count. Without entries the execution times are measured if the configuration has
	 * types; otherwise they are drawn from pet_seed.
	 */
	struct config_pet_entry *entries;
	uint32_t entries_count;
	uint64_t pet_seed;      /* default 4 */
	double bin_s;           /* what a time bin is worth; default 1 */
	uint32_t queue_length;  /* the executing task counts; default 6 */
	double drop_threshold;  /* default 0.5 */
	double defer_threshold; /* default 0.9 */
	double adjustment;      /* p of eq. (7); default drop_threshold */
	double recency;         /* lambda of eq. (8); default 0.9 */
	double toggle;          /* oversubscription level that begins dropping, > 0; default 1 */
	double separation;      /* of the Schmitt trigger; default 0.2; 0: none */
	double fairness;        /* factor; default 0.05 */
	double cull_threshold;  /* of MOC; default 0.3 */
	/* baselines, too, take executing tasks off at deadlines; default true */
	bool evict;
	uint32_t merge; /* most impulses of a completion time; default 0: exact */
	double *prices; /* prices_count: of an hour of each cluster; none: 1 each */
	uint32_t prices_count;
};

/* The rows of the structures above. */
extern const struct config_section config_pruning_section;

/*
 * Reads the execution times of tasks with deadlines from `path` (a file of `profile --pet`) and
 * replaces the entries of environment.pruning, which `config` has, by them. On failure `config` is
 * unchanged. Returns true, or false with `error` set.
 */
bool config_load_pet(struct config *config, const char *path, GError **error);

/* Whether `config` has tasks with deadlines whose execution times are still to be measured. */
bool config_wants_pet(const struct config *config);

/*
 * Fills in the defaults of environment.pruning that depend on other keys, and reads
 * environment.pruning.pet. `path` and `given` as of config_served. Returns true, or false with
 * `error` (CONFIG_ERROR).
 */
bool config_pruning_fill_in(struct config *config, const char *path, GHashTable *given,
			    GError **error);

/* Whether its tasks with deadlines make sense: NULL, or "KEY.PATH: ..." (the caller frees). */
char *config_pruning_check(const struct config *config);
