/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "controller/backend/sim.h"
#include "controller/experiment/experiment.h"
#include "controller/report/summary.h"

/*
 * What each cause (cause.h) was in the measured runs of a directory, read from its store.
 * docs/explanation/attribution.md says what is read from which table.
 */

/* How the last attempt of a task went, relative to its estimates on its cluster. */
struct observed_course {
	uint32_t row;
	uint32_t cluster;  /* UINT32_MAX: it was never placed */
	bool completed;    /* the rest is known; else its time is at_least_s at least */
	double time;       /* (time - launch) / (ETC - the launch in it), > 0 */
	double launch_s;   /* seconds; NAN: not known */
	double power;      /* power / (EEC / ETC); NAN: not known */
	double drawn_s;    /* on queueing clusters its time; else 0 */
	double at_least_s; /* it did not complete: it had executed as long */
};

/* A measured run. */
struct observed_run {
	const struct store_run *run;   /* borrowed from the summary */
	struct observed_course *tasks; /* by number */
	uint32_t tasks_count;
	GArray *losses;         /* struct backend_sim_loss, ascending by task, attempt */
	GArray *steps;          /* struct backend_sim_step of last attempts, ascending by task, n */
	GArray *nodes;          /* struct backend_event, ascending by time */
	GArray *due_s, *late_s; /* double: as simulation_moments */
	bool has_moments;       /* the store has them */
	double base_w;          /* power that no task has; NAN: not known */
	guint failed;           /* tasks that failed */
};

struct observed {
	GPtrArray *runs;   /* struct observed_run, as the runs of the summary */
	double *launch_s;  /* per cluster: the launch that its estimates contain */
	GPtrArray **tasks; /* rows x clusters: struct observed_course, completed; borrowed */
	GPtrArray **all;   /* per cluster: those of all rows */
	/* What suspensions took, per cluster, in the form that simulations take. */
	struct overheads *overheads;
	GArray *migrations; /* struct backend_sim_migration */
	uint32_t rows_count, clusters_count;
};
typedef struct observed observed_t;

/*
 * Reads the runs of `measured`. `experiment` and `trial` are those of its configuration, borrowed
 * for the call. NULL with `error`: the store cannot be read, or its tasks are not those of `trial`.
 */
struct observed *observed_new(const struct summary *measured, const struct experiment *experiment,
			      const struct experiment_trial *trial, GError **error);
/* NULL is allowed. */
void observed_free(struct observed *observed);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(observed_t, observed_free)

/* The completed tasks of a row on a cluster; where none did, of all rows there. May be empty. */
const GPtrArray *observed_tasks(const struct observed *observed, uint32_t row, uint32_t cluster);

#define OBSERVED_ERROR (observed_error_quark())
GQuark observed_error_quark(void);
enum observed_error {
	OBSERVED_ERROR_TASKS = 1, /* the tasks of the store are not those of the configuration */
};
