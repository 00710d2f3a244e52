/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/http_listener.h"

#include <gio/gunixsocketaddress.h>
#include <inttypes.h>
#include <malloc.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "common/http_error.h"
#include "common/listen_address.h"
#include "common/tls_files.h"
#include "common/transport.h"

#define LOG_SUBSYSTEM "http"
#include "common/log.h"

/* Key of the struct connection in the address that a connection came from. */
#define CONNECTION_KEY "virtbed-connection"

enum {
	/* A TLS record: type, version, and the length of the rest (RFC 8446, 5.1). */
	RECORD_HEAD = 5,
	RECORD_MAX = RECORD_HEAD + (1 << 14),
	RECORD_HANDSHAKE = 22,
	/*
	 * GIO keeps a thread for each handshake until its peer has answered. All tasks of a process
	 * share ten threads, and more are added slowly (gtask.c).
	 */
	HANDSHAKES_MAX = 8,
	/* After so many connections at a time the heap keeps unused memory, which is trimmed. */
	CROWD = 32,
};

/*
 * How often expired connections are searched for. GLib's timers of whole seconds expire at the same
 * moment in all processes of a machine, so that hundreds of local schedulers would compete for the
 * processors then.
 */
#define SWEEP_MS 2000

/*
 * A connection without an acceptable request for this long may be closed to make room. A peer needs
 * four round trips at most until its request.
 */
#define ROOM_MS 2000

/*
 * A handshake of this length, more than a round trip and the work of both sides, makes room for a
 * waiting one.
 */
#define HANDSHAKE_MS 500
#define HANDSHAKES_SWEEP_MS 250

/* The answer to peers that cannot be served now, without TLS. */
static const char busy[] =
	"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\n"
	"Content-Type: application/json\r\nContent-Length: 43\r\n\r\n"
	"{\"error\":\"too many connections; try again\"}";

/* The connections of a listener, from accept() until they are closed. */
struct http_connections {
	const struct platform *platform;
	GMainContext *context;
	GTlsCertificate *certificate; /* NULL: no TLS */
	/* CAs of the certificates that clients must show; NULL: none required */
	GTlsDatabase *clients;
	guint sweep; /* a timer; 0: there are no connections */
	guint hurry; /* a timer; 0: no handshake waits */
	GQueue all;  /* struct connection elements, the oldest first */
	guint most;  /* maximum number at a time since there were none */
	http_accepted_f accepted;
	void *data;
};

/* A connection, from accept() until it is closed. */
struct connection {
	struct http_connections *set; /* NULL: the set was freed */
	GList link;                   /* element of set->all */
	/* borrowed: this is freed when the stream is closed */
	GIOStream *stream;
	struct early *early; /* NULL: the connection was handed over */
	/* "uid 7", or a network; NULL: the connection is not counted */
	char *peer;
	bool asked; /* an acceptable request was made */
	int64_t accepted_ns;
	int64_t until_ns; /* INT64_MAX: no limit */
};

/*
 * The state of a connection until it is handed over. It keeps the connection alive, through
 * `remote`.
 */
struct early {
	struct connection *connection;
	GIOStream *stream;
	GSocketAddress *local, *remote;
	GSource *silent; /* waits for its first bytes; NULL: they have arrived */
	gsize wanted;    /* number of bytes that it waits for */
	GIOStream *tls;  /* a handshake under way since `since_ns`; NULL: none */
	int64_t since_ns;
};

/* Counting. */

/* The prefix of IPv6 addresses that a network gives to one host or home. */
#define PREFIX_BYTES 8

char *http_listener_network(GInetAddress *address)
{
	static const guint8 mapped[12] = {[10] = 0xff, [11] = 0xff};
	const guint8 *bytes = g_inet_address_to_bytes(address);
	guint8 prefix[16] = {0};
	g_autoptr(GInetAddress) other = NULL;

	if (g_inet_address_get_family(address) != G_SOCKET_FAMILY_IPV6)
		return g_inet_address_to_string(address);
	memcpy(prefix, bytes, PREFIX_BYTES);
	other = memcmp(bytes, mapped, sizeof(mapped)) == 0
			? g_inet_address_new_from_bytes(bytes + sizeof(mapped),
							G_SOCKET_FAMILY_IPV4)
			: g_inet_address_new_from_bytes(prefix, G_SOCKET_FAMILY_IPV6);
	return g_inet_address_to_string(other);
}

/* The peer that the limits apply to; NULL: no limit applies. */
static char *peer_of(const struct platform *platform, GIOStream *stream, GSocketAddress *remote)
{
	int64_t uid;

	if (G_IS_INET_SOCKET_ADDRESS(remote))
		return http_listener_network(
			g_inet_socket_address_get_address(G_INET_SOCKET_ADDRESS(remote)));
	uid = platform->transport->peer_uid(stream);
	if (uid < 0)
		return g_strdup("unknown");
	return uid == 0 || uid == geteuid() ? NULL : g_strdup_printf("uid %" PRId64, uid);
}

/* The oldest connection of `peer` (NULL: of any peer) that may be closed to make room; or NULL. */
static struct connection *find_idle(const struct http_connections *set, const char *peer)
{
	const int64_t before_ns = platform_now_ns(set->platform) - ROOM_MS * INT64_C(1000000);

	for (const GList *at = set->all.head; at; at = at->next) {
		struct connection *connection = at->data;

		if (connection->peer && !connection->asked && connection->until_ns < INT64_MAX &&
		    connection->accepted_ns < before_ns &&
		    (!peer || g_str_equal(connection->peer, peer)))
			return connection;
	}
	return NULL;
}

static void early_free(struct early *early)
{
	early->connection->early = NULL;
	if (early->silent) {
		g_source_destroy(early->silent);
		g_source_unref(early->silent);
	}
	g_clear_object(&early->tls);
	g_object_unref(early->stream);
	g_object_unref(early->local);
	g_object_unref(early->remote);
	g_free(early);
}

/* Closes a connection. Its reader gets an error; without a reader the connection is freed. */
static void end(const struct platform *platform, struct connection *connection)
{
	connection->until_ns = INT64_MAX;
	if (connection->early && !connection->early->tls)
		early_free(connection->early);
	else
		platform->transport->shutdown(connection->stream, true);
}

/* Makes room for a connection of `peer`. Returns false if that is impossible. */
static bool make_room(const struct http_connections *set, const char *peer)
{
	struct connection *idle;
	guint all = 0;
	guint own = 0;

	for (const GList *at = set->all.head; peer && at; at = at->next) {
		const struct connection *connection = at->data;

		all += connection->peer != NULL;
		own += g_strcmp0(connection->peer, peer) == 0;
	}
	if (all < HTTP_LISTENER_CONNECTIONS_MAX && own < HTTP_LISTENER_PEER_MAX)
		return true;
	idle = find_idle(set, own < HTTP_LISTENER_PEER_MAX ? NULL : peer);
	if (idle)
		end(set->platform, idle);
	return idle != NULL;
}

static void forget(struct connection *connection)
{
	if (connection->set)
		g_queue_unlink(&connection->set->all, &connection->link);
	connection->set = NULL;
}

/* Its stream is closed. */
static void on_closed(gpointer data, GObject *stream)
{
	struct connection *connection = data;

	forget(connection);
	connection->stream = NULL;
}

/* Frees a connection; its address is not used any more. */
static void connection_free(gpointer data)
{
	struct connection *connection = data;

	if (connection->stream)
		g_object_weak_unref(G_OBJECT(connection->stream), on_closed, connection);
	forget(connection);
	g_free(connection->peer);
	g_free(connection);
}

static void set_timer(struct http_connections *set, guint *timer, guint interval_ms,
		      GSourceFunc function)
{
	if (!*timer)
		*timer = platform_after_ms(set->platform, interval_ms, function, set);
}

/*
 * Closes expired connections. Memory of many connections is returned to the system once all are
 * closed.
 */
static gboolean on_sweep(gpointer data)
{
	struct http_connections *set = data;
	const int64_t now_ns = platform_now_ns(set->platform);

	for (GList *next, *at = set->all.head; at; at = next) {
		struct connection *connection = at->data;

		next = at->next;
		if (connection->until_ns <= now_ns)
			end(set->platform, connection);
	}
	if (!g_queue_is_empty(&set->all))
		return G_SOURCE_CONTINUE;
	if (set->most >= CROWD)
		malloc_trim(0);
	set->most = 0;
	set->sweep = 0;
	return G_SOURCE_REMOVE;
}

static void give_time(const struct http_connections *set, struct connection *connection,
		      double seconds)
{
	connection->until_ns = isfinite(seconds)
				       ? platform_now_ns(set->platform) + (int64_t)(seconds * 1e9)
				       : INT64_MAX;
}

/* Adds a connection to the set, and links it with its address. */
static struct connection *connection_new(struct http_connections *set, GIOStream *stream,
					 GSocketAddress *remote, char *peer)
{
	struct connection *connection = g_new0(struct connection, 1);

	connection->set = set;
	connection->stream = stream;
	connection->peer = peer;
	connection->accepted_ns = platform_now_ns(set->platform);
	connection->link.data = connection;
	g_queue_push_tail_link(&set->all, &connection->link);
	set->most = MAX(set->most, set->all.length);
	g_object_weak_ref(G_OBJECT(stream), on_closed, connection);
	g_object_set_data_full(G_OBJECT(remote), CONNECTION_KEY, connection, connection_free);
	give_time(set, connection, HTTP_LISTENER_REQUEST_S);
	set_timer(set, &set->sweep, SWEEP_MS, on_sweep);
	return connection;
}

/* Handing over. */

/* `accepted` reads and writes the stream from now on. */
static void hand_over(struct early *early, GIOStream *stream)
{
	const struct http_connections *set = early->connection->set;

	early->connection->early = NULL;
	set->accepted(stream, early->local, early->remote, set->data);
	early_free(early);
}

/* Handshakes. */

/* GIO leaves this check to servers: no error of a client's certificate is accepted. */
static gboolean on_client_certificate(GTlsConnection *tls, GTlsCertificate *certificate,
				      GTlsCertificateFlags errors, gpointer data)
{
	return errors == 0;
}

/*
 * TLS over a connection. The database is given at construction, since GIO would otherwise load all
 * certificates of the system for it (3.8 MB and 14 ms each time, glib-networking 2.74), which are
 * not needed without client certificates.
 */
static GIOStream *wrap(const struct http_connections *set, GIOStream *stream)
{
	GIOStream *tls = g_initable_new(g_tls_backend_get_server_connection_type(
						g_tls_backend_get_default()),
					NULL, NULL, "base-io-stream", stream, "certificate",
					set->certificate, "database", set->clients, NULL);

	if (tls && set->clients) {
		g_object_set(tls, "authentication-mode", G_TLS_AUTHENTICATION_REQUIRED, NULL);
		g_signal_connect(tls, "accept-certificate", G_CALLBACK(on_client_certificate),
				 NULL);
	}
	return tls;
}

/* Whether the connection waits for its handshake. */
static bool waits(const struct connection *connection)
{
	return connection->early && !connection->early->silent && !connection->early->tls;
}

/* The number of handshakes under way, of `peer` or (NULL) in all. */
static guint count_handshakes(const struct http_connections *set, const char *peer)
{
	guint count = 0;

	for (const GList *at = set->all.head; at; at = at->next) {
		const struct connection *connection = at->data;

		count += connection->early && connection->early->tls &&
			 (!peer || g_strcmp0(connection->peer, peer) == 0);
	}
	return count;
}

/*
 * The connection with the next handshake: of the peers with the fewest handshakes under way, the
 * oldest. NULL: none waits.
 */
static struct connection *find_next(const struct http_connections *set)
{
	struct connection *next = NULL;
	guint least = G_MAXUINT;

	for (const GList *at = set->all.head; at && least > 0; at = at->next) {
		struct connection *connection = at->data;
		const guint count =
			waits(connection) ? count_handshakes(set, connection->peer) : G_MAXUINT;

		if (count >= least)
			continue;
		next = connection;
		least = count;
	}
	return next;
}

static void begin_handshakes(struct http_connections *set);

static void on_handshake(GObject *tls, GAsyncResult *result, gpointer data)
{
	struct early *early = data;
	struct http_connections *set = early->connection->set;
	const bool good = g_tls_connection_handshake_finish(G_TLS_CONNECTION(tls), result, NULL);

	if (good && set)
		hand_over(early, G_IO_STREAM(tls));
	else
		early_free(early);
	if (set)
		begin_handshakes(set);
}

/* Ends handshakes that take too long, while others wait. */
static gboolean on_hurry(gpointer data)
{
	struct http_connections *set = data;
	const int64_t before_ns = platform_now_ns(set->platform) - HANDSHAKE_MS * INT64_C(1000000);

	if (!find_next(set)) {
		set->hurry = 0;
		return G_SOURCE_REMOVE;
	}
	for (const GList *at = set->all.head; at; at = at->next) {
		struct connection *connection = at->data;

		if (connection->early && connection->early->tls &&
		    connection->early->since_ns < before_ns)
			end(set->platform, connection);
	}
	return G_SOURCE_CONTINUE;
}

static bool begin_handshake(struct http_connections *set, struct early *early)
{
	early->tls = wrap(set, early->stream);
	early->since_ns = platform_now_ns(set->platform);
	if (!early->tls) {
		early_free(early);
		return false;
	}
	g_tls_connection_handshake_async(G_TLS_CONNECTION(early->tls), G_PRIORITY_DEFAULT, NULL,
					 on_handshake, early);
	return true;
}

/* Begins handshakes up to the maximum number. */
static void begin_handshakes(struct http_connections *set)
{
	guint count = count_handshakes(set, NULL);
	struct connection *next;

	while (count < HANDSHAKES_MAX && (next = find_next(set)))
		count += begin_handshake(set, next->early);
	if (count >= HANDSHAKES_MAX)
		set_timer(set, &set->hurry, HANDSHAKES_SWEEP_MS, on_hurry);
}

/* Silent connections. */

/* Waits for `count` bytes, or for the end of the stream. */
static void set_wanted_bytes(struct early *early, gsize count)
{
	early->wanted = count;
	early->connection->set->platform->transport->want(early->stream, count);
}

/* The length of the first TLS record, from its head; 0: it is no handshake. */
static gsize hello_length(const guint8 head[RECORD_HEAD])
{
	gsize length;

	if (head[0] != RECORD_HANDSHAKE)
		return 0;
	length = RECORD_HEAD + ((gsize)head[3] << 8 | head[4]);
	return length <= RECORD_MAX ? length : 0;
}

/*
 * A handshake begins once its first record is complete, since it costs a thread from then on. A
 * connection that was closed, or is not TLS, is dropped.
 */
static gboolean on_first_bytes(GObject *input, gpointer data)
{
	struct early *early = data;
	struct http_connections *set = early->connection->set;
	guint8 head[RECORD_HEAD] = {0};
	const bool there =
		set->platform->transport->peek(early->stream, head,
					       set->certificate ? RECORD_HEAD : 0) >= early->wanted;
	const gsize length = there && set->certificate ? hello_length(head) : there;

	if (length > early->wanted) {
		set_wanted_bytes(early, length);
		return G_SOURCE_CONTINUE;
	}
	g_clear_pointer(&early->silent, g_source_unref);
	if (length == 0) {
		early_free(early);
		return G_SOURCE_REMOVE;
	}
	set_wanted_bytes(early, 1);
	if (set->certificate)
		begin_handshakes(set);
	else
		hand_over(early, early->stream);
	return G_SOURCE_REMOVE;
}

/*
 * Until its first bytes arrive, a connection is only a stream and a source. `remote` and `local`
 * are taken over.
 */
static void await_first_bytes(struct connection *connection, GIOStream *stream,
			      GSocketAddress *local, GSocketAddress *remote)
{
	struct early *early = g_new0(struct early, 1);

	early->connection = connection;
	early->stream = g_object_ref(stream);
	early->local = local;
	early->remote = remote;
	connection->early = early;
	set_wanted_bytes(early, connection->set->certificate ? RECORD_HEAD : 1);
	early->silent = g_pollable_input_stream_create_source(
		G_POLLABLE_INPUT_STREAM(g_io_stream_get_input_stream(stream)), NULL);
	g_source_set_callback(early->silent, G_SOURCE_FUNC(on_first_bytes), early, NULL);
	g_source_attach(early->silent, connection->set->context);
}

/* Life cycle. */

/*
 * An empty set, on the thread's default main context. Takes references to `certificate` (NULL: no
 * TLS) and `clients`, the CAs of the certificates that peers must show (NULL: none required). Never
 * NULL.
 */
static struct http_connections *connections_new(const struct platform *platform,
						GTlsCertificate *certificate, GTlsDatabase *clients,
						http_accepted_f accepted, void *data)
{
	struct http_connections *set = g_new0(struct http_connections, 1);

	set->platform = platform;
	set->context = g_main_context_ref_thread_default();
	set->certificate = certificate ? g_object_ref(certificate) : NULL;
	set->clients = clients ? g_object_ref(clients) : NULL;
	set->accepted = accepted;
	set->data = data;
	return set;
}

/*
 * Closes the connections that have not been handed over; the others stay open. NULL is allowed.
 */
static void connections_free(struct http_connections *set)
{
	if (!set)
		return;
	while (!g_queue_is_empty(&set->all)) {
		struct connection *connection = g_queue_peek_head(&set->all);

		forget(connection);
		if (connection->early)
			end(set->platform, connection);
	}
	g_clear_handle_id(&set->sweep, g_source_remove);
	g_clear_handle_id(&set->hurry, g_source_remove);
	g_clear_object(&set->certificate);
	g_clear_object(&set->clients);
	g_main_context_unref(set->context);
	g_free(set);
}

/*
 * Adds an accepted connection (reference taken): `accepted` is called when its first bytes have
 * arrived, or never. A peer that has gone already has no address, and gets no answer.
 */
static void connections_add(struct http_connections *set, GIOStream *stream)
{
	const struct platform_transport *transport = set->platform->transport;
	g_autoptr(GSocketAddress) remote = transport->remote(stream);
	g_autoptr(GSocketAddress) local = transport->local(stream);
	g_autofree char *peer = NULL;
	struct connection *connection;

	if (!remote || !local)
		return;
	peer = peer_of(set->platform, stream, remote);
	if (!make_room(set, peer)) {
		if (!set->certificate)
			g_pollable_output_stream_write_nonblocking(
				G_POLLABLE_OUTPUT_STREAM(g_io_stream_get_output_stream(stream)),
				busy, strlen(busy), NULL, NULL);
		return;
	}
	connection = connection_new(set, stream, remote, g_steal_pointer(&peer));
	await_first_bytes(connection, stream, g_steal_pointer(&local), g_steal_pointer(&remote));
}

/* Addresses. */

static struct connection *connection_of(GSocketAddress *remote)
{
	return remote ? g_object_get_data(G_OBJECT(remote), CONNECTION_KEY) : NULL;
}

void http_listener_give_time(GSocketAddress *remote, double seconds)
{
	struct connection *connection = connection_of(remote);

	if (!connection)
		return;
	connection->asked = true;
	if (connection->set)
		give_time(connection->set, connection, seconds);
}

GIOStream *http_listener_stream(GSocketAddress *remote)
{
	const struct connection *connection = connection_of(remote);

	return connection ? connection->stream : NULL;
}

/* Listening. */

enum {
	/*
	 * The maximum number of connections accepted in a turn of the main loop. A turn checks the
	 * sockets of all local schedulers, which takes about as long as an answer.
	 */
	ACCEPTED_AT_ONCE = 16,
	/*
	 * If accept() fails for lack of descriptors or memory, an immediate retry would fail again.
	 */
	RETRY_MS = 100,
};

struct http_listener {
	const struct platform *platform;
	struct transport_place *place;
	char *address;
	bool is_unix;    /* at a Unix socket */
	bool local;      /* a Unix socket, or on loopback */
	GSource *source; /* waits for connections */
	guint retry;     /* a timer; 0: none */
	struct http_connections *connections;
};

static void watch(struct http_listener *listener);

static void unwatch(struct http_listener *listener)
{
	g_clear_handle_id(&listener->retry, g_source_remove);
	if (!listener->source)
		return;
	g_source_destroy(listener->source);
	g_clear_pointer(&listener->source, g_source_unref);
}

static gboolean on_retry(gpointer data)
{
	struct http_listener *listener = data;

	listener->retry = 0;
	watch(listener);
	return G_SOURCE_REMOVE;
}

static gboolean on_connection(gpointer data)
{
	struct http_listener *listener = data;

	for (int i = 0; i < ACCEPTED_AT_ONCE; i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(GIOStream) stream =
			listener->platform->transport->accept(listener->place, &error);

		if (stream) {
			connections_add(listener->connections, stream);
		} else if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_WOULD_BLOCK)) {
			break;
		} else {
			log_warning("%s: a connection cannot be accepted: %s", listener->address,
				    error->message);
			unwatch(listener);
			listener->retry =
				platform_after_ms(listener->platform, RETRY_MS, on_retry, listener);
			return G_SOURCE_REMOVE;
		}
	}
	return G_SOURCE_CONTINUE;
}

static void watch(struct http_listener *listener)
{
	unwatch(listener);
	listener->source = listener->platform->transport->incoming(listener->place);
	g_source_set_callback(listener->source, on_connection, listener, NULL);
	g_source_attach(listener->source, listener->connections->context);
}

/* A bound address as "unix:PATH" or "SCHEME://HOST:PORT". */
static char *address_text(GSocketAddress *bound, bool secure)
{
	const char *scheme = secure ? "https" : "http";
	g_autofree char *host = NULL;

	if (G_IS_UNIX_SOCKET_ADDRESS(bound))
		return g_strconcat("unix:",
				   g_unix_socket_address_get_path(G_UNIX_SOCKET_ADDRESS(bound)),
				   NULL);
	host = g_inet_address_to_string(
		g_inet_socket_address_get_address(G_INET_SOCKET_ADDRESS(bound)));
	return g_strdup_printf(strchr(host, ':') ? "%s://[%s]:%u" : "%s://%s:%u", scheme, host,
			       g_inet_socket_address_get_port(G_INET_SOCKET_ADDRESS(bound)));
}

/*
 * Reads the files of TLS; both results are NULL without TLS, *ret_clients also without a client CA.
 */
static bool read_tls(const struct http_tls *tls, GTlsCertificate **ret_certificate,
		     GTlsDatabase **ret_clients, GError **error)
{
	g_autoptr(GError) reason = NULL;

	if (!tls)
		return true;
	*ret_certificate = tls_files_certificate(tls->certificate, tls->key, error);
	if (!*ret_certificate)
		return false;
	if (!tls->client_ca)
		return true;
	if (!tls_files_check_ca(tls->client_ca, error))
		return false;
	*ret_clients = g_tls_file_database_new(tls->client_ca, &reason);
	if (!*ret_clients)
		g_set_error(error, HTTP_ERROR, HTTP_ERROR_TRUST,
			    "the CA's certificates '%s' are of no use: %s", tls->client_ca,
			    reason->message);
	return *ret_clients != NULL;
}

/* Whether only processes of this machine can connect. */
static bool is_local(GSocketAddress *where)
{
	return G_IS_UNIX_SOCKET_ADDRESS(where) ||
	       g_inet_address_get_is_loopback(
		       g_inet_socket_address_get_address(G_INET_SOCKET_ADDRESS(where)));
}

struct http_listener *http_listener_new(const struct platform *platform, const char *address,
					const struct http_tls *tls, http_accepted_f accepted,
					void *data, GError **error)
{
	g_autoptr(http_listener_t) listener = g_new0(struct http_listener, 1);
	g_autoptr(GTlsCertificate) certificate = NULL;
	g_autoptr(GTlsDatabase) clients = NULL;
	g_autoptr(GSocketAddress) where = NULL;
	g_autoptr(GSocketAddress) bound = NULL;

	listener->platform = platform;
	where = listen_address_parse(address, tls != NULL, error);
	if (!where || !read_tls(tls, &certificate, &clients, error))
		return NULL;
	listener->connections = connections_new(platform, certificate, clients, accepted, data);
	listener->is_unix = G_IS_UNIX_SOCKET_ADDRESS(where);
	listener->local = is_local(where);
	listener->place = platform->transport->listen(platform, where, error);
	if (!listener->place) {
		g_prefix_error(error, "cannot listen on \"%s\": ",
			       listener->is_unix ? address + strlen("unix:") : address);
		return NULL;
	}
	bound = platform->transport->bound(listener->place, error);
	if (!bound)
		return NULL;
	listener->address = address_text(bound, tls != NULL);
	watch(listener);
	return g_steal_pointer(&listener);
}

void http_listener_free(struct http_listener *listener)
{
	if (!listener)
		return;
	unwatch(listener);
	connections_free(listener->connections);
	if (listener->place)
		listener->platform->transport->close(listener->place);
	g_free(listener->address);
	g_free(listener);
}

bool http_listener_share(struct http_listener *listener, gid_t group, GError **error)
{
	return listener->platform->transport->share(listener->place, group, error);
}

const char *http_listener_address(const struct http_listener *listener)
{
	return listener->address;
}

bool http_listener_is_local(const struct http_listener *listener)
{
	return listener->local;
}
