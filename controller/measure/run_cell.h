/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/measure/run_measured.h"

/*
 * Makes the run of `policy` under `limit` in this repeat, unless it has ended: continues it where
 * it was interrupted and its tasks still exist (session->go_on, same boot), otherwise closes it as
 * aborted and begins another one. Returns true when it has ended, or false with `error` as
 * run_measured().
 */
bool run_cell(struct run_series *series, const struct policy *policy, double limit, uint32_t repeat,
	      GError **error);
