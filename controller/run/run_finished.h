/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "controller/run/run_plan.h"
#include "controller/sched/policy.h"
#include "controller/store/store.h"

/* Whether the run has ended, and was not aborted. */
bool run_has_ended(const struct store_run *row);

/* Whether it is the run of `policy` under `limit` in this repeat. */
bool run_is_cell(const struct store_run *row, const struct policy *policy, double limit,
		 uint32_t repeat);

/*
 * The policies as the store names them: a name has all of its modifiers. A name that is no policy's
 * stays as it is. NULL-terminated; the caller frees.
 */
char **run_policy_names(char *const *written);

/* What the end of an experiment until its verdict is on record as, in table meta. */
#define RUN_VERDICT_END "verdict_end"

/*
 * Whether the plan in run directory `dir` is finished: its estimates exist, each of its runs has
 * ended and was not aborted, or no further run is wanted until the verdict, and its end is on
 * record. Read-only. A plan without runs is never
 * finished by this function.
 */
bool run_is_finished(const struct run_plan *plan, const char *dir);
