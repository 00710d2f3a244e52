/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "controller/report/chart.h"
#include "controller/report/run_trace.h"
#include "controller/report/summary.h"

/*
 * The charts there are. One shows several run directories side by side, some show one directory,
 * some one run of it. Where a chart has nothing to show (a simulation has no power samples), it is
 * left out.
 */

/* The names of all kinds, NULL-terminated: "utility", "estimates", "gantt", ... */
extern const char *const chart_kinds[];

/* The known kinds as one line. The caller frees. */
char *chart_kinds_known(void);

/* What to draw. Zeroes: everything, of the first repeat or trial of every policy and limit. */
struct charts_choice {
	char *const *kinds; /* NULL-terminated names; NULL: all */
	const gint64 *runs; /* ids of the runs that get charts of their own */
	guint runs_count;   /* 0: the first repeat or trial of every policy and limit */
};

/* Charts of one run directory, in the order in which they are to be shown. */
struct charts_section {
	const struct summary *summary; /* borrowed */
	GPtrArray *whole;              /* struct chart: of all its runs */
	GPtrArray *runs;               /* struct charts_run */
};

/* Charts of one run. */
struct charts_run {
	const struct store_run *run; /* borrowed */
	GPtrArray *charts;           /* struct chart */
};

/* All that is to be drawn. */
struct charts {
	struct chart *utility; /* all directories side by side; NULL: not chosen */
	GPtrArray *sections;   /* struct charts_section, one per directory */
};
typedef struct charts charts_t; /* for g_autoptr() */

/*
 * Makes the charts of `count` > 0 directories (borrowed for the result's life). File names begin
 * with the directory's kind or name where there are several. Returns NULL with `error` set when a
 * store cannot be read. A choice (NULL: everything) with unknown names is refused by
 * charts_choice_check().
 */
struct charts *charts_new(struct summary *const *summaries, guint count,
			  const struct charts_choice *choice, GError **error);
/* NULL is allowed. */
void charts_free(struct charts *charts);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(charts_t, charts_free)

#define CHARTS_ERROR (charts_error_quark())
GQuark charts_error_quark(void);
enum charts_error { CHARTS_ERROR_KIND = 1, CHARTS_ERROR_RUN }; /* bad input */

/* Whether every kind is known and every run is among those of a directory. */
bool charts_choice_check(const struct charts_choice *choice, struct summary *const *summaries,
			 guint count, GError **error);

/* All charts in order: GPtrArray of struct chart, borrowed from `charts`; frees only the array. */
GPtrArray *charts_list(const struct charts *charts);

/*
 * The single charts, for charts_new() and tests. `prefix` begins the file names. They return a new
 * chart, or NULL where there is nothing to show.
 */

/*
 * Utility against energy limit (Fig. 16 of Machovec 2018): for each limit a group of bars, for each
 * policy a bar per directory (measured full, simulated light), each with its standard deviation.
 */
struct chart *chart_utility(struct summary *const *summaries, guint count);

/* ETC and EEC per type and cluster with 95 % intervals, beside what tasks of the runs took. */
struct chart *chart_estimates(const struct summary *summary, GPtrArray *traces,
			      const char *prefix, GError **error);

/* Utility earned, and dynamic energy used against its limit, over time: a panel per limit. */
struct chart *chart_utility_time(const struct summary *summary, GPtrArray *traces,
				 const char *prefix);
struct chart *chart_energy_time(const struct summary *summary, GPtrArray *traces,
				const char *prefix);

/* Who ran where and when: nodes as rows, tasks as bars coloured by type, the outcome visible. */
struct chart *chart_gantt(const struct summary *summary, const struct run_trace *trace,
			  const char *prefix);

/* Watts over time, of all hosts together and of each, with their idle baselines. */
struct chart *chart_power(const struct summary *summary, const struct run_trace *trace,
			  const char *prefix);
