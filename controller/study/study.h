/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <signal.h>

#include "controller/engine/experiment.h"
#include "controller/study/study_store.h"

/*
 * A study: sizes x trials x policies x limits of a configuration on all cores, stored as they are
 * done. What
 * is stored already is not computed again, so an interrupted study goes on where it was; a shard
 * computes the trials whose number leaves its own remainder. Results depend on neither.
 */
struct study {
	/* One per size, with the same policies: the configuration with its clusters scaled. */
	const struct experiment *const *experiments;
	const double *sizes;    /* sizes_count of them */
	uint32_t sizes_count;   /* > 0 */
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

/*
 * Scales every cluster to a share `size` > 0 of its nodes, at least one.
 */
void study_scale(struct config *config, double size);

/*
 * Writes DIR/results.csv (a row per size, trial, policy and limit) and DIR/summary.csv (means with
 * 95 % intervals over the trials), in an order that depends on what is in them alone. Returns true,
 * or false with `error` set.
 */
bool study_write_tables(struct study_store *store, const char *dir, GError **error);
