/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/http_server.h"
#include "local-sched/core/scheduler.h"

/*
 * The output of tasks while they run (docs/reference/api.md, Output), for clients that wait for
 * more of it. While such clients wait, the guests of their tasks are read from time to time.
 */
struct output_api;
typedef struct output_api output_api_t;

/* `scheduler` is borrowed. */
struct output_api *output_api_new(struct scheduler *scheduler);
/* Call it after the server was freed, whose requests wait here. NULL is allowed. */
void output_api_free(struct output_api *api);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(output_api_t, output_api_free)

/*
 * Responds with the output of task `id` from byte `from` on: as soon as there is more than that, or
 * after wait_s seconds; with wait_s = 0, with the output so far.
 */
void output_api_answer(struct output_api *api, struct http_request *request, const char *id,
		       uint64_t from, uint64_t wait_s);

/* Responds that there is no task `id`, or that it is not kept any more. */
void output_api_unknown(const struct scheduler *scheduler, struct http_request *request,
			const char *id);

/* Reports that tasks have ended, or that their output was read. */
void output_api_changed(struct output_api *api);

/*
 * The number of the first of `length` bytes that form whole UTF-8 characters, where more bytes may
 * follow. Bytes that are not UTF-8 count as whole characters.
 */
size_t output_api_whole(const char *bytes, size_t length);
