/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "controller/run/run_plan.h"

/*
 * Whether the plan in run directory `dir` is finished: its estimates exist, each of its runs has
 * ended and was not aborted, and its end is on record. Read-only. A plan without runs is never
 * finished by this function.
 */
bool run_is_finished(const struct run_plan *plan, const char *dir);
