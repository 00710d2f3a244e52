/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Client and server against each other. */
#include "tests/unit/common/http_fixture.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/json.h"
#include "tests/unit/common/wait_for.h"

static void test_a_unix_socket_tells_who_asks(struct http_fixture *fixture, gconstpointer address)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(json_t) answer =
		http_client_call(fixture->client, "GET", "/v1/peer", NULL, 10, &error);

	g_assert_no_error(error);
	g_assert_cmpint(json_integer_value(json_object_get(answer, "uid")), ==,
			address ? HTTP_PEER_ANYBODY : (json_int_t)getuid());
}

static void test_calls_get_what_the_handler_answers(struct http_fixture *fixture,
						    gconstpointer data)
{
	static const struct {
		const char *method, *path, *body;
		const char *expected; /* answer; NULL: fails */
		const char *message;  /* what the error contains */
	} cases[] = {
		{"GET", "/v1/ok", NULL, "{\"ok\":true}", NULL},
		{"GET", "/v1/empty", NULL, "null", NULL},
		{"PUT", "/v1/echo/a/x/b.c", "[1]",
		 "{\"after\":null,\"body\":[1],\"first\":\"a\",\"second\":\"b.c\"}", NULL},
		{"PUT", "/v1/echo/%C3%A9%20/x/b?after=7", NULL,
		 "{\"after\":\"7\",\"body\":null,\"first\":\"é \",\"second\":\"b\"}", NULL},
		{"DELETE", "/v1/conflict", NULL, NULL, "status 409: node 3 is \xef\xbf\xbd busy"},
		{"GET", "/v1/echo/a/x/b", NULL, NULL,
		 "status 405: \"/v1/echo/a/x/b\" has no method GET; it has PUT"},
		{"PUT", "/v1/echo/a/y/b", NULL, NULL, "status 404"},
		{"PUT", "/v1/echo//x/b", NULL, NULL, "status 404"},
		{"PUT", "/v1/echo/*/x/b", NULL,
		 "{\"after\":null,\"body\":null,\"first\":\"*\",\"second\":\"b\"}", NULL},
		{"PUT", "/v1/echo/a/x/b/c", NULL, NULL, "status 404"},
		{"PUT", "/v1/echo/a/x", NULL, NULL, "status 404"},
		{"GET", "/v1/o", NULL, NULL, "status 404"},
		{"GET", "/v1/okay", NULL, NULL, "status 404"},
		{"GET", "/v1/ok/", NULL, NULL, "status 404"},
		{"GET", "/", NULL, NULL, "status 404"},
		{"DELETE", "/v1/conflict", "{}", NULL, "status 409"},
		{"DELETE", "/v1/conflict", "{\"x\":1}", NULL,
		 "status 400: request body: this takes none"},
		{"DELETE", "/v1/conflict", "[]", NULL, "status 400: request body: this takes none"},
		{"GET", "/v1/ok", "{\"x\":null}", NULL,
		 "status 400: request body: this takes none"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(json_t) body = cases[i].body ? json_loads(cases[i].body, 0, NULL) : NULL;
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
	{"/v1/number", "{\"real\":0.5,\"whole\":7}"},
	{"/v1/number?", "{\"real\":0.5,\"whole\":7}"},
	{"/v1/number?whole=2&real=1e12", "{\"real\":1000000000000.0,\"whole\":2}"},
	{"/v1/number?whole=1000&real=-0.25", "{\"real\":-0.25,\"whole\":1000}"},
	{"/v1/number?%77hole=8", "{\"real\":0.5,\"whole\":8}"},
	{"/v1/number?whole=1", "query: whole: '1' is not a whole number from 2 to 1000"},
	{"/v1/number?whole=1001", "'1001' is not a whole number"},
	{"/v1/number?whole=3.5", "'3.5' is not a whole number"},
	{"/v1/number?whole=3.0", "'3.0' is not a whole number"},
	{"/v1/number?whole=-3", "'-3' is not a whole number"},
	{"/v1/number?whole=%2B3", "'+3' is not a whole number"},
	{"/v1/number?whole=+3", "' 3' is not a whole number"},
	{"/v1/number?whole=3%20", "'3 ' is not a whole number"},
	{"/v1/number?whole=1e2", "'1e2' is not a whole number"},
	{"/v1/number?whole=0x10", "'0x10' is not a whole number"},
	{"/v1/number?whole=1,000", "'1,000' is not a whole number"},
	{"/v1/number?whole=nan", "'nan' is not a whole number"},
	{"/v1/number?whole=18446744073709551619", "'18446744073709551619' is not a whole number"},
	{"/v1/number?whole=", "'' is not a whole number"},
	{"/v1/number?whole=3%00", "query: 'whole=3%00' is not NAME=VALUE"},
	{"/v1/number?whole=%zz", "the headers are no request that can be read"},
	{"/v1/number?real=nan", "query: real: 'nan' is not a number from -10 to 1e+15"},
	{"/v1/number?real=inf", "'inf' is not a number"},
	{"/v1/number?real=-infinity", "'-infinity' is not a number"},
	{"/v1/number?real=1e999", "'1e999' is not a number"},
	{"/v1/number?real=0x10", "'0x10' is not a number"},
	{"/v1/number?real=1,5", "'1,5' is not a number"},
	{"/v1/number?real=-11", "'-11' is not a number"},
	{"/v1/number?real=e", "'e' is not a number"},
	{"/v1/number?real=+1", "' 1' is not a number"},
	{"/v1/number?real=", "'' is not a number"},
	{"/v1/number?whole=3&whole=3", "query: whole: it is given twice"},
	{"/v1/number?whole=3&wh%6fle=4", "query: whole: it is given twice"},
	{"/v1/number?hole=3", "query: unknown parameter 'hole'; known: whole real"},
	{"/v1/number?Whole=3", "query: unknown parameter 'Whole'"},
	{"/v1/number?whole=3&real", "query: 'real' is not NAME=VALUE"},
	{"/v1/ok?whole=3", "query: unknown parameter 'whole'; this takes none"},
};

static void test_a_query_is_what_its_route_knows(struct http_fixture *fixture, gconstpointer data)
{
	for (gsize i = 0; i < G_N_ELEMENTS(queries); i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(json_t) answer = http_client_call(fixture->client, "GET",
							    queries[i].target, NULL, 10, &error);
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

static void test_large_bodies_pass_up_to_the_limit(struct http_fixture *fixture, gconstpointer data)
{
	static const struct {
		gsize length;
		int status;
	} cases[] = {{1000000, 201}, {(1 << 20) - 2, 201}, {1 << 20, 413}, {8 << 20, 413}};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *text = g_strnfill(cases[i].length, 'x');
		g_autoptr(json_t) body = json_string(text);

		fixture->answered = 0;
		http_client_request(fixture->client, "PUT", "/v1/echo/a/x/b", body, 20,
				    http_fixture_answered, fixture);
		WAIT_FOR(fixture->answered);
		g_assert_cmpint(fixture->status, ==, cases[i].status);
	}
}

static void test_request_never_answers_before_it_returns(struct http_fixture *fixture,
							 gconstpointer data)
{
	http_client_request(fixture->client, "GET", "/v1/ok", NULL, 10, http_fixture_answered,
			    fixture);
	http_client_request(fixture->client, "GET", "not a path", NULL, 10, http_fixture_answered,
			    fixture);
	g_assert_cmpint(fixture->answered, ==, 0);
	WAIT_FOR(fixture->answered == 2);
}

static void test_long_poll_is_answered_later(struct http_fixture *fixture, gconstpointer data)
{
	struct http_request *request;

	for (int i = 0; i < 20; i++)
		http_client_request(fixture->client, "GET", "/v1/wait", NULL, 20,
				    http_fixture_answered, fixture);
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

static void test_timeout_ends_a_long_poll_on_both_sides(struct http_fixture *fixture,
							gconstpointer data)
{
	const int64_t start_ns = clock_now_ns();

	http_client_request(fixture->client, "GET", "/v1/wait", NULL, 0.3, http_fixture_answered,
			    fixture);
	WAIT_FOR(fixture->answered && fixture->cancelled);
	g_assert_cmpint(fixture->code, ==, HTTP_ERROR_TRANSPORT);
	g_assert_cmpint(fixture->status, ==, 0);
	g_assert_cmpfloat(clock_elapsed_s(start_ns, clock_now_ns()), >=, 0.25);
	g_assert_cmpuint(fixture->waiting.length, ==, 0);
}

static void test_freeing_the_client_cancels_without_a_call(struct http_fixture *fixture,
							   gconstpointer data)
{
	for (int i = 0; i < 5; i++)
		http_client_request(fixture->client, "GET", "/v1/wait", NULL, 20,
				    http_fixture_answered, fixture);
	WAIT_FOR(fixture->waiting.length == 5);
	g_clear_pointer(&fixture->client, http_client_free);
	WAIT_FOR(fixture->cancelled == 5);
	g_assert_cmpint(fixture->answered, ==, 0);
}

static void test_freeing_the_server_drops_open_requests(struct http_fixture *fixture,
							gconstpointer data)
{
	http_client_request(fixture->client, "GET", "/v1/wait", NULL, 20, http_fixture_answered,
			    fixture);
	http_client_request(fixture->client, "GET", "/v1/wait", NULL, 20, http_fixture_answered,
			    fixture);
	WAIT_FOR(fixture->waiting.length == 2);
	g_clear_pointer(&fixture->server, http_server_free);
	g_assert_cmpint(fixture->cancelled, ==, 2);
	WAIT_FOR(fixture->answered == 2);
	g_assert_cmpint(fixture->code, !=, 0);
}

static void on_first_call_again(int status, json_t *body, const GError *error, void *data)
{
	struct http_fixture *fixture = data;
	g_autoptr(json_t) answer =
		http_client_call(fixture->client, "GET", "/v1/ok", NULL, 10, NULL);

	g_assert_nonnull(answer);
	fixture->answered++;
}

static void test_callback_may_call_again_and_wait(struct http_fixture *fixture, gconstpointer data)
{
	for (int i = 0; i < 5; i++)
		http_client_request(fixture->client, "GET", "/v1/ok", NULL, 10, on_first_call_again,
				    fixture);
	WAIT_FOR(fixture->answered == 5);
}

static void on_first_free_the_client(int status, json_t *body, const GError *error, void *data)
{
	struct http_fixture *fixture = data;

	fixture->answered++;
	g_clear_pointer(&fixture->client, http_client_free);
}

static void test_callback_may_free_the_client(struct http_fixture *fixture, gconstpointer data)
{
	for (int i = 0; i < 5; i++)
		http_client_request(fixture->client, "GET", "/v1/ok", NULL, 10,
				    on_first_free_the_client, fixture);
	WAIT_FOR(fixture->answered == 1);
	while (g_main_context_iteration(NULL, FALSE))
		continue;
	g_assert_cmpint(fixture->answered, ==, 1);
}

static void test_freeing_the_client_ends_a_waiting_call(struct http_fixture *fixture,
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
	struct http_fixture *fixture = data;

	g_assert_no_error(error);
	fixture->answered++;
	g_clear_pointer(&fixture->other, http_client_free);
}

/*
 * A client that is freed leaves the answers of others on its loop alone, those that are there and
 * those to come.
 */
static void test_a_client_that_goes_leaves_the_others(struct http_fixture *fixture,
						      gconstpointer data)
{
	fixture->other =
		http_client_new(&platform_machine, http_server_address(fixture->server), NULL);
	for (int i = 0; i < 5; i++) {
		http_client_request(fixture->client, "GET", "/v1/ok", NULL, 10,
				    on_each_free_the_other, fixture);
		http_client_request(fixture->other, "GET", "/v1/wait", NULL, 10,
				    on_first_free_the_client, fixture);
	}
	WAIT_FOR(fixture->waiting.length == 5 || !fixture->other);
	WAIT_FOR(fixture->answered == 5);
	WAIT_FOR(fixture->waiting.length == 0);
	/* The last one goes, and there is another. */
	g_clear_pointer(&fixture->client, http_client_free);
	fixture->client =
		http_client_new(&platform_machine, http_server_address(fixture->server), NULL);
	http_client_request(fixture->client, "GET", "/v1/ok", NULL, 10, on_each_free_the_other,
			    fixture);
	WAIT_FOR(fixture->answered == 6);
}

static void test_client_survives_a_server_restart(struct http_fixture *fixture, gconstpointer data)
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
		fixture->server = http_server_new(&platform_machine, address, http_fixture_routes,
						  fixture, &error);
		g_assert_no_error(error);
		after = http_client_call(fixture->client, "GET", "/v1/ok", NULL, 10, &error);
		g_assert_no_error(error);
		g_assert_nonnull(after);
	}
}

static void test_socket_is_private_and_a_stale_one_replaced(struct http_fixture *fixture,
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
	g_assert_null(http_server_new(&platform_machine, http_server_address(fixture->server),
				      http_fixture_routes, NULL, &error));
	g_assert_error(error, G_IO_ERROR, G_IO_ERROR_ADDRESS_IN_USE);
	/* A second name of the socket outlives the server: just what a crash leaves. */
	g_assert_cmpint(link(path, copy), ==, 0);
	g_clear_pointer(&fixture->server, http_server_free);
	g_clear_error(&error);
	second = http_server_new(&platform_machine, address, http_fixture_routes, NULL, &error);
	g_assert_no_error(error);
}

static void test_addresses_that_make_no_sense_are_refused(void)
{
	static const char *const servers[] = {"",
					      "unix:relative",
					      "http://0.0.0.0:0",
					      "http://192.0.2.1:80",
					      "http://example.org:80",
					      "https://127.0.0.1:0",
					      "ftp://127.0.0.1:21",
					      "http://127.0.0.1",
					      "unix:/proc/self/status",
					      "http://127.1:0",
					      "http://127.0.0.1:",
					      "http://127.0.0.1:65536",
					      "http://127.0.0.1:+0",
					      "http://127.0.0.1:00",
					      "http://127.0.0.1:0/x",
					      "http://127.0.0.1:0?x",
					      "http://u@127.0.0.1:0",
					      "HTTP://127.0.0.1:0",
					      "http://localhost:0",
					      "http://[::]:0",
					      "unix:"};
	static const char *const clients[] = {"", "unix:relative", "ftp://host:21", "127.0.0.1:80",
					      "http://"};
	g_autofree char *name = g_strnfill(200, 'x');
	g_autofree char *too_long = g_strconcat("unix:/tmp/", name, NULL);

	for (gsize i = 0; i < G_N_ELEMENTS(servers); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_null(http_server_new(&platform_machine, servers[i], http_fixture_routes,
					      NULL, &error));
		g_assert_error(error, HTTP_ERROR, HTTP_ERROR_ADDRESS);
	}
	g_assert_null(
		http_server_new(&platform_machine, too_long, http_fixture_routes, NULL, NULL));
	for (gsize i = 0; i < G_N_ELEMENTS(clients); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_null(http_client_new(&platform_machine, clients[i], &error));
		g_assert_error(error, HTTP_ERROR, HTTP_ERROR_ADDRESS);
	}
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
static void call_and_leave(const struct http_fixture *fixture)
{
	g_autoptr(http_client_t) client =
		http_client_new(&platform_machine, http_server_address(fixture->server), NULL);
	g_autoptr(GError) error = NULL;
	g_autoptr(json_t) body = http_client_call(client, "GET", "/v1/ok", NULL, 20, &error);

	g_assert_no_error(error);
}

static void test_connections_that_clients_leave_are_closed(struct http_fixture *fixture,
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

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	http_fixture_add("call", test_calls_get_what_the_handler_answers);
	http_fixture_add("query", test_a_query_is_what_its_route_knows);
	http_fixture_add("large-bodies", test_large_bodies_pass_up_to_the_limit);
	http_fixture_add("never-before-return", test_request_never_answers_before_it_returns);
	http_fixture_add("long-poll", test_long_poll_is_answered_later);
	http_fixture_add("timeout", test_timeout_ends_a_long_poll_on_both_sides);
	http_fixture_add("free-client", test_freeing_the_client_cancels_without_a_call);
	http_fixture_add("free-server", test_freeing_the_server_drops_open_requests);
	http_fixture_add("callback-calls", test_callback_may_call_again_and_wait);
	http_fixture_add("callback-frees", test_callback_may_free_the_client);
	http_fixture_add("free-ends-call", test_freeing_the_client_ends_a_waiting_call);
	http_fixture_add("apart", test_a_client_that_goes_leaves_the_others);
	http_fixture_add("restart", test_client_survives_a_server_restart);
	http_fixture_add("left", test_connections_that_clients_leave_are_closed);
	g_test_add("/http/unix/peer", struct http_fixture, NULL, http_fixture_init,
		   test_a_unix_socket_tells_who_asks, http_fixture_finish);
	g_test_add("/http/tcp/peer", struct http_fixture, "http://127.0.0.1:0", http_fixture_init,
		   test_a_unix_socket_tells_who_asks, http_fixture_finish);
	g_test_add("/http/unix/socket", struct http_fixture, NULL, http_fixture_init,
		   test_socket_is_private_and_a_stale_one_replaced, http_fixture_finish);
	g_test_add_func("/http/addresses", test_addresses_that_make_no_sense_are_refused);
	return g_test_run();
}
