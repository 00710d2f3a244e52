/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/common/http_fixture.h"

#include <glib/gstdio.h>
#include <unistd.h>

static void handle_ok(struct http_request *request, const char *const *arguments, json_t *body,
		      void *data)
{
	((struct http_fixture *)data)->ok++;
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
	struct http_fixture *fixture = data;

	fixture->cancelled++;
	g_assert_true(g_queue_remove(&fixture->waiting, request));
}

static void handle_wait(struct http_request *request, const char *const *arguments, json_t *body,
			void *data)
{
	struct http_fixture *fixture = data;

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
	http_request_reply(request, 200,
			   json_pack("{s:I}", "uid", (json_int_t)http_request_peer_uid(request)));
}

static void handle_number(struct http_request *request, const char *const *arguments, json_t *body,
			  void *data)
{
	uint64_t whole;
	double real;

	if (http_request_query_integer(request, "whole", 2, 1000, 7, &whole) &&
	    http_request_query_real(request, "real", -10, 1e15, 0.5, &real))
		http_request_reply(request, 200,
				   json_pack("{s:I, s:f}", "whole", (json_int_t)whole, "real",
					     real));
}

const struct http_route http_fixture_routes[] = {
	{"GET", "/v1/peer", handle_peer},
	{"GET", "/v1/ok", handle_ok},
	{"GET", "/text", handle_text},
	{"PUT", "/v1/echo/*/x/*", handle_echo, .query = "after then", .takes_body = true},
	{"GET", "/v1/empty", handle_empty},
	{"DELETE", "/v1/conflict", handle_conflict},
	{"GET", "/v1/number", handle_number, .query = "whole real"},
	{"GET", "/v1/wait", handle_wait},
	{NULL},
};

void http_fixture_init(struct http_fixture *fixture, gconstpointer address)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *path = NULL;

	fixture->directory = g_dir_make_tmp("virtbed-test-XXXXXX", NULL);
	path = g_strconcat("unix:", fixture->directory, "/socket", NULL);
	fixture->server = http_server_new(&platform_machine, address ? address : path,
					  http_fixture_routes, fixture, &error);
	g_assert_no_error(error);
	fixture->client =
		http_client_new(&platform_machine, http_server_address(fixture->server), &error);
	g_assert_no_error(error);
}

void http_fixture_finish(struct http_fixture *fixture, gconstpointer address)
{
	http_client_free(fixture->client);
	http_server_free(fixture->server);
	g_assert_cmpint(g_rmdir(fixture->directory), ==, 0); /* the socket file is gone */
	g_free(fixture->directory);
}

void http_fixture_answered(int status, json_t *body, const GError *error, void *data)
{
	struct http_fixture *fixture = data;

	fixture->answered++;
	fixture->status = status;
	fixture->code = error ? error->code : 0;
	g_assert_true(!error || error->domain == HTTP_ERROR);
}

void http_fixture_add(const char *name, void (*test)(struct http_fixture *, gconstpointer))
{
	g_autofree char *over_unix = g_strdup_printf("/http/unix/%s", name);
	g_autofree char *over_tcp = g_strdup_printf("/http/tcp/%s", name);

	g_test_add(over_unix, struct http_fixture, NULL, http_fixture_init, test,
		   http_fixture_finish);
	g_test_add(over_tcp, struct http_fixture, "http://127.0.0.1:0", http_fixture_init, test,
		   http_fixture_finish);
}
