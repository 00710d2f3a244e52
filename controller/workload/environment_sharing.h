/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "controller/workload/environment.h"

/*
 * Jobs on the hosts of one cluster (Stillwell 2010, dfrs.h): of the Lublin model, of a week of
 * HPC2N's trace, or those that the configuration lists.
 */

/*
 * Fills in the whole trial. config_environment(config)->sharing must be present. Returns true, or false
 * with `error` (WORKLOAD_ERROR_TASK) set: a job that could not run on the empty cluster.
 */
bool environment_sharing_draw(struct environment_trial *trial, const struct config *config,
			      const struct swf_trace *trace, uint64_t seed, uint32_t number,
			      GError **error);
