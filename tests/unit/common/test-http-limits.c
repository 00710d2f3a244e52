/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What each role may do, and how much of it. */
#include <gio/gio.h>
#include <string.h>

#include "common/http_client.h"
#include "common/http_server.h"
#include "common/json.h"
#include "tests/unit/common/wait_for.h"

/* A guard that goes by what the header says, for all to see. */
static struct http_identity believe(const char *authorization, int64_t peer_uid, void *data)
{
	static const struct {
		const char *word;
		enum http_role role;
	} words[] = {
		{"viewer", HTTP_ROLE_VIEWER},
		{"user", HTTP_ROLE_USER},
		{"operator", HTTP_ROLE_OPERATOR},
	};
	struct http_identity identity = {.role = HTTP_ROLE_NONE, .uid = 7};

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
	{"GET", "/open", handle_role, HTTP_ROLE_ANYBODY},
	{"GET", "/look", handle_role, HTTP_ROLE_VIEWER},
	{"GET", "/look/*", handle_role, HTTP_ROLE_VIEWER, keep_out},
	{"PUT", "/mine", handle_role, HTTP_ROLE_USER},
	{"PUT", "/mine/*", handle_role, HTTP_ROLE_USER, keep_out},
	{"PUT", "/all", handle_role, HTTP_ROLE_OPERATOR},
	{"GET", "/forgotten", handle_role},
	{NULL},
};

/* The status and body of an answer with that user's header (NULL: none), as "401 {...}". */
static char *guarded_answer(struct http_server *server, const char *who, const char *method,
			    const char *path)
{
	g_autoptr(http_client_t) client =
		http_client_new(&platform_machine, http_server_address(server), NULL);
	g_autofree char *header = who ? g_strconcat("Authorization: ", who, NULL) : NULL;
	const struct http_client_identity identity = {.header = header};
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
		{NULL, "GET", "/open", "200: {\"role\":1,\"uid\":7}"},
		{NULL, "GET", "/look", "401: give a token that is good"},
		{NULL, "PUT", "/all", "401: give a token that is good"},
		{NULL, "DELETE", "/look", "401: give a token that is good"},
		{NULL, "GET", "/nowhere", "401: give a token that is good"},
		{NULL, "GET", "/forgotten", "401: give a token that is good"},
		{"rubbish", "GET", "/look", "401: give a token that is good"},
		{"viewer", "GET", "/look", "200: {\"role\":2,\"uid\":7}"},
		{"viewer", "PUT", "/mine", "403: that is not for you to do"},
		{"viewer", "PUT", "/all", "403: that is not for you to do"},
		{"viewer", "GET", "/nowhere", "404: no such path \"/nowhere\""},
		{"user", "PUT", "/mine", "200: {\"role\":3,\"uid\":7}"},
		{"user", "GET", "/look/7", "200: {\"role\":3,\"uid\":7}"},
		{"user", "GET", "/look/8", "403: you have none"},
		{"user", "PUT", "/mine/7", "200: {\"role\":3,\"uid\":7}"},
		{"user", "PUT", "/mine/8", "403: you have none"},
		{"viewer", "GET", "/look/8", "200: {\"role\":2,\"uid\":7}"},
		{"viewer", "PUT", "/mine/7", "403: that is not for you to do"},
		{"operator", "PUT", "/mine/8", "200: {\"role\":4,\"uid\":7}"},
		{"user", "PUT", "/all", "403: that is not for you to do"},
		{"operator", "GET", "/look", "200: {\"role\":4,\"uid\":7}"},
		{"operator", "PUT", "/all", "200: {\"role\":4,\"uid\":7}"},
		{"operator", "GET", "/forgotten", "403: that is not for you to do"},
	};
	g_autoptr(http_server_t) server = http_server_new(&platform_machine, "http://127.0.0.1:0",
							  guarded_routes, NULL, NULL);

	http_server_guard(server, believe, NULL);
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *answer =
			guarded_answer(server, cases[i].who, cases[i].method, cases[i].path);

		g_test_message("%s %s by %s", cases[i].method, cases[i].path, cases[i].who ?: "-");
		g_assert_cmpstr(answer, ==, cases[i].answer);
	}
}

static void test_who_asks_too_often_is_told_when_to_come_again(void)
{
	g_autoptr(http_server_t) server = http_server_new(&platform_machine, "http://127.0.0.1:0",
							  guarded_routes, NULL, NULL);
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
	/* Unauthenticated peers have used nothing up yet. */
	stranger = guarded_answer(server, NULL, "GET", "/look");
	g_assert_cmpstr(stranger, ==, "401: give a token that is good");
}

static void handle_never(struct http_request *request, const char *const *arguments, json_t *body,
			 void *data)
{
	++*(guint *)data;
}

static const struct http_route waiting_routes[] = {
	{"GET", "/wait", handle_never, HTTP_ROLE_VIEWER},
	{NULL},
};

static void on_never(int status, json_t *body, const GError *error, void *data)
{
	g_assert_cmpint(status, ==, 503);
	g_assert_nonnull(strstr(error->message, "wait for their answers"));
	++*(guint *)data;
}

static void test_not_too_many_requests_wait(void)
{
	const struct http_client_identity identity = {.header = "Authorization: viewer"};
	g_autoptr(http_client_t) client = NULL;
	g_autoptr(http_server_t) server = NULL;
	guint waiting = 0;
	guint refused = 0;

	server = http_server_new(&platform_machine, "http://127.0.0.1:0", waiting_routes, &waiting,
				 NULL);
	http_server_guard(server, believe, NULL);
	http_server_limit(server, 1000);
	client = http_client_new(&platform_machine, http_server_address(server), NULL);
	http_client_identify(client, &identity);
	for (int i = 0; i < HTTP_SERVER_WAITING_USER_MAX + 3; i++)
		http_client_request(client, "GET", "/wait", NULL, 60, on_never, &refused);
	WAIT_FOR(waiting + refused == HTTP_SERVER_WAITING_USER_MAX + 3);
	g_assert_cmpint(waiting, ==, HTTP_SERVER_WAITING_USER_MAX);
}

/* A guard that takes the header for the user's id. */
static struct http_identity count_off(const char *authorization, int64_t peer_uid, void *data)
{
	return (struct http_identity){.role = HTTP_ROLE_VIEWER,
				      .uid = g_ascii_strtoll(authorization ?: "0", NULL, 10)};
}

/* As much as one user may leave unread, and more than the kernel keeps of it. */
static void handle_large(struct http_request *request, const char *const *arguments, json_t *body,
			 void *data)
{
	const gsize length = HTTP_SERVER_UNREAD_USER_MAX + (16 << 20);
	g_autoptr(GBytes) bytes = g_bytes_new_take(g_malloc0(length), length);

	++*(guint *)data;
	http_request_reply_bytes(request, 200, "text/plain", bytes);
}

static const struct http_route large_routes[] = {
	{"GET", "/large", handle_large, HTTP_ROLE_VIEWER},
	{"GET", "/look", handle_role, HTTP_ROLE_VIEWER},
	{NULL},
};

/* A connection to the server on which nothing is said. */
static GSocket *connect_silently(struct http_server *server)
{
	g_autoptr(GUri) uri = g_uri_parse(http_server_address(server), G_URI_FLAGS_NONE, NULL);
	g_autoptr(GSocketAddress) address =
		g_inet_socket_address_new_from_string(g_uri_get_host(uri),
						      (guint)g_uri_get_port(uri));
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
	g_autoptr(http_server_t) server = http_server_new(&platform_machine, "http://127.0.0.1:0",
							  guarded_routes, NULL, NULL);
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

static void test_answers_are_read_before_more_are_given(void)
{
	static const char question[] =
		"GET /large HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: 7\r\n\r\n";
	guint answers = 0;
	g_autoptr(http_server_t) server = http_server_new(&platform_machine, "http://127.0.0.1:0",
							  large_routes, &answers, NULL);
	g_autoptr(GSocket) socket = connect_silently(server);
	g_autofree char *refused = NULL;
	g_autofree char *other = NULL;
	g_autofree char *again = NULL;

	http_server_guard(server, count_off, NULL);
	http_server_limit(server, 1e6);
	g_assert_cmpint(g_socket_send(socket, question, strlen(question), NULL, NULL), ==,
			strlen(question));
	WAIT_FOR(answers == 1);
	refused = guarded_answer(server, "7", "GET", "/look");
	g_assert_cmpstr(refused, ==,
			"503: too much of earlier answers was not read; read them, then try again");
	other = guarded_answer(server, "8", "GET", "/look");
	g_assert_cmpstr(other, ==, "200: {\"role\":2,\"uid\":8}");
	/* When that connection is gone there is nothing left to read. */
	g_socket_close(socket, NULL);
	do {
		g_clear_pointer(&again, g_free);
		again = guarded_answer(server, "7", "GET", "/look");
	} while (!g_str_has_prefix(again, "200"));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/http-limits/guard", test_a_guard_decides);
	g_test_add_func("/http-limits/rate", test_who_asks_too_often_is_told_when_to_come_again);
	g_test_add_func("/http-limits/waiting", test_not_too_many_requests_wait);
	g_test_add_func("/http-limits/unread", test_answers_are_read_before_more_are_given);
	g_test_add_func("/http-limits/connections", test_one_peer_does_not_get_all_connections);
	return g_test_run();
}
