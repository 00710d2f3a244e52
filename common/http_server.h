/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/http_listener.h"

/*
 * A JSON API on the GLib main loop, by libsoup. Listens on a Unix socket ("unix:/path", mode 0600,
 * a stale socket file is replaced), on loopback ("http://127.0.0.1:port") or, with TLS, on any address of this
 * machine ("https://0.0.0.0:port"). Request bodies larger than 1 MiB are refused with 413, bodies that are not
 * JSON, or more than {} where the path takes none, with 400, unknown paths with 404, known paths with another method with 405; every error body is
 * {"error": "..."}. A request of which it is not plain where it ends, or that has a header twice which we go by, is
 * refused at once, with 400. Who is refused is answered at the latest after 64 MiB of the body (http_early_reject.h), whom the
 * guard does not know after 1 MiB.
 *
 * Browsers may be among the peers. Answers forbid them to guess types, to load anything from elsewhere,
 * to show the answer in another site's frame, and to keep it, unless a handler says otherwise (Cache-Control). What
 * another site's page asks for is refused with 403: by its Origin, and on loopback by a Host that is not loopback (DNS
 * rebinding).
 *
 * A server may have a guard, which tells who asks, and what that one may do: http_server_guard(). Without
 * one whoever reaches the server may do everything.
 */
struct http_server;
typedef struct http_server http_server_t; /* for g_autoptr() */
struct http_request;

/*
 * Answers a request. `arguments` holds what the path's `*` matched, in order, NULL-terminated;
 * `body` may be NULL; both are borrowed and live until the request is answered or cancelled. The
 * handler answers with http_request_reply() or http_request_fail(), at once or later (long poll).
 */
typedef void (*http_handler_f)(struct http_request *request, const char *const *arguments,
			       json_t *body, void *data);

/* What somebody may do. Each role may do what those before it may, too. */
enum http_role {
	HTTP_ROLE_NONE = 0, /* nothing; a route that does not say its role is nobody's */
	HTTP_ROLE_ANYBODY,  /* what tells nothing: the files of a page */
	HTTP_ROLE_VIEWER,   /* look at what is everybody's to know */
	HTTP_ROLE_USER,     /* have tasks, and do what they want with them */
	HTTP_ROLE_OPERATOR, /* everything */
};

/*
 * Keeps a user (HTTP_ROLE_USER, of this id) from what the path names, by its arguments: a short text (freed by the
 * server), the same for all that is to be kept from them, whether it is there or not. NULL: it is theirs.
 */
typedef char *(*http_authorize_f)(const char *const *arguments, int64_t uid, void *data);

/* One row of an API table; ends with a row whose method is NULL. The first match serves. */
struct http_route {
	const char *method;
	const char *path; /* e.g. "/v1/tasks/<any>", written with a lone * for each argument */
	http_handler_f handler;
	enum http_role role; /* that a guard asks for */
	http_authorize_f keep_out; /* NULL: the role is enough */
	const char *query; /* parameters that it knows, with a space between two; NULL: none */
	bool takes_body; /* false: a request with a body other than {} is answered 400 */
};

/* Who asks, by the word of a guard. */
struct http_identity {
	enum http_role role; /* HTTP_ROLE_NONE: nobody that it knows */
	int64_t uid;	     /* of a user of this machine, or HTTP_PEER_* */
	bool unbound;	     /* no limit of http_server_limit() applies */
};

/*
 * Tells who asks, by the request's header Authorization (NULL: it has none) and http_request_peer_uid()
 * of its connection. Called for each request before its body is read, again when it is there, and when it is answered
 * later: who is not known any more, or not as the same, or may do less, is answered 401 then.
 */
typedef struct http_identity (*http_guard_f)(const char *authorization, int64_t peer_uid,
					     void *data);

/*
 * Starts to listen, on the calling thread's default main context. `routes` must outlive the server.
 * Returns NULL with `error` (HTTP_ERROR_ADDRESS, or G_IO_ERROR) set on failure; a socket on which
 * another process answers is not replaced.
 */
struct http_server *http_server_new(const char *address, const struct http_route *routes,
				    void *data, GError **error);

/* The same with TLS where `tls` is not NULL: then the address is one of https. */
struct http_server *http_server_new_tls(const char *address, const struct http_tls *tls,
					const struct http_route *routes, void *data,
					GError **error);

/*
 * From now on `guard` decides. Whom it does not know is answered 401, on every path but those of
 * HTTP_ROLE_ANYBODY, whether there is such a path or not; whose role does not suffice 403. Either has one
 * body that is always the same. Whom a route keeps out is answered 403 as well, before anybody looks at the body of the
 * request.
 */
void http_server_guard(struct http_server *server, http_guard_f guard, void *data);

/* Requests of one user that can wait for their answers at a time, and of all. */
#define HTTP_SERVER_WAITING_USER_MAX 64
#define HTTP_SERVER_WAITING_MAX 256

/* Bytes of answers that one user has not read yet, at which the next request is refused. */
#define HTTP_SERVER_UNREAD_USER_MAX (32 << 20)

/*
 * From now on every user may make so many requests a second, and HTTP_RATE_BURST_S times that at once; whom the
 * guard does not know, all together as many. What is more is answered 429. Further requests than may wait
 * are answered 503, and so are those of a user who does not read the answers. All say with Retry-After when
 * to try again. Only for a server with a guard.
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
 * false with `error` (G_IO_ERROR) set: it may not give the file to that group, or has none.
 */
bool http_server_share(struct http_server *server, gid_t group, GError **error);

/* Where it listens, for http_client_new(): with the real port where 0 was given. Borrowed. */
const char *http_server_address(const struct http_server *server);

/*
 * A query parameter as text (borrowed), or NULL. A request with one that its route does not know, or with one twice, was
 * answered 400 before.
 */
const char *http_request_query(struct http_request *request, const char *key);

/*
 * A query parameter as a whole number in digits, from `least` to `most`; `otherwise` where it is not given. Returns false
 * after it has answered the request with 400: it is something else.
 */
bool http_request_query_integer(struct http_request *request, const char *key, uint64_t least, uint64_t most,
				uint64_t otherwise, uint64_t *ret_value);

/* The same of a decimal number, which may have an exponent. */
bool http_request_query_real(struct http_request *request, const char *key, double least, double most,
			     double otherwise, double *ret_value);

/* A header of the request (borrowed), or NULL. */
const char *http_request_header(struct http_request *request, const char *name);

/* Who asks where there is no user id: anybody, over loopback; somebody whom the kernel does not name. */
#define HTTP_PEER_ANYBODY (-1)
#define HTTP_PEER_UNKNOWN (-2)

/*
 * The user id that the server's guard has told. Without a guard that of the process that asks over a Unix
 * socket, as it was when it connected; HTTP_PEER_ANYBODY on loopback, HTTP_PEER_UNKNOWN where the kernel
 * does not tell or the peer is gone: that one may do nothing that is not everybody's to do.
 */
int64_t http_request_peer_uid(struct http_request *request);

/* What who asks may do; without a guard HTTP_ROLE_OPERATOR. */
enum http_role http_request_role(struct http_request *request);

/* Sets a header of the answer to come. */
void http_request_set_header(struct http_request *request, const char *name, const char *value);

/* Answers with `status` and `body` (reference taken, may be NULL) and ends the request. */
void http_request_reply(struct http_request *request, int status, json_t *body);

/* Answers with `body` (borrowed) of media type `type`, e.g. "text/css", and ends the request. */
void http_request_reply_bytes(struct http_request *request, int status, const char *type,
			      GBytes *body);

/* Answers {"error": message} and ends the request. */
void http_request_fail(struct http_request *request, int status, const char *format, ...)
	G_GNUC_PRINTF(3, 4);

/*
 * Calls `cancelled` if the peer goes away before the answer, or the server is freed; the request
 * must not be used after it. For handlers that answer later. A peer that goes away is noticed at
 * once, not when it is answered.
 */
void http_request_on_cancel(struct http_request *request,
			    void (*cancelled)(struct http_request *request, void *data),
			    void *data);
