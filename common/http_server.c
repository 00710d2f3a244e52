/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/http_server.h"

#include <libsoup/soup.h>
#include <string.h>

#include "common/http_method_filter.h"
#include "common/http_private.h"
#include "common/http_early_reject.h"
#include "common/json.h"

enum {
	BODY_MAX = 1 << 20,
	/*
	 * A refused body is read up to this size before the answer; for unknown senders up to
	 * BODY_MAX.
	 */
	REFUSED_MAX = 64 << 20,
};

/*
 * The default answer, for requests that libsoup cannot parse, which it does not report; all other
 * answers replace it.
 */
static const char unreadable[] = "{\"error\":\"the headers are no request that can be read\"}";

/* Bodies. */

/* Refuses a body: discards what has arrived and what follows. */
static void refuse_body(SoupServerMessage *message)
{
	SoupMessageBody *body = soup_server_message_get_request_body(message);

	soup_message_body_set_accumulate(body, FALSE);
	soup_message_body_truncate(body);
	http_message_fail(message, SOUP_STATUS_REQUEST_ENTITY_TOO_LARGE,
			  "request body larger than 1 MiB");
}

static void on_chunk(SoupServerMessage *message, GBytes *chunk, gpointer data)
{
	gsize *received = data;
	const gsize before = *received;
	const struct http_identity *identity = http_guard_identity(message);
	const gsize most = identity && identity->role == HTTP_ROLE_ANYBODY ? BODY_MAX : REFUSED_MAX;

	*received += g_bytes_get_size(chunk);
	if (before <= BODY_MAX && *received > BODY_MAX && !soup_server_message_get_status(message))
		refuse_body(message);
	if (before <= most && *received > most)
		http_early_reject_begin(message);
}

/* Reads the body of a message; NULL without `error` if there is none. */
static json_t *parse_body(SoupServerMessage *message, GError **error)
{
	SoupMessageBody *body = soup_server_message_get_request_body(message);
	g_autoptr(GBytes) bytes = soup_message_body_flatten(body);
	gsize length;
	const char *text = g_bytes_get_data(bytes, &length);

	return length > 0 ? json_parse(text, length, "request body", error) : NULL;
}

/* Headers. */

/* The headers of every answer for browsers (see the head of http_server.h). */
static const struct {
	const char *name;
	const char *value;
} answer_headers[] = {
	{"Content-Security-Policy", "default-src 'self'; base-uri 'none'; form-action 'none'; "
				    "frame-ancestors 'none'"},
	{"X-Content-Type-Options", "nosniff"},
	{"Referrer-Policy", "no-referrer"},
	{"Cache-Control", "no-store"},
};

/*
 * libsoup ends every connection that it has not accepted itself after one answer. The header tells
 * the peer so; otherwise its next request would meet a closed connection.
 */
static void set_answer_headers(SoupServerMessage *message)
{
	SoupMessageHeaders *headers = soup_server_message_get_response_headers(message);

	soup_message_headers_replace(headers, "Connection", "close");
	for (gsize i = 0; i < G_N_ELEMENTS(answer_headers); i++)
		soup_message_headers_replace(headers, answer_headers[i].name,
					     answer_headers[i].value);
}

/*
 * Checks a request whose headers have arrived; `fault` is a known fault of them or NULL. Sets the
 * message's status if it is refused.
 */
static void check_headers(struct http_server *server, SoupServerMessage *message, const char *fault)
{
	SoupMessageHeaders *headers = soup_server_message_get_request_headers(message);
	const guint odd = soup_server_message_get_status(message);

	if (server->guard && !http_guard_ask(server, message))
		return;
	if (fault)
		http_message_fail(message, SOUP_STATUS_BAD_REQUEST, fault);
	else if (odd) /* a refusal by libsoup, which gives no reason */
		http_message_fail(message, (int)odd, "that is no target of this server");
	else if (http_guard_is_foreign(server, message))
		http_message_fail(message, SOUP_STATUS_FORBIDDEN,
				  "asked for by another site's page; this server answers its own");
	else if (soup_message_headers_get_content_length(headers) > BODY_MAX)
		refuse_body(message);
}

static void on_headers(SoupServerMessage *message, gpointer data)
{
	g_autofree char *fault = http_framing_fault(message);

	/* libsoup would answer with parts of a handler's answer. */
	soup_message_headers_remove(soup_server_message_get_request_headers(message), "Range");
	check_headers(data, message, fault);
	if (soup_server_message_get_status(message))
		soup_message_body_set_accumulate(soup_server_message_get_request_body(message),
						 FALSE);
	if (fault) /* the end of the body is unknown */
		http_early_reject_begin(message);
}

/* Requests. */

/*
 * A request begins. Its headers are checked by a signal and not by an early handler, since libsoup
 * calls none for "*", or for a target that it refuses itself ("/x%2f../y", another scheme), and
 * still keeps the body.
 */
static void on_started(SoupServer *soup, SoupServerMessage *message, gpointer data)
{
	set_answer_headers(message);
	soup_server_message_set_response(message, "application/json", SOUP_MEMORY_STATIC,
					 unreadable, strlen(unreadable));
	g_signal_connect(message, "got-headers", G_CALLBACK(on_headers), data);
	g_signal_connect_data(message, "got-chunk", G_CALLBACK(on_chunk), g_new0(gsize, 1),
			      (GClosureNotify)(void (*)(void))g_free, 0);
}

/*
 * The request has arrived, its handler was not called yet. "100 Continue" has removed the headers
 * of its answer.
 */
static void on_read(SoupServer *soup, SoupServerMessage *message, gpointer data)
{
	set_answer_headers(message);
}

/* A request is complete. */
static void on_request(SoupServer *soup, SoupServerMessage *message, const char *path,
		       GHashTable *query, gpointer data)
{
	struct http_server *server = data;
	const char *method = soup_server_message_get_method(message);
	const struct http_route *route;
	g_auto(GStrv) arguments = NULL;
	g_autofree char *allowed = NULL;
	g_autofree char *fault = NULL;
	g_autoptr(GError) error = NULL;
	g_autoptr(json_t) body = NULL;

	if (!http_guard_admit(server, message))
		return;
	route = http_route_find(server->routes, method, path, &arguments, &allowed);
	if (!route) {
		http_route_refuse(message, method, path, allowed);
		return;
	}
	if (!http_guard_opens(server, message, route, (const char *const *)arguments))
		return;
	fault = http_query_fault(g_uri_get_query(soup_server_message_get_uri(message)),
				 route->query);
	if (fault) {
		http_message_fail(message, SOUP_STATUS_BAD_REQUEST, fault);
		return;
	}
	body = parse_body(message, &error);
	if (error) {
		http_message_fail(message, SOUP_STATUS_BAD_REQUEST, error->message);
		return;
	}
	if (body && !route->takes_body && !(json_is_object(body) && json_object_size(body) == 0)) {
		http_message_fail(message, SOUP_STATUS_BAD_REQUEST,
				  "request body: this takes none; leave it out");
		return;
	}
	http_request_handle(server, message, route, g_steal_pointer(&arguments), query,
			    g_steal_pointer(&body));
}

/* Life cycle. */

/* A server that does not listen yet. */
static struct http_server *create(const struct http_route *routes, void *data)
{
	struct http_server *server = g_new0(struct http_server, 1);

	server->routes = routes;
	server->data = data;
	server->context = g_main_context_ref_thread_default();
	server->soup = soup_server_new("server-header", "virtbed", NULL);
	g_signal_connect(server->soup, "request-started", G_CALLBACK(on_started), server);
	g_signal_connect(server->soup, "request-read", G_CALLBACK(on_read), server);
	soup_server_add_handler(server->soup, NULL, on_request, server, NULL);
	/* NULL would leave out "*" */
	soup_server_add_handler(server->soup, "*", on_request, server, NULL);
	return server;
}

/* Passes a connection to libsoup; a connection that libsoup refuses is dropped. */
static void on_accepted(GIOStream *stream, GSocketAddress *local, GSocketAddress *remote,
			void *data)
{
	struct http_server *server = data;
	g_autoptr(GIOStream) checked = http_method_filter_new(stream);

	soup_server_accept_iostream(server->soup, checked, local, remote, NULL);
}

struct http_server *http_server_new(const char *address, const struct http_route *routes,
				    void *data, GError **error)
{
	return http_server_new_tls(address, NULL, routes, data, error);
}

struct http_server *http_server_new_tls(const char *address, const struct http_tls *tls,
					const struct http_route *routes, void *data, GError **error)
{
	g_autoptr(http_server_t) server = create(routes, data);

	server->listener = http_listener_new(address, tls, on_accepted, server, error);
	return server->listener ? g_steal_pointer(&server) : NULL;
}

void http_server_free(struct http_server *server)
{
	if (!server)
		return;
	http_listener_free(server->listener);
	while (!g_queue_is_empty(&server->open))
		http_request_cancel(g_queue_peek_head(&server->open));
	http_guard_forget_unread(server);
	soup_server_disconnect(server->soup);
	g_object_unref(server->soup);
	g_main_context_unref(server->context);
	http_rate_free(server->rate);
	g_free(server);
}

bool http_server_share(struct http_server *server, gid_t group, GError **error)
{
	return http_listener_share(server->listener, group, error);
}

const char *http_server_address(const struct http_server *server)
{
	return http_listener_address(server->listener);
}
