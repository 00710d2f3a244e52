/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/http_server.h"
#include "local-sched/core/scheduler.h"

/*
 * What tasks print, as it comes (docs/reference/api.md, Output): readers who wait for more of it. While there
 * are any, the guests of their tasks are asked every now and then.
 */
struct output_api;
typedef struct output_api output_api_t;

/* `scheduler` is borrowed. */
struct output_api *output_api_new(struct scheduler *scheduler);
/* After the server whose requests wait. NULL is allowed. */
void output_api_free(struct output_api *api);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(output_api_t, output_api_free)

/*
 * Answers with the output of task `id` from byte `from` on: when there is more than that, or after
 * wait_s seconds; with wait_s = 0, what there is now.
 */
void output_api_get(struct output_api *api, struct http_request *request, const char *id,
		    uint64_t from, uint64_t wait_s);

/* Answers that there is no task `id`, or that it is kept no more. */
void output_api_unknown(const struct scheduler *scheduler, struct http_request *request,
			const char *id);

/* Tasks have ended, or were looked at. */
void output_api_changed(struct output_api *api);

/*
 * Of `length` bytes as many as make whole characters, where more may follow: what is no UTF-8 at all
 * counts as whole.
 */
size_t output_api_whole(const char *bytes, size_t length);
