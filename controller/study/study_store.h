/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/config/config.h"
#include "common/record/record.h"
#include "controller/engine/engine.h"

/*
 * The results of a study in an SQLite file, DIR/study.sqlite: a row per point, trial, policy and
 * limit. Rows are independent of each other, so an interrupted study can be continued, and shards
 * can be merged. A row has the same values in whichever process it is computed.
 */
struct study_store;

#define STUDY_FILE "study.sqlite"

#define STUDY_ERROR (study_error_quark())
GQuark study_error_quark(void);
/* Codes of STUDY_ERROR. */
enum study_error {
	STUDY_ERROR_OPEN = 1, /* cannot be opened, or is no study: bad input */
	STUDY_ERROR_OTHER,    /* a study of another configuration, seed or version: bad input */
	STUDY_ERROR_WRITE,    /* a row could not be read or written */
	STUDY_ERROR_PARTS,    /* parts that do not make a whole: bad input */
};

/* The variable of a study beside trials, policies and limits. */
struct study_point {
	double size;  /* part of every cluster's nodes */
	double value; /* of the sweep study.x (config_sweep.h); 0: no sweep */
};

/* A row of results. */
struct study_row {
	struct study_point point;
	uint32_t trial;     /* from 1 */
	const char *policy; /* with its modifiers */
	double limit_j;
	struct engine_result result;
	/*
	 * The least of the largest bounded stretches of all configured policies on this trial; 0:
	 * not asked for, or a policy has none.
	 */
	double stretch_best;
};

/* A row as the columns of the file. */
extern const struct record study_row_record;

/*
 * Opens the study in `dir`. With `identity` (a text that identifies configuration, seed and
 * version) it is made if missing, with the configuration `config` (YAML), and a study with another
 * identity is refused; with NULL it must exist. Returns a new store, or NULL with `error`.
 */
struct study_store *study_store_open(const char *dir, const char *identity, const char *config,
				     GError **error);

/* NULL is allowed. */
void study_store_close(struct study_store *store);
typedef struct study_store study_store_t;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(study_store_t, study_store_close)

/* The identity; valid until the store is closed. */
const char *study_store_identity(const struct study_store *store);
/* The configuration as YAML; valid until the store is closed. */
const char *study_store_config(const struct study_store *store);

/* Adds all rows or none; existing rows stay. Returns true, or false with `error`. */
bool study_store_add(struct study_store *store, const struct study_row *rows, size_t count,
		     GError **error);

/*
 * Called for each row, ordered by size, value, policy, limit and trial. The row is borrowed for the
 * call.
 */
typedef void (*study_row_f)(const struct study_row *row, void *data);

/* Calls `each` for all rows. Returns true, or false with `error` set. */
bool study_store_each(struct study_store *store, study_row_f each, void *data, GError **error);

/*
 * As study_store_each(), for the rows of some policies: NULL-terminated names. `config` is the
 * study's; the rows have `stretch_best`.
 */
bool study_store_each_of(struct study_store *store, const struct config *config,
			 const char *const *policies, study_row_f each, void *data, GError **error);

/* The extent of a computation: trials with (trial - 1) mod shards = shard - 1, up to `trials`. */
struct study_part {
	uint32_t shard, shards; /* from 1 to shards, > 0 */
	uint32_t trials;        /* of the whole study, > 0 */
};

/* Records an extent, unless it is recorded already. Returns true, or false with `error`. */
bool study_store_add_part(struct study_store *store, const struct study_part *part, GError **error);

/*
 * The recorded extents: an array of struct study_part, by shards, shard and trials, that the caller
 * frees. Empty for stores of versions that did not record them.
 */
GArray *study_store_parts(struct study_store *store);
