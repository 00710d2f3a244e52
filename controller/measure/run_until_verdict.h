/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/measure/run_measured.h"

/*
 * The runs of an experiment until its verdict: each cell of a pair once, then again and again the
 * run that is the largest part of a decision (verdict_plan.h), until every pair is decided or too
 * noisy, or the hours of the plan are over. When each cell has run, the noise of the runs is
 * simulated once (resampling.h) and stays as it is from then on.
 *
 * The store keeps the pairs and the noise, and with each run why it was made (event `chosen`). The
 * next run follows from these and the runs that have ended, so that a resumed experiment makes the
 * same choices. Returns true at the end, or false with `error` as run_measured(); VERDICT_ERROR.
 */
bool run_until_verdict(struct run_series *series, GError **error);
