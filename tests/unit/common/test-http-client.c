/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The client against peers that misbehave, against many of them, and over TLS. */
#include <gio/gio.h>
#include <glib/gstdio.h>
#include <string.h>

#include "common/http_client.h"
#include "common/http_server.h"
#include "common/json.h"
#include "common/subprocess.h"
#include "tests/unit/common/wait_for.h"

/* A peer that answers every connection with given bytes, then closes it or stays. */
struct peer {
	GSocketService *service;
	char *address;
	const char *answer;
	gsize length;
	bool close;
	GPtrArray *connections;
	uint32_t writes; /* under way */
};

static void on_peer_wrote(GObject *stream, GAsyncResult *result, gpointer data)
{
	struct peer *peer = data;

	g_output_stream_write_all_finish(G_OUTPUT_STREAM(stream), result, NULL, NULL);
	peer->writes--;
	if (peer->close)
		g_ptr_array_set_size(peer->connections, 0);
}

static gboolean on_peer_incoming(GSocketService *service, GSocketConnection *connection,
				 GObject *source, gpointer data)
{
	struct peer *peer = data;

	g_ptr_array_add(peer->connections, g_object_ref(connection));
	peer->writes++;
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

/*
 * Returns when the writes under way have ended, which their client's end of the connection sees to.
 */
static void peer_stop(struct peer *peer)
{
	while (peer->writes > 0)
		g_main_context_iteration(NULL, TRUE);
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
		{"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n[1]", true, 0, ""},
		{"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n[1,", true, HTTP_ERROR_BODY,
		 "not valid JSON"},
		{"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n[1]", true, HTTP_ERROR_TRANSPORT, ""},
		{"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n[1]", false, HTTP_ERROR_TRANSPORT,
		 "timed out"},
		{"HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\noops", true, HTTP_ERROR_STATUS,
		 "status 500: oops"},
		{"HTTP/1.1 404 No\r\nContent-Length: 25\r\n\r\n<html>\n  <b>\r\n\tno </b>\n\x1b[",
		 true, HTTP_ERROR_STATUS, "status 404: <html> <b> no </b> \\x1b["},
		{"HTTP/1.1 400 Bad\r\nContent-Length: 0\r\n\r\n", true, HTTP_ERROR_STATUS,
		 "status 400"},
		{"SSH-2.0-OpenSSH\r\n", true, HTTP_ERROR_TRANSPORT, ""},
		{"", true, HTTP_ERROR_TRANSPORT, ""},
		{"", false, HTTP_ERROR_TRANSPORT, "timed out"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct peer peer = {.answer = cases[i].answer,
				    .length = strlen(cases[i].answer),
				    .close = cases[i].close};
		g_autoptr(GError) error = NULL;
		g_autoptr(json_t) answer = NULL;
		g_autoptr(http_client_t) client = NULL;

		peer_start(&peer);
		client = http_client_new(&platform_machine, peer.address, NULL);
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

static const struct http_operation operations[];

/* However much a peer says, what is said of it is one line that can be read. */
static void test_client_cuts_what_a_peer_says(void)
{
	static const struct {
		const char *head;
		const char *type;
		const char *before, *after;
	} cases[] = {
		{"500 Oops", "application/json", "{\"error\": \"", "\"}"},
		{"500 Oops", "application/json", "{\"error\": {\"message\": \"", "\"}}"},
		{"500 Oops", "text/html", "<html>", "</html>"},
		{"200 OK", "application/json", "{\"state\": \"x\", \"task\": \"", "\"}"},
		{"200 OK", "application/json", "{\"task\": 5, \"", "\": 1}"},
	};
	g_autofree char *filler = g_strnfill(3000000, 'x');

	for (gsize i = 0; i < G_N_ELEMENTS(cases) * 2; i++) {
		const gsize k = i % G_N_ELEMENTS(cases);
		g_autofree char *text = g_strconcat(cases[k].before, filler, cases[k].after, NULL);
		g_autofree char *answer = g_strdup_printf(
			"HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n%s",
			cases[k].head, cases[k].type, strlen(text), text);
		struct peer peer = {.answer = answer, .length = strlen(answer), .close = true};
		g_autoptr(GError) error = NULL;
		g_autoptr(http_client_t) client = NULL;

		peer_start(&peer);
		client = http_client_new(&platform_machine, peer.address, NULL);
		http_client_expect(client, operations);
		if (i == k)
			json_decref(
				http_client_call(client, "GET", "/v1/tasks/5", NULL, 30, &error));
		else
			json_decref(http_client_call(client, "GET", "/x", NULL, 30, &error));
		g_test_message("%s: %.80s", cases[k].before, error ? error->message : "no error");
		if (error)
			g_assert_cmpuint(strlen(error->message), <, 1500);
		else
			g_assert_true(i != k || g_str_has_prefix(cases[k].before, "{\"task\""));
		peer_stop(&peer);
	}
}

static const struct http_operation operations[] = {
	{"GET", "/v1/tasks/{task}", 200, 201, "{task: integer, state: string}"},
	{NULL, NULL, 0, 0, NULL},
};

#define GOOD "{\"task\": 5, \"state\": \"x\"}"

/*
 * With the API of the peer nothing else is an answer; without it any JSON is, but no redirection.
 */
static void test_client_takes_answers_of_the_api_alone(void)
{
	static const char type[] = "Content-Type: application/json\r\n";
	static const struct {
		const char *head; /* status and lines */
		const char *type;
		const char *body;
		int code;        /* 0: an answer */
		int code_of_any; /* the same where no API is known */
		const char *words;
	} cases[] = {
		{"200 OK\r\n", type, GOOD, 0, 0, ""},
		{"201 Created\r\n", "content-type: Application/JSON; charset=utf-8\r\n", GOOD, 0, 0,
		 ""},
		{"202 Accepted\r\n", type, GOOD, HTTP_ERROR_BODY, 0, "status 202 instead of 200"},
		{"200 OK\r\n", type, "{\"task\": 6, \"state\": \"x\"}", HTTP_ERROR_BODY, 0,
		 "asked about task 5 it answers about 6"},
		{"200 OK\r\n", type, "{\"task\": \"x\", \"state\": \"x\"}", HTTP_ERROR_BODY, 0,
		 "task: expected integer"},
		{"200 OK\r\n", type, "{\"task\": 5}", HTTP_ERROR_BODY, 0,
		 "state: expected string, got nothing"},
		{"200 OK\r\n", type, "null", HTTP_ERROR_BODY, 0, "expected object, got null"},
		{"200 OK\r\n", type, "[]", HTTP_ERROR_BODY, 0, "expected object, got array"},
		{"200 OK\r\n", type, "", HTTP_ERROR_BODY, 0, "empty"},
		{"200 OK\r\n", "", GOOD, HTTP_ERROR_BODY, 0, "content type is not told"},
		{"200 OK\r\n", "Content-Type: text/html\r\n", GOOD, HTTP_ERROR_BODY, 0,
		 "content type is \"text/html\""},
		{"200 OK\r\n", "Content-Type: application/jsonx\r\n", GOOD, HTTP_ERROR_BODY, 0,
		 "content type"},
		{"204 No Content\r\n", type, "", HTTP_ERROR_BODY, 0, "status 204"},
		{"301 Moved\r\nLocation: http://192.0.2.1/x\r\n", type, "", HTTP_ERROR_BODY,
		 HTTP_ERROR_BODY,
		 "status 301, a redirection to \"http://192.0.2.1/x\", which is not followed"},
		{"308 Moved\r\nLocation: /x\r\n", type, GOOD, HTTP_ERROR_BODY, HTTP_ERROR_BODY,
		 "status 308"},
		{"300 Choose\r\n", type, GOOD, HTTP_ERROR_BODY, HTTP_ERROR_BODY, "status 300"},
		{"304 Same\r\n", type, "", HTTP_ERROR_BODY, HTTP_ERROR_BODY, "status 304"},
		{"404 No\r\n", type, "{\"error\": \"there is no task 5\"}", HTTP_ERROR_STATUS,
		 HTTP_ERROR_STATUS, "status 404: there is no task 5"},
		{"404 No\r\n", "Content-Type: text/html\r\n", "<html>no</html>", HTTP_ERROR_BODY,
		 HTTP_ERROR_STATUS, "<html>no"},
		{"404 No\r\n", type, "", HTTP_ERROR_BODY, HTTP_ERROR_STATUS, "status 404"},
		{"500 Oops\r\n", type, "null", HTTP_ERROR_BODY, HTTP_ERROR_STATUS, "status 500"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases) * 2; i++) {
		const bool any = i >= G_N_ELEMENTS(cases);
		const gsize k = i % G_N_ELEMENTS(cases);
		const int code = any ? cases[k].code_of_any : cases[k].code;
		g_autofree char *answer =
			g_strdup_printf("HTTP/1.1 %s%sContent-Length: %zu\r\n\r\n%s", cases[k].head,
					cases[k].type, strlen(cases[k].body), cases[k].body);
		struct peer peer = {.answer = answer, .length = strlen(answer), .close = true};
		g_autoptr(GError) error = NULL;
		g_autoptr(json_t) body = NULL;
		g_autoptr(http_client_t) client = NULL;

		peer_start(&peer);
		client = http_client_new(&platform_machine, peer.address, NULL);
		http_client_expect(client, any ? NULL : operations);
		body = http_client_call(client, "GET", "/v1/tasks/5?x=6", NULL, 10, &error);
		if (code == 0)
			g_assert_no_error(error);
		else
			g_assert_error(error, HTTP_ERROR, code);
		g_assert_true(code == 0 || any || strstr(error->message, cases[k].words));
		peer_stop(&peer);
	}
}

/* In the clear nothing goes but to this machine, by whatever name. */
static void test_client_speaks_in_the_clear_at_loopback_alone(void)
{
	static const char *const good[] = {
		"unix:/x",
		"http://127.0.0.1",
		"http://127.0.0.1:8080",
		"http://127.0.0.1:8080/",
		"http://127.1.2.3:1",
		"http://[::1]:1",
		"http://localhost:1",
		"http://LOCALHOST:1",
		"https://192.0.2.1:1",
		"https://example.org",
		"https://[2001:db8::1]:1/",
	};
	static const char *const bad[] = {
		"http://192.0.2.1:1",
		"http://example.org",
		"http://0.0.0.0:1",
		"http://[::]:1",
		"http://[2001:db8::1]:1",
		"http://[::ffff:10.0.0.1]:1",
		"http://[::ffff:192.0.2.1]",
		"http://127.0.0.1.nip.io:1",
		"http://localhost.evil.org:1",
		"http://localhost.:1",
		"http://xlocalhost",
		"http://127.0.0.1.:1",
		"http://128.0.0.1",
		"http://0xC0000201:1",
		"http://3221225985:1",
		"http://192.513:1",
		"http://127.0.0.1@192.0.2.1:1",
		"http://127.0.0.1:80@192.0.2.1:1",
		"http://user@127.0.0.1:1",
		"http://user:word@127.0.0.1:1",
		"https://user:word@192.0.2.1",
		"https://user@192.0.2.1",
		"http://@127.0.0.1:1",
		"http://127.0.0.1\\@192.0.2.1/",
		"http://192.0.2.1\\@127.0.0.1/",
		"http://192.0.2.1#@127.0.0.1/",
		"http://192.0.2.1?@127.0.0.1/",
		"http://127.0.0.1:1?x",
		"http://127.0.0.1:1/x",
		"http://127.0.0.1:1//",
		"http://127.0.0.1:1/.",
		"http://127.0.0.1/x/..",
		"https://[2001:db8::1]:1/x",
		"https://example.org/virtbed/",
		"http://127.0.0.1:1#x",
		"http:/127.0.0.1",
		"http:127.0.0.1",
		"http:///127.0.0.1",
		"HTTP://127.0.0.1",
		"HTTPS://192.0.2.1",
		"ftp://127.0.0.1",
		"http://127.0.0.1:x",
		"http://127.0.0.1:70000",
		"http://127.0.0.1 :1",
		"http://127.0.0.1\t:1",
		"http://127.0.0.1\n192.0.2.1",
		"http://",
		"https://",
		"http://:80",
		"unix:x",
		"127.0.0.1:80",
		"//127.0.0.1",
		"",
	};

	for (gsize i = 0; i < G_N_ELEMENTS(good); i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(http_client_t) client =
			http_client_new(&platform_machine, good[i], &error);

		g_assert_no_error(error);
		g_assert_true(http_client_check_address(good[i], NULL));
	}
	for (gsize i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(http_client_t) client =
			http_client_new(&platform_machine, bad[i], &error);

		g_test_message("%s", bad[i]);
		g_assert_null(client);
		g_assert_error(error, HTTP_ERROR, HTTP_ERROR_ADDRESS);
		g_assert_null(strstr(error->message, "word"));
		g_assert_false(http_client_check_address(bad[i], NULL));
	}
}

static void test_the_time_for_an_answer_can_be_chosen(void)
{
	static const struct {
		const char *given;
		double timeout_s; /* 0: refused */
	} cases[] = {
		{NULL, 30},       {"", 30},     {"5", 5},    {"0.25", 0.25}, {"2m", 120},
		{"86400", 86400}, {"0", 0},     {"-1", 0},   {"x", 0},       {"inf", 0},
		{"nan", 0},       {"86401", 0}, {"1e-9", 0},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		double timeout_s = 0;

		if (cases[i].given)
			g_setenv("VIRTBED_TIMEOUT", cases[i].given, TRUE);
		else
			g_unsetenv("VIRTBED_TIMEOUT");
		g_assert_true(http_client_timeout(30, &timeout_s, &error) ==
			      (cases[i].timeout_s > 0));
		g_assert_cmpfloat(timeout_s, ==, cases[i].timeout_s);
	}
	g_unsetenv("VIRTBED_TIMEOUT");
}

static void test_client_refuses_an_endless_answer(void)
{
	static const char head[] = "HTTP/1.1 200 OK\r\nContent-Length: 80000000\r\n\r\n";
	g_autofree char *answer = g_strnfill(80000000, ' ');
	struct peer peer = {.answer = answer, .length = 80000000};
	g_autoptr(GError) error = NULL;
	g_autoptr(http_client_t) client = NULL;

	memcpy(answer, head, strlen(head));
	peer_start(&peer);
	client = http_client_new(&platform_machine, peer.address, NULL);
	g_assert_null(http_client_call(client, "GET", "/", NULL, 60, &error));
	g_assert_error(error, HTTP_ERROR, HTTP_ERROR_BODY);
	g_clear_pointer(&client, http_client_free);
	peer_stop(&peer);
}

static void test_client_reports_what_is_not_there(void)
{
	struct peer peer = {.answer = ""};
	g_autofree char *refused = NULL;

	peer_start(&peer);
	refused = g_strdup(peer.address);
	peer_stop(&peer);

	const struct {
		const char *address, *reason;
	} cases[] = {
		{"unix:/nonexistent/socket",
		 "unix:/nonexistent/socket: cannot connect to the socket: No such file"},
		{refused, "Failed to connect"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(http_client_t) client =
			http_client_new(&platform_machine, cases[i].address, NULL);

		g_assert_null(http_client_call(client, "GET", "/v1/ok", NULL, 10, &error));
		g_assert_error(error, HTTP_ERROR, HTTP_ERROR_TRANSPORT);
		g_assert_nonnull(strstr(error->message, cases[i].address));
		g_assert_nonnull(strstr(error->message, cases[i].reason));
	}
}

/* Connections to all servers of a test; their threads count. */
struct traffic {
	int accepted;
	int open;
};

/* Answers what one connection asks until its client closes it. */
static gboolean on_asked(GThreadedSocketService *service, GSocketConnection *connection,
			 GObject *source, gpointer data)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
	g_autoptr(GDataInputStream) input =
		g_data_input_stream_new(g_io_stream_get_input_stream(G_IO_STREAM(connection)));
	GOutputStream *output = g_io_stream_get_output_stream(G_IO_STREAM(connection));
	struct traffic *traffic = data;
	char *line;

	g_atomic_int_inc(&traffic->accepted);
	g_atomic_int_inc(&traffic->open);
	while ((line = g_data_input_stream_read_line(input, NULL, NULL, NULL))) {
		if (strcmp(line, "\r") == 0) /* the end of a request */
			g_output_stream_write_all(output, answer, strlen(answer), NULL, NULL, NULL);
		g_free(line);
	}
	g_atomic_int_add(&traffic->open, -1);
	g_main_context_wakeup(NULL);
	return TRUE;
}

static void ask(struct http_client *client)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(json_t) body = http_client_call(client, "GET", "/", NULL, 20, &error);

	g_assert_no_error(error);
}

static void test_clients_keep_their_connections(void)
{
	GSocketService *servers[10];
	struct http_client *clients[G_N_ELEMENTS(servers)];
	const int count = G_N_ELEMENTS(servers);
	struct traffic traffic = {0};

	for (int i = 0; i < count; i++) {
		g_autofree char *address = NULL;

		servers[i] = g_threaded_socket_service_new(-1);
		g_signal_connect(servers[i], "run", G_CALLBACK(on_asked), &traffic);
		address = g_strdup_printf("http://127.0.0.1:%u",
					  g_socket_listener_add_any_inet_port(
						  G_SOCKET_LISTENER(servers[i]), NULL, NULL));
		clients[i] = http_client_new(&platform_machine, address, NULL);
	}
	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < count; i++)
			ask(clients[i]);
	}
	g_assert_cmpint(g_atomic_int_get(&traffic.accepted), ==, count);
	/*
	 * All but one go: one of what they left is closed each time that one asks, until it has
	 * what one may keep.
	 */
	for (int i = 1; i < count; i++)
		http_client_free(clients[i]);
	for (int i = 0; i < 2 * count; i++)
		ask(clients[0]);
	WAIT_FOR(g_atomic_int_get(&traffic.open) <= 4);
	/* The last one leaves none. */
	http_client_free(clients[0]);
	WAIT_FOR(g_atomic_int_get(&traffic.open) == 0);
	for (int i = 0; i < count; i++) {
		g_socket_service_stop(servers[i]);
		g_socket_listener_close(G_SOCKET_LISTENER(servers[i]));
		g_object_unref(servers[i]);
	}
}

/* Answers the user of the request, and in a header too. */
static void handle_who(struct http_request *request, const char *const *arguments, json_t *body,
		       void *data)
{
	const char *who = http_request_header(request, "Authorization");

	if (!who) {
		http_request_reply(request, 401,
				   json_pack("{s:{s:s}}", "error", "message", "no credentials"));
		return;
	}
	http_request_set_header(request, "X-Who", who);
	http_request_reply(request, 200,
			   json_pack("{s:s, s:s?}", "who", who, "token",
				     http_request_header(request, "X-Token")));
}

static const struct http_route who_routes[] = {
	{"GET", "/who", handle_who},
	{NULL},
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

/* A certificate of 127.0.0.1 that it has signed itself. */
static void make_certificate(const char *certificate, const char *key)
{
	const char *const argv[] = {"openssl",
				    "req",
				    "-x509",
				    "-newkey",
				    "ec",
				    "-pkeyopt",
				    "ec_paramgen_curve:prime256v1",
				    "-nodes",
				    "-batch",
				    "-subj",
				    "/CN=127.0.0.1",
				    "-addext",
				    "subjectAltName=IP:127.0.0.1",
				    "-keyout",
				    key,
				    "-out",
				    certificate,
				    NULL};
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
	const struct http_tls tls = {.certificate = certificate, .key = key};
	struct http_client_identity identity = {0};
	g_autoptr(http_server_t) server = NULL;
	g_autoptr(http_client_t) client = NULL;
	g_autoptr(http_client_t) other = NULL;
	g_autoptr(json_t) body = NULL;
	g_autoptr(GError) error = NULL;
	struct who who = {0};

	g_assert_null(http_server_new_tls(&platform_machine, "https://127.0.0.1:0", &tls,
					  who_routes, NULL, NULL));
	make_certificate(certificate, key);
	g_assert_null(http_server_new_tls(&platform_machine, "http://127.0.0.1:0", &tls, who_routes,
					  NULL, NULL));
	g_chmod(key, 0640);
	g_assert_null(http_server_new_tls(&platform_machine, "https://127.0.0.1:0", &tls,
					  who_routes, NULL, &error));
	g_assert_error(error, HTTP_ERROR, HTTP_ERROR_TRUST);
	g_assert_nonnull(strstr(error->message, "chmod 600"));
	g_clear_error(&error);
	g_chmod(key, 0600);
	server = http_server_new_tls(&platform_machine, "https://127.0.0.1:0", &tls, who_routes,
				     NULL, &error);
	g_assert_no_error(error);
	client = http_client_new(&platform_machine, http_server_address(server), &error);
	g_assert_no_error(error);
	/* No CA has signed it; then it is its own CA, and a name is asked for. */
	assert_call_fails(client, HTTP_ERROR_TRUST, "certificate");
	identity.ca_file = certificate;
	http_client_identify(client, &identity);
	assert_call_fails(client, HTTP_ERROR_STATUS, "no credentials");
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
	identity = (struct http_client_identity){.insecure = true, .user = "a", .password = ""};
	http_client_identify(client, &identity);
	who.client = client;
	http_client_request(client, "GET", "/who", NULL, 20, on_who, &who);
	while (!who.ended)
		g_main_context_iteration(NULL, TRUE);
	g_assert_cmpstr(who.header, ==, "Basic YTo=");
	g_assert_null(http_client_answer_header(client, "x-who"));
	g_free(who.header);
	/* A connection that was made without checks is not used for a request with checks. */
	other = http_client_new(&platform_machine, http_server_address(server), &error);
	g_assert_no_error(error);
	assert_call_fails(other, HTTP_ERROR_TRUST, "certificate");
	g_unlink(certificate);
	g_unlink(key);
	g_rmdir(directory);
}

/* Only a client that sends nothing secret may ask another machine in the clear. */
static void test_texts_may_come_from_anywhere(void)
{
	static const char *const good[] = {"http://192.0.2.1", "http://prometheus:9090",
					   "https://[2001:db8::1]:8443"};
	static const char *const bad[] = {"ftp://h", "http://u:p@h", "http://h/x", "http://"};

	for (gsize i = 0; i < G_N_ELEMENTS(good); i++) {
		g_autoptr(http_client_t) client =
			http_client_new_text(&platform_machine, good[i], 100, NULL);

		g_assert_nonnull(client);
	}
	for (gsize i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_null(http_client_new_text(&platform_machine, bad[i], 100, &error));
		g_assert_error(error, HTTP_ERROR, HTTP_ERROR_ADDRESS);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/http-client/api", test_client_takes_answers_of_the_api_alone);
	g_test_add_func("/http-client/in-the-clear",
			test_client_speaks_in_the_clear_at_loopback_alone);
	g_test_add_func("/http-client/texts", test_texts_may_come_from_anywhere);
	g_test_add_func("/http-client/timeout", test_the_time_for_an_answer_can_be_chosen);
	g_test_add_func("/http-client/peer", test_client_survives_a_peer_that_misbehaves);
	g_test_add_func("/http-client/cut", test_client_cuts_what_a_peer_says);
	g_test_add_func("/http-client/endless", test_client_refuses_an_endless_answer);
	g_test_add_func("/http-client/not-there", test_client_reports_what_is_not_there);
	g_test_add_func("/http-client/kept", test_clients_keep_their_connections);
	g_test_add_func("/http-client/tls", test_tls_and_names);
	return g_test_run();
}
