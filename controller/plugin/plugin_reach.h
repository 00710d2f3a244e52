/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config/config.h"
#include "controller/sched/policy.h"

/*
 * Whether the user of the sandbox of runs and services gets to the files that a policy from
 * outside names, where virtbed is root: each folder on their way has to let it through. A folder with an
 * access control list counts as open. False with `error` (PLUGIN_ERROR_NAME), which names the folder
 * and the user and says what to do.
 */
bool plugin_reach_check(const struct policy *policy, const struct config *config, GError **error);
