/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/config/config.h"

/*
 * What a controller has to do. `virtbed run` or `virtbed profile` writes it into the run directory
 * (plan.json); virtbed-controller reads it at each start. The configuration beside it (config.yaml)
 * is resolved: hosts have their URIs and meters.
 */
struct run_plan {
	char *experiment; /* id of the experiment: unique, at most 40 of [A-Za-z0-9._-] */
	char *api;        /* address of the controller's own API */
	char *listen;     /* a second one, for browsers (http://127.0.0.1:PORT); NULL: none */
	bool profile;     /* measure estimates first */
	uint32_t profile_repeats;
	char *estimates; /* their source: "given", "measured" or a file */
	bool run;        /* then do the runs */
	bool serve;      /* or, instead, serve */
	char **policies; /* NULL-terminated */
	/*
	 * version of the store that `policies` are named for (docs/reference/store.md); 0: not
	 * known, that of its store
	 */
	uint32_t store_version;
	double *limits; /* limits_count fractions */
	uint32_t limits_count;
	uint32_t repeats;   /* of each; with until_verdict at most */
	bool until_verdict; /* runs are chosen, until the pairs are decided (verdict_plan.h) */
	double most_h;      /* hours that these runs may take; 0: any time */
	char **schedulers;  /* address of the local scheduler of each cluster, in order,
			      NULL-terminated */
};

#define RUN_PLAN_ERROR (run_plan_error_quark())
GQuark run_plan_error_quark(void);
enum run_plan_error { RUN_PLAN_ERROR_READ = 1 /* not there, or not a plan: bad input */ };

/* A new experiment id from the configuration's name and the time. */
char *run_plan_experiment_id(const struct config *config);

/* Writes plan.json of run directory `dir`. */
bool run_plan_save(const struct run_plan *plan, const char *dir, GError **error);

/*
 * Reads plan.json of run directory `dir`. Returns a new plan, or NULL with `error`
 * (RUN_PLAN_ERROR_READ) that names the file.
 */
struct run_plan *run_plan_load(const char *dir, GError **error);

/*
 * Replaces the policies' names in a plan read from run directory `dir` by their present names: the
 * plan may be as old as its store, whose runs are read by their present names. Returns false with
 * `error` (DATABASE_ERROR).
 */
bool run_plan_rename(struct run_plan *plan, const char *dir, GError **error);

/* NULL is allowed. */
void run_plan_free(struct run_plan *plan);
typedef struct run_plan run_plan_t;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(run_plan_t, run_plan_free)
