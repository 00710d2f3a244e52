/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

#include "common/task_script.h"
#include "controller/run/run_service.h"

/*
 * The scripts that people submit to a service, and the types for them. Scripts are kept as files of its state
 * directory, scripts/N.json for the request whose first task is N, since they are too large for the store. They are its
 * user's alone.
 */

/*
 * The type of the configuration for a script that may run for time_s on `nodes` nodes or, where that is 0,
 * `cores` cores: of those with just so many nodes, or with enough cores, that are long enough, the one that
 * is shortest, then narrowest. NULL: there is none.
 */
const char *run_service_script_type(const struct config *config, uint32_t nodes, uint32_t cores,
				    double time_s);

/*
 * The types of the configuration, those for scripts alone where `scripts`, as an error lists them: a range of nodes
 * once, and no more than some. The caller frees it.
 */
char *run_service_known_types(const struct config *config, bool scripts);

/* Keeps a script, which survives a loss of power then. False with `error` (G_FILE_ERROR). */
bool run_service_keep_script(const struct run_session *session, uint32_t first,
			     const struct task_script *script, GError **error);

/* Removes the scripts of requests all of whose tasks have ended: no further attempt of one will come. */
void run_service_drop_scripts(struct run_service *service);

/*
 * For remote_run.describe; `data` is the service: whose the task is, which of how many, and its
 * script. A task that nobody is known to have submitted is the user nobody's.
 */
bool run_service_describe(uint32_t task, json_t *body, void *data, GError **error);
