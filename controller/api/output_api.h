/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/http_server.h"

/*
 * The output of tasks and the files that they produced, from the local schedulers:
 * handlers of status_api.c's table.
 */

/*
 * GET /v1/tasks/N/output: the output of the task's last attempt, from byte `from` of the query on
 * (0: all). Waits up to wait_s seconds for output after `from`. With `attempt`, `from` applies only
 * to that attempt: a later one is sent from its beginning.
 */
void output_api_get(struct http_request *request, const char *const *arguments, json_t *body,
		    void *data);

/* GET /v1/tasks/N/files: the output files of a script, once it has ended. */
void output_api_files(struct http_request *request, const char *const *arguments, json_t *body,
		      void *data);
