/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "controller/store/store.h"

/*
 * The slowdown of tasks on shared hosts against execution alone: the bounded stretch of Stillwell
 * 2010, II.B, max(turn-around, 30 s) / max(dedicated time, 30 s), from the records of a run. The
 * dedicated time is the estimate of the type on the cluster. 1 is the minimum and the best.
 *
 * A task that arrived and did not complete, for any reason, counts as if it had ended with its run,
 * or after its dedicated time if that is later: its stretch is at least that value.
 */

/* The stretch of a task. */
struct stretch_task {
	uint32_t task;
	bool completed;
	double bounded;
};

/* The stretches of a run. */
struct stretch {
	uint32_t tasks;      /* number of tasks that arrived before its end; 0: not recorded */
	uint32_t unfinished; /* those that did not complete */
	double mean, max;    /* of the bounded stretches; NAN: unknown */
};

/*
 * The stretches of the tasks of `run`: GArray of struct stretch_task by number, which the caller
 * unrefs. Empty where no tasks are recorded, or a type has no estimate. NULL with `error`
 * (DATABASE_ERROR): not readable.
 */
GArray *stretch_tasks(struct store *store, const struct store_run *run, GError **error);

/*
 * Sets *ret_stretch for `run`: from its tasks, or for a simulation without recorded tasks from its
 * event "stretch". False with `error` as above.
 */
bool stretch_of_run(struct store *store, const struct store_run *run, struct stretch *ret_stretch,
		    GError **error);
