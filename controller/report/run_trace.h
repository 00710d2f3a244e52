/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "controller/report/summary.h"

/*
 * One run as it went, read from its store: tasks, power samples by host, baselines; and the curves
 * that follow from them. Charts draw nothing else.
 *
 * A measured run has power samples. A simulated one has none: its energy follows from its tasks,
 * each drawing its energy evenly over its execution time, as the simulation itself reckons.
 */

/* A point of a curve. */
struct run_point {
	double time_s; /* since the start of the run */
	double value;
};

/* One host's samples. */
struct run_host {
	const char *name;            /* borrowed from the samples */
	double idle_w;               /* its baseline; NAN: not on record */
	struct store_sample **samples; /* count of them, by time; borrowed */
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
 * or NULL with `error` (STORE_ERROR) set. Trials beyond the first have no tasks on record: their
 * traces are empty.
 */
struct run_trace *run_trace_load(const struct summary *summary, const struct store_run *run,
				 GError **error);
/* NULL is allowed. */
void run_trace_free(struct run_trace *trace);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(run_trace_t, run_trace_free)

/* When a bar of a task ends: its end, or that of the run if it ran on. Seconds; NAN: no start. */
double run_trace_task_end_s(const struct run_trace *trace, const struct store_task *task);

/* Utility earned so far, from (0, 0) to the run's end: a step per task that earned some. The caller
 * frees (g_array_unref()), here and below. */
GArray *run_trace_utility(const struct run_trace *trace);

/* Dynamic energy used so far in joules, from (0, 0) to the run's end; straight between points. */
GArray *run_trace_energy(const struct run_trace *trace);

/* Watts of all hosts together, straight between points; no points when simulated. */
GArray *run_trace_watts(const struct run_trace *trace);
