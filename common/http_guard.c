/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Identifies the senders of requests and decides whether they are admitted: by the server's guard,
 * its limits, and the headers of browsers.
 */
#include <libsoup/soup.h>
#include <string.h>

#include "common/http_private.h"
#include "common/loopback.h"
#include "common/transport.h"

/* The common id of all unauthenticated peers; no user has such an id. */
#define STRANGERS (-1000)

/* Keys of a message's data: the identity of its sender, and its unread answer. */
#define IDENTITY_KEY "virtbed-identity"
#define UNREAD_KEY "virtbed-unread"

/* An answer that is being sent. */
struct unread_answer {
	struct http_server *server; /* NULL: the server was freed */
	int64_t uid;
	goffset length;
};

/* Identities. */

/* The user at the other end of a message's connection, as in http_request_peer_uid(). */
static int64_t connection_uid(const struct http_server *server, SoupServerMessage *message)
{
	GIOStream *stream = http_message_stream(message);

	return stream ? server->platform->transport->peer_uid(stream) : HTTP_PEER_UNKNOWN;
}

const struct http_identity *http_guard_identity(SoupServerMessage *message)
{
	return g_object_get_data(G_OBJECT(message), IDENTITY_KEY);
}

int64_t http_request_peer_uid(struct http_request *request)
{
	const struct http_identity *identity = http_guard_identity(request->message);

	return identity ? identity->uid : connection_uid(request->server, request->message);
}

enum http_role http_request_role(struct http_request *request)
{
	const struct http_identity *identity = http_guard_identity(request->message);

	return identity ? identity->role : HTTP_ROLE_OPERATOR;
}

/* Asks the guard for the identity of a message's sender. */
static struct http_identity identify(const struct http_server *server, SoupServerMessage *message)
{
	return server->guard(soup_message_headers_get_one(soup_server_message_get_request_headers(
								  message),
							  "Authorization"),
			     connection_uid(server, message), server->guard_data);
}

/* An unknown sender learns nothing else. */
static void refuse_stranger(SoupServerMessage *message)
{
	soup_message_headers_replace(soup_server_message_get_response_headers(message),
				     "WWW-Authenticate", "Bearer realm=\"virtbed\"");
	http_message_fail(message, SOUP_STATUS_UNAUTHORIZED, "give a token that is good");
}

bool http_guard_still_knows(const struct http_server *server, SoupServerMessage *message)
{
	const struct http_identity *then = http_guard_identity(message);
	struct http_identity now;

	if (!then || then->role <= HTTP_ROLE_ANYBODY)
		return true;
	now = identify(server, message);
	if (now.uid == then->uid && now.role >= then->role)
		return true;
	refuse_stranger(message);
	return false;
}

/* Browsers. */

/* Whether `host`, as in a Host header, names this machine's loopback. */
static bool is_loopback(const char *host)
{
	g_autofree char *text = g_strconcat("http://", host, NULL);
	g_autoptr(GUri) uri = g_uri_parse(text, G_URI_FLAGS_NONE, NULL);

	return uri && loopback_is(g_uri_get_host(uri));
}

/*
 * Whether a browser sent the request for another site's page: its Origin is another site, or its
 * Host is not this server. On a network, the certificate proves our name.
 */
bool http_guard_is_foreign(const struct http_server *server, SoupServerMessage *message)
{
	SoupMessageHeaders *headers = soup_server_message_get_request_headers(message);
	const char *origin = soup_message_headers_get_one(headers, "Origin");
	const char *host = soup_message_headers_get_one(headers, "Host");
	const char *site = origin ? strstr(origin, "://") : NULL;

	if (origin && (!site || !host || g_ascii_strcasecmp(site + 3, host) != 0))
		return true;
	if (!host || is_loopback(host) || !http_listener_is_local(server->listener))
		return false;
	/*
	 * Programs use any name for a Unix socket; names with dots come from browsers, through a
	 * tunnel.
	 */
	return !g_str_has_prefix(http_listener_address(server->listener), "unix:") ||
	       strchr(host, '.');
}

/* Admission. */

/* Refuses a request that would be accepted a little later. */
static void refuse_for_now(SoupServerMessage *message, int status, const char *reason)
{
	soup_message_headers_replace(soup_server_message_get_response_headers(message),
				     "Retry-After", "1");
	http_message_fail(message, status, reason);
}

/* Called when its message is freed: all is written, or the connection has ended. */
static void unread_answer_free(void *data)
{
	struct unread_answer *answer = data;

	if (answer->server)
		g_queue_remove(&answer->server->unread, answer);
	g_free(answer);
}

void http_guard_answered(struct http_server *server, SoupServerMessage *message)
{
	const struct http_identity *identity = http_guard_identity(message);
	struct unread_answer *answer;

	if (!server->rate || identity->unbound)
		return;
	answer = g_new0(struct unread_answer, 1);
	answer->server = server;
	answer->uid = identity->uid;
	answer->length = soup_server_message_get_response_body(message)->length;
	g_queue_push_tail(&server->unread, answer);
	g_object_set_data_full(G_OBJECT(message), UNREAD_KEY, answer, unread_answer_free);
}

void http_guard_forget_unread(struct http_server *server)
{
	struct unread_answer *answer;

	while ((answer = g_queue_pop_head(&server->unread)))
		answer->server = NULL;
}

/* Whether the sender has too many bytes of unread answers. */
static bool is_sated(struct http_server *server, SoupServerMessage *message)
{
	const struct http_identity *identity = http_guard_identity(message);
	goffset own = 0;

	if (!server->rate || identity->unbound)
		return false;
	for (const GList *at = server->unread.head; at; at = at->next) {
		const struct unread_answer *answer = at->data;

		own += answer->uid == identity->uid ? answer->length : 0;
	}
	return own >= HTTP_SERVER_UNREAD_USER_MAX;
}

/* Whether no more requests may be delayed: of this user, or in all. */
static bool is_crowded(struct http_server *server, SoupServerMessage *message)
{
	const struct http_identity *identity = http_guard_identity(message);
	guint own = 0;

	if (!server->rate || identity->unbound)
		return false;
	for (const GList *at = server->open.head; at; at = at->next)
		own += http_guard_identity(((struct http_request *)at->data)->message)->uid ==
		       identity->uid;
	return own >= HTTP_SERVER_WAITING_USER_MAX ||
	       server->open.length >= HTTP_SERVER_WAITING_MAX;
}

/*
 * Whether the sender's role is sufficient for a route, or, with NULL, for an answer that there is
 * none.
 */
static bool suffices(SoupServerMessage *message, const struct http_route *route)
{
	const struct http_identity *identity = http_guard_identity(message);

	if (!identity)
		return true;
	if (!route)
		return identity->role > HTTP_ROLE_ANYBODY;
	return route->role != HTTP_ROLE_NONE && identity->role >= route->role;
}

/* The path, as libsoup passes it to handlers. */
static const char *path_of(SoupServerMessage *message)
{
	const char *path = g_uri_get_path(soup_server_message_get_uri(message));

	if (soup_server_message_is_options_ping(message))
		return "*";
	return *path ? path : "/";
}

bool http_guard_ask(struct http_server *server, SoupServerMessage *message)
{
	struct http_identity identity = identify(server, message);
	const int64_t who = identity.role == HTTP_ROLE_NONE ? STRANGERS : identity.uid;
	const struct http_route *route;
	g_auto(GStrv) arguments = NULL;
	g_autofree char *allowed = NULL;

	identity.role = MAX(identity.role, HTTP_ROLE_ANYBODY);
	g_object_set_data_full(G_OBJECT(message), IDENTITY_KEY,
			       g_memdup2(&identity, sizeof(identity)), g_free);
	route = http_route_find(server->routes, soup_server_message_get_method(message),
				path_of(message), &arguments, &allowed);
	if (server->rate && !identity.unbound &&
	    !http_rate_take(server->rate, who, platform_now_ns(server->platform))) {
		refuse_for_now(message, 429, "too many requests; try again");
		return false;
	}
	if (suffices(message, route))
		return true;
	if (identity.role == HTTP_ROLE_ANYBODY)
		refuse_stranger(message);
	else
		http_message_fail(message, SOUP_STATUS_FORBIDDEN, "that is not for you to do");
	return false;
}

bool http_guard_admit(struct http_server *server, SoupServerMessage *message)
{
	if (!http_guard_still_knows(server, message)) /* its body may have arrived slowly */
		return false;
	if (is_crowded(server, message))
		refuse_for_now(message, SOUP_STATUS_SERVICE_UNAVAILABLE,
			       "too many requests wait for their answers; try again");
	else if (is_sated(server, message))
		refuse_for_now(
			message, SOUP_STATUS_SERVICE_UNAVAILABLE,
			"too much of earlier answers was not read; read them, then try again");
	else
		return true;
	return false;
}

bool http_guard_opens(const struct http_server *server, SoupServerMessage *message,
		      const struct http_route *route, const char *const *arguments)
{
	const struct http_identity *identity = http_guard_identity(message);
	g_autofree char *why = NULL;

	if (identity && identity->role == HTTP_ROLE_USER && route->keep_out)
		why = route->keep_out(arguments, identity->uid, server->data);
	if (why)
		http_message_fail(message, SOUP_STATUS_FORBIDDEN, why);
	return !why;
}

void http_server_guard(struct http_server *server, http_guard_f guard, void *data)
{
	server->guard = guard;
	server->guard_data = data;
}

void http_server_limit(struct http_server *server, double requests_per_s)
{
	http_rate_free(server->rate);
	server->rate = http_rate_new(requests_per_s);
}
