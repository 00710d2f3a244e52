/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "controller/engine/engine.h"

/*
 * What came to an end after the run did. Power samples tell a moment later that the energy limit was
 * reached; tasks that ended in that moment, well or not, do not count.
 */

/*
 * Takes a task that ended after result->ended_s out of the counts and the utility of `result`.
 * Returns true and the task as it is to be recorded in *ret_late, unfinished; its pointers are
 * those of `task` or constants. False: it counts, and nothing is changed.
 */
bool run_late_take_back(const struct engine_task *task, struct engine_result *result,
			struct engine_task *ret_late);
