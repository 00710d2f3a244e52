/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <libsoup/soup.h>

#include "common/http_rate.h"
#include "common/http_server.h"

/*
 * What http_server.c (servers and their requests), http_guard.c (authentication and limits) and
 * http_message.c (messages and their answers) share.
 */

struct http_server {
	const struct platform *platform;
	SoupServer *soup;
	struct http_listener *listener;
	const struct http_route *routes;
	void *data;
	http_guard_f guard; /* or NULL */
	void *guard_data;
	struct http_rate *rate; /* or NULL */
	GMainContext *context;
	GQueue open;   /* struct http_request elements without an answer */
	GQueue unread; /* struct unread_answer elements of http_guard.c */
};

struct http_request {
	struct http_server *server;
	const struct http_route *route;
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

/* Messages, before or after they have become a request. */

/* The connection of a message; NULL if its peer is gone. */
GIOStream *http_message_stream(SoupServerMessage *message);

/* Begins an answer, which has no body yet. */
void http_message_begin_answer(SoupServerMessage *message, int status);

/* Answers it with `body`, borrowed; NULL: without a body. */
void http_message_answer(SoupServerMessage *message, int status, json_t *body);

/* Answers it with {"error": reason}. */
void http_message_fail(SoupServerMessage *message, int status, const char *reason);

/* As http_message_fail(), with `word` as "refusal" beside it; NULL: none. */
void http_message_refuse(SoupServerMessage *message, int status, const char *word,
			 const char *reason);

/*
 * The fault in a message's framing, or in headers that it has more than once (RFC 9112, 6.3); the
 * caller frees. NULL: none. What follows such headers is ambiguous.
 */
char *http_framing_fault(SoupServerMessage *message);

/* Authentication and limits. */

/* The identity that the guard gave the sender; NULL: there is no guard. */
const struct http_identity *http_guard_identity(SoupServerMessage *message);

/*
 * http_guard_ask() asks the guard when the headers have arrived, http_guard_admit() checks again
 * when the body has. Both return whether the request may continue; otherwise they have refused it.
 */
bool http_guard_ask(struct http_server *server, SoupServerMessage *message);
bool http_guard_admit(struct http_server *server, SoupServerMessage *message);

/*
 * An answer is being sent: it counts as unread for its user until it was read, or the connection
 * has ended.
 */
void http_guard_answered(struct http_server *server, SoupServerMessage *message);

/* Drops this count; the server is freed before its messages. */
void http_guard_forget_unread(struct http_server *server);

/*
 * Whether a route gives the sender access to what its arguments name. Refuses the message
 * otherwise.
 */
bool http_guard_opens(const struct http_server *server, SoupServerMessage *message,
		      const struct http_route *route, const char *const *arguments);

/*
 * Whether the sender of a delayed message still has the same identity. Refuses the message
 * otherwise.
 */
bool http_guard_still_knows(const struct http_server *server, SoupServerMessage *message);

/* Whether a browser sent the request for another site's page. */
bool http_guard_is_foreign(const struct http_server *server, SoupServerMessage *message);

/* Routes. */

/*
 * Finds the route of `method` and `path`, with the path's arguments. Returns NULL if there is none,
 * with the methods that the path does have, comma-separated, in `ret_allowed` ("" for none).
 */
const struct http_route *http_route_find(const struct http_route *routes, const char *method,
					 const char *path, char ***ret_arguments,
					 char **ret_allowed);

/* Refuses a message without a route. */
void http_route_refuse(SoupServerMessage *message, const char *method, const char *path,
		       const char *allowed);
