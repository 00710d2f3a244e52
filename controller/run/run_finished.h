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
 * Whether the plan in run directory `dir` is finished: its estimates exist, each of its runs has
 * ended and was not aborted, and its end is on record. Read-only. A plan without runs is never
 * finished by this function.
 */
bool run_is_finished(const struct run_plan *plan, const char *dir);
