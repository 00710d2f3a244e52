/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "controller/report/summary.h"

/*
 * A run over time, read from its store: tasks, power samples by host, baselines; and the curves
 * computed from them. Charts draw nothing else.
 *
 * A measured run has power samples. A simulated run has none: its energy follows from its tasks,
 * each of which draws its energy evenly over its execution time, as in the simulation.
 */

/* A point of a curve. */
struct run_point {
	double time_s; /* since the start of the run */
	double value;
};

/* The samples of a host. */
struct run_host {
	const char *name;              /* borrowed from the samples */
	double idle_w;                 /* idle baseline; NAN: not recorded */
	struct store_sample **samples; /* `count` samples by time; borrowed */
	guint count;
};

struct run_trace {
	const struct store_run *run; /* borrowed from the summary */
	bool measured;
	GPtrArray *tasks;   /* struct store_task */
	GPtrArray *samples; /* struct store_sample, by host, then time */
	GPtrArray *events;  /* struct store_event */
	GArray *hosts;      /* struct run_host, by name; empty when simulated */
};
typedef struct run_trace run_trace_t; /* for g_autoptr() */

/*
 * Reads a run of `summary` (borrowed for the trace's life). Returns a trace that the caller frees,
 * or NULL with `error` (DATABASE_ERROR). Trials after the first have no recorded tasks: their
 * traces are empty.
 */
struct run_trace *run_trace_load(const struct summary *summary, const struct store_run *run,
				 GError **error);
/* NULL is allowed. */
void run_trace_free(struct run_trace *trace);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(run_trace_t, run_trace_free)

/*
 * The end of a task's bar: its end, or the run's end for a task still running. Seconds; NAN: never
 * started.
 */
double run_trace_task_end_s(const struct run_trace *trace, const struct store_task *task);

/*
 * Utility so far, from (0, 0) to the run's end: a step per task with utility. The caller frees
 * (g_array_unref()), here and below.
 */
GArray *run_trace_utility(const struct run_trace *trace);

/* Dynamic energy so far in joules, from (0, 0) to the run's end; linear between points. */
GArray *run_trace_energy(const struct run_trace *trace);

/* Watts of all hosts together, linear between points; no points for a simulated run. */
GArray *run_trace_watts(const struct run_trace *trace);
