/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/platform.h"
#include "local-sched/api/api.h"
#include "local-sched/core/scheduler.h"

/*
 * Both daemons in one process: the run directory of a service with the policy EASY, and the local
 * scheduler of its one cluster "s1", which is simulated.
 */
struct daemons {
	const struct platform *platform; /* of the local scheduler */
	char *dir;                       /* of the run */
	char *controller, *local;        /* addresses */
	struct config *config;
	struct task_store *store;
	struct scheduler *scheduler;
	struct api *api;
};

/* Makes the directory and the addresses; `name` is a part of its path. Release: daemons_clear(). */
void daemons_init(struct daemons *daemons, const struct platform *platform, const char *name);

/* Removes the directory as well. */
void daemons_clear(struct daemons *daemons);

/* Empties the directory, and writes the configuration and the plan of the service into it. */
void daemons_write(const struct daemons *daemons, const char *config_text);

/*
 * Starts the local scheduler with what it has on record in the directory, and ends it, as far as it
 * has started.
 */
bool daemons_try_local(struct daemons *daemons, GError **error);
void daemons_start_local(struct daemons *daemons);
void daemons_end_local(struct daemons *daemons);
