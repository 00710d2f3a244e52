/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>
#include <jansson.h>
#include <stdbool.h>

/*
 * JSON over HTTP on the GLib main loop, by libcurl's multi interface. An address is
 * "unix:/path/to/socket" or "http(s)://host:port". Requests of one client share its connections;
 * proxies in the environment are ignored and redirections are not followed.
 */
struct http_client;
typedef struct http_client http_client_t; /* for g_autoptr() */

#define HTTP_ERROR (http_error_quark())
GQuark http_error_quark(void);
enum http_error {
	HTTP_ERROR_TRANSPORT = 1, /* no answer: refused, timed out, reset; try again */
	HTTP_ERROR_STATUS,        /* answered with status 400 or above; the message holds its text */
	HTTP_ERROR_BODY,          /* the answer was not JSON, or larger than 64 MiB */
	HTTP_ERROR_ADDRESS,       /* the address of a client or server makes no sense */
};

/*
 * The answer to one request: `body` (borrowed, may be NULL for 204) or `error`. `status` is 0 where
 * there was no answer. The callback may send further requests, call http_client_call() and free
 * the client.
 */
typedef void (*http_client_done_f)(int status, json_t *body, const GError *error, void *data);

/* Creates a client of `address` on the calling thread's default main context. */
struct http_client *http_client_new(const char *address, GError **error);

/* Cancels what is under way (its callbacks are not called) and frees; NULL is allowed. */
void http_client_free(struct http_client *client);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(http_client_t, http_client_free)

/*
 * Sends METHOD path with an optional JSON `body` (borrowed) and calls `done` once from the main
 * loop, at the latest after `timeout_s`. Never blocks, never calls `done` before returning.
 */
void http_client_request(struct http_client *client, const char *method, const char *path,
			 json_t *body, double timeout_s, http_client_done_f done, void *data);

/*
 * The same, waiting: iterates the default main context until the answer is there (so other
 * sources run meanwhile). Returns a new reference (json_null() for an empty body), or NULL.
 */
json_t *http_client_call(struct http_client *client, const char *method, const char *path,
			 json_t *body, double timeout_s, GError **error);
