/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

#include "common/task_script.h"
#include "controller/service/run_service.h"

/*
 * The scripts that users submit to a service, and the types for them. A script is a file of the
 * service's state directory, scripts/N.json for the request whose first task is N, since scripts
 * are too large for the store. Only the service's user can read them.
 */

/*
 * The configuration's type for a script that may run for time_s on `nodes` nodes or, if that is 0,
 * on `cores` cores. Candidates have exactly that many nodes, or enough cores, and a sufficient
 * time; the shortest is chosen, then the narrowest. NULL: there is none.
 */
const char *run_service_script_type(const struct config *config, uint32_t nodes, uint32_t cores,
				    double time_s);

/*
 * A list of the configuration's types for an error message, with `scripts` only those for scripts:
 * types that differ by nodes alone appear as a range, and the list is cut after a few. The caller
 * frees it.
 */
char *run_service_known_types(const struct config *config, bool scripts);

/* Saves a script so that it survives a loss of power. False with `error` (G_FILE_ERROR). */
bool run_service_keep_script(const struct run_session *session, uint32_t first,
			     const struct task_script *script, GError **error);

/* Removes the scripts of requests whose tasks have all ended, since they get no further attempt. */
void run_service_drop_scripts(struct run_service *service);

/* Adds the script of a request, as "script", to the body of a start. False with `error`. */
bool run_service_add_script(const struct run_session *session, uint32_t first, json_t *body,
			    GError **error);
