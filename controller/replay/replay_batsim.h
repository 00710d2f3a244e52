/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/replay/batsim_output.h"
#include "controller/replay/replay.h"

/*
 * The result of a replay as a schedule of Batsim. The processors of a replay are interchangeable:
 * every job gets the ones with the lowest numbers that are free at its start, jobs that start
 * together in the order of the trace. `version` is that of the program. Returns a new schedule.
 */
struct batsim_schedule *replay_batsim(const struct replay_setup *setup,
				      const struct replay_result *result, const char *version);
