/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "controller/engine/engine.h"

/*
 * Corrects a run for the delay of power samples: the energy limit is detected a moment after it was
 * reached, and tasks that ended in between, in whatever way, do not count.
 */

/*
 * Removes a task that ended after result->ended_s from the counts and the utility of `result`.
 * Returns true and in *ret_late the task as it is to be recorded, unfinished; its pointers are
 * those of `task` or constants. False: the task counts, and nothing is changed.
 */
bool run_overshoot_correct(const struct engine_task *task, struct engine_result *result,
			   struct engine_task *ret_late);
