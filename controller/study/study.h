/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <signal.h>

#include "controller/engine/experiment.h"
#include "controller/study/study_store.h"

/*
 * A study: points x trials x policies x limits of a configuration on all cores, stored as they are
 * done; points are sizes, or the values of a sweep. What is stored already is not computed again, so
 * an interrupted study goes on where it was; a shard computes the trials whose number leaves its own
 * remainder. Results depend on neither.
 */
struct study {
	/* One per point, with the same policies: the configuration as varied by study_vary(). */
	const struct experiment *const *experiments;
	const struct study_point *points; /* points_count of them */
	uint32_t points_count;  /* > 0 */
	struct study_store *store;
	uint64_t seed;          /* of the trials; 0: the configured one */
	uint32_t trials;        /* > 0 */
	uint32_t jobs;          /* threads, > 0 */
	uint32_t shard;         /* from 1 to shards: trials with (trial - 1) mod shards = shard - 1 */
	uint32_t shards;        /* > 0 */
	const double *limits_j; /* limits_count of them */
	uint32_t limits_count;
	const volatile sig_atomic_t *stop; /* becomes non-zero when the study is to be interrupted */
	/* Called after each run that was stored, and about once a second; may be NULL. */
	void (*progress)(uint32_t done, uint32_t total, void *data);
	void *data;
};

/*
 * Computes and stores what is missing. Returns true, or false with `error` set:
 * G_IO_ERROR_CANCELLED after an interruption, with all that was done stored.
 */
bool study_run(const struct study *study, GError **error);

/*
 * What tells a study from others: a digest of configuration and seed, and the version of the
 * results. The caller frees it.
 */
char *study_identity(const struct config *config, uint64_t seed);

/* "size\nvalue\npolicy\nlimit\ntrial", which tells a row from all others of a study. The caller frees it. */
char *study_row_key(const struct study_point *point, const char *policy, double limit_j, uint32_t trial);

/*
 * The points of the study of `config`: sizes x values, one of which is a single one. Returns
 * *ret_count of them, > 0; the caller frees.
 */
struct study_point *study_points_new(const struct config *config, uint32_t *ret_count);

/*
 * Makes the configuration of a study that of one point: scales every cluster to a share of its
 * nodes, at least one, and gives the environment the value of the sweep.
 */
void study_vary(struct config *config, const struct study_point *point);

/*
 * Writes DIR/results.csv (a row per point, trial, policy and limit) and DIR/summary.csv (means with
 * 95 % intervals over the trials), in an order that depends on what is in them alone; of shared hosts
 * also DIR/sharing.csv (study_sharing.h), of tasks
 * with deadlines DIR/pruning.csv (study_pruning.h). They have what is stored of `policies`
 * (NULL-terminated names). `config` is the study's. Returns true, or false with `error` set.
 */
bool study_write_tables(struct study_store *store, const struct config *config,
			const char *const *policies, const char *dir, GError **error);

/*
 * The policies of which anything is stored: the configured ones in their order, then the others.
 * NULL-terminated, for the caller to g_strfreev(), or NULL with `error` set.
 */
char **study_stored_policies(struct study_store *store, const struct config *config, GError **error);

/* Which day of a trace each trial runs: a row per trial. Where trials are days of a trace. */
#define STUDY_DAYS_FILE "days.csv"

/* Writes DIR/days.csv for all trials of the study. Returns true, or false with `error` set. */
bool study_write_days(const struct study *study, const char *dir, GError **error);

/* Whether DIR/days.csv is there. */
bool study_has_days(const char *dir);

/* Copies DIR/days.csv of a part, where it has one, to the whole. Returns true, or false with `error` set. */
bool study_copy_days(const char *part, const char *dir, GError **error);
