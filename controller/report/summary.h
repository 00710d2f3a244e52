/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "controller/report/overdue.h"
#include "controller/store/store.h"

/*
 * A run directory summed up: one cell per policy and limit, over its repeats (measured: the same
 * workload again, so deviations are those of measurement) or trials (simulated: a new workload
 * each, so deviations are those of workloads). Tables, plots and verdicts all start from here.
 *
 * Runs that did not end, or were aborted, are left out of the cells and counted apart. That of a service, which has
 * no end, is taken as far as it is on record (service_run.h).
 */

/* One policy under one limit. */
struct summary_cell {
	const char *policy;   /* borrowed from the summary */
	double limit;         /* fraction of the budget */
	double limit_j;
	uint32_t runs;        /* 0: nothing ran here, and all figures are NAN */
	double utility_mean, utility_sd;
	double energy_j_mean, energy_j_sd;
	double arrived_mean, completed_mean, failed_mean, dropped_mean; /* tasks */
	/* Bounded stretches on shared hosts (stretch.h), means over the runs; NAN: not known. */
	double stretch_mean, stretch_sd; /* of the runs' means, and the deviation of those */
	double stretch_max;              /* of the runs' largest */
	uint32_t unfinished;             /* tasks that did not complete, of all runs */
	double robustness_percent; /* tasks on time of those that arrived; NAN: they have no deadlines */
	double ended_s_mean;
	double gap_s;         /* metering gaps, summed over runs and hosts */
	uint32_t ended_limit, ended_time, ended_done; /* runs by what ended them */
	uint32_t open;        /* those of a service, which go on */
};

struct summary {
	char *path;             /* of the directory */
	char *dir;              /* the same for people: always UTF-8 */
	bool measured;
	bool service;           /* its one run is that of a service, and goes on */
	bool deadlines;         /* tasks have some (environment.pruning), and a task on time is worth 1 */
	bool shared;            /* hosts are shared in time: policies are ranked by stretch */
	struct store *store;    /* open for reading */
	GPtrArray *runs;        /* struct store_run: those that ended, or a service's, in order */
	uint32_t left_out;      /* runs that did not end or were aborted */
	GPtrArray *policies;    /* char *, in order of first appearance */
	GArray *limits;         /* double, descending */
	GHashTable *stretches;  /* shared: struct store_run -> struct stretch, owned; else NULL */
	struct summary_cell *cells; /* limits x policies, row = limit */
	uint32_t repeats;       /* most runs of any cell */
	double host_load;       /* mean over the runs that have one, busy cores; NAN: unknown */
	double gap_s;           /* metering gaps of all runs, summed over hosts */
	struct overdue overdue; /* of the runs, as far as on record: simulated ones have none */
};
typedef struct summary summary_t; /* for g_autoptr() */

#define SUMMARY_ERROR (summary_error_quark())
GQuark summary_error_quark(void);
/* Codes of SUMMARY_ERROR; bad input. Errors of the store come as STORE_ERROR. */
enum summary_error { SUMMARY_ERROR_EMPTY = 1 /* no run in it has ended */ };

/*
 * Reads run directory `dir`. Returns a new summary that the caller frees with summary_free(), or
 * NULL with `error` set.
 */
struct summary *summary_load(const char *dir, GError **error);

/* NULL is allowed. */
void summary_free(struct summary *summary);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(summary_t, summary_free)

/* The cell of a policy and a limit, or NULL where there is none or nothing ran. Borrowed. */
const struct summary_cell *summary_cell(const struct summary *summary, const char *policy,
					double limit);

/* The runs of one cell: struct store_run in order of their repeat; frees only the array. */
GPtrArray *summary_cell_runs(const struct summary *summary, const char *policy, double limit);

/*
 * The mean bounded stretch of a run of the summary (stretch.h); NAN where hosts are not shared, or it is
 * not known.
 */
double summary_stretch(const struct summary *summary, const struct store_run *run);

/* Whether two fractions of the budget are the same limit. */
bool summary_same_limit(double a, double b);

/* "limit", "time 3, limit 1": what ended the runs of a cell; "open": a service's goes on. The caller frees. */
char *summary_ended_by(const struct summary_cell *cell);

/*
 * What a mean is over: "4 repeats of one workload", "200 trials, a workload each". The caller
 * frees.
 */
char *summary_over(const struct summary *summary);

/*
 * What a reader must know before the numbers: one line on what ran, then one for each thing that
 * the numbers rest on and that is not the real one (emulated CPUs, quotas, modelled watts), gaps,
 * an experiment that has not come to its end, runs left out. GPtrArray of char *, owned by the caller.
 */
GPtrArray *summary_heading(const struct summary *summary);

/*
 * The machine and the programs that a measurement was made with, on one line: processor,
 * microcode, governor, kernel, libvirt, QEMU, as far as they are on record. The caller frees;
 * NULL: nothing is.
 */
char *summary_machine(const struct summary *summary);

/*
 * The summary as JSON: {"dir", "kind", "facts": {meta}, "over", "notes": [...], "cells":
 * [{"policy", "limit", "limit_j", "runs", "utility_mean", ...}]}. Field names carry units; what is
 * not known is null. New reference.
 */
json_t *summary_json(const struct summary *summary);
