/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A struct http_request lives from the arrival of the body until the request is answered or its
 * peer is gone. While an answer is delayed the message is paused. libsoup does not watch the socket
 * then, so a source of ours does, to notice a peer that hangs up.
 */
#include <glib-unix.h>
#include <libsoup/soup.h>
#include <math.h>
#include <poll.h>

#include "common/http_connections.h"
#include "common/http_private.h"

/* How long a peer may take to read its answer, seconds. */
#define ANSWER_S 120.0

/* Delayed answers. */

/* Frees the request; its message lives on without it. */
static void request_free(struct http_request *request)
{
	g_queue_remove(&request->server->open, request);
	if (request->hangup) {
		g_source_destroy(request->hangup);
		g_source_unref(request->hangup);
	}
	if (request->disconnected_id)
		g_signal_handler_disconnect(request->message, request->disconnected_id);
	g_clear_pointer(&request->query, g_hash_table_unref);
	g_strfreev(request->arguments);
	json_decref(request->body);
	g_object_unref(request->message);
	g_free(request);
}

void http_request_cancel(struct http_request *request)
{
	g_autoptr(SoupServerMessage) message = g_object_ref(request->message);
	const bool paused = request->paused;

	if (request->cancelled)
		request->cancelled(request, request->cancelled_data);
	request_free(request);
	/* libsoup notices that the answer cannot be delivered, and frees the message. */
	soup_server_message_set_status(message, SOUP_STATUS_SERVICE_UNAVAILABLE, NULL);
	if (paused)
		soup_server_message_unpause(message);
}

static void on_disconnected(SoupServerMessage *message, void *data)
{
	struct http_request *request = data;

	request->paused = false; /* libsoup drops the message by itself */
	http_request_cancel(request);
}

static gboolean on_hangup(int fd, GIOCondition condition, gpointer data)
{
	http_request_cancel(data);
	return G_SOURCE_REMOVE;
}

/*
 * Pauses a request that its handler did not answer, and watches its peer. Readable input is
 * ignored: it may be the next request or the close_notify of TLS, which look alike. So a peer
 * counts as gone when its side of the TCP connection is closed, not when TLS is.
 */
static void request_wait(struct http_request *request)
{
	const GIOCondition hangup = (GIOCondition)(POLLRDHUP | POLLHUP | POLLERR);
	GSocket *socket = http_message_socket(request->message);

	request->paused = true;
	http_connections_give_time(soup_server_message_get_remote_address(request->message),
				   (double)INFINITY);
	soup_server_message_pause(request->message);
	request->disconnected_id = g_signal_connect(request->message, "disconnected",
						    G_CALLBACK(on_disconnected), request);
	if (!socket)
		return;
	request->hangup = g_unix_fd_source_new(g_socket_get_fd(socket), hangup);
	g_source_set_callback(request->hangup, G_SOURCE_FUNC(on_hangup), request, NULL);
	g_source_attach(request->hangup, request->server->context);
}

void http_request_handle(struct http_server *server, SoupServerMessage *message,
			 const struct http_route *route, char **arguments, GHashTable *query,
			 json_t *body)
{
	struct http_request *request = g_new0(struct http_request, 1);

	request->server = server;
	request->route = route;
	request->message = g_object_ref(message);
	request->query = query ? g_hash_table_ref(query) : NULL;
	request->arguments = arguments;
	request->body = body;
	g_queue_push_tail(&server->open, request);
	route->handler(request, (const char *const *)request->arguments, request->body,
		       server->data);
	if (g_queue_find(&server->open, request))
		request_wait(request);
}

void http_request_on_cancel(struct http_request *request,
			    void (*cancelled)(struct http_request *request, void *data), void *data)
{
	request->cancelled = cancelled;
	request->cancelled_data = data;
}

int http_request_what(const struct http_request *request)
{
	return request->route->what;
}

/* Headers. */

const char *http_request_header(struct http_request *request, const char *name)
{
	return soup_message_headers_get_one(soup_server_message_get_request_headers(
						    request->message),
					    name);
}

void http_request_set_header(struct http_request *request, const char *name, const char *value)
{
	soup_message_headers_replace(soup_server_message_get_response_headers(request->message),
				     name, value);
}

/* Answering. */

/* The request is answered: frees it and unpauses `message`, which outlives it. */
static void request_finish(struct http_request *request)
{
	g_autoptr(SoupServerMessage) message = g_object_ref(request->message);
	const bool paused = request->paused;

	http_guard_answered(request->server, message);
	http_connections_give_time(soup_server_message_get_remote_address(message), ANSWER_S);
	request_free(request);
	if (paused)
		soup_server_message_unpause(message);
}

void http_request_reply(struct http_request *request, int status, json_t *body)
{
	if (!request->paused || http_guard_still_knows(request->server, request->message))
		http_message_answer(request->message, status, body);
	json_decref(body);
	request_finish(request);
}

void http_request_reply_bytes(struct http_request *request, int status, const char *type,
			      GBytes *body)
{
	SoupServerMessage *message = request->message;
	gsize length;
	const char *bytes = g_bytes_get_data(body, &length);

	if (!request->paused || http_guard_still_knows(request->server, message)) {
		http_message_begin_answer(message, status);
		soup_server_message_set_response(message, type, SOUP_MEMORY_COPY, bytes, length);
	}
	request_finish(request);
}

static void refuse(struct http_request *request, int status, const char *word, const char *format,
		   va_list arguments)
{
	g_autofree char *reason = g_strdup_vprintf(format, arguments);

	if (!request->paused || http_guard_still_knows(request->server, request->message))
		http_message_refuse(request->message, status, word, reason);
	request_finish(request);
}

bool http_request_fail(struct http_request *request, int status, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	refuse(request, status, NULL, format, arguments);
	va_end(arguments);
	return false;
}

bool http_request_refuse(struct http_request *request, int status, const char *word,
			 const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	refuse(request, status, word, format, arguments);
	va_end(arguments);
	return false;
}
