/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cost of peers that connect, in crowds, and send nothing, or only a beginning. */
#include <gio/gio.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/http_client.h"
#include "common/http_listener.h"
#include "common/http_server.h"
#include "common/json.h"
#include "tests/unit/common/wait_for.h"

#define CROWD 1000
#define CROWD_MIB 60
/* What the heap keeps of a crowd for its own reasons. AddressSanitizer keeps what was freed. */
#ifdef __SANITIZE_ADDRESS__
#define LEFT_MIB 1024
#undef CROWD_MIB
#define CROWD_MIB 1024
#else
#define LEFT_MIB 8
#endif

/* For these tests alone. */
static const char certificate[] =
	"-----BEGIN CERTIFICATE-----\n"
	"MIIBkDCCATagAwIBAgIUKEk1Mz06XogbHa8Kzojt/nQGat8wCgYIKoZIzj0EAwIw\n"
	"FDESMBAGA1UEAwwJMTI3LjAuMC4xMCAXDTI2MTEyNzA3MjQwNVoYDzIxMjYxMTAz\n"
	"MDcyNDA1WjAUMRIwEAYDVQQDDAkxMjcuMC4wLjEwWTATBgcqhkjOPQIBBggqhkjO\n"
	"PQMBBwNCAARXoESRAMMztmES6WpH//VptegTr6P7Fjfhotc3EF30f0jKHLehqN30\n"
	"8CEetW0q8GkGahXLDm4fZ5hgE8+Dgf98o2QwYjAdBgNVHQ4EFgQUBsACO7prdrmu\n"
	"I6aqnyTk5PeKeYswHwYDVR0jBBgwFoAUBsACO7prdrmuI6aqnyTk5PeKeYswDwYD\n"
	"VR0TAQH/BAUwAwEB/zAPBgNVHREECDAGhwR/AAABMAoGCCqGSM49BAMCA0gAMEUC\n"
	"ICdZBn9syQthTBGIQZtkTGlX8UTskkdVlCjg6mjwSEjoAiEA81G6cnklB1YpqFFZ\n"
	"MX5gfnmGfA+a5QltMVa9odMorAA=\n"
	"-----END CERTIFICATE-----\n";
static const char key[] = "-----BEGIN EC PRIVATE KEY-----\n"
			  "MHcCAQEEIBcDwKpxrCjxRyAa/NE4F+wSukZ/rsDJQRSAWYZjubehoAoGCCqGSM49\n"
			  "AwEHoUQDQgAEV6BEkQDDM7ZhEulqR//1abXoE6+j+xY34aLXNxBd9H9Iyhy3oajd\n"
			  "9PAhHrVtKvBpBmoVyw5uH2eYYBPPg4H/fA==\n"
			  "-----END EC PRIVATE KEY-----\n";

struct fixture {
	char *directory, *certificate, *key;
	struct http_server *server;
	GPtrArray *crowd; /* GSocket */
};

static void handle(struct http_request *request, const char *const *arguments, json_t *body,
		   void *data)
{
	http_request_reply(request, 200, json_true());
}

static const struct http_route routes[] = {
	{"GET", "/", handle, HTTP_ROLE_ANYBODY},
	{NULL},
};

static void setup(struct fixture *fixture, gconstpointer tls)
{
	struct http_tls files;

	fixture->directory = g_dir_make_tmp("virtbed-XXXXXX", NULL);
	fixture->certificate = g_build_filename(fixture->directory, "certificate", NULL);
	fixture->key = g_build_filename(fixture->directory, "key", NULL);
	g_assert_true(g_file_set_contents(fixture->certificate, certificate, -1, NULL));
	g_assert_true(g_file_set_contents_full(fixture->key, key, -1, G_FILE_SET_CONTENTS_NONE,
					       0600, NULL));
	files = (struct http_tls){.certificate = fixture->certificate, .key = fixture->key};
	fixture->server =
		tls ? http_server_new_tls(&platform_machine, "https://127.0.0.1:0", &files, routes,
					  NULL, NULL)
		    : http_server_new(&platform_machine, "http://127.0.0.1:0", routes, NULL, NULL);
	g_assert_nonnull(fixture->server);
	fixture->crowd = g_ptr_array_new_with_free_func(g_object_unref);
}

static void teardown(struct fixture *fixture, gconstpointer tls)
{
	g_ptr_array_unref(fixture->crowd);
	http_server_free(fixture->server);
	g_unlink(fixture->certificate);
	g_unlink(fixture->key);
	g_rmdir(fixture->directory);
	g_free(fixture->certificate);
	g_free(fixture->key);
	g_free(fixture->directory);
}

/* Memory that this process has, the server's and the crowd's. */
static gint64 resident_mib(void)
{
	g_autofree char *text = NULL;
	g_auto(GStrv) words = NULL;

	g_assert_true(g_file_get_contents("/proc/self/statm", &text, NULL, NULL));
	words = g_strsplit(text, " ", 3);
	return g_ascii_strtoll(words[1], NULL, 10) * sysconf(_SC_PAGESIZE) >> 20;
}

static void let_all_happen(void)
{
	while (g_main_context_iteration(NULL, FALSE))
		;
}

/* One more in the crowd, of a hundred at each of its addresses, which says `text`. */
static void join(struct fixture *fixture, const char *text, gsize length)
{
	g_autoptr(GUri) uri =
		g_uri_parse(http_server_address(fixture->server), G_URI_FLAGS_NONE, NULL);
	g_autofree char *host =
		g_strdup_printf("127.0.0.%u", 2 + fixture->crowd->len / HTTP_LISTENER_PEER_MAX);
	g_autoptr(GSocketAddress) from = g_inet_socket_address_new_from_string(host, 0);
	g_autoptr(GSocketAddress) to =
		g_inet_socket_address_new_from_string("127.0.0.1", (guint)g_uri_get_port(uri));
	GSocket *socket = g_socket_new(G_SOCKET_FAMILY_IPV4, G_SOCKET_TYPE_STREAM,
				       G_SOCKET_PROTOCOL_TCP, NULL);

	g_assert_true(g_socket_bind(socket, from, FALSE, NULL));
	g_assert_true(g_socket_connect(socket, to, NULL, NULL));
	if (length > 0)
		g_socket_send(socket, text, length, NULL, NULL);
	g_ptr_array_add(fixture->crowd, socket);
	let_all_happen();
}

/* What a client says first by TLS. */
static GBytes *hello(void)
{
	g_autoptr(GInputStream) nothing = g_memory_input_stream_new();
	g_autoptr(GOutputStream) said = g_memory_output_stream_new_resizable();
	g_autoptr(GIOStream) base = g_simple_io_stream_new(nothing, said);
	g_autoptr(GIOStream) tls = g_tls_client_connection_new(base, NULL, NULL);
	g_autofree char *bytes = NULL;

	g_assert_false(g_tls_connection_handshake(G_TLS_CONNECTION(tls), NULL, NULL));
	bytes = g_memdup2(g_memory_output_stream_get_data(G_MEMORY_OUTPUT_STREAM(said)),
			  g_memory_output_stream_get_data_size(G_MEMORY_OUTPUT_STREAM(said)));
	return g_bytes_new_take(g_steal_pointer(&bytes),
				g_memory_output_stream_get_data_size(G_MEMORY_OUTPUT_STREAM(said)));
}

/* Whether a request from another address is answered. */
static bool is_answered(const struct fixture *fixture)
{
	const struct http_client_identity identity = {.insecure = true};
	g_autoptr(http_client_t) client =
		http_client_new(&platform_machine, http_server_address(fixture->server), NULL);
	g_autoptr(json_t) answer = NULL;

	http_client_identify(client, &identity);
	answer = http_client_call(client, "GET", "/", NULL, 10, NULL);
	return json_is_true(answer);
}

/* How far peers without a request get. */
static const struct {
	const char *name;
	bool tls;
	guint crowd;      /* that others are to get through; 0: it goes by itself */
	const char *text; /* NULL: of what a client says first ... */
	gsize length;     /* bytes of it, or all */
} beginnings[] = {
	{"nothing", true, HTTP_LISTENER_CONNECTIONS_MAX, "", 0},
	{"one byte", true, 0, NULL, 1},
	{"half a record", true, 0, NULL, 100},
	{"a record", true, HTTP_LISTENER_CONNECTIONS_MAX - 10, NULL, SIZE_MAX},
	{"no TLS", true, 0, "GET / HTTP/1.1\r\n\r\n", 18},
	{"a record that has no end", true, 0, "\x16\x03\x01\xff\xff\x01", 6},
	{"nothing", false, 0, "", 0},
	{"half a request", false, HTTP_LISTENER_CONNECTIONS_MAX,
	 "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n", 33},
};

static void a_crowd_costs_little(struct fixture *fixture, gconstpointer tls)
{
	g_autoptr(GBytes) first = hello();

	g_assert_true(is_answered(fixture));
	for (gsize i = 0; i < G_N_ELEMENTS(beginnings); i++) {
		const gsize length = MIN(beginnings[i].length, g_bytes_get_size(first));
		const char *text = beginnings[i].text ?: g_bytes_get_data(first, NULL);
		const gint64 before_mib = resident_mib();

		if (beginnings[i].tls != (tls != NULL))
			continue;
		for (guint k = 0; k < CROWD; k++)
			join(fixture, text, length);
		g_test_message("%s: %" G_GINT64_FORMAT " MiB", beginnings[i].name,
			       resident_mib() - before_mib);
		g_assert_cmpint(resident_mib() - before_mib, <, CROWD_MIB);
		g_ptr_array_set_size(fixture->crowd, 0);
		WAIT_FOR(resident_mib() - before_mib < LEFT_MIB);
	}
}

/* A request is answered, however many silent peers there are. */
static void a_crowd_holds_nobody_up(struct fixture *fixture, gconstpointer tls)
{
	g_autoptr(GBytes) first = hello();

	for (gsize i = 0; i < G_N_ELEMENTS(beginnings); i++) {
		const gsize length = MIN(beginnings[i].length, g_bytes_get_size(first));
		const char *text = beginnings[i].text ?: g_bytes_get_data(first, NULL);
		const gint64 until_us = g_get_monotonic_time() + 20 * G_USEC_PER_SEC;

		if (beginnings[i].tls != (tls != NULL) || beginnings[i].crowd == 0)
			continue;
		for (guint k = 0; k < beginnings[i].crowd; k++)
			join(fixture, text, length);
		g_test_message("%s", beginnings[i].name);
		while (!is_answered(fixture))
			g_assert_cmpint(g_get_monotonic_time(), <, until_us);
		g_ptr_array_set_size(fixture->crowd, 0);
		let_all_happen();
	}
}

/* A peer with one address of IPv6 has all that begin as it does. */
static void a_network_counts_as_one_peer(void)
{
	static const struct {
		const char *address, *network;
	} cases[] = {
		{"10.0.0.1", "10.0.0.1"},
		{"::ffff:10.0.0.1", "10.0.0.1"},
		{"2001:db8:1:2::1", "2001:db8:1:2::"},
		{"2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"},
		{"2001:db8:1:3::1", "2001:db8:1:3::"},
		{"::1", "::"},
		{"fe80::ffff:a00:1", "fe80::"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GInetAddress) address = g_inet_address_new_from_string(cases[i].address);
		g_autofree char *network = http_listener_network(address);

		g_assert_cmpstr(network, ==, cases[i].network);
	}
}

#define ADD(name, tls, function)                                                                   \
	g_test_add("/http/connections/" name, struct fixture, tls, setup, function, teardown)

int main(int argc, char **argv)
{
	struct rlimit files;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/http/connections/network", a_network_counts_as_one_peer);
	ADD("cost/tls", "", a_crowd_costs_little);
	ADD("cost/plain", NULL, a_crowd_costs_little);
	ADD("room/tls", "", a_crowd_holds_nobody_up);
	ADD("room/plain", NULL, a_crowd_holds_nobody_up);
	return g_test_run();
}
