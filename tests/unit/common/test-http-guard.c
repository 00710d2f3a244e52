/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a server with a guard reads, keeps and answers, whatever it is asked for, by raw sockets. */
#include <gio/gio.h>
#include <string.h>

#include "common/clock.h"
#include "common/http_server.h"

#define STRANGER "HTTP/1.1 401"
#define VIEWER "Authorization: viewer\r\n"

/* Far more than what kernels keep of a connection. */
#define ENDLESS ((gsize)256 << 20)

struct fixture {
	struct http_server *server;
	enum http_role role; /* of a request that says "viewer" */
	int64_t uid;
	int asked; /* how often the guard was */
	int handled;
	struct http_request *waiting;
};

static struct http_identity believe(const char *authorization, int64_t peer_uid, void *data)
{
	struct fixture *fixture = data;
	const bool known = g_strcmp0(authorization, "viewer") == 0;

	fixture->asked++;
	return (struct http_identity){.role = known ? fixture->role : HTTP_ROLE_NONE,
				      .uid = fixture->uid};
}

static void handle_secret(struct http_request *request, const char *const *arguments, json_t *body,
			  void *data)
{
	((struct fixture *)data)->handled++;
	http_request_reply(request, 200, json_string("secret"));
}

static void handle_wait(struct http_request *request, const char *const *arguments, json_t *body,
			void *data)
{
	((struct fixture *)data)->waiting = request;
}

static const struct http_route routes[] = {
	{"GET", "/secret", handle_secret, HTTP_ROLE_VIEWER},
	{"PUT", "/secret", handle_secret, HTTP_ROLE_VIEWER},
	{"GET", "/wait", handle_wait, HTTP_ROLE_VIEWER},
	{NULL},
};

static void setup(struct fixture *fixture, gconstpointer data)
{
	fixture->role = HTTP_ROLE_VIEWER;
	fixture->uid = 7;
	fixture->server =
		http_server_new(&platform_machine, "http://127.0.0.1:0", routes, fixture, NULL);
	http_server_guard(fixture->server, believe, fixture);
}

static void teardown(struct fixture *fixture, gconstpointer data)
{
	http_server_free(fixture->server);
}

/* A connection to the server. */
static GSocket *connect_to(const struct fixture *fixture)
{
	g_autoptr(GUri) uri =
		g_uri_parse(http_server_address(fixture->server), G_URI_FLAGS_NONE, NULL);
	g_autoptr(GSocketAddress) address =
		g_inet_socket_address_new_from_string(g_uri_get_host(uri),
						      (guint)g_uri_get_port(uri));
	GSocket *socket = g_socket_new(G_SOCKET_FAMILY_IPV4, G_SOCKET_TYPE_STREAM,
				       G_SOCKET_PROTOCOL_TCP, NULL);

	g_assert_true(g_socket_connect(socket, address, NULL, NULL));
	g_socket_set_blocking(socket, FALSE);
	return socket;
}

/* Sends from `*sent` on what the socket takes. Returns false once the peer has hung up. */
static bool push(GSocket *socket, const char *text, gsize length, gsize *sent)
{
	g_autoptr(GError) error = NULL;
	const gssize wrote =
		*sent < length ? g_socket_send(socket, text + *sent, length - *sent, NULL, &error)
			       : 0;

	*sent += wrote > 0 ? (gsize)wrote : 0;
	return wrote >= 0 || g_error_matches(error, G_IO_ERROR, G_IO_ERROR_WOULD_BLOCK);
}

/*
 * Sends `length` bytes on a socket of ours and returns all that comes back until the end; how many
 * were sent until then, in `ret_sent`.
 */
static char *talk(GSocket *socket, const char *text, gsize length, gsize *ret_sent)
{
	const int64_t deadline_ns = clock_now_ns() + INT64_C(60000000000);
	g_autoptr(GString) answer = g_string_new(NULL);
	bool takes = true;
	char buffer[4096];
	gssize got;

	*ret_sent = 0;
	do {
		g_autoptr(GError) error = NULL;

		takes = takes && push(socket, text, length, ret_sent);
		g_main_context_iteration(NULL, FALSE);
		got = g_socket_receive(socket, buffer, sizeof(buffer), NULL, &error);
		if (got > 0)
			g_string_append_len(answer, buffer, got);
		else if (error && !g_error_matches(error, G_IO_ERROR, G_IO_ERROR_WOULD_BLOCK))
			got = 0;
		g_assert_cmpint(clock_now_ns(), <, deadline_ns);
	} while (got != 0);
	return g_string_free(g_steal_pointer(&answer), FALSE);
}

static char *converse(const struct fixture *fixture, const char *text, gsize length,
		      gsize *ret_sent)
{
	g_autoptr(GSocket) socket = connect_to(fixture);

	return talk(socket, text, length, ret_sent);
}

/* What a whole request is answered. */
static char *ask(const struct fixture *fixture, const char *request)
{
	gsize sent;

	return converse(fixture, request, strlen(request), &sent);
}

/* What libsoup hands on, and what it refuses by itself. */
static const struct {
	const char *request;
	const char *known; /* the answer to a known user */
} targets[] = {
	{"PUT /secret", "HTTP/1.1 200"},
	{"PUT /nowhere", "HTTP/1.1 404"},
	{"OPTIONS *", "HTTP/1.1 404"},
	{"GET *", "HTTP/1.1 404"},
	{"PUT /../x", "HTTP/1.1 404"},
	{"PUT /%2e%2e/x", "HTTP/1.1 404"},
	{"PUT /x%2f..%2fy", "HTTP/1.1 400"},
	{"PUT /x%2f..", "HTTP/1.1 400"},
	{"PUT /secret%00", "HTTP/1.1 400"},
	{"PUT https://127.0.0.1/secret", "HTTP/1.1 400"},
	{"PUT http://127.0.0.1/secret", "HTTP/1.1 200"},
	{"CONNECT 127.0.0.1:1", "HTTP/1.1 404"},
};

/* How bodies come; the answer never waits for that of the last. */
static const char *const bodies[] = {
	"Content-Length: 2\r\n\r\n{}",
	"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
	"Content-Length: 2\r\nExpect: 100-continue\r\n\r\n{}",
	"Content-Length: 1000000000000\r\nExpect: 100-continue\r\n\r\n",
};

static void a_target_does_not_matter_to_strangers(struct fixture *fixture, gconstpointer data)
{
	for (gsize i = 0; i < G_N_ELEMENTS(targets) * G_N_ELEMENTS(bodies); i++) {
		g_autofree char *request =
			g_strdup_printf("%s HTTP/1.1\r\nHost: 127.0.0.1\r\n%s",
					targets[i / G_N_ELEMENTS(bodies)].request,
					bodies[i % G_N_ELEMENTS(bodies)]);
		g_autofree char *answer = ask(fixture, request);

		g_test_message("%s\n%s", request, answer);
		g_assert_true(g_str_has_prefix(answer, STRANGER));
		g_assert_nonnull(
			strstr(answer, "\r\n\r\n{\"error\":\"give a token that is good\"}"));
		g_assert_nonnull(strstr(answer, "\r\nConnection: close\r\n"));
	}
}

static void who_is_known_is_told_what_is_wrong(struct fixture *fixture, gconstpointer data)
{
	for (gsize i = 0; i < G_N_ELEMENTS(targets) * G_N_ELEMENTS(bodies); i++) {
		const gsize body = i % G_N_ELEMENTS(bodies);
		const char *known = targets[i / G_N_ELEMENTS(bodies)].known;
		g_autofree char *request =
			g_strdup_printf("%s HTTP/1.1\r\nHost: 127.0.0.1\r\n" VIEWER "%s",
					targets[i / G_N_ELEMENTS(bodies)].request, bodies[body]);
		g_autofree char *answer = ask(fixture, request);
		const char *last = g_str_has_prefix(answer, "HTTP/1.1 100")
					   ? strstr(answer, "\r\n\r\n") + 4
					   : answer;

		g_test_message("%s\n%s", request, answer);
		if (body == 3 && !g_str_equal(known, "HTTP/1.1 400"))
			known = "HTTP/1.1 413";
		g_assert_true(g_str_has_prefix(last, known));
		g_assert_nonnull(strstr(last, g_str_has_suffix(known, "200")
						      ? "\r\n\r\n\"secret\""
						      : "\r\n\r\n{\"error\":\""));
		g_assert_nonnull(strstr(last, "\r\nX-Content-Type-Options: nosniff\r\n"));
		g_assert_nonnull(strstr(last, "\r\nCache-Control: no-store\r\n"));
	}
}

/* The head of a request with a body of `length` bytes. */
static char *head_of(const char *target, const char *headers, bool chunked, gsize length)
{
	g_autofree char *size =
		chunked ? g_strdup_printf("Transfer-Encoding: chunked\r\n\r\n%zx\r\n", length)
			: g_strdup_printf("Content-Length: %zu\r\n\r\n", length);

	return g_strconcat(target, " HTTP/1.1\r\nHost: 127.0.0.1\r\n", headers, size, NULL);
}

static void a_strangers_body_is_not_read_for_ever(struct fixture *fixture, gconstpointer data)
{
	g_autofree char *text = g_strnfill(ENDLESS, ' ');

	for (gsize i = 0; i < G_N_ELEMENTS(targets) * 2; i++) {
		g_autofree char *head = head_of(targets[i / 2].request, "", i & 1, INT32_MAX);
		g_autofree char *answer = NULL;
		gsize sent;

		memcpy(text, head, strlen(head));
		answer = converse(fixture, text, ENDLESS, &sent);
		g_test_message("%s: %zu MiB", targets[i / 2].request, sent >> 20);
		g_assert_cmpint(sent, <, ENDLESS / 4);
		g_assert_true(g_str_has_prefix(answer, STRANGER));
	}
}

#define PADDING "                                                                                1"

/* Headers that leave open where the request ends, or whose it is. */
static const struct {
	const char *headers;
	const char *stranger; /* what both are told, before anybody is asked; NULL: 401 */
} faults[] = {
	{"Content-Length: 2\r\nContent-Length: 44\r\n"},
	{"Content-Length: 2\r\nContent-Length: 2\r\n"},
	{"Content-Length: 2\r\ncontent-length: 44\r\n"},
	{"Content-Length: -1\r\n", "HTTP/1.1 400"},
	{"Content-Length: +2\r\n", "HTTP/1.1 400"},
	{"Content-Length: 0x2\r\n", "HTTP/1.1 400"},
	{"Content-Length: 2, 2\r\n", "HTTP/1.1 400"},
	{"Content-Length: 2 2\r\n", "HTTP/1.1 400"},
	{"Content-Length: two\r\n", "HTTP/1.1 400"},
	{"Content-Length: 2.5\r\n", "HTTP/1.1 400"},
	{"Content-Length: 1e3\r\n", "HTTP/1.1 400"},
	{"Content-Length: \r\n", "HTTP/1.1 400"},
	{"Content-Length: 9223372036854775808\r\n"},
	{"Content-Length: 18446744073709551617\r\n"},
	{"Content-Length: 99999999999999999999999999\r\n"},
	{"Content-Length: 7\r\nTransfer-Encoding: chunked\r\n"},
	{"Transfer-Encoding: chunked\r\nContent-Length: 7\r\n"},
	{"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"},
	{"Transfer-Encoding: gzip, chunked\r\n", "HTTP/1.1 400"},
	{"Transfer-Encoding: identity\r\n", "HTTP/1.1 400"},
	{"Transfer-Encoding: xchunked\r\n", "HTTP/1.1 400"},
	{"Content-Type: text/plain\r\nContent-Type: application/json\r\n"},
	{"Host: 127.0.0.1\r\n"},
	{"Origin: http://127.0.0.1\r\nOrigin: http://127.0.0.1\r\n"},
	{"content-LENGTH:two\r\n", "HTTP/1.1 400"},
	{"Content-Length: 2\n 2\r\n", "HTTP/1.1 400"},
	{"X: y\r\n\tz\r\n", "HTTP/1.1 400"},
	{"Content-Length: 1" PADDING "\r\n", "HTTP/1.1 400"},
};

static void who_does_not_say_where_a_request_ends_is_refused(struct fixture *fixture,
							     gconstpointer data)
{
	for (gsize i = 0; i < G_N_ELEMENTS(faults) * 2; i++) {
		const char *stranger = faults[i / 2].stranger;
		g_autofree char *request =
			g_strconcat("PUT /secret HTTP/1.1\r\nHost: 127.0.0.1\r\n",
				    faults[i / 2].headers, i & 1 ? VIEWER : "", "\r\n2\r\n{}\r\n",
				    NULL);
		g_autofree char *answer = ask(fixture, request);

		g_test_message("%s\n%s", request, answer);
		g_assert_true(g_str_has_prefix(answer, stranger
							       ?: i & 1 ? "HTTP/1.1 400"
									: STRANGER));
		g_assert_nonnull(strstr(answer, "\r\n\r\n{\"error\":\""));
		g_assert_nonnull(strstr(answer, "\r\nContent-Type: application/json\r\n"));
		g_assert_cmpint(fixture->handled, ==, 0);
	}
}

/* What is asked for is answered whole. */
static void nothing_is_had_in_part(struct fixture *fixture, gconstpointer data)
{
	g_autofree char *answer =
		ask(fixture,
		    "GET /secret HTTP/1.1\r\nHost: 127.0.0.1\r\nRange: bytes=1-2\r\n" VIEWER
		    "\r\n");

	g_assert_true(g_str_has_prefix(answer, "HTTP/1.1 200"));
	g_assert_true(g_str_has_suffix(answer, "\r\n\r\n\"secret\""));
}

/* Nor are there two users of a request. */
static void nobody_is_two(struct fixture *fixture, gconstpointer data)
{
	g_autofree char *answer =
		ask(fixture,
		    "PUT /secret HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: other\r\n" VIEWER
		    "Content-Length: 0\r\n\r\n");

	g_assert_true(g_str_has_prefix(answer, "HTTP/1.1 400"));
	g_assert_cmpint(fixture->handled, ==, 0);
}

/* A client that reads only when all is sent is answered as well. */
static void a_stranger_with_a_large_body_is_answered(struct fixture *fixture, gconstpointer data)
{
	const gsize length = 12 << 20;
	g_autofree char *body = g_strnfill(length, ' ');

	for (gsize i = 0; i < G_N_ELEMENTS(targets) * 2; i++) {
		g_autofree char *head = head_of(targets[i / 2].request, "", i & 1, length);
		g_autofree char *text = g_strconcat(head, body, i & 1 ? "\r\n0\r\n\r\n" : "", NULL);
		const gsize all = strlen(text);
		g_autoptr(GSocket) socket = connect_to(fixture);
		g_autofree char *answer = NULL;
		gsize sent = 0;

		while (sent < all) {
			g_assert_true(push(socket, text, all, &sent));
			g_main_context_iteration(NULL, FALSE);
		}
		answer = talk(socket, "", 0, &sent);
		g_test_message("%s: %s", targets[i / 2].request, answer);
		g_assert_true(g_str_has_prefix(answer, STRANGER));
		g_assert_true(
			g_str_has_suffix(answer,
					 "\r\n\r\n{\"error\":\"give a token that is good\"}"));
		g_assert_nonnull(strstr(answer, "\r\nConnection: close\r\n"));
		g_assert_nonnull(strstr(answer, "\r\nCache-Control: no-store\r\n"));
		g_assert_nonnull(strstr(answer, "\r\nWWW-Authenticate: Bearer "));
		g_assert_true(strstr(answer, "Content-Length") ==
			      g_strrstr(answer, "Content-Length"));
	}
}

/* Nor does a client that hangs up meanwhile, or a server that ends, do harm. */
static void who_is_refused_may_go(struct fixture *fixture, gconstpointer data)
{
	g_autofree char *head = head_of("PUT /secret", "", false, INT32_MAX);
	g_autofree char *text = g_strnfill(8 << 20, ' ');

	memcpy(text, head, strlen(head));
	for (gsize i = 0; i < 8; i++) {
		g_autoptr(GSocket) socket = connect_to(fixture);
		gsize sent = 0;

		while (sent < (i + 1) << 20 && push(socket, text, strlen(text), &sent))
			g_main_context_iteration(NULL, FALSE);
	}
	while (g_main_context_iteration(NULL, FALSE))
		;
}

static void nobodys_body_is_too_large(struct fixture *fixture, gconstpointer data)
{
	const gsize length = 2 << 20;
	g_autofree char *body = g_strnfill(length, ' ');

	for (gsize i = 0; i < G_N_ELEMENTS(targets) * 2; i++) {
		const char *known = targets[i / 2].known;
		g_autofree char *head = head_of(targets[i / 2].request, VIEWER, i & 1, length);
		g_autofree char *text = g_strconcat(head, body, i & 1 ? "\r\n0\r\n\r\n" : "", NULL);
		g_autofree char *answer = ask(fixture, text);

		g_test_message("%s: %s", targets[i / 2].request, answer);
		g_assert_true(g_str_has_prefix(answer, g_str_has_suffix(known, "400")
							       ? known
							       : "HTTP/1.1 413"));
	}
}

/* What becomes of the client, until the answer. */
static const struct {
	enum http_role role;
	int64_t uid;
	bool good;
} changes[] = {
	{HTTP_ROLE_VIEWER, 7, true},
	{HTTP_ROLE_OPERATOR, 7, true},
	{HTTP_ROLE_VIEWER, 8, false},
	{HTTP_ROLE_NONE, 7, false},
	{HTTP_ROLE_NONE, HTTP_PEER_UNKNOWN, false},
};

static void assert_answer(const char *answer, bool good)
{
	g_test_message("%s", answer);
	g_assert_true(g_str_has_prefix(answer, good ? "HTTP/1.1 200" : STRANGER));
	g_assert_true((strstr(answer, "secret") != NULL) == good);
}

static void send_now(GSocket *socket, const char *text)
{
	g_assert_cmpint(g_socket_send(socket, text, strlen(text), NULL, NULL), ==, strlen(text));
}

static void a_token_that_ends_gets_no_answer_that_comes_later(struct fixture *fixture,
							      gconstpointer data)
{
	g_autoptr(GBytes) bytes = g_bytes_new_static("secret", 6);

	for (gsize i = 0; i < G_N_ELEMENTS(changes) * 2; i++) {
		g_autoptr(GSocket) socket = connect_to(fixture);
		g_autofree char *answer = NULL;
		gsize sent;

		fixture->role = HTTP_ROLE_VIEWER;
		fixture->uid = 7;
		fixture->waiting = NULL;
		send_now(socket, "GET /wait HTTP/1.1\r\nHost: 127.0.0.1\r\n" VIEWER "\r\n");
		while (!fixture->waiting)
			g_main_context_iteration(NULL, TRUE);
		fixture->role = changes[i / 2].role;
		fixture->uid = changes[i / 2].uid;
		if (i & 1)
			http_request_reply_bytes(fixture->waiting, 200, "text/plain", bytes);
		else
			http_request_reply(fixture->waiting, 200, json_string("secret"));
		answer = talk(socket, "", 0, &sent);
		assert_answer(answer, changes[i / 2].good);
	}
}

static void a_token_that_ends_before_the_body_has_come_does_nothing(struct fixture *fixture,
								    gconstpointer data)
{
	static const char head[] = "PUT /secret HTTP/1.1\r\nHost: 127.0.0.1\r\n" VIEWER
				   "Transfer-Encoding: chunked\r\n\r\n";

	for (gsize i = 0; i < G_N_ELEMENTS(changes); i++) {
		g_autoptr(GSocket) socket = connect_to(fixture);
		g_autofree char *answer = NULL;
		gsize sent;

		*fixture = (struct fixture){.server = fixture->server,
					    .role = HTTP_ROLE_VIEWER,
					    .uid = 7};
		send_now(socket, head);
		while (fixture->asked == 0)
			g_main_context_iteration(NULL, TRUE);
		fixture->role = changes[i].role;
		fixture->uid = changes[i].uid;
		answer = talk(socket, "0\r\n\r\n", 5, &sent);
		assert_answer(answer, changes[i].good);
		g_assert_cmpint(fixture->handled, ==, changes[i].good ? 1 : 0);
	}
}

#define ADD(name, function)                                                                        \
	g_test_add("/http/guard/" name, struct fixture, NULL, setup, function, teardown)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("targets/strangers", a_target_does_not_matter_to_strangers);
	ADD("targets/known", who_is_known_is_told_what_is_wrong);
	ADD("endless", a_strangers_body_is_not_read_for_ever);
	ADD("large-strangers", a_stranger_with_a_large_body_is_answered);
	ADD("where-it-ends", who_does_not_say_where_a_request_ends_is_refused);
	ADD("two", nobody_is_two);
	ADD("part", nothing_is_had_in_part);
	ADD("refused-goes", who_is_refused_may_go);
	ADD("large", nobodys_body_is_too_large);
	ADD("ends/waiting", a_token_that_ends_gets_no_answer_that_comes_later);
	ADD("ends/body", a_token_that_ends_before_the_body_has_come_does_nothing);
	return g_test_run();
}
