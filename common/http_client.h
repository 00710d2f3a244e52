/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>
#include <jansson.h>
#include <stdbool.h>

#include "common/http_error.h"
#include "common/platform.h"

/*
 * JSON over HTTP on the GLib main loop, by the platform's transport (transport.h). An address is
 * "unix:/path/to/socket", "https://host:port", or "http://host:port" with a loopback host: no
 * request goes to another machine unencrypted. TLS is 1.2 or later. Proxies in the environment are
 * ignored; a redirection is not followed and counts as no answer.
 *
 * Clients of one main context share their connections: a request uses an idle connection to the
 * same server that was made with the same `ca_file`, `certificate` (both by name) and `insecure`,
 * by any client; `user`, `password` and `header` go with each request. Up to four idle connections
 * per client are kept.
 */
struct http_client;
typedef struct http_client http_client_t; /* for g_autoptr() */

/*
 * The answer to one request: `body` (borrowed, may be NULL for 204) or `error`. `status` is 0 if
 * there was no answer. The callback may send further requests, call http_client_call() and free the
 * client.
 */
typedef void (*http_client_done_f)(int status, json_t *body, const GError *error, void *data);

/*
 * Whether `address` is valid for a client: it has no user, query or fragment, and with http a
 * loopback host (loopback.h). Returns true, or false with HTTP_ERROR_ADDRESS.
 */
bool http_client_check_address(const char *address, GError **error);

/*
 * Creates a client of `address` on the calling thread's default main context. The platform carries
 * its requests, and outlives it.
 */
struct http_client *http_client_new(const struct platform *platform, const char *address,
				    GError **error);

/*
 * As http_client_new(), for reading from a server that is not ours: answers are texts of at most
 * `most` bytes once they are decompressed, each of which a callback gets as a JSON string (what is
 * not UTF-8 is U+FFFD), and http may go to other machines too, so that nothing secret may be sent.
 * Otherwise it is a client of http_client_device().
 */
struct http_client *http_client_new_text(const struct platform *platform, const char *address,
					 size_t most, GError **error);

/*
 * The certificates that a client trusts, and the credentials that it sends. All zero: the system's
 * certificates, no credentials.
 */
struct http_client_identity {
	const char *ca_file;  /* PEM file of the only certificates to trust; NULL: the system's */
	bool insecure;        /* trust any certificate */
	const char *user;     /* Basic authentication, sent with every request; NULL: none */
	const char *password; /* of `user` */
	const char *header;   /* an additional line for every request, "Name: value"; NULL: none */
	const char *certificate; /* PEM file shown to a server that asks for one; NULL: none */
	const char *key;         /* PEM file with the key of `certificate` */
};

/* Sets the identity of later requests; everything is copied. */
void http_client_identify(struct http_client *client, const struct http_client_identity *identity);

/*
 * The answers of an API to the requests that it carries out, for its clients. An answer with
 * another status, content type or shape does not come from that API: a redirecting proxy, another
 * service at that address, or half an answer. A table of operations ends with a row without a
 * method.
 */
struct http_operation {
	const char *method;
	/*
	 * Parts in braces match any text, "/v1/tasks/{task}/hold". If an object in the answer has
	 * such a key, its value must be that part of the request's path.
	 */
	const char *path;
	int status;        /* of an answer */
	int other_status;  /* also allowed; 0: none */
	const char *shape; /* of its body, which is application/json (json.h) */
};

/*
 * Sets the operations of the peer's API (borrowed; the last row has no method). From now on the
 * answer to a request in the table must be that of its operation, or a refusal of status 400 or
 * above with {"error": "reason"}; else the request fails with HTTP_ERROR_BODY. Without a table, and
 * for requests that are not in it, any JSON or an empty body with a status from 200 to 299 is an
 * answer, and any document with a status of 400 or above a refusal.
 */
void http_client_expect(struct http_client *client, const struct http_operation *operations);

/*
 * The operation of a request, whose path may have a query; NULL: the table, which may be NULL, has
 * none.
 */
const struct http_operation *http_operation_find(const struct http_operation *operations,
						 const char *method, const char *path);

/*
 * The timeout of a command's requests: `usual_s`, or the environment's VIRTBED_TIMEOUT, a duration
 * (read_number.h). Returns false with HTTP_ERROR_ADDRESS if that is no duration from 1 ms to a day.
 */
bool http_client_timeout(double usual_s, double *ret_s, GError **error);

/*
 * From now on numbers in answers that JSON cannot represent, or that are too large (NaN, 1e999),
 * are read as strings instead of making the answer invalid (json_parse_mended()).
 */
void http_client_mend_numbers(struct http_client *client);

/*
 * From now on the peer is a device that is not ours, such as a BMC. Answers are at most `most`
 * bytes once they are decompressed, and may be compressed; they are read by json_parse_lenient(). A
 * status of 400 or above is believed although its body is cut. A connection is made within
 * HTTP_CLIENT_CONNECT_S or not at all.
 */
void http_client_device(struct http_client *client, size_t most);

/* The longest time that a device may take to accept a connection, TLS included, in seconds. */
#define HTTP_CLIENT_CONNECT_S 10.0

/*
 * A header of the answer, by name; NULL if it has none. Borrowed. Only the callback of that answer
 * may call this, before it frees the client or waits.
 */
const char *http_client_answer_header(const struct http_client *client, const char *name);

/*
 * Cancels the requests under way without calling their callbacks, closes their connections, and
 * frees the client; NULL is allowed. Its idle connections stay for the other clients of the main
 * context: after an answer to one of them, the oldest connection above the allowed number is
 * closed, and before a request all that were idle for two minutes. The last client closes all.
 */
void http_client_free(struct http_client *client);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(http_client_t, http_client_free)

/*
 * Cancels the requests under way without calling their callbacks, and closes their connections.
 * With `unsent`, it leaves requests of which a part was sent.
 */
void http_client_cancel(struct http_client *client, bool unsent);

/*
 * Waits until the requests under way have ended, at most `timeout_s`, and calls their callbacks,
 * which may make further ones, but must not free the client; what has not ended by then is under
 * way further. Does not run the main loop: no other source, and no callback of another client, is
 * called meanwhile. The requests of all clients of the main context are under way further. For the
 * end of a program, whose main loop has ended.
 */
void http_client_settle(struct http_client *client, double timeout_s);

/*
 * Sends METHOD path with an optional JSON `body` (borrowed) and calls `done` once from the main
 * loop, at the latest after `timeout_s`. Never blocks, never calls `done` before returning.
 */
void http_client_request(struct http_client *client, const char *method, const char *path,
			 json_t *body, double timeout_s, http_client_done_f done, void *data);

/*
 * As http_client_request(), but waits: iterates the client's main context until the answer arrives
 * (so other sources run meanwhile). Returns a new reference (json_null() for an empty body), or
 * NULL.
 */
json_t *http_client_call(struct http_client *client, const char *method, const char *path,
			 json_t *body, double timeout_s, GError **error);

/* As http_client_call(), with the status of the answer in *ret_status: 0 without an answer. */
json_t *http_client_ask(struct http_client *client, const char *method, const char *path,
			json_t *body, double timeout_s, int *ret_status, GError **error);
