/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Client and server against each other, and each against a raw socket where the peer misbehaves. */
#include <gio/gunixsocketaddress.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/http_client.h"
#include "common/http_server.h"
#include "common/json.h"
#include "common/subprocess.h"

/* A server with what its handlers saw, and a client of it. */
struct fixture {
	char *directory;
	struct http_server *server;
	struct http_client *client;
	GQueue waiting; /* struct http_request of /v1/wait */
	int cancelled;
	int answered; /* by on_status() */
	int status;
	int code; /* of the error, 0 without */
};

static void handle_ok(struct http_request *request, const char *const *arguments, json_t *body,
		      void *data)
{
	http_request_reply(request, 200, json_pack("{s:b}", "ok", 1));
}

static void handle_echo(struct http_request *request, const char *const *arguments, json_t *body,
			void *data)
{
	http_request_reply(request, 201,
			   json_pack("{s:s, s:s, s:O?, s:s?}", "first", arguments[0], "second",
				     arguments[1], "body", body, "after",
				     http_request_query(request, "after")));
}

static void handle_empty(struct http_request *request, const char *const *arguments, json_t *body,
			 void *data)
{
	http_request_reply(request, 204, NULL);
}

static void handle_conflict(struct http_request *request, const char *const *arguments,
			    json_t *body, void *data)
{
	http_request_fail(request, 409, "node %d is \xff busy", 3);
}

static void on_cancelled(struct http_request *request, void *data)
{
	struct fixture *fixture = data;

	fixture->cancelled++;
	g_assert_true(g_queue_remove(&fixture->waiting, request));
}

static void handle_wait(struct http_request *request, const char *const *arguments, json_t *body,
			void *data)
{
	struct fixture *fixture = data;

	g_queue_push_tail(&fixture->waiting, request);
	http_request_on_cancel(request, on_cancelled, fixture);
}

static void handle_text(struct http_request *request, const char *const *arguments, json_t *body,
			void *data)
{
	g_autoptr(GBytes) bytes = g_bytes_new_static("a { b: c }", 10);

	http_request_set_header(request, "ETag", "\"7\"");
	http_request_reply_bytes(request, 200, "text/css", bytes);
}

static void handle_peer(struct http_request *request, const char *const *arguments, json_t *body,
			void *data)
{
	http_request_reply(request, 200, json_pack("{s:I}", "uid",
						   (json_int_t)http_request_peer_uid(request)));
}

static const struct http_route routes[] = {
	{ "GET", "/v1/peer", handle_peer },
	{ "GET", "/v1/ok", handle_ok },
	{ "GET", "/text", handle_text },
	{ "PUT", "/v1/echo/*/x/*", handle_echo },
	{ "GET", "/v1/empty", handle_empty },
	{ "DELETE", "/v1/conflict", handle_conflict },
	{ "GET", "/v1/wait", handle_wait },
	{ NULL },
};

static void setup(struct fixture *fixture, gconstpointer address)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *path = NULL;

	fixture->directory = g_dir_make_tmp("virtbed-test-XXXXXX", NULL);
	path = g_strconcat("unix:", fixture->directory, "/socket", NULL);
	fixture->server = http_server_new(address ? address : path, routes, fixture, &error);
	g_assert_no_error(error);
	fixture->client = http_client_new(http_server_address(fixture->server), &error);
	g_assert_no_error(error);
}

static void teardown(struct fixture *fixture, gconstpointer address)
{
	http_client_free(fixture->client);
	http_server_free(fixture->server);
	g_assert_cmpint(g_rmdir(fixture->directory), ==, 0); /* the socket file is gone */
	g_free(fixture->directory);
}

static gboolean on_alarm(gpointer data)
{
	g_error("%s did not happen within 20 s", (const char *)data);
	return G_SOURCE_REMOVE;
}

/* Runs the loop until `condition` holds. */
#define WAIT_FOR(condition)                                                              \
	do {                                                                             \
		const guint alarm_id = g_timeout_add_seconds(20, on_alarm, (char *)#condition); \
		while (!(condition))                                                     \
			g_main_context_iteration(NULL, TRUE);                            \
		g_source_remove(alarm_id);                                               \
	} while (0)

static void on_status(int status, json_t *body, const GError *error, void *data)
{
	struct fixture *fixture = data;

	fixture->answered++;
	fixture->status = status;
	fixture->code = error ? error->code : 0;
	g_assert_true(!error || error->domain == HTTP_ERROR);
}

static void test_a_unix_socket_tells_who_asks(struct fixture *fixture, gconstpointer address)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(json_t) answer =
		http_client_call(fixture->client, "GET", "/v1/peer", NULL, 10, &error);

	g_assert_no_error(error);
	g_assert_cmpint(json_integer_value(json_object_get(answer, "uid")), ==,
			address ? HTTP_PEER_ANYBODY : (json_int_t)getuid());
}

static void test_calls_get_what_the_handler_answers(struct fixture *fixture, gconstpointer data)
{
	static const struct {
		const char *method, *path, *body;
		const char *expected; /* answer; NULL: fails */
		const char *message;  /* what the error contains */
	} cases[] = {
		{ "GET", "/v1/ok", NULL, "{\"ok\":true}", NULL },
		{ "GET", "/v1/empty", NULL, "null", NULL },
		{ "PUT", "/v1/echo/a/x/b.c", "[1]",
		  "{\"after\":null,\"body\":[1],\"first\":\"a\",\"second\":\"b.c\"}", NULL },
		{ "PUT", "/v1/echo/%C3%A9%20/x/b?after=7", NULL,
		  "{\"after\":\"7\",\"body\":null,\"first\":\"é \",\"second\":\"b\"}", NULL },
		{ "DELETE", "/v1/conflict", NULL, NULL, "status 409: node 3 is \xef\xbf\xbd busy" },
		{ "GET", "/v1/echo/a/x/b", NULL, NULL,
		  "status 405: \"/v1/echo/a/x/b\" has no method GET; it has PUT" },
		{ "PUT", "/v1/echo/a/y/b", NULL, NULL, "status 404" },
		{ "PUT", "/v1/echo//x/b", NULL, NULL, "status 404" },
		{ "GET", "/v1/ok/", NULL, NULL, "status 404" },
		{ "GET", "/", NULL, NULL, "status 404" },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(json_t) body =
			cases[i].body ? json_loads(cases[i].body, 0, NULL) : NULL;
		g_autoptr(json_t) answer = http_client_call(fixture->client, cases[i].method,
							    cases[i].path, body, 10, &error);
		g_autofree char *text = answer ? json_text(answer) : NULL;

		g_assert_cmpstr(text, ==, cases[i].expected);
		if (cases[i].message) {
			g_assert_error(error, HTTP_ERROR, HTTP_ERROR_STATUS);
			g_assert_nonnull(strstr(error->message, cases[i].message));
		}
	}
}

static void test_large_bodies_pass_up_to_the_limit(struct fixture *fixture, gconstpointer data)
{
	static const struct {
		gsize length;
		int status;
	} cases[] = { { 1000000, 201 }, { (1 << 20) - 2, 201 }, { 1 << 20, 413 }, { 8 << 20, 413 } };

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *text = g_strnfill(cases[i].length, 'x');
		g_autoptr(json_t) body = json_string(text);

		fixture->answered = 0;
		http_client_request(fixture->client, "PUT", "/v1/echo/a/x/b", body, 20, on_status,
				    fixture);
		WAIT_FOR(fixture->answered);
		g_assert_cmpint(fixture->status, ==, cases[i].status);
	}
}

static void test_request_never_answers_before_it_returns(struct fixture *fixture,
							 gconstpointer data)
{
	http_client_request(fixture->client, "GET", "/v1/ok", NULL, 10, on_status, fixture);
	http_client_request(fixture->client, "GET", "not a path", NULL, 10, on_status, fixture);
	g_assert_cmpint(fixture->answered, ==, 0);
	WAIT_FOR(fixture->answered == 2);
}

static void test_long_poll_is_answered_later(struct fixture *fixture, gconstpointer data)
{
	struct http_request *request;

	for (int i = 0; i < 20; i++)
		http_client_request(fixture->client, "GET", "/v1/wait", NULL, 20, on_status,
				    fixture);
	WAIT_FOR(fixture->waiting.length == 20);
	/* Others get their answers meanwhile. */
	g_autoptr(json_t) answer =
		http_client_call(fixture->client, "GET", "/v1/ok", NULL, 10, NULL);

	g_assert_nonnull(answer);
	g_assert_cmpint(fixture->answered, ==, 0);
	while ((request = g_queue_pop_head(&fixture->waiting)))
		http_request_reply(request, 200, json_array());
	WAIT_FOR(fixture->answered == 20);
	g_assert_cmpint(fixture->status, ==, 200);
	g_assert_cmpint(fixture->cancelled, ==, 0);
}

static void test_timeout_ends_a_long_poll_on_both_sides(struct fixture *fixture,
							gconstpointer data)
{
	const int64_t start_ns = clock_now_ns();

	http_client_request(fixture->client, "GET", "/v1/wait", NULL, 0.3, on_status, fixture);
	WAIT_FOR(fixture->answered && fixture->cancelled);
	g_assert_cmpint(fixture->code, ==, HTTP_ERROR_TRANSPORT);
	g_assert_cmpint(fixture->status, ==, 0);
	g_assert_cmpfloat(clock_elapsed_s(start_ns, clock_now_ns()), >=, 0.25);
	g_assert_cmpuint(fixture->waiting.length, ==, 0);
}

static void test_freeing_the_client_cancels_without_a_call(struct fixture *fixture,
							   gconstpointer data)
{
	for (int i = 0; i < 5; i++)
		http_client_request(fixture->client, "GET", "/v1/wait", NULL, 20, on_status,
				    fixture);
	WAIT_FOR(fixture->waiting.length == 5);
	g_clear_pointer(&fixture->client, http_client_free);
	WAIT_FOR(fixture->cancelled == 5);
	g_assert_cmpint(fixture->answered, ==, 0);
}

static void test_freeing_the_server_drops_open_requests(struct fixture *fixture,
							gconstpointer data)
{
	http_client_request(fixture->client, "GET", "/v1/wait", NULL, 20, on_status, fixture);
	http_client_request(fixture->client, "GET", "/v1/wait", NULL, 20, on_status, fixture);
	WAIT_FOR(fixture->waiting.length == 2);
	g_clear_pointer(&fixture->server, http_server_free);
	g_assert_cmpint(fixture->cancelled, ==, 2);
	WAIT_FOR(fixture->answered == 2);
	g_assert_cmpint(fixture->code, !=, 0);
}

static void on_first_call_again(int status, json_t *body, const GError *error, void *data)
{
	struct fixture *fixture = data;
	g_autoptr(json_t) answer =
		http_client_call(fixture->client, "GET", "/v1/ok", NULL, 10, NULL);

	g_assert_nonnull(answer);
	fixture->answered++;
}

static void test_callback_may_call_again_and_wait(struct fixture *fixture, gconstpointer data)
{
	for (int i = 0; i < 5; i++)
		http_client_request(fixture->client, "GET", "/v1/ok", NULL, 10,
				    on_first_call_again, fixture);
	WAIT_FOR(fixture->answered == 5);
}

static void on_first_free_the_client(int status, json_t *body, const GError *error, void *data)
{
	struct fixture *fixture = data;

	fixture->answered++;
	g_clear_pointer(&fixture->client, http_client_free);
}

static void test_callback_may_free_the_client(struct fixture *fixture, gconstpointer data)
{
	for (int i = 0; i < 5; i++)
		http_client_request(fixture->client, "GET", "/v1/ok", NULL, 10,
				    on_first_free_the_client, fixture);
	WAIT_FOR(fixture->answered == 1);
	while (g_main_context_iteration(NULL, FALSE))
		continue;
	g_assert_cmpint(fixture->answered, ==, 1);
}

static void test_freeing_the_client_ends_a_waiting_call(struct fixture *fixture,
							gconstpointer data)
{
	g_autoptr(GError) error = NULL;

	http_client_request(fixture->client, "GET", "/v1/ok", NULL, 10, on_first_free_the_client,
			    fixture);
	g_assert_null(http_client_call(fixture->client, "GET", "/v1/wait", NULL, 20, &error));
	g_assert_error(error, HTTP_ERROR, HTTP_ERROR_TRANSPORT);
	g_assert_null(fixture->client);
}

static void test_client_survives_a_server_restart(struct fixture *fixture, gconstpointer data)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *address = g_strdup(http_server_address(fixture->server));

	for (int i = 0; i < 3; i++) {
		g_autoptr(json_t) before =
			http_client_call(fixture->client, "GET", "/v1/ok", NULL, 10, NULL);
		g_autoptr(json_t) refused = NULL;
		g_autoptr(json_t) after = NULL;

		g_assert_nonnull(before);
		g_clear_pointer(&fixture->server, http_server_free);
		refused = http_client_call(fixture->client, "GET", "/v1/ok", NULL, 10, &error);
		g_assert_null(refused);
		g_assert_error(error, HTTP_ERROR, HTTP_ERROR_TRANSPORT);
		g_clear_error(&error);
		fixture->server = http_server_new(address, routes, fixture, &error);
		g_assert_no_error(error);
		after = http_client_call(fixture->client, "GET", "/v1/ok", NULL, 10, &error);
		g_assert_no_error(error);
		g_assert_nonnull(after);
	}
}

static void test_socket_is_private_and_a_stale_one_replaced(struct fixture *fixture,
							    gconstpointer data)
{
	g_autofree char *path = g_build_filename(fixture->directory, "socket", NULL);
	g_autofree char *copy = g_build_filename(fixture->directory, "stale", NULL);
	g_autofree char *address = g_strconcat("unix:", copy, NULL);
	g_autoptr(GError) error = NULL;
	g_autoptr(http_server_t) second = NULL;
	struct stat status;

	g_assert_cmpint(stat(path, &status), ==, 0);
	g_assert_cmpint(status.st_mode & 0777, ==, 0600);
	g_assert_null(http_server_new(http_server_address(fixture->server), routes, NULL, &error));
	g_assert_error(error, HTTP_ERROR, HTTP_ERROR_ADDRESS);
	/* A second name of the socket outlives the server: just what a crash leaves. */
	g_assert_cmpint(link(path, copy), ==, 0);
	g_clear_pointer(&fixture->server, http_server_free);
	g_clear_error(&error);
	second = http_server_new(address, routes, NULL, &error);
	g_assert_no_error(error);
}

static void test_addresses_that_make_no_sense_are_refused(void)
{
	static const char *const servers[] = { "", "unix:relative", "http://0.0.0.0:0",
					       "http://192.0.2.1:80", "http://example.org:80",
					       "https://127.0.0.1:0", "ftp://127.0.0.1:21",
					       "http://127.0.0.1", "unix:/proc/self/status" };
	static const char *const clients[] = { "", "unix:relative", "ftp://host:21", "127.0.0.1:80",
					       "http://" };
	g_autofree char *name = g_strnfill(200, 'x');
	g_autofree char *too_long = g_strconcat("unix:/tmp/", name, NULL);

	for (gsize i = 0; i < G_N_ELEMENTS(servers); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_null(http_server_new(servers[i], routes, NULL, &error));
		g_assert_error(error, HTTP_ERROR, HTTP_ERROR_ADDRESS);
	}
	g_assert_null(http_server_new(too_long, routes, NULL, NULL));
	for (gsize i = 0; i < G_N_ELEMENTS(clients); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_null(http_client_new(clients[i], &error));
		g_assert_error(error, HTTP_ERROR, HTTP_ERROR_ADDRESS);
	}
}

static GSocketAddress *address_of(const char *address)
{
	g_autoptr(GUri) uri = NULL;

	if (g_str_has_prefix(address, "unix:"))
		return g_unix_socket_address_new(address + strlen("unix:"));
	uri = g_uri_parse(address, G_URI_FLAGS_NONE, NULL);
	return g_inet_socket_address_new_from_string(g_uri_get_host(uri),
						     (guint)g_uri_get_port(uri));
}

/* Sends `text` over a socket of our own and returns all that came back until the end. */
static char *converse(const char *address, const char *text)
{
	g_autoptr(GSocketAddress) where = address_of(address);
	g_autoptr(GSocket) socket = g_socket_new(g_socket_address_get_family(where),
						 G_SOCKET_TYPE_STREAM, G_SOCKET_PROTOCOL_DEFAULT,
						 NULL);
	g_autoptr(GString) answer = g_string_new(NULL);
	const int64_t deadline_ns = clock_now_ns() + INT64_C(20000000000);
	char buffer[4096];
	gssize got = -1;

	g_assert_true(g_socket_connect(socket, where, NULL, NULL));
	g_assert_cmpint(g_socket_send(socket, text, strlen(text), NULL, NULL), ==, strlen(text));
	g_socket_set_blocking(socket, FALSE);
	while (got != 0) {
		g_main_context_iteration(NULL, FALSE);
		got = g_socket_receive(socket, buffer, sizeof buffer, NULL, NULL);
		if (got > 0)
			g_string_append_len(answer, buffer, got);
		g_assert_cmpint(clock_now_ns(), <, deadline_ns);
	}
	return g_string_free(g_steal_pointer(&answer), FALSE);
}

static void test_server_answers_rubbish_with_an_error(struct fixture *fixture, gconstpointer data)
{
	static const struct {
		const char *text;
		const char *status;
		const char *contains;
	} cases[] = {
		{ "PUT /v1/echo/a/x/b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
		  "Content-Length: 3\r\n\r\n{a}",
		  "HTTP/1.1 400", "{\"error\":\"request body: line 1" },
		{ "PUT /v1/echo/a/x/b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
		  "Transfer-Encoding: chunked\r\n\r\n3\r\n[1]\r\n0\r\n\r\n",
		  "HTTP/1.1 201", "\"body\":[1]" },
		{ "PATCH /v1/ok HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", "HTTP/1.1 405",
		  "Allow: GET" },
		{ "GET /none HTTP/1.0\r\n\r\n", "HTTP/1.0 404", "{\"error\":\"no such path" },
		{ "GET /v1/ok HTTP/1.0\r\n\r\n", "HTTP/1.0 200", "{\"ok\":true}" },
		{ "hello\r\n\r\n", "HTTP/1.", "" },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *answer =
			converse(http_server_address(fixture->server), cases[i].text);

		g_test_message("case %zu: %s", i, answer);
		g_assert_true(g_str_has_prefix(answer, cases[i].status));
		g_assert_nonnull(strstr(answer, cases[i].contains));
	}
}

/* A peer that would ask again on the same connection has to know that it ends. */
static void test_server_says_that_it_closes(struct fixture *fixture, gconstpointer data)
{
	static const char *const requests[] = { "GET /v1/ok HTTP/1.1\r\nHost: localhost\r\n\r\n",
						"GET /none HTTP/1.1\r\nHost: localhost\r\n\r\n" };

	for (gsize i = 0; i < G_N_ELEMENTS(requests); i++) {
		g_autofree char *answer =
			converse(http_server_address(fixture->server), requests[i]);

		g_assert_nonnull(strstr(answer, "\r\nConnection: close\r\n"));
	}
}

/* What browsers hear, and what they are refused. */
static void test_server_answers_its_own_pages_only(struct fixture *fixture, gconstpointer data)
{
	static const struct {
		const char *headers;
		const char *status;
		const char *contains;
	} cases[] = {
		{ "Host: localhost:7", "HTTP/1.1 200", "\r\nContent-Type: text/css\r\n" },
		{ "Host: [::1]", "HTTP/1.1 200", "\r\nETag: \"7\"\r\n" },
		{ "Host: 127.0.0.1:80\r\nOrigin: http://127.0.0.1:80", "HTTP/1.1 200", "\r\n\r\na { b: c }" },
		{ "Host: 127.0.0.1", "HTTP/1.1 200", "\r\nX-Content-Type-Options: nosniff\r\n" },
		{ "Host: 127.0.0.1", "HTTP/1.1 200", "\r\nCache-Control: no-store\r\n" },
		{ "Host: 127.0.0.1", "HTTP/1.1 200", "\r\nContent-Security-Policy: default-src 'self';" },
		{ "Host: evil.example", "HTTP/1.1 403", "{\"error\":" },
		{ "Host: localhost.evil.example", "HTTP/1.1 403", "{\"error\":" },
		{ "Host: 127.0.0.1\r\nOrigin: http://evil.example", "HTTP/1.1 403", "{\"error\":" },
		{ "Host: 127.0.0.1:80\r\nOrigin: http://127.0.0.1:81", "HTTP/1.1 403", "{\"error\":" },
		{ "Host: 127.0.0.1\r\nOrigin: null", "HTTP/1.1 403", "{\"error\":" },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *text =
			g_strdup_printf("GET /text HTTP/1.1\r\n%s\r\n\r\n", cases[i].headers);
		g_autofree char *answer = converse(http_server_address(fixture->server), text);

		g_test_message("case %zu: %s", i, answer);
		g_assert_true(g_str_has_prefix(answer, cases[i].status));
		g_assert_nonnull(strstr(answer, cases[i].contains));
	}
}

/* A browser that was led to a socket through a tunnel names the site that led it there. */
static void test_socket_is_no_site(struct fixture *fixture, gconstpointer data)
{
	static const char *const hosts[] = { "x", "localhost:8080", "127.0.0.1:8080", "evil.example:8080" };

	for (gsize i = 0; i < G_N_ELEMENTS(hosts); i++) {
		g_autofree char *text =
			g_strdup_printf("GET /text HTTP/1.1\r\nHost: %s\r\n\r\n", hosts[i]);
		g_autofree char *answer = converse(http_server_address(fixture->server), text);

		g_assert_cmpint(g_str_has_prefix(answer, "HTTP/1.1 403"), ==, i == 3);
		g_assert_cmpint(g_str_has_prefix(answer, "HTTP/1.1 200"), ==, i < 3);
	}
}

/* A pipelined second request must not make a waiting first one spin or end. */
static void test_pipelined_request_does_not_cancel_a_long_poll(struct fixture *fixture,
								gconstpointer data)
{
	static const char text[] = "GET /v1/wait HTTP/1.1\r\nHost: localhost\r\n\r\n"
				   "GET /v1/ok HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
	g_autoptr(GUri) uri =
		g_uri_parse(http_server_address(fixture->server), G_URI_FLAGS_NONE, NULL);
	g_autoptr(GSocketClient) connector = g_socket_client_new();
	g_autoptr(GSocketConnection) connection = g_socket_client_connect_to_host(
		connector, g_uri_get_host(uri), (guint16)g_uri_get_port(uri), NULL, NULL);

	g_assert_true(g_output_stream_write_all(
		g_io_stream_get_output_stream(G_IO_STREAM(connection)), text, strlen(text), NULL,
		NULL, NULL));
	WAIT_FOR(fixture->waiting.length == 1);
	while (g_main_context_iteration(NULL, FALSE))
		continue;
	g_assert_cmpint(fixture->cancelled, ==, 0);
	g_clear_object(&connection);
	http_request_reply(g_queue_pop_head(&fixture->waiting), 200, NULL);
}

/* A peer that answers every connection with given bytes, then closes it or stays. */
struct peer {
	GSocketService *service;
	char *address;
	const char *answer;
	gsize length;
	bool close;
	GPtrArray *connections;
};

static void on_peer_wrote(GObject *stream, GAsyncResult *result, gpointer data)
{
	struct peer *peer = data;

	g_output_stream_write_all_finish(G_OUTPUT_STREAM(stream), result, NULL, NULL);
	if (peer->close)
		g_ptr_array_set_size(peer->connections, 0);
}

static gboolean on_peer_incoming(GSocketService *service, GSocketConnection *connection,
				 GObject *source, gpointer data)
{
	struct peer *peer = data;

	g_ptr_array_add(peer->connections, g_object_ref(connection));
	g_output_stream_write_all_async(g_io_stream_get_output_stream(G_IO_STREAM(connection)),
					peer->answer, peer->length, G_PRIORITY_DEFAULT, NULL,
					on_peer_wrote, peer);
	return TRUE;
}

static void peer_start(struct peer *peer)
{
	guint16 port;

	peer->service = g_socket_service_new();
	peer->connections = g_ptr_array_new_with_free_func(g_object_unref);
	port = g_socket_listener_add_any_inet_port(G_SOCKET_LISTENER(peer->service), NULL, NULL);
	g_signal_connect(peer->service, "incoming", G_CALLBACK(on_peer_incoming), peer);
	peer->address = g_strdup_printf("http://127.0.0.1:%u", port);
}

static void peer_stop(struct peer *peer)
{
	g_socket_service_stop(peer->service);
	g_socket_listener_close(G_SOCKET_LISTENER(peer->service));
	g_object_unref(peer->service);
	g_ptr_array_unref(peer->connections);
	g_free(peer->address);
}

static void test_client_survives_a_peer_that_misbehaves(void)
{
	static const struct {
		const char *answer;
		bool close;
		int code;
		const char *contains;
	} cases[] = {
		{ "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n[1]", true, 0, "" },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n[1,", true, HTTP_ERROR_BODY,
		  "not valid JSON" },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n[1]", true, HTTP_ERROR_TRANSPORT,
		  "" },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n[1]", false, HTTP_ERROR_TRANSPORT,
		  "timed out" },
		{ "HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\noops", true, HTTP_ERROR_STATUS,
		  "status 500: oops" },
		{ "HTTP/1.1 404 No\r\nContent-Length: 25\r\n\r\n<html>\n  <b>\r\n\tno </b>\n\x1b[", true,
		  HTTP_ERROR_STATUS, "status 404: <html> <b> no </b> [" },
		{ "HTTP/1.1 400 Bad\r\nContent-Length: 0\r\n\r\n", true, HTTP_ERROR_STATUS,
		  "status 400" },
		{ "SSH-2.0-OpenSSH\r\n", true, HTTP_ERROR_TRANSPORT, "" },
		{ "", true, HTTP_ERROR_TRANSPORT, "" },
		{ "", false, HTTP_ERROR_TRANSPORT, "timed out" },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct peer peer = { .answer = cases[i].answer,
				     .length = strlen(cases[i].answer),
				     .close = cases[i].close };
		g_autoptr(GError) error = NULL;
		g_autoptr(json_t) answer = NULL;
		g_autoptr(http_client_t) client = NULL;

		peer_start(&peer);
		client = http_client_new(peer.address, NULL);
		answer = http_client_call(client, "GET", "/", NULL, cases[i].close ? 10 : 0.3,
					  &error);
		g_assert_true((answer != NULL) == (cases[i].code == 0));
		if (!answer) {
			g_assert_error(error, HTTP_ERROR, cases[i].code);
			g_assert_nonnull(strstr(error->message, cases[i].contains));
			g_assert_nonnull(strstr(error->message, peer.address));
		}
		peer_stop(&peer);
	}
}

static void test_client_refuses_an_endless_answer(void)
{
	static const char head[] = "HTTP/1.1 200 OK\r\nContent-Length: 80000000\r\n\r\n";
	g_autofree char *answer = g_strnfill(80000000, ' ');
	struct peer peer = { .answer = answer, .length = 80000000 };
	g_autoptr(GError) error = NULL;
	g_autoptr(http_client_t) client = NULL;

	memcpy(answer, head, strlen(head));
	peer_start(&peer);
	client = http_client_new(peer.address, NULL);
	g_assert_null(http_client_call(client, "GET", "/", NULL, 60, &error));
	g_assert_error(error, HTTP_ERROR, HTTP_ERROR_BODY);
	g_clear_pointer(&client, http_client_free);
	peer_stop(&peer);
}

static void test_client_reports_what_is_not_there(void)
{
	struct peer peer = { .answer = "" };
	g_autofree char *refused = NULL;

	peer_start(&peer);
	refused = g_strdup(peer.address);
	peer_stop(&peer);

	const struct {
		const char *address, *reason;
	} cases[] = {
		{ "unix:/nonexistent/socket", "unix:/nonexistent/socket: cannot connect to the socket: No such file" },
		{ refused, "Failed to connect" },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(http_client_t) client = http_client_new(cases[i].address, NULL);

		g_assert_null(http_client_call(client, "GET", "/v1/ok", NULL, 10, &error));
		g_assert_error(error, HTTP_ERROR, HTTP_ERROR_TRANSPORT);
		g_assert_nonnull(strstr(error->message, cases[i].address));
		g_assert_nonnull(strstr(error->message, cases[i].reason));
	}
}

/* Says who asked, and in a header too. */
static void handle_who(struct http_request *request, const char *const *arguments, json_t *body,
		       void *data)
{
	const char *who = http_request_header(request, "Authorization");

	if (!who) {
		http_request_reply(request, 401,
				   json_pack("{s:{s:s}}", "error", "message", "who are you?"));
		return;
	}
	http_request_set_header(request, "X-Who", who);
	http_request_reply(request, 200,
			   json_pack("{s:s, s:s?}", "who", who, "token",
				     http_request_header(request, "X-Token")));
}

static const struct http_route who_routes[] = {
	{ "GET", "/who", handle_who },
	{ NULL },
};

/* What on_who() saw. */
struct who {
	const struct http_client *client;
	bool ended;
	char *header;
};

static void on_who(int status, json_t *body, const GError *error, void *data)
{
	struct who *who = data;

	g_assert_no_error(error);
	g_assert_cmpint(status, ==, 200);
	who->header = g_strdup(http_client_answer_header(who->client, "x-who"));
	g_assert_null(http_client_answer_header(who->client, "X-Other"));
	who->ended = true;
}

/* A certificate of 127.0.0.1 that nobody vouches for but itself. */
static void make_certificate(const char *certificate, const char *key)
{
	const char *const argv[] = { "openssl",	  "req",
				     "-x509",	  "-newkey",
				     "ec",	  "-pkeyopt",
				     "ec_paramgen_curve:prime256v1",
				     "-nodes",	  "-batch",
				     "-subj",	  "/CN=127.0.0.1",
				     "-addext",	  "subjectAltName=IP:127.0.0.1",
				     "-keyout",	  key,
				     "-out",	  certificate,
				     NULL };
	g_autoptr(GError) error = NULL;

	subprocess_run(argv, NULL, 60, NULL, &error);
	g_assert_no_error(error);
}

static void assert_call_fails(struct http_client *client, int code, const char *words)
{
	g_autoptr(GError) error = NULL;

	g_assert_null(http_client_call(client, "GET", "/who", NULL, 20, &error));
	g_assert_error(error, HTTP_ERROR, code);
	g_test_message("%s", error->message);
	g_assert_nonnull(strstr(error->message, words));
}

static void test_tls_and_names(void)
{
	g_autofree char *directory = g_dir_make_tmp("virtbed-http-XXXXXX", NULL);
	g_autofree char *certificate = g_build_filename(directory, "certificate.pem", NULL);
	g_autofree char *key = g_build_filename(directory, "key.pem", NULL);
	const struct http_tls tls = { .certificate = certificate, .key = key };
	struct http_client_identity identity = { 0 };
	g_autoptr(http_server_t) server = NULL;
	g_autoptr(http_client_t) client = NULL;
	g_autoptr(json_t) body = NULL;
	g_autoptr(GError) error = NULL;
	struct who who = { 0 };

	g_assert_null(http_server_new_tls("https://127.0.0.1:0", &tls, who_routes, NULL, NULL));
	make_certificate(certificate, key);
	g_assert_null(http_server_new_tls("http://127.0.0.1:0", &tls, who_routes, NULL, NULL));
	g_chmod(key, 0640);
	g_assert_null(http_server_new_tls("https://127.0.0.1:0", &tls, who_routes, NULL, &error));
	g_assert_error(error, HTTP_ERROR, HTTP_ERROR_TRUST);
	g_assert_nonnull(strstr(error->message, "chmod 600"));
	g_clear_error(&error);
	g_chmod(key, 0600);
	server = http_server_new_tls("https://127.0.0.1:0", &tls, who_routes, NULL, &error);
	g_assert_no_error(error);
	client = http_client_new(http_server_address(server), &error);
	g_assert_no_error(error);
	/* Nobody vouches for it; then it does itself, and wants a name. */
	assert_call_fails(client, HTTP_ERROR_TRUST, "certificate");
	identity.ca_file = certificate;
	http_client_identify(client, &identity);
	assert_call_fails(client, HTTP_ERROR_STATUS, "who are you?");
	identity.user = "ADMIN";
	identity.password = "s3cret";
	identity.header = "X-Token: t0ken";
	http_client_identify(client, &identity);
	body = http_client_call(client, "GET", "/who", NULL, 20, &error);
	g_assert_no_error(error);
	g_assert_cmpstr(json_string_value(json_object_get(body, "who")), ==,
			"Basic QURNSU46czNjcmV0");
	g_assert_cmpstr(json_string_value(json_object_get(body, "token")), ==, "t0ken");
	/* Any certificate will do, and a header is handed to the callback. */
	identity = (struct http_client_identity){ .insecure = true, .user = "a", .password = "" };
	http_client_identify(client, &identity);
	who.client = client;
	http_client_request(client, "GET", "/who", NULL, 20, on_who, &who);
	while (!who.ended)
		g_main_context_iteration(NULL, TRUE);
	g_assert_cmpstr(who.header, ==, "Basic YTo=");
	g_assert_null(http_client_answer_header(client, "x-who"));
	g_free(who.header);
	g_unlink(certificate);
	g_unlink(key);
	g_rmdir(directory);
}

/* A guard that goes by what the header says, for all to see. */
static struct http_identity believe(const char *authorization, int64_t peer_uid, void *data)
{
	static const struct {
		const char *word;
		enum http_role role;
	} words[] = {
		{ "viewer", HTTP_ROLE_VIEWER },
		{ "user", HTTP_ROLE_USER },
		{ "operator", HTTP_ROLE_OPERATOR },
	};
	struct http_identity identity = { .role = HTTP_ROLE_NONE, .uid = 7 };

	for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
		if (g_strcmp0(authorization, words[i].word) == 0)
			identity.role = words[i].role;
	return identity;
}

static void handle_role(struct http_request *request, const char *const *arguments, json_t *body,
			void *data)
{
	http_request_reply(request, 200,
			   json_pack("{s:i, s:I}", "role", (int)http_request_role(request), "uid",
				     (json_int_t)http_request_peer_uid(request)));
}

/* User 7 has the things of that number. */
static char *keep_out(const char *const *arguments, int64_t uid, void *data)
{
	return uid == g_ascii_strtoll(arguments[0], NULL, 10) ? NULL : g_strdup("you have none");
}

static const struct http_route guarded_routes[] = {
	{ "GET", "/open", handle_role, HTTP_ROLE_ANYBODY },
	{ "GET", "/look", handle_role, HTTP_ROLE_VIEWER },
	{ "GET", "/look/*", handle_role, HTTP_ROLE_VIEWER, keep_out },
	{ "PUT", "/mine", handle_role, HTTP_ROLE_USER },
	{ "PUT", "/mine/*", handle_role, HTTP_ROLE_USER, keep_out },
	{ "PUT", "/all", handle_role, HTTP_ROLE_OPERATOR },
	{ "GET", "/forgotten", handle_role },
	{ NULL },
};

/* The status and body of an answer by a header `who` (NULL: none), as "401 {...}". */
static char *guarded_answer(struct http_server *server, const char *who, const char *method,
			    const char *path)
{
	g_autoptr(http_client_t) client = http_client_new(http_server_address(server), NULL);
	g_autofree char *header = who ? g_strconcat("Authorization: ", who, NULL) : NULL;
	const struct http_client_identity identity = { .header = header };
	g_autoptr(json_t) sent = g_str_equal(method, "PUT") ? json_object() : NULL;
	g_autoptr(GError) error = NULL;
	g_autoptr(json_t) body = NULL;
	g_autofree char *text = NULL;
	const char *said;

	http_client_identify(client, &identity);
	body = http_client_call(client, method, path, sent, 20, &error);
	if (body)
		text = json_text(body);
	said = error ? strstr(error->message, "status ") : NULL;
	return said ? g_strdup(said + strlen("status ")) : g_strconcat("200: ", text, NULL);
}

static void test_a_guard_decides(void)
{
	static const struct {
		const char *who, *method, *path, *answer;
	} cases[] = {
		{ NULL, "GET", "/open", "200: {\"role\":1,\"uid\":7}" },
		{ NULL, "GET", "/look", "401: give a token that is good" },
		{ NULL, "PUT", "/all", "401: give a token that is good" },
		{ NULL, "DELETE", "/look", "401: give a token that is good" },
		{ NULL, "GET", "/nowhere", "401: give a token that is good" },
		{ NULL, "GET", "/forgotten", "401: give a token that is good" },
		{ "rubbish", "GET", "/look", "401: give a token that is good" },
		{ "viewer", "GET", "/look", "200: {\"role\":2,\"uid\":7}" },
		{ "viewer", "PUT", "/mine", "403: that is not for you to do" },
		{ "viewer", "PUT", "/all", "403: that is not for you to do" },
		{ "viewer", "GET", "/nowhere", "404: no such path \"/nowhere\"" },
		{ "user", "PUT", "/mine", "200: {\"role\":3,\"uid\":7}" },
		{ "user", "GET", "/look/7", "200: {\"role\":3,\"uid\":7}" },
		{ "user", "GET", "/look/8", "403: you have none" },
		{ "user", "PUT", "/mine/7", "200: {\"role\":3,\"uid\":7}" },
		{ "user", "PUT", "/mine/8", "403: you have none" },
		{ "viewer", "GET", "/look/8", "200: {\"role\":2,\"uid\":7}" },
		{ "viewer", "PUT", "/mine/7", "403: that is not for you to do" },
		{ "operator", "PUT", "/mine/8", "200: {\"role\":4,\"uid\":7}" },
		{ "user", "PUT", "/all", "403: that is not for you to do" },
		{ "operator", "GET", "/look", "200: {\"role\":4,\"uid\":7}" },
		{ "operator", "PUT", "/all", "200: {\"role\":4,\"uid\":7}" },
		{ "operator", "GET", "/forgotten", "403: that is not for you to do" },
	};
	g_autoptr(http_server_t) server =
		http_server_new("http://127.0.0.1:0", guarded_routes, NULL, NULL);

	http_server_guard(server, believe, NULL);
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *answer = guarded_answer(server, cases[i].who, cases[i].method,
							 cases[i].path);

		g_test_message("%s %s by %s", cases[i].method, cases[i].path, cases[i].who ?: "-");
		g_assert_cmpstr(answer, ==, cases[i].answer);
	}
}

static void test_who_asks_too_often_is_told_when_to_come_again(void)
{
	g_autoptr(http_server_t) server =
		http_server_new("http://127.0.0.1:0", guarded_routes, NULL, NULL);
	g_autofree char *too_many = NULL;
	g_autofree char *stranger = NULL;

	http_server_guard(server, believe, NULL);
	http_server_limit(server, 1);
	for (int i = 0; i < 50 && !too_many; i++) {
		g_autofree char *answer = guarded_answer(server, "viewer", "GET", "/look");

		if (!g_str_has_prefix(answer, "200"))
			too_many = g_steal_pointer(&answer);
	}
	g_assert_cmpstr(too_many, ==, "429: too many requests; try again");
	/* Those whom nobody knows have used nothing up yet. */
	stranger = guarded_answer(server, NULL, "GET", "/look");
	g_assert_cmpstr(stranger, ==, "401: give a token that is good");
}

static void handle_never(struct http_request *request, const char *const *arguments, json_t *body,
			 void *data)
{
	++*(guint *)data;
}

static const struct http_route waiting_routes[] = {
	{ "GET", "/wait", handle_never, HTTP_ROLE_VIEWER },
	{ NULL },
};

static void on_never(int status, json_t *body, const GError *error, void *data)
{
	g_assert_cmpint(status, ==, 503);
	g_assert_nonnull(strstr(error->message, "wait for their answers"));
	++*(guint *)data;
}

static void test_not_too_many_requests_wait(void)
{
	const struct http_client_identity identity = { .header = "Authorization: viewer" };
	g_autoptr(http_client_t) client = NULL;
	g_autoptr(http_server_t) server = NULL;
	guint waiting = 0;
	guint refused = 0;

	server = http_server_new("http://127.0.0.1:0", waiting_routes, &waiting, NULL);
	http_server_guard(server, believe, NULL);
	http_server_limit(server, 1000);
	client = http_client_new(http_server_address(server), NULL);
	http_client_identify(client, &identity);
	for (int i = 0; i < HTTP_SERVER_WAITING_USER_MAX + 3; i++)
		http_client_request(client, "GET", "/wait", NULL, 60, on_never, &refused);
	WAIT_FOR(waiting + refused == HTTP_SERVER_WAITING_USER_MAX + 3);
	g_assert_cmpint(waiting, ==, HTTP_SERVER_WAITING_USER_MAX);
}

/* A connection to the server on which nothing is said. */
static GSocket *connect_silently(struct http_server *server)
{
	g_autoptr(GUri) uri = g_uri_parse(http_server_address(server), G_URI_FLAGS_NONE, NULL);
	g_autoptr(GSocketAddress) address = g_inet_socket_address_new_from_string(
		g_uri_get_host(uri), (guint)g_uri_get_port(uri));
	GSocket *socket = g_socket_new(G_SOCKET_FAMILY_IPV4, G_SOCKET_TYPE_STREAM,
				       G_SOCKET_PROTOCOL_TCP, NULL);

	g_assert_true(g_socket_connect(socket, address, NULL, NULL));
	g_socket_set_blocking(socket, FALSE);
	/* Taken from the kernel's queue, which is shorter than the test. */
	while (g_main_context_iteration(NULL, FALSE))
		;
	return socket;
}

static void test_one_peer_does_not_get_all_connections(void)
{
	g_autoptr(http_server_t) server =
		http_server_new("http://127.0.0.1:0", guarded_routes, NULL, NULL);
	g_autoptr(GPtrArray) sockets = g_ptr_array_new_with_free_func(g_object_unref);
	g_autofree char *answer = NULL;
	char said[64] = "";

	for (int i = 0; i < HTTP_LISTENER_PEER_MAX; i++)
		g_ptr_array_add(sockets, connect_silently(server));
	g_ptr_array_add(sockets, connect_silently(server));
	WAIT_FOR(g_socket_receive(sockets->pdata[HTTP_LISTENER_PEER_MAX], said, sizeof(said) - 1,
				  NULL, NULL) > 0 ||
		 (g_usleep(1000), g_main_context_wakeup(NULL), false));
	g_assert_nonnull(strstr(said, "503"));
	/* When they are gone there is room again. */
	g_ptr_array_set_size(sockets, 0);
	do {
		g_clear_pointer(&answer, g_free);
		answer = guarded_answer(server, NULL, "GET", "/open");
	} while (!g_str_has_prefix(answer, "200"));
}

/* How many descriptors this process has. */
static guint descriptors(void)
{
	g_autoptr(GDir) directory = g_dir_open("/proc/self/fd", 0, NULL);
	guint count = 0;

	while (g_dir_read_name(directory))
		count++;
	return count;
}

/* One call of a client that comes, and leaves its connection open when it goes. */
static void call_and_leave(const struct fixture *fixture)
{
	g_autoptr(http_client_t) client =
		http_client_new(http_server_address(fixture->server), NULL);
	g_autoptr(GError) error = NULL;
	g_autoptr(json_t) body = http_client_call(client, "GET", "/v1/ok", NULL, 20, &error);

	g_assert_no_error(error);
}

static void test_connections_that_clients_leave_are_closed(struct fixture *fixture,
							   gconstpointer data)
{
	const guint many = 20;
	guint before;

	call_and_leave(fixture); /* what all of them share is open now */
	before = descriptors();
	for (guint i = 0; i < many; i++)
		call_and_leave(fixture);
	WAIT_FOR(descriptors() < before + many / 2);
}

/* Registers a test over both kinds of address. */
static void add(const char *name, void (*test)(struct fixture *, gconstpointer))
{
	g_autofree char *over_unix = g_strdup_printf("/http/unix/%s", name);
	g_autofree char *over_tcp = g_strdup_printf("/http/tcp/%s", name);

	g_test_add(over_unix, struct fixture, NULL, setup, test, teardown);
	g_test_add(over_tcp, struct fixture, "http://127.0.0.1:0", setup, test, teardown);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	add("call", test_calls_get_what_the_handler_answers);
	add("large-bodies", test_large_bodies_pass_up_to_the_limit);
	add("never-before-return", test_request_never_answers_before_it_returns);
	add("long-poll", test_long_poll_is_answered_later);
	add("timeout", test_timeout_ends_a_long_poll_on_both_sides);
	add("free-client", test_freeing_the_client_cancels_without_a_call);
	add("free-server", test_freeing_the_server_drops_open_requests);
	add("callback-calls", test_callback_may_call_again_and_wait);
	add("callback-frees", test_callback_may_free_the_client);
	add("free-ends-call", test_freeing_the_client_ends_a_waiting_call);
	add("restart", test_client_survives_a_server_restart);
	add("left", test_connections_that_clients_leave_are_closed);
	g_test_add("/http/unix/peer", struct fixture, NULL, setup, test_a_unix_socket_tells_who_asks,
		   teardown);
	g_test_add("/http/tcp/peer", struct fixture, "http://127.0.0.1:0", setup,
		   test_a_unix_socket_tells_who_asks, teardown);
	g_test_add("/http/unix/socket", struct fixture, NULL, setup,
		   test_socket_is_private_and_a_stale_one_replaced, teardown);
	g_test_add("/http/tcp/rubbish", struct fixture, "http://127.0.0.1:0", setup,
		   test_server_answers_rubbish_with_an_error, teardown);
	g_test_add("/http/tcp/closes", struct fixture, "http://127.0.0.1:0", setup,
		   test_server_says_that_it_closes, teardown);
	g_test_add("/http/tcp/own-pages", struct fixture, "http://127.0.0.1:0", setup,
		   test_server_answers_its_own_pages_only, teardown);
	g_test_add("/http/unix/no-site", struct fixture, NULL, setup, test_socket_is_no_site,
		   teardown);
	g_test_add("/http/tcp/pipelined", struct fixture, "http://127.0.0.1:0", setup,
		   test_pipelined_request_does_not_cancel_a_long_poll, teardown);
	g_test_add_func("/http/addresses", test_addresses_that_make_no_sense_are_refused);
	g_test_add_func("/http/peer", test_client_survives_a_peer_that_misbehaves);
	g_test_add_func("/http/endless", test_client_refuses_an_endless_answer);
	g_test_add_func("/http/tls", test_tls_and_names);
	g_test_add_func("/http/guard", test_a_guard_decides);
	g_test_add_func("/http/limits/rate", test_who_asks_too_often_is_told_when_to_come_again);
	g_test_add_func("/http/limits/waiting", test_not_too_many_requests_wait);
	g_test_add_func("/http/limits/connections", test_one_peer_does_not_get_all_connections);
	g_test_add_func("/http/not-there", test_client_reports_what_is_not_there);
	return g_test_run();
}
