/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Client and server over a transport in memory, on one thread under virtual time: what the product
 * makes of requests is the same, and no test waits for the time that passes in it.
 */
#include "common/http_client.h"
#include "common/http_server.h"
#include "common/json.h"
#include "tests/virtual/virtual_platform.h"

/* How long a long poll lasts. */
#define POLL_S 3600

struct bed {
	struct virtual_platform *virtual;
	struct http_server *server;
	struct http_client *client;
	struct http_request *waiting; /* a long poll, or NULL */
	int cancelled;                /* long polls that their peer has left */
	int status;                   /* of the last answer */
	int code;                     /* of its error, 0 without */
	int answers;
};

static const struct platform *platform_of(const struct bed *bed)
{
	return virtual_platform_of(bed->virtual);
}

static void handle_echo(struct http_request *request, const char *const *arguments, json_t *body,
			void *data)
{
	http_request_reply(request, 200,
			   json_pack("{s:s, s:O}", "name", arguments[0], "body", body));
}

static gboolean answer(gpointer data)
{
	struct bed *bed = data;

	http_request_reply(bed->waiting, 200, json_pack("{s:b}", "done", 1));
	bed->waiting = NULL;
	return G_SOURCE_REMOVE;
}

static void on_cancelled(struct http_request *request, void *data)
{
	struct bed *bed = data;

	bed->cancelled++;
	bed->waiting = NULL;
}

static void handle_wait(struct http_request *request, const char *const *arguments, json_t *body,
			void *data)
{
	struct bed *bed = data;

	bed->waiting = request;
	http_request_on_cancel(request, on_cancelled, bed);
}

static const struct http_route routes[] = {
	{"PUT", "/v1/echo/*", handle_echo, HTTP_ROLE_VIEWER, .takes_body = true},
	{"GET", "/v1/wait", handle_wait, HTTP_ROLE_VIEWER},
	{NULL, NULL, NULL, HTTP_ROLE_NONE},
};

static void set_up(struct bed *bed, gconstpointer address)
{
	g_autoptr(GError) error = NULL;

	bed->virtual = virtual_platform_new(1);
	bed->server = http_server_new(platform_of(bed), address, routes, bed, &error);
	g_assert_no_error(error);
	bed->client = http_client_new(platform_of(bed), http_server_address(bed->server), &error);
	g_assert_no_error(error);
}

static gboolean past(gpointer data)
{
	*(bool *)data = true;
	return G_SOURCE_REMOVE;
}

/* Lets all sources run for some time. */
static void pass(const struct bed *bed, guint ms)
{
	bool over = false;

	platform_after_ms(platform_of(bed), ms, past, &over);
	while (!over)
		g_main_context_iteration(NULL, TRUE);
}

static void tear_down(struct bed *bed, gconstpointer address)
{
	http_client_free(bed->client);
	pass(bed, 1);
	http_server_free(bed->server);
	pass(bed, 60000); /* what libsoup still had of connections */
	virtual_platform_free(bed->virtual);
}

static void on_answer(int status, json_t *body, const GError *error, void *data)
{
	struct bed *bed = data;

	bed->answers++;
	bed->status = status;
	bed->code = error ? error->code : 0;
}

/* A request and its answer take no time where nothing delays them. */
static void test_request(struct bed *bed, gconstpointer address)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(json_t) body = json_pack("{s:i}", "x", 7);
	g_autoptr(json_t) got =
		http_client_call(bed->client, "PUT", "/v1/echo/a%20b", body, 5, &error);

	g_assert_no_error(error);
	g_assert_cmpstr(json_string_value(json_object_get(got, "name")), ==, "a b");
	g_assert_true(json_equal(json_object_get(got, "body"), body));
	g_assert_cmpfloat(virtual_platform_s(bed->virtual), ==, 0);

	g_assert_null(http_client_call(bed->client, "GET", "/v1/none", NULL, 5, &error));
	g_assert_error(error, HTTP_ERROR, HTTP_ERROR_STATUS);
}

/* An hour's long poll is answered at its time. */
static void test_long_poll(struct bed *bed, gconstpointer address)
{
	http_client_request(bed->client, "GET", "/v1/wait", NULL, 2 * POLL_S, on_answer, bed);
	pass(bed, 1);
	g_assert_nonnull(bed->waiting);
	platform_after_s(platform_of(bed), POLL_S, answer, bed);
	while (!bed->answers)
		g_main_context_iteration(NULL, TRUE);
	g_assert_cmpint(bed->status, ==, 200);
	g_assert_cmpfloat_with_epsilon(virtual_platform_s(bed->virtual), POLL_S, 0.01);
}

/* The answer does not come in time: the client says so, and the server sees it leave. */
static void test_timeout(struct bed *bed, gconstpointer address)
{
	http_client_request(bed->client, "GET", "/v1/wait", NULL, 10, on_answer, bed);
	pass(bed, 9999);
	g_assert_cmpint(bed->answers, ==, 0);
	pass(bed, 2);
	g_assert_cmpint(bed->answers, ==, 1);
	g_assert_cmpint(bed->code, ==, HTTP_ERROR_TRANSPORT);
	g_assert_cmpint(bed->cancelled, ==, 1);
}

/* A connection that is cut is an error on one side, and a peer that has left on the other. */
static void test_cut(struct bed *bed, gconstpointer address)
{
	http_client_request(bed->client, "GET", "/v1/wait", NULL, POLL_S, on_answer, bed);
	pass(bed, 1);
	g_assert_cmpuint(virtual_platform_cut(bed->virtual, http_server_address(bed->server)), ==,
			 1);
	pass(bed, 1);
	g_assert_cmpint(bed->answers, ==, 1);
	g_assert_cmpint(bed->status, ==, 0);
	g_assert_cmpint(bed->code, ==, HTTP_ERROR_TRANSPORT);
	g_assert_cmpint(bed->cancelled, ==, 1);
}

/* Bytes take their time in each direction. */
static void test_delay(struct bed *bed, gconstpointer address)
{
	g_autoptr(json_t) body = json_object();

	virtual_platform_delay(bed->virtual, 250);
	http_client_request(bed->client, "PUT", "/v1/echo/x", body, 5, on_answer, bed);
	pass(bed, 499);
	g_assert_cmpint(bed->answers, ==, 0);
	pass(bed, 2);
	g_assert_cmpint(bed->answers, ==, 1);
	g_assert_cmpint(bed->status, ==, 200);
}

/* Without a listener there is no answer; a second listener is refused. */
static void test_no_listener(struct bed *bed, gconstpointer address)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(http_client_t) other =
		http_client_new(platform_of(bed), "http://127.0.0.1:1", &error);

	g_assert_null(http_client_call(other, "GET", "/v1/wait", NULL, 5, &error));
	g_assert_error(error, HTTP_ERROR, HTTP_ERROR_TRANSPORT);
	g_clear_error(&error);
	g_assert_null(http_server_new(platform_of(bed), http_server_address(bed->server), routes,
				      bed, &error));
	g_assert_error(error, G_IO_ERROR, G_IO_ERROR_ADDRESS_IN_USE);
}

static void add(const char *name, void (*test)(struct bed *, gconstpointer))
{
	static const char *const addresses[] = {"unix:/virtual/socket", "http://127.0.0.1:0"};

	for (gsize i = 0; i < G_N_ELEMENTS(addresses); i++) {
		g_autofree char *path =
			g_strdup_printf("/virtual-transport/%s/%s", i ? "tcp" : "unix", name);

		g_test_add(path, struct bed, addresses[i], set_up, test, tear_down);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	add("request", test_request);
	add("long-poll", test_long_poll);
	add("timeout", test_timeout);
	add("cut", test_cut);
	add("delay", test_delay);
	add("no-listener", test_no_listener);
	return g_test_run();
}
