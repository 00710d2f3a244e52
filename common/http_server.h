/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/http_listener.h"
#include "common/transport.h"

/*
 * A JSON API on the GLib main loop, by libsoup. Listens on a Unix socket ("unix:/path", mode 0600,
 * a stale socket file is replaced), on loopback ("http://127.0.0.1:port") or, with TLS, on any
 * address of this machine ("https://0.0.0.0:port"). Request bodies larger than 1 MiB are refused
 * with 413, bodies that are not JSON, or more than {} if the path takes none, with 400, unknown
 * paths with 404, known paths with another method with 405; every error body is {"error": "..."}. A
 * request with ambiguous framing, or with a duplicate of a header that the server uses, is refused
 * at once with 400. A refusal is sent at the latest after 64 MiB of the body (http_early_reject.h),
 * and after 1 MiB if the guard does not know the sender.
 *
 * Browsers may be among the peers. Answers forbid them to guess types, to load anything from
 * elsewhere, to show the answer in another site's frame, and to store it, unless a handler sets
 * Cache-Control. Requests of another site's page are refused with 403: by their Origin, and on
 * loopback by a Host that is not loopback (DNS rebinding).
 *
 * A server may have a guard, which identifies the sender of a request and gives it a role:
 * http_server_guard(). Without a guard every peer may do everything.
 */
struct http_server;
typedef struct http_server http_server_t; /* for g_autoptr() */
struct http_request;

/*
 * Answers a request. `arguments` holds what matched each `*` of the path, in order,
 * NULL-terminated; `body` may be NULL; both are borrowed and live until the request is answered or
 * cancelled. The handler answers with http_request_reply() or http_request_fail(), at once or later
 * (long poll).
 */
typedef void (*http_handler_f)(struct http_request *request, const char *const *arguments,
			       json_t *body, void *data);

/* The rights of a peer. Each role includes those before it. */
enum http_role {
	HTTP_ROLE_NONE = 0, /* nothing; the default of a route, which is then closed to all */
	HTTP_ROLE_ANYBODY,  /* public: the files of a page */
	HTTP_ROLE_VIEWER,   /* read what all users may know */
	HTTP_ROLE_USER,     /* submit tasks, and control their own */
	HTTP_ROLE_OPERATOR, /* everything */
};

/*
 * Denies a user (HTTP_ROLE_USER, of this id) access to what the path's arguments name: returns the
 * text of the refusal (freed by the server), which is the same whether the thing exists or not.
 * NULL: access is granted.
 */
typedef char *(*http_authorize_f)(const char *const *arguments, int64_t uid, void *data);

/* A row of an API table, which ends with a row whose method is NULL. The first match is used. */
struct http_route {
	const char *method;
	const char *path; /* e.g. "/v1/tasks/<any>", written with a lone * for each argument */
	http_handler_f handler;
	enum http_role role;       /* the least role that a guard requires */
	http_authorize_f keep_out; /* further check; NULL: the role is enough */
	const char *query;         /* names of its parameters, separated by spaces; NULL: none */
	bool takes_body;           /* false: a request with a body other than {} is answered 400 */
	int what;                  /* for a handler of several routes: http_request_what() */
};

/* The identity that a guard gives to a peer. */
struct http_identity {
	enum http_role role; /* HTTP_ROLE_NONE: not known */
	int64_t uid;         /* of a user of this machine, or HTTP_PEER_* */
	bool unbound;        /* the limits of http_server_limit() do not apply */
};

/*
 * Identifies the sender of a request by its header Authorization (NULL: it has none) and the
 * http_request_peer_uid() of its connection. Called for each request before its body is read, again
 * when the body has arrived, and once more before a delayed answer: a sender that is no longer
 * known, has another identity or a lower role is then answered 401.
 */
typedef struct http_identity (*http_guard_f)(const char *authorization, int64_t peer_uid,
					     void *data);

/*
 * Starts to listen, on the default main context. `platform` and `routes` must outlive the server.
 * Returns NULL with `error` (HTTP_ERROR_ADDRESS, or G_IO_ERROR); a socket on which another process
 * answers is not replaced.
 */
struct http_server *http_server_new(const struct platform *platform, const char *address,
				    const struct http_route *routes, void *data, GError **error);

/* As http_server_new(), with TLS if `tls` is not NULL: `address` is then an https address. */
struct http_server *http_server_new_tls(const struct platform *platform, const char *address,
					const struct http_tls *tls, const struct http_route *routes,
					void *data, GError **error);

/*
 * Sets the guard for all later requests. A sender that it does not know is answered 401 on every
 * path but those of HTTP_ROLE_ANYBODY, whether the path exists or not; a sender without a
 * sufficient role 403. Both bodies are always the same. A refusal by a route's keep_out is a 403 as
 * well, sent before the body of the request is looked at.
 */
void http_server_guard(struct http_server *server, http_guard_f guard, void *data);

/* The maximum number of delayed requests at a time, of one user and of all. */
#define HTTP_SERVER_WAITING_USER_MAX 64
#define HTTP_SERVER_WAITING_MAX 256

/* Bytes of answers that a user has not read yet, at which the next request is refused. */
#define HTTP_SERVER_UNREAD_USER_MAX (32 << 20)

/*
 * From now on every user may make `requests_per_s` requests, and HTTP_RATE_BURST_S times that at
 * once; unauthenticated peers share one such budget. Requests above the rate are answered 429.
 * Delayed requests above the maximum are answered 503, as are those of a user who does not read the
 * answers. All these answers say with Retry-After when to try again. Only for a server with a
 * guard.
 */
void http_server_limit(struct http_server *server, double requests_per_s);

/*
 * Stops listening, drops open requests (their cancel callbacks are called), removes the socket
 * file; NULL is allowed. Not to be called by a handler.
 */
void http_server_free(struct http_server *server);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(http_server_t, http_server_free)

/*
 * Lets the members of a group connect to its Unix socket as well, from now on (mode 0660). Returns
 * false with `error` (G_IO_ERROR): the process may not give the file to that group, or there is
 * none.
 */
bool http_server_share(struct http_server *server, gid_t group, GError **error);

/*
 * The address that it listens at, for http_client_new(), with the actual port if port 0 was given.
 * Borrowed.
 */
const char *http_server_address(const struct http_server *server);

/*
 * A query parameter as text (borrowed), or NULL. Requests with an unknown or a duplicate parameter
 * have been refused with 400 before.
 */
const char *http_request_query(struct http_request *request, const char *key);

/*
 * A query parameter as a whole number in digits, from `least` to `most`; `otherwise` if it is not
 * given. Returns false if it is invalid, after answering the request with 400.
 */
bool http_request_query_integer(struct http_request *request, const char *key, uint64_t least,
				uint64_t most, uint64_t otherwise, uint64_t *ret_value);

/* As http_request_query_integer(), for a decimal number, which may have an exponent. */
bool http_request_query_real(struct http_request *request, const char *key, double least,
			     double most, double otherwise, double *ret_value);

/* The `what` of the request's route. */
int http_request_what(const struct http_request *request);

/* A header of the request (borrowed), or NULL. */
const char *http_request_header(struct http_request *request, const char *name);

/*
 * Peers without a user id: any process, over loopback; a process that the kernel does not identify.
 */
#define HTTP_PEER_ANYBODY TRANSPORT_PEER_ANYBODY
#define HTTP_PEER_UNKNOWN TRANSPORT_PEER_UNKNOWN

/*
 * The user id of the request's identity, by the server's guard. Without a guard it is that of the
 * process at the other end of a Unix socket, as it was when it connected; HTTP_PEER_ANYBODY on
 * loopback, HTTP_PEER_UNKNOWN if the kernel does not report it or the peer is gone: such a peer has
 * only the rights of everyone.
 */
int64_t http_request_peer_uid(struct http_request *request);

/* The role of the request's sender; without a guard HTTP_ROLE_OPERATOR. */
enum http_role http_request_role(struct http_request *request);

/* Sets a header of the answer to come. */
void http_request_set_header(struct http_request *request, const char *name, const char *value);

/* Answers with `status` and `body` (reference taken, may be NULL) and ends the request. */
void http_request_reply(struct http_request *request, int status, json_t *body);

/* Answers with `body` (borrowed) of media type `type`, e.g. "text/css", and ends the request. */
void http_request_reply_bytes(struct http_request *request, int status, const char *type,
			      GBytes *body);

/*
 * Answers {"error": message} and ends the request. Returns false, so that a function which refuses
 * a request is one statement.
 */
bool http_request_fail(struct http_request *request, int status, const char *format, ...)
	G_GNUC_PRINTF(3, 4);

/* As http_request_fail(), with `word` for programs as "refusal"; NULL: none. */
bool http_request_refuse(struct http_request *request, int status, const char *word,
			 const char *format, ...) G_GNUC_PRINTF(4, 5);

/*
 * Sets a callback for the case that the peer goes away before the answer, or the server is freed;
 * the request must not be used after it. For handlers that answer later. A peer that goes away is
 * noticed at once, not at the time of the answer.
 */
void http_request_on_cancel(struct http_request *request,
			    void (*cancelled)(struct http_request *request, void *data),
			    void *data);
