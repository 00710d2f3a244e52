/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/config/config.h"
#include "common/record/record.h"
#include "controller/report/anytime_verdict.h"
#include "controller/report/overdue.h"
#include "controller/store/store.h"

/*
 * The summary of a run directory: a cell per policy and limit, over its repeats (measured: the same
 * workload again, so deviations are those of measurement) or trials (simulated: a new workload
 * each, so deviations are those of workloads). Tables, plots and verdicts are made from it.
 *
 * Runs that did not end, or were aborted, are not in the cells and are counted separately. The run
 * of a service, which has no end, is taken as far as it is recorded (service_run.h).
 */

/* A policy under a limit. */
struct summary_cell {
	const char *policy; /* borrowed from the summary */
	double limit;       /* fraction of the budget */
	double limit_j;
	uint32_t runs; /* 0: no runs, and all figures are NAN */
	double utility_mean, utility_sd;
	double energy_j_mean, energy_j_sd;
	double arrived_mean, completed_mean, failed_mean, dropped_mean; /* tasks */
	/* Bounded stretches on shared hosts (stretch.h), means over the runs; NAN: unknown. */
	double stretch_mean, stretch_sd; /* of the runs' means, and their deviation */
	double stretch_max;              /* of the runs' largest */
	uint32_t unfinished;             /* number of tasks that did not complete, of all runs */
	/* tasks on time in percent of those that arrived; NAN: tasks without deadlines */
	double robustness_percent;
	double ended_s_mean;
	double gap_s; /* metering gaps, summed over runs and hosts */
	uint32_t ended_limit, ended_time, ended_done; /* runs by what ended them */
	uint32_t open;                                /* runs of services, which have no end */
};

struct summary {
	char *path; /* of the directory */
	char *dir;  /* `path` as valid UTF-8 */
	bool measured;
	bool service; /* its single run is that of a service without an end */
	/* tasks have deadlines (environment.pruning), and a task on time is worth 1 */
	bool deadlines;
	bool shared;         /* hosts are shared in time: policies are ranked by stretch */
	char *unread;        /* why this build cannot read its config.yaml; NULL: it can, or none */
	struct store *store; /* open for reading */
	GPtrArray *runs;     /* struct store_run: ended runs, or a service's run, in order */
	uint32_t left_out;   /* runs that did not end or were aborted */
	GPtrArray *policies; /* char *, borrowed from the runs, in order of first appearance */
	GArray *limits;      /* double, descending */
	GHashTable *stretches; /* shared: struct store_run -> struct stretch, owned; else NULL */
	struct summary_cell *cells; /* limits x policies, row = limit */
	guint cells_count;
	uint32_t repeats;       /* most runs of any cell */
	double host_load;       /* mean over the runs that have one, busy cores; NAN: unknown */
	double gap_s;           /* metering gaps of all runs, summed over hosts */
	struct overdue overdue; /* of the measured runs, as far as recorded */
	/* of runs that were made until it; NULL: their number was fixed beforehand */
	struct anytime_verdict *verdict;
};
typedef struct summary summary_t; /* for g_autoptr() */

#define SUMMARY_ERROR (summary_error_quark())
GQuark summary_error_quark(void);
/* Codes of SUMMARY_ERROR; bad input. Errors of the store come as DATABASE_ERROR. */
enum summary_error { SUMMARY_ERROR_EMPTY = 1 /* no run in it has ended */ };

/*
 * Reads run directory `dir`. Returns a new summary that the caller frees with summary_free(), or
 * NULL with `error` set.
 */
struct summary *summary_load(const char *dir, GError **error);

/* NULL is allowed. */
void summary_free(struct summary *summary);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(summary_t, summary_free)

/* The cell of a policy and a limit, or NULL where there is none or it has no runs. Borrowed. */
const struct summary_cell *summary_cell(const struct summary *summary, const char *policy,
					double limit);

/*
 * The runs of a cell: struct store_run in order of their repeat; the caller frees only the array.
 */
GPtrArray *summary_cell_runs(const struct summary *summary, const char *policy, double limit);

/*
 * Calls `each` for every run of every cell, in the order of the cells and of repeats, with `data`.
 * Returns false with `error` at the first call that does.
 */
typedef bool (*summary_run_f)(const struct summary *summary, const struct summary_cell *cell,
			      const struct store_run *run, void *data, GError **error);
bool summary_each_run(const struct summary *summary, summary_run_f each, void *data,
		      GError **error);

/*
 * The types of a run's tasks by their numbers (GUINT_TO_POINTER()); NULL as a type: not recorded.
 * The caller frees. NULL with `error`.
 */
GHashTable *summary_task_types(const struct summary *summary, const struct store_run *run,
			       GError **error);

/* Adds a name, borrowed, or a fraction of the budget, unless the list has it. */
void summary_note_name(GPtrArray *names, const char *name);
void summary_note_limit(GArray *limits, double limit);

/* The configuration of the directory, which the caller frees; NULL with `error`. */
struct config *summary_config(const struct summary *summary, GError **error);

/*
 * The speed of a cluster of a measured run relative to the estimates, by the fact "capabilities" of
 * its store, which may be NULL; 1 where none is recorded. A simulated executor may have a `speed`:
 * measured times of its tasks are compared with estimates in simulated seconds.
 */
double summary_speed(const json_t *capabilities, const char *cluster);

/*
 * The mean bounded stretch of a run of the summary (stretch.h); NAN where hosts are not shared, or
 * it is unknown.
 */
double summary_stretch(const struct summary *summary, const struct store_run *run);

/* Whether two fractions of the budget count as equal. */
bool summary_same_limit(double a, double b);

/*
 * What ended the runs of a cell: "limit", "time 3, limit 1", or "open" for a service. The caller
 * frees.
 */
char *summary_ended_by(const struct summary_cell *cell);

/*
 * The samples of a mean: "4 repeats of one workload", "200 trials, a workload each". The caller
 * frees.
 */
char *summary_over(const struct summary *summary);

/*
 * The heading: a line about the runs, then a line for everything that the numbers rest on instead
 * of real hardware (emulated CPUs, quotas, modelled watts), gaps, an unfinished experiment, runs
 * left out. GPtrArray of char *, owned by the caller.
 */
GPtrArray *summary_heading(const struct summary *summary);

/*
 * The machine and the programs of a measurement, on one line: processor, microcode, governor,
 * kernel, libvirt, QEMU, as far as recorded. The caller frees; NULL: none is recorded.
 */
char *summary_machine(const struct summary *summary);

/*
 * The summary as JSON: {"dir", "kind", "facts": {meta}, "over", "notes": [...], "cells":
 * [{"policy", "limit", "limit_j", "runs", "utility_mean", ...}]}. Field names carry units; unknown
 * values are null. New reference.
 */
json_t *summary_json(const struct summary *summary);

/* Adds a line, with a format as of printf(3), to a GPtrArray of char *. */
void summary_add_line(GPtrArray *lines, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* A cell in that JSON, with the fields of the CSV of report.h. */
extern const struct record summary_cell_record;

/* An array of texts, char *. New reference. */
json_t *summary_texts_json(const GPtrArray *texts);
