/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <signal.h>

#include "controller/experiment/experiment.h"
#include "controller/study/study_store.h"

/*
 * A study: points x trials x policies x limits of a configuration on all cores, stored as they
 * complete; points are sizes, or the values of a sweep. Stored results are not computed again, so
 * an interrupted study can be continued; a shard computes the trials whose number has its
 * remainder. Results depend on neither.
 */
struct study {
	/* one per point, with the same policies: the configuration after study_vary() */
	const struct experiment *const *experiments;
	const struct study_point *points; /* points_count of them */
	uint32_t points_count;            /* > 0 */
	struct study_store *store;
	uint64_t seed;   /* of the trials; 0: the configured one */
	uint32_t trials; /* > 0 */
	uint32_t jobs;   /* threads, > 0 */
	/* from 1 to shards: trials with (trial - 1) mod shards = shard - 1 */
	uint32_t shard;
	uint32_t shards;        /* > 0 */
	const double *limits_j; /* array of limits_count */
	uint32_t limits_count;
	const volatile sig_atomic_t *stop; /* becomes non-zero to interrupt the study */
	/* Called after each stored run, and about once a second; may be NULL. */
	void (*progress)(uint32_t done, uint32_t total, void *data);
	void *data;
};

/*
 * Computes and stores the missing results. Returns true, or false with `error`:
 * G_IO_ERROR_CANCELLED after an interruption, with all completed results stored.
 */
bool study_run(const struct study *study, GError **error);

/*
 * Identifies a study: a digest of configuration, seed and version of the results. The caller frees
 * it.
 */
char *study_identity(const struct config *config, uint64_t seed);

/* Identifies a row within a study: "size\nvalue\npolicy\nlimit\ntrial". The caller frees it. */
char *study_row_key(const struct study_point *point, const char *policy, double limit_j,
		    uint32_t trial);

/*
 * The points of the study of `config`: sizes x values; one of the two is single. Returns *ret_count
 * of them, > 0; the caller frees.
 */
struct study_point *study_points_new(const struct config *config, uint32_t *ret_count);

/*
 * Changes a configuration to that of a point: scales every cluster to a part of its nodes, at least
 * one, and gives the environment the value of the sweep.
 */
void study_vary(struct config *config, const struct study_point *point);

/*
 * Writes DIR/results.csv (a row per point, trial, policy and limit) and DIR/summary.csv (means with
 * 95 % intervals over the trials), in an order that depends only on the rows; with shared hosts
 * also DIR/sharing.csv (a row per policy and point, and with several points over "all": mean,
 * standard deviation and maximum over the trials), for tasks with deadlines DIR/pruning.csv (a row
 * per policy and point: means with 95 % intervals). study_metrics.h defines the columns. They
 * contain the stored results of `policies` (NULL-terminated names). `config` is the study's.
 * Returns true, or false with `error`.
 */
bool study_write_tables(struct study_store *store, const struct config *config,
			const char *const *policies, const char *dir, GError **error);

/*
 * The policies with stored results: the configured ones in their order, then the others.
 * NULL-terminated, for g_strfreev(), or NULL with `error`.
 */
char **study_stored_policies(struct study_store *store, const struct config *config,
			     GError **error);

/*
 * The day of a trace that each trial runs: a row per trial. Only where trials are days of a trace.
 */
#define STUDY_DAYS_FILE "days.csv"

/* Writes DIR/days.csv for all trials of the study. Returns true, or false with `error` set. */
bool study_write_days(const struct study *study, const char *dir, GError **error);

/* Whether DIR/days.csv exists. */
bool study_has_days(const char *dir);

/* Copies DIR/days.csv of a part, if any, to the whole. Returns true, or false with `error`. */
bool study_copy_days(const char *part, const char *dir, GError **error);
