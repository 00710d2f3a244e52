/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Client and server against each other, and the server against a raw socket where the peer misbehaves. */
#include <gio/gunixsocketaddress.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/http_client.h"
#include "common/http_server.h"
#include "common/json.h"
#include "tests/unit/common/wait_for.h"

/* A server with what its handlers saw, and a client of it. */
struct fixture {
	char *directory;
	struct http_server *server;
	struct http_client *client;
	GQueue waiting; /* struct http_request of /v1/wait */
	int cancelled;
	int ok;	      /* answers of /v1/ok */
	int answered; /* by on_status() */
	int status;
	int code; /* of the error, 0 without */
	struct http_client *other; /* of the same server */
};

static void handle_ok(struct http_request *request, const char *const *arguments, json_t *body,
		      void *data)
{
	((struct fixture *)data)->ok++;
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

static void handle_number(struct http_request *request, const char *const *arguments, json_t *body, void *data)
{
	uint64_t whole;
	double real;

	if (http_request_query_integer(request, "whole", 2, 1000, 7, &whole) &&
	    http_request_query_real(request, "real", -10, 1e15, 0.5, &real))
		http_request_reply(request, 200, json_pack("{s:I, s:f}", "whole", (json_int_t)whole, "real", real));
}

static const struct http_route routes[] = {
	{ "GET", "/v1/peer", handle_peer },
	{ "GET", "/v1/ok", handle_ok },
	{ "GET", "/text", handle_text },
	{ "PUT", "/v1/echo/*/x/*", handle_echo, .query = "after then", .takes_body = true },
	{ "GET", "/v1/empty", handle_empty },
	{ "DELETE", "/v1/conflict", handle_conflict },
	{ "GET", "/v1/number", handle_number, .query = "whole real" },
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
		{ "PUT", "/v1/echo/*/x/b", NULL,
		  "{\"after\":null,\"body\":null,\"first\":\"*\",\"second\":\"b\"}", NULL },
		{ "PUT", "/v1/echo/a/x/b/c", NULL, NULL, "status 404" },
		{ "PUT", "/v1/echo/a/x", NULL, NULL, "status 404" },
		{ "GET", "/v1/o", NULL, NULL, "status 404" },
		{ "GET", "/v1/okay", NULL, NULL, "status 404" },
		{ "GET", "/v1/ok/", NULL, NULL, "status 404" },
		{ "GET", "/", NULL, NULL, "status 404" },
		{ "DELETE", "/v1/conflict", "{}", NULL, "status 409" },
		{ "DELETE", "/v1/conflict", "{\"x\":1}", NULL, "status 400: request body: this takes none" },
		{ "DELETE", "/v1/conflict", "[]", NULL, "status 400: request body: this takes none" },
		{ "GET", "/v1/ok", "{\"x\":null}", NULL, "status 400: request body: this takes none" },
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

/* What a query may say, and what it is answered. */
static const struct {
	const char *target;
	const char *answer; /* or what an error of status 400 says */
} queries[] = {
	{ "/v1/number", "{\"real\":0.5,\"whole\":7}" },
	{ "/v1/number?", "{\"real\":0.5,\"whole\":7}" },
	{ "/v1/number?whole=2&real=1e12", "{\"real\":1000000000000.0,\"whole\":2}" },
	{ "/v1/number?whole=1000&real=-0.25", "{\"real\":-0.25,\"whole\":1000}" },
	{ "/v1/number?%77hole=8", "{\"real\":0.5,\"whole\":8}" },
	{ "/v1/number?whole=1", "query: whole: '1' is not a whole number from 2 to 1000" },
	{ "/v1/number?whole=1001", "'1001' is not a whole number" },
	{ "/v1/number?whole=3.5", "'3.5' is not a whole number" },
	{ "/v1/number?whole=3.0", "'3.0' is not a whole number" },
	{ "/v1/number?whole=-3", "'-3' is not a whole number" },
	{ "/v1/number?whole=%2B3", "'+3' is not a whole number" },
	{ "/v1/number?whole=+3", "' 3' is not a whole number" },
	{ "/v1/number?whole=3%20", "'3 ' is not a whole number" },
	{ "/v1/number?whole=1e2", "'1e2' is not a whole number" },
	{ "/v1/number?whole=0x10", "'0x10' is not a whole number" },
	{ "/v1/number?whole=1,000", "'1,000' is not a whole number" },
	{ "/v1/number?whole=nan", "'nan' is not a whole number" },
	{ "/v1/number?whole=18446744073709551619", "'18446744073709551619' is not a whole number" },
	{ "/v1/number?whole=", "'' is not a whole number" },
	{ "/v1/number?whole=3%00", "query: 'whole=3%00' is not NAME=VALUE" },
	{ "/v1/number?whole=%zz", "the headers are no request that can be read" },
	{ "/v1/number?real=nan", "query: real: 'nan' is not a number from -10 to 1e+15" },
	{ "/v1/number?real=inf", "'inf' is not a number" },
	{ "/v1/number?real=-infinity", "'-infinity' is not a number" },
	{ "/v1/number?real=1e999", "'1e999' is not a number" },
	{ "/v1/number?real=0x10", "'0x10' is not a number" },
	{ "/v1/number?real=1,5", "'1,5' is not a number" },
	{ "/v1/number?real=-11", "'-11' is not a number" },
	{ "/v1/number?real=e", "'e' is not a number" },
	{ "/v1/number?real=+1", "' 1' is not a number" },
	{ "/v1/number?real=", "'' is not a number" },
	{ "/v1/number?whole=3&whole=3", "query: whole: it is given twice" },
	{ "/v1/number?whole=3&wh%6fle=4", "query: whole: it is given twice" },
	{ "/v1/number?hole=3", "query: unknown parameter 'hole'; known: whole real" },
	{ "/v1/number?Whole=3", "query: unknown parameter 'Whole'" },
	{ "/v1/number?whole=3&real", "query: 'real' is not NAME=VALUE" },
	{ "/v1/ok?whole=3", "query: unknown parameter 'whole'; this takes none" },
};

static void test_a_query_is_what_its_route_knows(struct fixture *fixture, gconstpointer data)
{
	for (gsize i = 0; i < G_N_ELEMENTS(queries); i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(json_t) answer =
			http_client_call(fixture->client, "GET", queries[i].target, NULL, 10, &error);
		g_autofree char *text = answer ? json_text(answer) : NULL;

		g_test_message("%s: %s", queries[i].target, error ? error->message : text);
		if (*queries[i].answer == '{') {
			g_assert_cmpstr(text, ==, queries[i].answer);
			continue;
		}
		g_assert_error(error, HTTP_ERROR, HTTP_ERROR_STATUS);
		g_assert_nonnull(strstr(error->message, "status 400: "));
		g_assert_nonnull(strstr(error->message, queries[i].answer));
	}
	g_assert_cmpint(fixture->ok, ==, 0);
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

static void on_each_free_the_other(int status, json_t *body, const GError *error, void *data)
{
	struct fixture *fixture = data;

	g_assert_no_error(error);
	fixture->answered++;
	g_clear_pointer(&fixture->other, http_client_free);
}

/*
 * Clients of one loop share a multi handle, and each sees its own answers only: freeing a client drops the answers that
 * it has, or waits for.
 */
static void test_a_client_that_goes_leaves_the_others(struct fixture *fixture, gconstpointer data)
{
	fixture->other = http_client_new(http_server_address(fixture->server), NULL);
	for (int i = 0; i < 5; i++) {
		http_client_request(fixture->client, "GET", "/v1/ok", NULL, 10, on_each_free_the_other, fixture);
		http_client_request(fixture->other, "GET", "/v1/wait", NULL, 10, on_first_free_the_client, fixture);
	}
	WAIT_FOR(fixture->waiting.length == 5 || !fixture->other);
	WAIT_FOR(fixture->answered == 5);
	WAIT_FOR(fixture->waiting.length == 0);
	/* The last one goes, and there is another. */
	g_clear_pointer(&fixture->client, http_client_free);
	fixture->client = http_client_new(http_server_address(fixture->server), NULL);
	http_client_request(fixture->client, "GET", "/v1/ok", NULL, 10, on_each_free_the_other, fixture);
	WAIT_FOR(fixture->answered == 6);
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
	g_assert_error(error, G_IO_ERROR, G_IO_ERROR_ADDRESS_IN_USE);
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
					       "http://127.0.0.1", "unix:/proc/self/status",
					       "http://127.1:0", "http://127.0.0.1:", "http://127.0.0.1:65536",
					       "http://127.0.0.1:+0", "http://127.0.0.1:00", "http://127.0.0.1:0/x",
					       "http://127.0.0.1:0?x", "http://u@127.0.0.1:0", "HTTP://127.0.0.1:0",
					       "http://localhost:0", "http://[::]:0", "unix:" };
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

/* Sends `text` over a socket of our own. */
static GSocket *say(const char *address, const char *text)
{
	g_autoptr(GSocketAddress) where = address_of(address);
	g_autoptr(GSocket) socket = g_socket_new(g_socket_address_get_family(where),
						 G_SOCKET_TYPE_STREAM, G_SOCKET_PROTOCOL_DEFAULT,
						 NULL);

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
		{ "\r\nGET /v1/ok HTTP/1.0\r\n\r\n", "HTTP/1.0 200", "{\"ok\":true}" },
		{ "hello\r\n\r\n", "HTTP/1.1 501", "{\"error\":\"that is no HTTP method\"}" },
		{ "GETOUT /v1/ok HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 501", "{\"error\":" },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *answer =
			converse(http_server_address(fixture->server), cases[i].text);

		g_test_message("case %zu: %s", i, answer);
		g_assert_true(g_str_has_prefix(answer, cases[i].status));
		g_assert_nonnull(strstr(answer, cases[i].contains));
	}
}

/* Otherwise answers of any peer would be kept for good. */
static void test_server_keeps_no_methods(struct fixture *fixture, gconstpointer data)
{
	const char *address = http_server_address(fixture->server);
	g_autofree char *known = converse(address, "PATCH /v1/ok HTTP/1.1\r\nHost: localhost\r\n\r\n");
	g_autofree char *strange = converse(address, "PATCHES /v1/ok HTTP/1.1\r\nHost: localhost\r\n\r\n");

	g_assert_cmpuint(g_quark_try_string("PATCH"), !=, 0);
	g_assert_cmpuint(g_quark_try_string("PATCHES"), ==, 0);
}

static void test_server_reads_a_method_in_parts(struct fixture *fixture, gconstpointer data)
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

/* A pipelined second request must not make a waiting first one spin or end; that its peer leaves then does. */
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
	WAIT_FOR(fixture->cancelled == 1);
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

/* One call of a client that comes and goes. The server closes the connection after its answer. */
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

/* Each turn of a loop with many sockets takes long. No client gets all of it, either. */
static void test_those_who_wait_are_heard_several_in_a_turn(struct fixture *fixture,
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
	add("query", test_a_query_is_what_its_route_knows);
	add("large-bodies", test_large_bodies_pass_up_to_the_limit);
	add("never-before-return", test_request_never_answers_before_it_returns);
	add("long-poll", test_long_poll_is_answered_later);
	add("timeout", test_timeout_ends_a_long_poll_on_both_sides);
	add("free-client", test_freeing_the_client_cancels_without_a_call);
	add("free-server", test_freeing_the_server_drops_open_requests);
	add("callback-calls", test_callback_may_call_again_and_wait);
	add("callback-frees", test_callback_may_free_the_client);
	add("free-ends-call", test_freeing_the_client_ends_a_waiting_call);
	add("apart", test_a_client_that_goes_leaves_the_others);
	add("restart", test_client_survives_a_server_restart);
	add("left", test_connections_that_clients_leave_are_closed);
	g_test_add("/http/unix/several-in-a-turn", struct fixture, NULL, setup,
		   test_those_who_wait_are_heard_several_in_a_turn, teardown);
	g_test_add("/http/unix/peer", struct fixture, NULL, setup, test_a_unix_socket_tells_who_asks,
		   teardown);
	g_test_add("/http/tcp/peer", struct fixture, "http://127.0.0.1:0", setup,
		   test_a_unix_socket_tells_who_asks, teardown);
	g_test_add("/http/unix/socket", struct fixture, NULL, setup,
		   test_socket_is_private_and_a_stale_one_replaced, teardown);
	g_test_add("/http/tcp/rubbish", struct fixture, "http://127.0.0.1:0", setup,
		   test_server_answers_rubbish_with_an_error, teardown);
	g_test_add("/http/tcp/methods", struct fixture, "http://127.0.0.1:0", setup,
		   test_server_keeps_no_methods, teardown);
	g_test_add("/http/tcp/parts", struct fixture, "http://127.0.0.1:0", setup,
		   test_server_reads_a_method_in_parts, teardown);
	g_test_add("/http/tcp/closes", struct fixture, "http://127.0.0.1:0", setup,
		   test_server_says_that_it_closes, teardown);
	g_test_add("/http/tcp/own-pages", struct fixture, "http://127.0.0.1:0", setup,
		   test_server_answers_its_own_pages_only, teardown);
	g_test_add("/http/unix/no-site", struct fixture, NULL, setup, test_socket_is_no_site,
		   teardown);
	g_test_add("/http/tcp/pipelined", struct fixture, "http://127.0.0.1:0", setup,
		   test_pipelined_request_does_not_cancel_a_long_poll, teardown);
	g_test_add_func("/http/addresses", test_addresses_that_make_no_sense_are_refused);
	return g_test_run();
}
