/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "controller/run/run_plan.h"

/*
 * Whether nothing of the plan is left to do in run directory `dir`: its estimates are there, each of its runs has
 * ended otherwise than aborted, and its end is on record. Changes nothing. A plan of no runs is never finished here.
 */
bool run_is_finished(const struct run_plan *plan, const char *dir);
