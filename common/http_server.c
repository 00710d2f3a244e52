/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/http_server.h"

#include <inttypes.h>
#include <libsoup/soup.h>
#include <math.h>
#include <string.h>

#include "common/http_early_reject.h"
#include "common/http_method_filter.h"
#include "common/http_private.h"
#include "common/json.h"
#include "common/read_number.h"
#include "common/transport.h"

/* Query parameters: each at most once, known to the route, and numbers in range. */

/* Whether a list of words, separated by spaces, has `name`. */
static bool is_known(const char *known, const char *name)
{
	g_auto(GStrv) words = g_strsplit(known, " ", -1);

	return g_strv_contains((const char *const *)words, name);
}

/* The decoded name of "NAME=VALUE"; NULL: malformed. */
static char *read_name(const char *parameter)
{
	g_autoptr(GHashTable) one = soup_form_decode(parameter);
	GHashTableIter all;
	gpointer name;

	g_hash_table_iter_init(&all, one);
	if (strstr(parameter, "%00") || !g_hash_table_iter_next(&all, &name, NULL))
		return NULL;
	return g_strdup(name);
}

static char *query_fault(const char *query, const char *known)
{
	g_auto(GStrv) parameters = g_strsplit(query ?: "", "&", -1);
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

	for (char **parameter = parameters; *parameter; parameter++) {
		g_autofree char *name = **parameter ? read_name(*parameter) : NULL;

		if (!**parameter)
			continue;
		if (!name)
			return g_strdup_printf("query: '%.64s' is not NAME=VALUE", *parameter);
		if (!is_known(known ?: "", name))
			return known ? g_strdup_printf(
					       "query: unknown parameter '%.32s'; known: %s", name,
					       known)
				     : g_strdup_printf(
					       "query: unknown parameter '%.32s'; this takes none",
					       name);
		if (g_hash_table_contains(seen, name))
			return g_strdup_printf("query: %s: it is given twice", name);
		g_hash_table_add(seen, g_steal_pointer(&name));
	}
	return NULL;
}

const char *http_request_query(struct http_request *request, const char *key)
{
	return request->query ? g_hash_table_lookup(request->query, key) : NULL;
}

bool http_request_query_integer(struct http_request *request, const char *key, uint64_t least,
				uint64_t most, uint64_t otherwise, uint64_t *ret_value)
{
	const char *text = http_request_query(request, key);
	uint64_t value = otherwise;

	if (text && !read_number_unsigned(text, least, most, &value))
		return http_request_fail(request, 400,
					 "query: %s: '%.32s' is not a whole number from %" PRIu64
					 " to %" PRIu64,
					 key, text, least, most);
	*ret_value = value;
	return true;
}

bool http_request_query_real(struct http_request *request, const char *key, double least,
			     double most, double otherwise, double *ret_value)
{
	const char *text = http_request_query(request, key);
	double value = otherwise;

	if (text && !read_number(text, least, most, &value))
		return http_request_fail(request, 400,
					 "query: %s: '%.32s' is not a number from %g to %g", key,
					 text, least, most);
	*ret_value = value;
	return true;
}

/* Requests. */

/*
 * A struct http_request lives from the arrival of the body until the request is answered or its
 * peer is gone. While an answer is delayed the message is paused. libsoup does not watch the socket
 * then, so a source of ours does, to notice a peer that hangs up.
 */

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

static void cancel_request(struct http_request *request)
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
	cancel_request(request);
}

static gboolean on_hangup(gpointer data)
{
	cancel_request(data);
	return G_SOURCE_REMOVE;
}

/*
 * Pauses a request that its handler did not answer, and watches its peer. Readable input is
 * ignored: it may be the next request or the close_notify of TLS, which look alike. So a peer
 * counts as gone when its side of the TCP connection is closed, not when TLS is.
 */
static void request_wait(struct http_request *request)
{
	GIOStream *stream = http_message_stream(request->message);

	request->paused = true;
	http_listener_give_time(soup_server_message_get_remote_address(request->message),
				(double)INFINITY);
	soup_server_message_pause(request->message);
	request->disconnected_id = g_signal_connect(request->message, "disconnected",
						    G_CALLBACK(on_disconnected), request);
	if (!stream)
		return;
	request->hangup = request->server->platform->transport->hangup(stream);
	g_source_set_callback(request->hangup, on_hangup, request, NULL);
	g_source_attach(request->hangup, request->server->context);
}

static void handle_request(struct http_server *server, SoupServerMessage *message,
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
	http_listener_give_time(soup_server_message_get_remote_address(message), ANSWER_S);
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

/* A body that arrives. */
struct arriving {
	const struct platform *platform;
	gsize received;
};

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
	struct arriving *arriving = data;
	gsize *received = &arriving->received;
	const gsize before = *received;
	const struct http_identity *identity = http_guard_identity(message);
	const gsize most = identity && identity->role == HTTP_ROLE_ANYBODY ? BODY_MAX : REFUSED_MAX;

	*received += g_bytes_get_size(chunk);
	if (before <= BODY_MAX && *received > BODY_MAX && !soup_server_message_get_status(message))
		refuse_body(message);
	if (before <= most && *received > most)
		http_early_reject_begin(arriving->platform, message);
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
	struct http_server *server = data;
	g_autofree char *fault = http_framing_fault(message);

	/* libsoup would answer with parts of a handler's answer. */
	soup_message_headers_remove(soup_server_message_get_request_headers(message), "Range");
	check_headers(server, message, fault);
	if (soup_server_message_get_status(message))
		soup_message_body_set_accumulate(soup_server_message_get_request_body(message),
						 FALSE);
	if (fault) /* the end of the body is unknown */
		http_early_reject_begin(server->platform, message);
}

/* Requests. */

/*
 * A request begins. Its headers are checked by a signal and not by an early handler, since libsoup
 * calls none for "*", or for a target that it refuses itself ("/x%2f../y", another scheme), and
 * still keeps the body.
 */
static void on_started(SoupServer *soup, SoupServerMessage *message, gpointer data)
{
	const struct http_server *server = data;
	struct arriving *arriving = g_new0(struct arriving, 1);

	arriving->platform = server->platform;
	set_answer_headers(message);
	soup_server_message_set_response(message, "application/json", SOUP_MEMORY_STATIC,
					 unreadable, strlen(unreadable));
	g_signal_connect(message, "got-headers", G_CALLBACK(on_headers), data);
	g_signal_connect_data(message, "got-chunk", G_CALLBACK(on_chunk), arriving,
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
	fault = query_fault(g_uri_get_query(soup_server_message_get_uri(message)), route->query);
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
	handle_request(server, message, route, g_steal_pointer(&arguments), query,
		       g_steal_pointer(&body));
}

/* Life cycle. */

/* A server that does not listen yet. */
static struct http_server *create(const struct platform *platform, const struct http_route *routes,
				  void *data)
{
	struct http_server *server = g_new0(struct http_server, 1);

	server->platform = platform;
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

struct http_server *http_server_new(const struct platform *platform, const char *address,
				    const struct http_route *routes, void *data, GError **error)
{
	return http_server_new_tls(platform, address, NULL, routes, data, error);
}

struct http_server *http_server_new_tls(const struct platform *platform, const char *address,
					const struct http_tls *tls, const struct http_route *routes,
					void *data, GError **error)
{
	g_autoptr(http_server_t) server = create(platform, routes, data);

	server->listener = http_listener_new(platform, address, tls, on_accepted, server, error);
	return server->listener ? g_steal_pointer(&server) : NULL;
}

void http_server_free(struct http_server *server)
{
	if (!server)
		return;
	http_listener_free(server->listener);
	while (!g_queue_is_empty(&server->open))
		cancel_request(g_queue_peek_head(&server->open));
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
