/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <libsoup/soup.h>

#include "common/http_rate.h"
#include "common/http_server.h"

/*
 * What http_server.c (requests as they come), http_guard.c (whether they may), http_route.c (whose
 * they are), http_framing.c (where they end), http_query.c (what they ask for) and http_request.c (their answers) have in common.
 */

struct http_server {
	SoupServer *soup;
	struct http_listener *listener;
	const struct http_route *routes;
	void *data;
	http_guard_f guard; /* or NULL */
	void *guard_data;
	struct http_rate *rate; /* or NULL */
	GMainContext *context;
	GQueue open; /* struct http_request, unanswered */
	GQueue unread; /* struct unread_answer of http_guard.c */
};

struct http_request {
	struct http_server *server;
	SoupServerMessage *message;
	GHashTable *query; /* or NULL */
	char **arguments;
	json_t *body;
	bool paused;
	GSource *hangup;
	gulong disconnected_id;
	void (*cancelled)(struct http_request *request, void *data);
	void *cancelled_data;
};

/* Messages, whether they have become a request or not. */

/* The socket of a message, or NULL: its peer is gone. */
GSocket *http_message_socket(SoupServerMessage *message);

/* Answers it with {"error": reason}. */
void http_message_fail(SoupServerMessage *message, int status, const char *reason);

/*
 * What is wrong with where a request ends, and with headers that it has more than once (RFC 9112, 6.3; freed by the
 * caller). NULL: nothing. Nobody knows what follows such headers.
 */
char *http_framing_fault(SoupServerMessage *message);

/* Who asks, and whether that one may. */

/* NULL: there is no guard. */
const struct http_identity *http_guard_identity(SoupServerMessage *message);

/*
 * Asks the guard when the headers are there, and looks again when the body is. Returns whether the
 * request may go on; it is refused otherwise.
 */
bool http_guard_ask(struct http_server *server, SoupServerMessage *message);
bool http_guard_admit(struct http_server *server, SoupServerMessage *message);

/* The answer of a message is on its way: it counts as its user's until it was read, or the connection has ended. */
void http_guard_answered(struct http_server *server, SoupServerMessage *message);

/* The server goes before its messages. */
void http_guard_forget_unread(struct http_server *server);

/* Whether a route lets who asks through to what its arguments name. Answers it otherwise. */
bool http_guard_opens(const struct http_server *server, SoupServerMessage *message,
		      const struct http_route *route, const char *const *arguments);

/* Whether who sent a message some time ago is still who that was. Answers it otherwise. */
bool http_guard_still_knows(const struct http_server *server, SoupServerMessage *message);

/* Whether a browser asks for another site's page. */
bool http_guard_is_foreign(const struct http_server *server, SoupServerMessage *message);

/* Routes. */

/*
 * Finds the route of `method` and `path`, with the path's arguments. Returns NULL if there is none,
 * with the methods that the path does have, comma-separated, in `ret_allowed` ("" for none).
 */
const struct http_route *http_route_find(const struct http_route *routes, const char *method,
					 const char *path, char ***ret_arguments,
					 char **ret_allowed);

/*
 * What is wrong with a query, of a route that knows these parameters (as struct http_route has them); freed by the
 * caller. NULL: nothing.
 */
char *http_query_fault(const char *query, const char *known);

/* Says that there is none. */
void http_route_refuse(SoupServerMessage *message, const char *method, const char *path,
		       const char *allowed);

/* Requests. */

/* Calls the handler; `arguments` and `body` are taken over. */
void http_request_handle(struct http_server *server, SoupServerMessage *message,
			 const struct http_route *route, char **arguments, GHashTable *query,
			 json_t *body);

/* The peer is gone, or the server goes. */
void http_request_cancel(struct http_request *request);
