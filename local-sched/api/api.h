/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

#include "common/http_listener.h"
#include "local-sched/core/scheduler.h"

/*
 * The HTTP API of docs/reference/api.md for a scheduler. It translates requests and responses, and
 * lets readers of the event stream, and of the output of a running task, wait for more.
 */
struct api;
typedef struct api api_t;

/*
 * Serves `scheduler` (borrowed) on `address`: "unix:/path", "http://127.0.0.1:port" or
 * "https://address:port", the last with `tls`, which is NULL otherwise. Returns NULL with `error`
 * if it cannot listen there.
 */
struct api *api_new(const char *address, const struct http_tls *tls, struct scheduler *scheduler,
		    GError **error);

/* Stops serving; NULL is allowed. */
void api_free(struct api *api);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(api_t, api_free)

/*
 * The number of the first of `length` bytes that form whole UTF-8 characters, where more bytes may
 * follow, as in an output. Bytes that are not UTF-8 count as whole characters.
 */
size_t api_whole_characters(const char *bytes, size_t length);
