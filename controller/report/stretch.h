/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "controller/store/store.h"

/*
 * How much longer tasks on shared hosts took than they would have alone: the bounded stretch of Stillwell 2010,
 * II.B, max(turn-around, 30 s) / max(dedicated time, 30 s), from what a run recorded. The dedicated time is
 * the estimate of the type on the cluster. Less is better, and 1 the least.
 *
 * A task that had arrived and did not complete, for whatever reason, counts as if it had ended when
 * its run did, or once its dedicated time was over if that was later: its stretch is at least that.
 */

/* Of one task. */
struct stretch_task {
	uint32_t task;
	bool completed;
	double bounded;
};

/* Of a run. */
struct stretch {
	uint32_t tasks;      /* that arrived before its end; 0: not on record */
	uint32_t unfinished; /* those of them that did not complete */
	double mean, max;    /* of the bounded stretches; NAN: not known */
};

/*
 * The stretches of the tasks of `run`: GArray of struct stretch_task by number, which the caller unrefs. Empty
 * where no tasks are on record, or no estimate of a type. NULL with `error` (STORE_ERROR): not
 * readable.
 */
GArray *stretch_tasks(struct store *store, const struct store_run *run, GError **error);

/*
 * Fills *ret_stretch with those of `run`: from its tasks, or where a simulation recorded none from what it
 * says itself. False with `error` as above.
 */
bool stretch_of_run(struct store *store, const struct store_run *run, struct stretch *ret_stretch,
		    GError **error);
