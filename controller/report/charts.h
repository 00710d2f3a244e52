/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "controller/report/chart.h"
#include "controller/report/run_trace.h"
#include "controller/report/summary.h"

/*
 * All charts. Some show several run directories side by side, some a directory, some a run. A chart
 * without data is left out; a simulation has no power samples, for example.
 */

/* The names of all kinds, NULL-terminated: "utility", "estimates", "gantt", ... */
extern const char *const chart_kinds[];

/* The known kinds as one line. The caller frees. */
char *chart_kinds_known(void);

/*
 * The charts to draw. Zeroes: all kinds, for the first repeat or trial of every policy and limit.
 */
struct charts_choice {
	char *const *kinds; /* NULL-terminated names; NULL: all */
	const gint64 *runs; /* ids of the runs that get charts of their own */
	guint runs_count;   /* 0: the first repeat or trial of every policy and limit */
};

/* The charts of a run directory, in display order. */
struct charts_section {
	const struct summary *summary; /* borrowed */
	GPtrArray *whole;              /* struct chart: about all its runs */
	GPtrArray *runs;               /* struct charts_run */
};

/* Charts of one run. */
struct charts_run {
	const struct store_run *run; /* borrowed */
	GPtrArray *charts;           /* struct chart */
};

/* All charts of some directories. */
struct charts {
	struct chart *utility; /* all directories side by side; NULL: not chosen */
	GPtrArray *sections;   /* struct charts_section, one per directory */
};
typedef struct charts charts_t; /* for g_autoptr() */

/*
 * Makes the charts of `count` > 0 directories (borrowed for the result's life). With several
 * directories, file names begin with the directory's kind or name. Returns NULL with `error` when a
 * store cannot be read. `choice` NULL: everything; charts_choice_check() refuses unknown names.
 */
struct charts *charts_new(struct summary *const *summaries, guint count,
			  const struct charts_choice *choice, GError **error);
/* NULL is allowed. */
void charts_free(struct charts *charts);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(charts_t, charts_free)

#define CHARTS_ERROR (charts_error_quark())
GQuark charts_error_quark(void);
enum charts_error { CHARTS_ERROR_KIND = 1, CHARTS_ERROR_RUN }; /* bad input */

/* Whether every kind is known and every run is one of a directory's. False with `error`. */
bool charts_choice_check(const struct charts_choice *choice, struct summary *const *summaries,
			 guint count, GError **error);

/* All charts in order: GPtrArray of struct chart, borrowed from `charts`; frees only the array. */
GPtrArray *charts_list(const struct charts *charts);

/*
 * The single charts, for charts_new() and tests. File names begin with `prefix`. They return a new
 * chart, or NULL where there is nothing to show.
 */

/*
 * Utility against energy limit (Fig. 16 of Machovec 2018): a group of bars per limit, and for each
 * policy a bar per directory (measured full, simulated light), each with its standard deviation.
 */
struct chart *chart_utility(struct summary *const *summaries, guint count);

/*
 * ETC and EEC per type and cluster with 95 % intervals, beside the observations of the runs' tasks.
 */
struct chart *chart_estimates(const struct summary *summary, GPtrArray *traces, const char *prefix,
			      GError **error);

/* Utility earned, and dynamic energy used against its limit, over time: a panel per limit. */
struct chart *chart_utility_time(const struct summary *summary, GPtrArray *traces,
				 const char *prefix);
struct chart *chart_energy_time(const struct summary *summary, GPtrArray *traces,
				const char *prefix);

/* The schedule: nodes as rows, tasks as bars coloured by type, with their outcome. */
struct chart *chart_gantt(const struct summary *summary, const struct run_trace *trace,
			  const char *prefix);

/* Watts over time, of all hosts together and of each, with their idle baselines. */
struct chart *chart_power(const struct summary *summary, const struct run_trace *trace,
			  const char *prefix);
