/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>
#include <jansson.h>
#include <stdbool.h>

#include "common/http_operation.h"

/*
 * JSON over HTTP on the GLib main loop, by libcurl's multi interface. An address is "unix:/path/to/socket",
 * "https://host:port", or "http://host:port" at loopback: nothing goes to another machine in the clear. TLS is 1.2 or
 * later. Proxies in the environment are ignored; a redirection is not followed and is no answer.
 *
 * Clients of one main context share their connections: a request takes one that is idle, to the same server and made
 * with the same `ca_file`, `certificate` (both by name) and `insecure`, whoever made it; `user`, `password` and
 * `header` go with each request. Four for each client are kept.
 */
struct http_client;
typedef struct http_client http_client_t; /* for g_autoptr() */

#define HTTP_ERROR (http_error_quark())
GQuark http_error_quark(void);
enum http_error {
	HTTP_ERROR_TRANSPORT = 1, /* no answer: refused, timed out, reset; try again */
	HTTP_ERROR_STATUS,        /* refused with status 400 or above; the message holds its reason */
	HTTP_ERROR_BODY,          /* no answer of the API (http_client_expect()), not JSON, or larger than 64 MiB */
	HTTP_ERROR_ADDRESS,       /* the address of a client or server makes no sense, or is in the clear elsewhere */
	HTTP_ERROR_TRUST,         /* TLS: the server's certificate is not one that we trust */
};

/*
 * The answer to one request: `body` (borrowed, may be NULL for 204) or `error`. `status` is 0 where
 * there was no answer. The callback may send further requests, call http_client_call() and free
 * the client.
 */
typedef void (*http_client_done_f)(int status, json_t *body, const GError *error, void *data);

/*
 * Whether `address` can be one of a client. It has no user, query or fragment, and with http a host at loopback
 * (loopback.h). Returns true, or false with HTTP_ERROR_ADDRESS.
 */
bool http_client_check_address(const char *address, GError **error);

/* Creates a client of `address` on the calling thread's default main context. */
struct http_client *http_client_new(const char *address, GError **error);

/* Whom a client trusts and how it shows who it is. All zero: the system's trust, no name. */
struct http_client_identity {
	const char *ca_file;  /* PEM file of the only certificates to trust; NULL: the system's */
	bool insecure;        /* trust any certificate */
	const char *user;     /* Basic authentication, sent with every request; NULL: none */
	const char *password; /* goes with it */
	const char *header;   /* one more line for every request, "Name: value"; NULL: none */
	const char *certificate; /* PEM file shown to a server that asks for one; NULL: none */
	const char *key;      /* of the certificate, a PEM file */
};

/* Sets the identity of the requests from now on; everything is copied. */
void http_client_identify(struct http_client *client, const struct http_client_identity *identity);

/*
 * Says which API the peer has (borrowed; ends with a row without method). From now on an answer to a request that the
 * table has is that of its operation, or a refusal of status 400 or above with {"error": "reason"}, else the request
 * fails with HTTP_ERROR_BODY. Without a table, and for what it has not, any JSON or nothing with a status from 200 to
 * 299 is an answer, and any document with one of 400 or above a refusal.
 */
void http_client_expect(struct http_client *client, const struct http_operation *operations);

/*
 * The time for an answer: `usual_s`, or what the environment's VIRTBED_TIMEOUT says, as people write times
 * (duration.h). Returns false, with HTTP_ERROR_ADDRESS, where that is no time from 1 ms to a day. For commands.
 */
bool http_client_timeout(double usual_s, double *ret_s, GError **error);

/*
 * From now on an answer that is JSON but for numbers that JSON has no words for, or that are too large (NaN, 1e999), is
 * not refused: they are texts in it (json_parse_mended()).
 */
void http_client_mend_numbers(struct http_client *client);

/*
 * A header of the answer, by name; NULL if it has none. Borrowed, and only to be asked for by the
 * callback that the answer is for, before it frees the client or waits.
 */
const char *http_client_answer_header(const struct http_client *client, const char *name);

/*
 * Cancels what is under way (its callbacks are not called), which closes the connections of that, and frees; NULL is
 * allowed. Idle connections are left to the other clients of the main context: when one of them has its answer, one
 * more than may be kept is closed, the oldest first, and before it asks those that are idle for two minutes. The last
 * client closes all.
 */
void http_client_free(struct http_client *client);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(http_client_t, http_client_free)

/*
 * Sends METHOD path with an optional JSON `body` (borrowed) and calls `done` once from the main
 * loop, at the latest after `timeout_s`. Never blocks, never calls `done` before returning.
 */
void http_client_request(struct http_client *client, const char *method, const char *path,
			 json_t *body, double timeout_s, http_client_done_f done, void *data);

/*
 * The same, waiting: iterates the client's main context until the answer is there (so other
 * sources run meanwhile). Returns a new reference (json_null() for an empty body), or NULL.
 */
json_t *http_client_call(struct http_client *client, const char *method, const char *path,
			 json_t *body, double timeout_s, GError **error);
