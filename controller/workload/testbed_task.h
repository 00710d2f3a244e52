/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config/config.h"
#include "common/random.h"
#include "controller/sched/model.h"

/* Single tasks of the testbed's workload (workload_testbed_new()). */

/* A task of a row that arrives then, with its maximal utility. */
struct sched_task testbed_task(const struct config *config, const struct sched_system *system,
			       uint32_t row, double arrival_s, uint32_t max);

/* A task of the configured list. `types` is of config_types_by_name(). */
struct sched_task testbed_given_task(const struct config *config, const struct sched_system *system,
				     GHashTable *types, const struct config_workload_task *given);

/* A task that is drawn, its row from one stream and its utility from another; they may be one. */
struct sched_task testbed_draw_task(const struct config *config, const struct sched_system *system,
				    struct random_stream *types, struct random_stream *utilities,
				    double arrival_s);
