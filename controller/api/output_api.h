/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/http_server.h"
#include "controller/run/run_session.h"

/* What a task printed, and the files that came out of it, asked of the local schedulers. */

/*
 * GET /v1/tasks/N/output: what its last attempt has printed, from byte `from` on (the query's; 0: all);
 * waits up to wait_s seconds for more than that. `from` counts only for the attempt `attempt`, if that
 * is given: of a later one all is new.
 */
void output_api_get(struct http_request *request, const struct run_session *session,
		    const char *number);

/* GET /v1/tasks/N/files: what came out of a script, once it has ended. */
void output_api_files(struct http_request *request, const struct run_session *session,
		      const char *number);
