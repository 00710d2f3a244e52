/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

#include "controller/attribution/replica.h"

/*
 * What a cause was in the runs of a cell (GPtrArray of struct observed_run), with its numbers, as
 * the end of a sentence: "tasks took 1.12 times their estimates". `simulated_j` is the limit of
 * the simulated side. The caller frees.
 */
char *because_text(const struct replica *replica, const GPtrArray *runs, enum cause cause,
		   double simulated_j);
