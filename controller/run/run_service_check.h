/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "common/config/config.h"

/* What a service takes: for the commands, which check it first, and the controller. */

/* The largest number of tasks in one request. */
#define RUN_SERVICE_COUNT_MAX 10000

/* The largest utility of one task. */
#define RUN_SERVICE_UTILITY_MAX 1e6

/* Longest name, key and reason in bytes. */
#define RUN_SERVICE_TEXT_MAX 256

/*
 * Whether `config` can be served with its service.policy: a known policy that needs no energy
 * budget and gives nodes to tasks, on clusters that are not shared. Returns true, or false with
 * `error` (CONFIG_ERROR_MEANING), whose message begins with the key at fault.
 */
bool run_service_check(const struct config *config, GError **error);

/*
 * Whether there is the program or the shared object of service.policy, if that is from outside, in a
 * place that the user of its sandbox gets to. To be asked before a service begins, and before a
 * running one changes to the policy; a service continues without it, with the fallback. Error as
 * above; run_service_check() must have accepted `config`.
 */
bool run_service_find(const struct config *config, GError **error);
