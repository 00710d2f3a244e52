/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/workload/environment.h"

/*
 * Jobs on the hosts of one cluster (Stillwell 2010, dfrs.h): of the Lublin model, of a week of
 * HPC2N's trace, or those that the configuration lists.
 */

/*
 * A new trial; config_environment(config)->sharing must be present. NULL with `error`
 * (WORKLOAD_ERROR_TASK): a job that could not run on the empty cluster.
 */
struct environment_trial *environment_sharing_new(const struct config *config,
						  const struct swf_trace *trace, uint64_t seed,
						  uint32_t number, GError **error);
