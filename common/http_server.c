/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A request is a struct http_request from the moment its body is there until it is answered or its
 * peer is gone. While its handler takes its time the message is paused; libsoup does not look at
 * the socket then, so a source of ours does, to notice a peer that hung up.
 */
#include "common/http_server.h"

#include <errno.h>
#include <glib-unix.h>
#include <libsoup/soup.h>
#include <math.h>
#include <string.h>
#include <sys/socket.h>

#include "common/clock.h"
#include "common/http_listener.h"
#include "common/http_rate.h"
#include "common/json.h"

enum {
	BODY_MAX = 1 << 20,
	/* A body that is refused is read on up to here, so that the peer gets to read why. */
	REFUSED_MAX = 64 << 20,
};

/* How long a peer may take to read its answer. */
#define ANSWER_S 120.0

/* Of all those together whom the guard does not know: no user has such an id. */
#define STRANGERS (-1000)

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
};

/* Where a message keeps who asks, once the guard has told. */
#define IDENTITY_KEY "virtbed-identity"

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

/* Forgets the request; its message is on its own from here. */
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

/* The peer is gone, or the server goes. */
static void request_cancel(struct http_request *request)
{
	g_autoptr(SoupServerMessage) message = g_object_ref(request->message);
	const bool paused = request->paused;

	if (request->cancelled)
		request->cancelled(request, request->cancelled_data);
	request_free(request);
	/* Lets libsoup find out that nobody reads the answer, and clean up. */
	soup_server_message_set_status(message, SOUP_STATUS_SERVICE_UNAVAILABLE, NULL);
	if (paused)
		soup_server_message_unpause(message);
}

static void on_disconnected(SoupServerMessage *message, void *data)
{
	struct http_request *request = data;

	request->paused = false; /* libsoup drops the message by itself */
	request_cancel(request);
}

static gboolean on_hangup(int fd, GIOCondition condition, gpointer data)
{
	struct http_request *request = data;
	char byte;
	const ssize_t got = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return G_SOURCE_CONTINUE;
	if (got > 0) /* its next request already: stop looking, it would stay readable */
		return G_SOURCE_REMOVE;
	request_cancel(request);
	return G_SOURCE_REMOVE;
}

/* The socket of a message, or NULL: its peer is gone. */
static GSocket *message_socket(SoupServerMessage *message)
{
	return http_listener_socket(soup_server_message_get_remote_address(message));
}

/* Pauses a request that its handler left open, and watches its peer. */
static void request_wait(struct http_request *request)
{
	GSocket *socket = message_socket(request->message);

	request->paused = true;
	http_listener_give_time(soup_server_message_get_remote_address(request->message),
				(double)INFINITY);
	soup_server_message_pause(request->message);
	request->disconnected_id = g_signal_connect(request->message, "disconnected",
						    G_CALLBACK(on_disconnected), request);
	if (!socket)
		return;
	request->hangup = g_unix_fd_source_new(g_socket_get_fd(socket), G_IO_IN | G_IO_HUP);
	g_source_set_callback(request->hangup, G_SOURCE_FUNC(on_hangup), request, NULL);
	g_source_attach(request->hangup, request->server->context);
}

/* Puts `body` (borrowed, may be NULL) into the message. */
static void set_answer(SoupServerMessage *message, int status, json_t *body)
{
	soup_server_message_set_status(message, (guint)status, NULL);
	if (body) {
		char *text = json_text(body);

		soup_server_message_set_response(message, "application/json", SOUP_MEMORY_TAKE,
						 text, strlen(text));
	}
}

static void set_failure(SoupServerMessage *message, int status, const char *reason)
{
	g_autofree char *valid = g_utf8_make_valid(reason, -1);
	g_autoptr(json_t) body = json_pack("{s:s}", "error", valid);

	set_answer(message, status, body);
}

const char *http_request_query(struct http_request *request, const char *key)
{
	return request->query ? g_hash_table_lookup(request->query, key) : NULL;
}

const char *http_request_header(struct http_request *request, const char *name)
{
	return soup_message_headers_get_one(
		soup_server_message_get_request_headers(request->message), name);
}

/* The user at the other end of a message's connection, as http_request_peer_uid() tells. */
static int64_t connection_uid(SoupServerMessage *message)
{
	GSocket *socket = message_socket(message);
	struct ucred peer;
	socklen_t length = sizeof(peer);

	if (socket && (g_socket_get_family(socket) == G_SOCKET_FAMILY_IPV4 ||
		       g_socket_get_family(socket) == G_SOCKET_FAMILY_IPV6))
		return HTTP_PEER_ANYBODY;
	if (!socket ||
	    getsockopt(g_socket_get_fd(socket), SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0)
		return HTTP_PEER_UNKNOWN;
	return peer.uid;
}

/* NULL: there is no guard. */
static const struct http_identity *identity_of(SoupServerMessage *message)
{
	return g_object_get_data(G_OBJECT(message), IDENTITY_KEY);
}

int64_t http_request_peer_uid(struct http_request *request)
{
	const struct http_identity *identity = identity_of(request->message);

	return identity ? identity->uid : connection_uid(request->message);
}

enum http_role http_request_role(struct http_request *request)
{
	const struct http_identity *identity = identity_of(request->message);

	return identity ? identity->role : HTTP_ROLE_OPERATOR;
}

void http_request_set_header(struct http_request *request, const char *name, const char *value)
{
	soup_message_headers_replace(soup_server_message_get_response_headers(request->message),
				     name, value);
}

/* The request is answered: frees it and lets `message`, which outlives it, go on. */
static void request_finish(struct http_request *request)
{
	g_autoptr(SoupServerMessage) message = g_object_ref(request->message);
	const bool paused = request->paused;

	http_listener_give_time(soup_server_message_get_remote_address(message), ANSWER_S);
	request_free(request);
	if (paused)
		soup_server_message_unpause(message);
}

/* Asks the guard who sent a message. */
static struct http_identity identify(const struct http_server *server, SoupServerMessage *message)
{
	return server->guard(soup_message_headers_get_one(
				     soup_server_message_get_request_headers(message), "Authorization"),
			     connection_uid(message), server->guard_data);
}

/* Who is not known learns nothing more than that. */
static void refuse_stranger(SoupServerMessage *message)
{
	soup_message_headers_replace(soup_server_message_get_response_headers(message),
				     "WWW-Authenticate", "Bearer realm=\"virtbed\"");
	set_failure(message, SOUP_STATUS_UNAUTHORIZED, "give a token that is good");
}

/* Whether who sent a message some time ago is still who that was. Answers it otherwise. */
static bool is_still_known(const struct http_server *server, SoupServerMessage *message)
{
	const struct http_identity *then = identity_of(message);
	struct http_identity now;

	if (!then || then->role <= HTTP_ROLE_ANYBODY)
		return true;
	now = identify(server, message);
	if (now.uid == then->uid && now.role >= then->role)
		return true;
	refuse_stranger(message);
	return false;
}

void http_request_reply(struct http_request *request, int status, json_t *body)
{
	if (!request->paused || is_still_known(request->server, request->message))
		set_answer(request->message, status, body);
	json_decref(body);
	request_finish(request);
}

void http_request_reply_bytes(struct http_request *request, int status, const char *type,
			      GBytes *body)
{
	SoupServerMessage *message = request->message;
	gsize length;
	const char *bytes = g_bytes_get_data(body, &length);

	if (!request->paused || is_still_known(request->server, message)) {
		soup_server_message_set_status(message, (guint)status, NULL);
		soup_server_message_set_response(message, type, SOUP_MEMORY_COPY, bytes, length);
	}
	request_finish(request);
}

void http_request_fail(struct http_request *request, int status, const char *format, ...)
{
	g_autofree char *reason = NULL;
	g_autofree char *valid = NULL;
	va_list arguments;

	va_start(arguments, format);
	reason = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	valid = g_utf8_make_valid(reason, -1);
	http_request_reply(request, status, json_pack("{s:s}", "error", valid));
}

void http_request_on_cancel(struct http_request *request,
			    void (*cancelled)(struct http_request *request, void *data),
			    void *data)
{
	request->cancelled = cancelled;
	request->cancelled_data = data;
}

/* Returns what the `*` of `pattern` match in `path`, or NULL if it is another path. */
static char **match_path(const char *pattern, const char *path)
{
	g_auto(GStrv) wanted = g_strsplit(pattern, "/", -1);
	g_auto(GStrv) given = g_strsplit(path, "/", -1);
	g_autoptr(GStrvBuilder) arguments = g_strv_builder_new();

	if (g_strv_length(wanted) != g_strv_length(given))
		return NULL;
	for (gsize i = 0; wanted[i]; i++) {
		if (strcmp(wanted[i], "*") == 0 && *given[i])
			g_strv_builder_add(arguments, given[i]);
		else if (strcmp(wanted[i], given[i]) != 0)
			return NULL;
	}
	return g_strv_builder_end(arguments);
}

/*
 * Finds the route of `method` and `path`, with the path's arguments. Returns NULL if there is none,
 * with the methods that the path does have, comma-separated, in `ret_allowed` ("" for none).
 */
static const struct http_route *find_route(const struct http_route *routes, const char *method,
					   const char *path, char ***ret_arguments,
					   char **ret_allowed)
{
	g_autoptr(GString) allowed = g_string_new(NULL);

	for (const struct http_route *route = routes; route->method; route++) {
		g_auto(GStrv) arguments = match_path(route->path, path);

		if (!arguments)
			continue;
		if (strcmp(route->method, method) == 0) {
			*ret_arguments = g_steal_pointer(&arguments);
			return route;
		}
		g_string_append_printf(allowed, "%s%s", allowed->len ? ", " : "", route->method);
	}
	*ret_allowed = g_string_free(g_steal_pointer(&allowed), FALSE);
	return NULL;
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

static void refuse_route(SoupServerMessage *message, const char *method, const char *path,
			 const char *allowed)
{
	g_autofree char *reason = NULL;

	if (!*allowed) {
		reason = g_strdup_printf("no such path \"%s\"", path);
		set_failure(message, SOUP_STATUS_NOT_FOUND, reason);
		return;
	}
	reason = g_strdup_printf("\"%s\" has no method %s; it has %s", path, method, allowed);
	soup_message_headers_replace(soup_server_message_get_response_headers(message), "Allow",
				     allowed);
	set_failure(message, SOUP_STATUS_METHOD_NOT_ALLOWED, reason);
}

/* Whether `host`, as in a Host header, names this machine's loopback. */
static bool is_loopback(const char *host)
{
	g_autofree char *text = g_strconcat("http://", host, NULL);
	g_autoptr(GUri) uri = g_uri_parse(text, G_URI_FLAGS_NONE, NULL);
	g_autoptr(GInetAddress) address = NULL;

	if (!uri || !g_uri_get_host(uri))
		return false;
	if (g_ascii_strcasecmp(g_uri_get_host(uri), "localhost") == 0)
		return true;
	address = g_inet_address_new_from_string(g_uri_get_host(uri));
	return address && g_inet_address_get_is_loopback(address);
}

/*
 * Whether a browser asks for another site's page: it sends that as Origin, or thinks that we are it. What we are
 * called on a network, our certificate says.
 */
static bool is_foreign(const struct http_server *server, SoupServerMessage *message)
{
	SoupMessageHeaders *headers = soup_server_message_get_request_headers(message);
	const char *origin = soup_message_headers_get_one(headers, "Origin");
	const char *host = soup_message_headers_get_one(headers, "Host");
	const char *site = origin ? strstr(origin, "://") : NULL;

	if (origin && (!site || !host || g_ascii_strcasecmp(site + 3, host) != 0))
		return true;
	if (!host || is_loopback(host) || !http_listener_is_local(server->listener))
		return false;
	/* Programs call a Unix socket what they like; names with dots come from browsers, through a tunnel. */
	return !g_str_has_prefix(http_listener_address(server->listener), "unix:") || strchr(host, '.');
}

/* What would be answered a little later. */
static void refuse_for_now(SoupServerMessage *message, int status, const char *reason)
{
	soup_message_headers_replace(soup_server_message_get_response_headers(message),
				     "Retry-After", "1");
	set_failure(message, status, reason);
}

/* Whether one more request must not wait: too many do. */
static bool is_crowded(struct http_server *server, SoupServerMessage *message)
{
	const struct http_identity *identity = identity_of(message);
	guint own = 0;

	if (!server->rate || identity->unbound)
		return false;
	for (const GList *at = server->open.head; at; at = at->next)
		own += identity_of(((struct http_request *)at->data)->message)->uid ==
		       identity->uid;
	return own >= HTTP_SERVER_WAITING_USER_MAX || server->open.length >= HTTP_SERVER_WAITING_MAX;
}

/* Whether the role of who asks is enough for a route, or for being told that there is none (NULL). */
static bool suffices(SoupServerMessage *message, const struct http_route *route)
{
	const struct http_identity *identity = identity_of(message);

	if (!identity)
		return true;
	if (!route)
		return identity->role > HTTP_ROLE_ANYBODY;
	return route->role != HTTP_ROLE_NONE && identity->role >= route->role;
}

/* As libsoup gives it to handlers. */
static const char *path_of(SoupServerMessage *message)
{
	const char *path = g_uri_get_path(soup_server_message_get_uri(message));

	if (soup_server_message_is_options_ping(message))
		return "*";
	return *path ? path : "/";
}

/* Asks the guard. Returns whether the request may go on; it is refused otherwise. */
static bool ask_guard(struct http_server *server, SoupServerMessage *message)
{
	struct http_identity identity = identify(server, message);
	const int64_t who = identity.role == HTTP_ROLE_NONE ? STRANGERS : identity.uid;
	const struct http_route *route;
	g_auto(GStrv) arguments = NULL;
	g_autofree char *allowed = NULL;

	identity.role = MAX(identity.role, HTTP_ROLE_ANYBODY);
	g_object_set_data_full(G_OBJECT(message), IDENTITY_KEY,
			       g_memdup2(&identity, sizeof(identity)), g_free);
	route = find_route(server->routes, soup_server_message_get_method(message),
			   path_of(message), &arguments, &allowed);
	if (server->rate && !identity.unbound &&
	    !http_rate_take(server->rate, who, clock_now_ns())) {
		refuse_for_now(message, 429, "too many requests; try again");
		return false;
	}
	if (suffices(message, route))
		return true;
	if (identity.role == HTTP_ROLE_ANYBODY)
		refuse_stranger(message);
	else
		set_failure(message, SOUP_STATUS_FORBIDDEN, "that is not for you to do");
	return false;
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
	g_autoptr(GError) error = NULL;
	g_autoptr(json_t) body = NULL;
	struct http_request *request;

	if (!is_still_known(server, message)) /* its body may have come slowly */
		return;
	if (is_crowded(server, message)) {
		refuse_for_now(message, SOUP_STATUS_SERVICE_UNAVAILABLE,
			       "too many requests wait for their answers; try again");
		return;
	}
	route = find_route(server->routes, method, path, &arguments, &allowed);
	if (!route) {
		refuse_route(message, method, path, allowed);
		return;
	}
	body = parse_body(message, &error);
	if (error) {
		set_failure(message, SOUP_STATUS_BAD_REQUEST, error->message);
		return;
	}
	request = g_new0(struct http_request, 1);
	request->server = server;
	request->message = g_object_ref(message);
	request->query = query ? g_hash_table_ref(query) : NULL;
	request->arguments = g_steal_pointer(&arguments);
	request->body = g_steal_pointer(&body);
	g_queue_push_tail(&server->open, request);
	route->handler(request, (const char *const *)request->arguments, request->body,
		       server->data);
	if (g_queue_find(&server->open, request))
		request_wait(request);
}

/* Refuses a body: what came is dropped, and so is what still comes. */
static void refuse_body(SoupServerMessage *message)
{
	SoupMessageBody *body = soup_server_message_get_request_body(message);

	soup_message_body_set_accumulate(body, FALSE);
	soup_message_body_truncate(body);
	set_failure(message, SOUP_STATUS_REQUEST_ENTITY_TOO_LARGE,
		    "request body larger than 1 MiB");
}

static void on_chunk(SoupServerMessage *message, GBytes *chunk, gpointer data)
{
	gsize *received = data;
	const gsize before = *received;

	GSocket *socket = message_socket(message);
	const struct http_identity *identity = identity_of(message);
	const bool stranger = identity && identity->role == HTTP_ROLE_ANYBODY;

	*received += g_bytes_get_size(chunk);
	if (before <= BODY_MAX && *received > BODY_MAX &&
	    !soup_server_message_get_status(message))
		refuse_body(message);
	if (*received > (stranger ? BODY_MAX : REFUSED_MAX) && socket)
		g_socket_shutdown(socket, TRUE, TRUE, NULL);
}

/* What every answer tells browsers (the head of http_server.h). */
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
 * libsoup ends every connection that it has not accepted itself after one answer; a peer has to know, or its
 * next request meets a closed one.
 */
static void set_answer_headers(SoupServerMessage *message)
{
	SoupMessageHeaders *headers = soup_server_message_get_response_headers(message);

	soup_message_headers_replace(headers, "Connection", "close");
	for (gsize i = 0; i < G_N_ELEMENTS(answer_headers); i++)
		soup_message_headers_replace(headers, answer_headers[i].name,
					     answer_headers[i].value);
}

/* Looks at a request whose headers are there. Its status is set if it is refused. */
static void check_headers(struct http_server *server, SoupServerMessage *message)
{
	SoupMessageHeaders *headers = soup_server_message_get_request_headers(message);
	const guint odd = soup_server_message_get_status(message);

	if (server->guard && !ask_guard(server, message))
		return;
	if (odd) /* libsoup's word, which says no more */
		set_failure(message, (int)odd, "that is no target of this server");
	else if (is_foreign(server, message))
		set_failure(message, SOUP_STATUS_FORBIDDEN,
			    "asked for by another site's page; this server answers its own");
	else if (soup_message_headers_get_content_length(headers) > BODY_MAX)
		refuse_body(message);
}

static void on_headers(SoupServerMessage *message, gpointer data)
{
	check_headers(data, message);
	if (soup_server_message_get_status(message))
		soup_message_body_set_accumulate(soup_server_message_get_request_body(message),
						 FALSE);
}

/*
 * A request begins to come. Its headers are looked at by their signal and not by an early handler: libsoup calls none
 * for "*", nor for a target that it refuses itself ("/x%2f../y", another scheme), and keeps the body all the same.
 */
static void on_started(SoupServer *soup, SoupServerMessage *message, gpointer data)
{
	set_answer_headers(message);
	g_signal_connect(message, "got-headers", G_CALLBACK(on_headers), data);
	g_signal_connect_data(message, "got-chunk", G_CALLBACK(on_chunk), g_new0(gsize, 1),
			      (GClosureNotify)(void (*)(void))g_free, 0);
}

/* A request is there, its handler was not called. "100 Continue" took the headers of its answer away. */
static void on_read(SoupServer *soup, SoupServerMessage *message, gpointer data)
{
	set_answer_headers(message);
}

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
	soup_server_add_handler(server->soup, "*", on_request, server, NULL); /* NULL is not for it */
	return server;
}

/* Somebody connected; of a stream that libsoup does not want nothing more is heard. */
static void on_accepted(GIOStream *stream, GSocketAddress *local, GSocketAddress *remote,
			void *data)
{
	struct http_server *server = data;

	soup_server_accept_iostream(server->soup, stream, local, remote, NULL);
}

struct http_server *http_server_new(const char *address, const struct http_route *routes,
				    void *data, GError **error)
{
	return http_server_new_tls(address, NULL, routes, data, error);
}

struct http_server *http_server_new_tls(const char *address, const struct http_tls *tls,
					const struct http_route *routes, void *data,
					GError **error)
{
	g_autoptr(http_server_t) server = create(routes, data);

	server->listener = http_listener_new(address, tls, on_accepted, server, error);
	return server->listener ? g_steal_pointer(&server) : NULL;
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

void http_server_free(struct http_server *server)
{
	if (!server)
		return;
	http_listener_free(server->listener);
	while (!g_queue_is_empty(&server->open))
		request_cancel(g_queue_peek_head(&server->open));
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
