/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The server against a raw socket, where the peer misbehaves. */
#include "tests/unit/common/http_fixture.h"

#include <gio/gunixsocketaddress.h>
#include <string.h>

#include "common/clock.h"
#include "tests/unit/common/wait_for.h"

static GSocketAddress *address_of(const char *address)
{
	g_autoptr(GUri) uri = NULL;

	if (g_str_has_prefix(address, "unix:"))
		return g_unix_socket_address_new(address + strlen("unix:"));
	uri = g_uri_parse(address, G_URI_FLAGS_NONE, NULL);
	return g_inet_socket_address_new_from_string(g_uri_get_host(uri),
						     (guint)g_uri_get_port(uri));
}

/* Sends `text` over a socket of our own. */
static GSocket *say(const char *address, const char *text)
{
	g_autoptr(GSocketAddress) where = address_of(address);
	g_autoptr(GSocket) socket =
		g_socket_new(g_socket_address_get_family(where), G_SOCKET_TYPE_STREAM,
			     G_SOCKET_PROTOCOL_DEFAULT, NULL);

	g_assert_true(g_socket_connect(socket, where, NULL, NULL));
	g_assert_cmpint(g_socket_send(socket, text, strlen(text), NULL, NULL), ==, strlen(text));
	return g_steal_pointer(&socket);
}

/* The same, and returns all that came back until the end. */
static char *converse(const char *address, const char *text)
{
	g_autoptr(GSocket) socket = say(address, text);
	g_autoptr(GString) answer = g_string_new(NULL);
	const int64_t deadline_ns = clock_now_ns() + INT64_C(20000000000);
	char buffer[4096];
	gssize got = -1;

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

static void test_server_answers_rubbish_with_an_error(struct http_fixture *fixture,
						      gconstpointer data)
{
	static const struct {
		const char *text;
		const char *status;
		const char *contains;
	} cases[] = {
		{"PUT /v1/echo/a/x/b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
		 "Content-Length: 3\r\n\r\n{a}",
		 "HTTP/1.1 400", "{\"error\":\"request body: line 1"},
		{"PUT /v1/echo/a/x/b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
		 "Transfer-Encoding: chunked\r\n\r\n3\r\n[1]\r\n0\r\n\r\n",
		 "HTTP/1.1 201", "\"body\":[1]"},
		{"PATCH /v1/ok HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
		 "HTTP/1.1 405", "Allow: GET"},
		{"GET /none HTTP/1.0\r\n\r\n", "HTTP/1.0 404", "{\"error\":\"no such path"},
		{"GET /v1/ok HTTP/1.0\r\n\r\n", "HTTP/1.0 200", "{\"ok\":true}"},
		{"\r\nGET /v1/ok HTTP/1.0\r\n\r\n", "HTTP/1.0 200", "{\"ok\":true}"},
		{"hello\r\n\r\n", "HTTP/1.1 501", "{\"error\":\"that is no HTTP method\"}"},
		{"GETOUT /v1/ok HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 501",
		 "{\"error\":"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *answer =
			converse(http_server_address(fixture->server), cases[i].text);

		g_test_message("case %zu: %s", i, answer);
		g_assert_true(g_str_has_prefix(answer, cases[i].status));
		g_assert_nonnull(strstr(answer, cases[i].contains));
	}
}

/* Texts of peers would be kept for good otherwise. */
static void test_server_keeps_no_methods(struct http_fixture *fixture, gconstpointer data)
{
	const char *address = http_server_address(fixture->server);
	g_autofree char *known =
		converse(address, "PATCH /v1/ok HTTP/1.1\r\nHost: localhost\r\n\r\n");
	g_autofree char *strange =
		converse(address, "PATCHES /v1/ok HTTP/1.1\r\nHost: localhost\r\n\r\n");

	g_assert_cmpuint(g_quark_try_string("PATCH"), !=, 0);
	g_assert_cmpuint(g_quark_try_string("PATCHES"), ==, 0);
}

static void test_server_reads_a_method_in_parts(struct http_fixture *fixture, gconstpointer data)
{
	g_autoptr(GSocket) socket = say(http_server_address(fixture->server), "GE");
	static const char rest[] = "T /v1/ok HTTP/1.0\r\n\r\n";
	char start[16] = "";

	while (g_main_context_iteration(NULL, FALSE)) /* it is accepted, and read so far */
		;
	g_assert_cmpint(g_socket_send(socket, rest, strlen(rest), NULL, NULL), ==, strlen(rest));
	g_socket_set_blocking(socket, FALSE);
	WAIT_FOR(g_socket_receive(socket, start, strlen("HTTP/1.0 200"), NULL, NULL) > 0 ||
		 (g_usleep(1000), g_main_context_wakeup(NULL), false));
	g_assert_cmpstr(start, ==, "HTTP/1.0 200");
}

/* A peer that would ask again on the same connection has to know that it ends. */
static void test_server_says_that_it_closes(struct http_fixture *fixture, gconstpointer data)
{
	static const char *const requests[] = {"GET /v1/ok HTTP/1.1\r\nHost: localhost\r\n\r\n",
					       "GET /none HTTP/1.1\r\nHost: localhost\r\n\r\n"};

	for (gsize i = 0; i < G_N_ELEMENTS(requests); i++) {
		g_autofree char *answer =
			converse(http_server_address(fixture->server), requests[i]);

		g_assert_nonnull(strstr(answer, "\r\nConnection: close\r\n"));
	}
}

/* What browsers hear, and what they are refused. */
static void test_server_answers_its_own_pages_only(struct http_fixture *fixture, gconstpointer data)
{
	static const struct {
		const char *headers;
		const char *status;
		const char *contains;
	} cases[] = {
		{"Host: localhost:7", "HTTP/1.1 200", "\r\nContent-Type: text/css\r\n"},
		{"Host: [::1]", "HTTP/1.1 200", "\r\nETag: \"7\"\r\n"},
		{"Host: 127.0.0.1:80\r\nOrigin: http://127.0.0.1:80", "HTTP/1.1 200",
		 "\r\n\r\na { b: c }"},
		{"Host: 127.0.0.1", "HTTP/1.1 200", "\r\nX-Content-Type-Options: nosniff\r\n"},
		{"Host: 127.0.0.1", "HTTP/1.1 200", "\r\nCache-Control: no-store\r\n"},
		{"Host: 127.0.0.1", "HTTP/1.1 200",
		 "\r\nContent-Security-Policy: default-src 'self';"},
		{"Host: evil.example", "HTTP/1.1 403", "{\"error\":"},
		{"Host: localhost.evil.example", "HTTP/1.1 403", "{\"error\":"},
		{"Host: 127.0.0.1\r\nOrigin: http://evil.example", "HTTP/1.1 403", "{\"error\":"},
		{"Host: 127.0.0.1:80\r\nOrigin: http://127.0.0.1:81", "HTTP/1.1 403",
		 "{\"error\":"},
		{"Host: 127.0.0.1\r\nOrigin: null", "HTTP/1.1 403", "{\"error\":"},
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
static void test_socket_is_no_site(struct http_fixture *fixture, gconstpointer data)
{
	static const char *const hosts[] = {"x", "localhost:8080", "127.0.0.1:8080",
					    "evil.example:8080"};

	for (gsize i = 0; i < G_N_ELEMENTS(hosts); i++) {
		g_autofree char *text =
			g_strdup_printf("GET /text HTTP/1.1\r\nHost: %s\r\n\r\n", hosts[i]);
		g_autofree char *answer = converse(http_server_address(fixture->server), text);

		g_assert_cmpint(g_str_has_prefix(answer, "HTTP/1.1 403"), ==, i == 3);
		g_assert_cmpint(g_str_has_prefix(answer, "HTTP/1.1 200"), ==, i < 3);
	}
}

/*
 * A pipelined second request must not make a waiting first one spin or end; that its peer leaves
 * then does.
 */
static void test_pipelined_request_does_not_cancel_a_long_poll(struct http_fixture *fixture,
							       gconstpointer data)
{
	static const char text[] =
		"GET /v1/wait HTTP/1.1\r\nHost: localhost\r\n\r\n"
		"GET /v1/ok HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
	g_autoptr(GUri) uri =
		g_uri_parse(http_server_address(fixture->server), G_URI_FLAGS_NONE, NULL);
	g_autoptr(GSocketClient) connector = g_socket_client_new();
	g_autoptr(GSocketConnection) connection =
		g_socket_client_connect_to_host(connector, g_uri_get_host(uri),
						(guint16)g_uri_get_port(uri), NULL, NULL);

	g_assert_true(
		g_output_stream_write_all(g_io_stream_get_output_stream(G_IO_STREAM(connection)),
					  text, strlen(text), NULL, NULL, NULL));
	WAIT_FOR(fixture->waiting.length == 1);
	while (g_main_context_iteration(NULL, FALSE))
		continue;
	g_assert_cmpint(fixture->cancelled, ==, 0);
	g_clear_object(&connection);
	WAIT_FOR(fixture->cancelled == 1);
}

/* Each turn of a loop with many sockets takes long. No socket gets all of it, either. */
static void test_those_who_wait_are_heard_several_in_a_turn(struct http_fixture *fixture,
							    gconstpointer data)
{
	GSocket *sockets[40];

	for (gsize i = 0; i < G_N_ELEMENTS(sockets); i++)
		sockets[i] = say(http_server_address(fixture->server),
				 "GET /v1/ok HTTP/1.1\r\nHost: localhost\r\n\r\n");
	while (fixture->ok == 0)
		g_main_context_iteration(NULL, TRUE);
	g_assert_cmpint(fixture->ok, >, 4);
	g_assert_cmpint(fixture->ok, <, (int)G_N_ELEMENTS(sockets));
	WAIT_FOR(fixture->ok == (int)G_N_ELEMENTS(sockets));
	for (gsize i = 0; i < G_N_ELEMENTS(sockets); i++)
		g_object_unref(sockets[i]);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add("/http/unix/several-in-a-turn", struct http_fixture, NULL, http_fixture_init,
		   test_those_who_wait_are_heard_several_in_a_turn, http_fixture_finish);
	g_test_add("/http/tcp/rubbish", struct http_fixture, "http://127.0.0.1:0",
		   http_fixture_init, test_server_answers_rubbish_with_an_error,
		   http_fixture_finish);
	g_test_add("/http/tcp/methods", struct http_fixture, "http://127.0.0.1:0",
		   http_fixture_init, test_server_keeps_no_methods, http_fixture_finish);
	g_test_add("/http/tcp/parts", struct http_fixture, "http://127.0.0.1:0", http_fixture_init,
		   test_server_reads_a_method_in_parts, http_fixture_finish);
	g_test_add("/http/tcp/closes", struct http_fixture, "http://127.0.0.1:0", http_fixture_init,
		   test_server_says_that_it_closes, http_fixture_finish);
	g_test_add("/http/tcp/own-pages", struct http_fixture, "http://127.0.0.1:0",
		   http_fixture_init, test_server_answers_its_own_pages_only, http_fixture_finish);
	g_test_add("/http/unix/no-site", struct http_fixture, NULL, http_fixture_init,
		   test_socket_is_no_site, http_fixture_finish);
	g_test_add("/http/tcp/pipelined", struct http_fixture, "http://127.0.0.1:0",
		   http_fixture_init, test_pipelined_request_does_not_cancel_a_long_poll,
		   http_fixture_finish);
	return g_test_run();
}
