/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/http_listener.h"

#include <errno.h>
#include <gio/gunixsocketaddress.h>
#include <malloc.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/error_fail.h"
#include "common/http_client.h"
#include "common/listen_address.h"
#include "common/tls_files.h"

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

/* The connections of a listener, from accept() until their sockets are closed. */
struct http_connections {
	GMainContext *context;
	GTlsCertificate *certificate; /* NULL: no TLS */
	/* CAs of the certificates that clients must show; NULL: none required */
	GTlsDatabase *clients;
	GSource *sweep; /* NULL: there are no connections */
	GSource *hurry; /* NULL: no handshake waits */
	GQueue all;     /* struct connection elements, the oldest first */
	guint most;     /* maximum number at a time since there were none */
	http_accepted_f accepted;
	void *data;
};

/* A connection, from accept() until its socket is closed. */
struct connection {
	struct http_connections *set; /* NULL: the set was freed */
	GList link;                   /* element of set->all */
	/* borrowed: the connection is freed when the socket is closed */
	GSocket *socket;
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
	GSocket *socket;
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
static char *peer_of(GSocket *socket, GSocketAddress *remote)
{
	struct ucred peer;
	socklen_t length = sizeof(peer);

	if (G_IS_INET_SOCKET_ADDRESS(remote))
		return http_listener_network(
			g_inet_socket_address_get_address(G_INET_SOCKET_ADDRESS(remote)));
	if (getsockopt(g_socket_get_fd(socket), SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0)
		return g_strdup("unknown");
	return peer.uid == 0 || peer.uid == geteuid() ? NULL : g_strdup_printf("uid %u", peer.uid);
}

/* The oldest connection of `peer` (NULL: of any peer) that may be closed to make room; or NULL. */
static struct connection *find_idle(const struct http_connections *set, const char *peer)
{
	const int64_t before_ns = clock_now_ns() - ROOM_MS * INT64_C(1000000);

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
	g_object_unref(early->socket);
	g_object_unref(early->local);
	g_object_unref(early->remote);
	g_free(early);
}

/* Closes a connection. Its reader gets an error; without a reader the connection is freed. */
static void end(struct connection *connection)
{
	connection->until_ns = INT64_MAX;
	if (connection->early && !connection->early->tls)
		early_free(connection->early);
	else
		g_socket_shutdown(connection->socket, TRUE, TRUE, NULL);
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
		end(idle);
	return idle != NULL;
}

static void forget(struct connection *connection)
{
	if (connection->set)
		g_queue_unlink(&connection->set->all, &connection->link);
	connection->set = NULL;
}

/* Its socket is closed. */
static void on_closed(gpointer data, GObject *socket)
{
	struct connection *connection = data;

	forget(connection);
	connection->socket = NULL;
}

/* Frees a connection; its address is not used any more. */
static void connection_free(gpointer data)
{
	struct connection *connection = data;

	if (connection->socket)
		g_object_weak_unref(G_OBJECT(connection->socket), on_closed, connection);
	forget(connection);
	g_free(connection->peer);
	g_free(connection);
}

static void unset_source(GSource **source)
{
	if (*source)
		g_source_destroy(*source);
	g_clear_pointer(source, g_source_unref);
}

static void set_timer(struct http_connections *set, GSource **source, guint interval_ms,
		      GSourceFunc function)
{
	if (*source)
		return;
	*source = g_timeout_source_new(interval_ms);
	g_source_set_callback(*source, function, set, NULL);
	g_source_attach(*source, set->context);
}

/*
 * Closes expired connections. Memory of many connections is returned to the system once all are
 * closed.
 */
static gboolean on_sweep(gpointer data)
{
	struct http_connections *set = data;
	const int64_t now_ns = clock_now_ns();

	for (GList *next, *at = set->all.head; at; at = next) {
		struct connection *connection = at->data;

		next = at->next;
		if (connection->until_ns <= now_ns)
			end(connection);
	}
	if (!g_queue_is_empty(&set->all))
		return G_SOURCE_CONTINUE;
	if (set->most >= CROWD)
		malloc_trim(0);
	set->most = 0;
	unset_source(&set->sweep);
	return G_SOURCE_REMOVE;
}

static void give_time(struct connection *connection, double seconds)
{
	connection->until_ns =
		isfinite(seconds) ? clock_now_ns() + (int64_t)(seconds * 1e9) : INT64_MAX;
}

/* Adds a connection to the set, and links it with its address. */
static struct connection *connection_new(struct http_connections *set, GSocket *socket,
					 GSocketAddress *remote, char *peer)
{
	struct connection *connection = g_new0(struct connection, 1);

	connection->set = set;
	connection->socket = socket;
	connection->peer = peer;
	connection->accepted_ns = clock_now_ns();
	connection->link.data = connection;
	g_queue_push_tail_link(&set->all, &connection->link);
	set->most = MAX(set->most, set->all.length);
	g_object_weak_ref(G_OBJECT(socket), on_closed, connection);
	g_object_set_data_full(G_OBJECT(remote), CONNECTION_KEY, connection, connection_free);
	give_time(connection, HTTP_LISTENER_REQUEST_S);
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
static GIOStream *wrap(const struct http_connections *set, GSocket *socket)
{
	g_autoptr(GSocketConnection) connection =
		g_socket_connection_factory_create_connection(socket);
	GIOStream *tls = g_initable_new(g_tls_backend_get_server_connection_type(
						g_tls_backend_get_default()),
					NULL, NULL, "base-io-stream", connection, "certificate",
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
	const int64_t before_ns = clock_now_ns() - HANDSHAKE_MS * INT64_C(1000000);

	if (!find_next(set)) {
		unset_source(&set->hurry);
		return G_SOURCE_REMOVE;
	}
	for (const GList *at = set->all.head; at; at = at->next) {
		struct connection *connection = at->data;

		if (connection->early && connection->early->tls &&
		    connection->early->since_ns < before_ns)
			end(connection);
	}
	return G_SOURCE_CONTINUE;
}

static bool begin_handshake(struct http_connections *set, struct early *early)
{
	early->tls = wrap(set, early->socket);
	early->since_ns = clock_now_ns();
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

/* Waits for `count` bytes, or for the end of the stream (tcp(7), SO_RCVLOWAT). */
static void set_wanted_bytes(struct early *early, gsize count)
{
	early->wanted = count;
	g_socket_set_option(early->socket, SOL_SOCKET, SO_RCVLOWAT, (gint)count, NULL);
}

/* The length of the first TLS record, from its head; 0: it is no handshake. */
static gsize hello_length(GSocket *socket)
{
	guint8 head[RECORD_HEAD] = {0};
	gsize length;

	if (recv(g_socket_get_fd(socket), head, sizeof(head), MSG_PEEK | MSG_DONTWAIT) <
		    RECORD_HEAD ||
	    head[0] != RECORD_HANDSHAKE)
		return 0;
	length = RECORD_HEAD + ((gsize)head[3] << 8 | head[4]);
	return length <= RECORD_MAX ? length : 0;
}

/*
 * A handshake begins once its first record is complete, since it costs a thread from then on. A
 * connection that was closed, or is not TLS, is dropped.
 */
static gboolean on_first_bytes(GSocket *socket, GIOCondition condition, gpointer data)
{
	struct early *early = data;
	struct http_connections *set = early->connection->set;
	const bool there = g_socket_get_available_bytes(socket) >= (gssize)early->wanted;
	const gsize length = there && set->certificate ? hello_length(socket) : there;
	g_autoptr(GSocketConnection) stream = NULL;

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
	if (set->certificate) {
		begin_handshakes(set);
	} else {
		stream = g_socket_connection_factory_create_connection(early->socket);
		hand_over(early, G_IO_STREAM(stream));
	}
	return G_SOURCE_REMOVE;
}

/*
 * Until its first bytes arrive, a connection is only a socket and a source. `remote` and `local`
 * are taken over.
 */
static void await_first_bytes(struct connection *connection, GSocket *socket, GSocketAddress *local,
			      GSocketAddress *remote)
{
	struct early *early = g_new0(struct early, 1);

	early->connection = connection;
	early->socket = g_object_ref(socket);
	early->local = local;
	early->remote = remote;
	connection->early = early;
	set_wanted_bytes(early, connection->set->certificate ? RECORD_HEAD : 1);
	early->silent = g_socket_create_source(socket, G_IO_IN, NULL);
	g_source_set_callback(early->silent, G_SOURCE_FUNC(on_first_bytes), early, NULL);
	g_source_attach(early->silent, connection->set->context);
}

/* Life cycle. */

/*
 * An empty set, on the thread's default main context. Takes references to `certificate` (NULL: no
 * TLS) and `clients`, the CAs of the certificates that peers must show (NULL: none required). Never
 * NULL.
 */
static struct http_connections *connections_new(GTlsCertificate *certificate, GTlsDatabase *clients,
						http_accepted_f accepted, void *data)
{
	struct http_connections *set = g_new0(struct http_connections, 1);

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
			end(connection);
	}
	unset_source(&set->sweep);
	unset_source(&set->hurry);
	g_clear_object(&set->certificate);
	g_clear_object(&set->clients);
	g_main_context_unref(set->context);
	g_free(set);
}

/*
 * Adds an accepted socket (reference taken): `accepted` is called when its first bytes have
 * arrived, or never. A peer that has gone already has no address, and gets no answer.
 */
static void connections_add(struct http_connections *set, GSocket *socket)
{
	g_autoptr(GSocketAddress) remote = g_socket_get_remote_address(socket, NULL);
	g_autoptr(GSocketAddress) local = g_socket_get_local_address(socket, NULL);
	g_autofree char *peer = NULL;
	struct connection *connection;

	if (!remote || !local)
		return;
	peer = peer_of(socket, remote);
	if (!make_room(set, peer)) {
		if (!set->certificate)
			g_socket_send(socket, busy, strlen(busy), NULL, NULL);
		return;
	}
	if (g_socket_get_family(socket) != G_SOCKET_FAMILY_UNIX)
		g_socket_set_option(socket, IPPROTO_TCP, TCP_NODELAY, TRUE, NULL);
	connection = connection_new(set, socket, remote, g_steal_pointer(&peer));
	await_first_bytes(connection, socket, g_steal_pointer(&local), g_steal_pointer(&remote));
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
	give_time(connection, seconds);
}

GSocket *http_listener_socket(GSocketAddress *remote)
{
	const struct connection *connection = connection_of(remote);

	return connection ? connection->socket : NULL;
}

/* Listening. */

enum {
	BACKLOG = 64,
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
	GSocket *socket;
	char *address;
	char *socket_path; /* to be removed, or NULL */
	bool local;        /* a Unix socket, or on loopback */
	bool secure;       /* with TLS */
	GMainContext *context;
	GSource *source; /* waits for connections, or for a retry */
	struct http_connections *connections;
};

static void watch(struct http_listener *listener);

static void unwatch(struct http_listener *listener)
{
	if (!listener->source)
		return;
	g_source_destroy(listener->source);
	g_clear_pointer(&listener->source, g_source_unref);
}

static gboolean on_retry(gpointer data)
{
	watch(data);
	return G_SOURCE_REMOVE;
}

/* Stops watching the socket for a moment. */
static void pause_watching(struct http_listener *listener)
{
	unwatch(listener);
	listener->source = g_timeout_source_new(RETRY_MS);
	g_source_set_callback(listener->source, on_retry, listener, NULL);
	g_source_attach(listener->source, listener->context);
}

static gboolean on_connection(GSocket *listening, GIOCondition condition, gpointer data)
{
	struct http_listener *listener = data;

	for (int i = 0; i < ACCEPTED_AT_ONCE; i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(GSocket) socket = g_socket_accept(listening, NULL, &error);

		if (socket) {
			connections_add(listener->connections, socket);
		} else if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_WOULD_BLOCK)) {
			break;
		} else {
			log_warning("%s: a connection cannot be accepted: %s", listener->address,
				    error->message);
			pause_watching(listener);
			return G_SOURCE_REMOVE;
		}
	}
	return G_SOURCE_CONTINUE;
}

static void watch(struct http_listener *listener)
{
	unwatch(listener);
	listener->source = g_socket_create_source(listener->socket, G_IO_IN, NULL);
	g_source_set_callback(listener->source, G_SOURCE_FUNC(on_connection), listener, NULL);
	g_source_attach(listener->source, listener->context);
}

/* Removes a socket file without a listener. Returns false if a process listens there. */
static bool clear_stale_socket(const char *path, GSocketAddress *address, GError **error)
{
	g_autoptr(GSocket) probe = NULL;
	struct stat status;

	if (lstat(path, &status) < 0)
		return true;
	if (!S_ISSOCK(status.st_mode))
		return error_fail(error, HTTP_ERROR, HTTP_ERROR_ADDRESS,
				  "cannot listen on \"%s\": it exists and is no socket; remove it",
				  path);
	probe = g_socket_new(G_SOCKET_FAMILY_UNIX, G_SOCKET_TYPE_STREAM, G_SOCKET_PROTOCOL_DEFAULT,
			     error);
	if (!probe)
		return false;
	if (g_socket_connect(probe, address, NULL, NULL))
		return error_fail(error, G_IO_ERROR, G_IO_ERROR_ADDRESS_IN_USE,
				  "cannot listen on \"%s\": another process does; stop it first",
				  path);
	unlink(path);
	return true;
}

/* Listens on a Unix socket that only this user may connect to. */
static bool listen_unix(struct http_listener *listener, GSocketAddress *address, GError **error)
{
	const char *path = g_unix_socket_address_get_path(G_UNIX_SOCKET_ADDRESS(address));

	if (!clear_stale_socket(path, address, error))
		return false;
	listener->socket = g_socket_new(G_SOCKET_FAMILY_UNIX, G_SOCKET_TYPE_STREAM,
					G_SOCKET_PROTOCOL_DEFAULT, error);
	if (!listener->socket)
		return false;
	/* Linux gives the file the mode of the socket, so others can never connect. */
	fchmod(g_socket_get_fd(listener->socket), 0600);
	if (!g_socket_bind(listener->socket, address, TRUE, error)) {
		g_prefix_error(error, "cannot listen on \"%s\": ", path);
		return false;
	}
	listener->socket_path = g_strdup(path);
	listener->local = true;
	listener->address = g_strconcat("unix:", path, NULL);
	return true;
}

/* The bound address as "SCHEME://HOST:PORT". */
static char *bound_address(GSocket *socket, const char *scheme, GError **error)
{
	g_autoptr(GSocketAddress) bound = g_socket_get_local_address(socket, error);
	g_autofree char *host = NULL;

	if (!bound)
		return NULL;
	host = g_inet_address_to_string(
		g_inet_socket_address_get_address(G_INET_SOCKET_ADDRESS(bound)));
	return g_strdup_printf(strchr(host, ':') ? "%s://[%s]:%u" : "%s://%s:%u", scheme, host,
			       g_inet_socket_address_get_port(G_INET_SOCKET_ADDRESS(bound)));
}

static bool listen_inet(struct http_listener *listener, const char *address, GSocketAddress *where,
			GError **error)
{
	const char *scheme = listener->secure ? "https" : "http";

	listener->local = g_inet_address_get_is_loopback(
		g_inet_socket_address_get_address(G_INET_SOCKET_ADDRESS(where)));
	listener->socket = g_socket_new(g_socket_address_get_family(where), G_SOCKET_TYPE_STREAM,
					G_SOCKET_PROTOCOL_TCP, error);
	if (!listener->socket)
		return false;
	if (!g_socket_bind(listener->socket, where, TRUE, error)) {
		g_prefix_error(error, "cannot listen on \"%s\": ", address);
		return false;
	}
	listener->address = bound_address(listener->socket, scheme, error);
	return listener->address != NULL;
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

struct http_listener *http_listener_new(const char *address, const struct http_tls *tls,
					http_accepted_f accepted, void *data, GError **error)
{
	g_autoptr(http_listener_t) listener = g_new0(struct http_listener, 1);
	g_autoptr(GTlsCertificate) certificate = NULL;
	g_autoptr(GTlsDatabase) clients = NULL;
	g_autoptr(GSocketAddress) where = NULL;
	bool bound;

	listener->context = g_main_context_ref_thread_default();
	listener->secure = tls;
	where = listen_address_parse(address, tls != NULL, error);
	if (!where || !read_tls(tls, &certificate, &clients, error))
		return NULL;
	listener->connections = connections_new(certificate, clients, accepted, data);
	bound = G_IS_UNIX_SOCKET_ADDRESS(where) ? listen_unix(listener, where, error)
						: listen_inet(listener, address, where, error);
	if (!bound)
		return NULL;
	g_socket_set_blocking(listener->socket, FALSE);
	g_socket_set_listen_backlog(listener->socket, BACKLOG);
	if (!g_socket_listen(listener->socket, error)) {
		g_prefix_error(error, "cannot listen on \"%s\": ", address);
		return NULL;
	}
	watch(listener);
	return g_steal_pointer(&listener);
}

void http_listener_free(struct http_listener *listener)
{
	if (!listener)
		return;
	unwatch(listener);
	connections_free(listener->connections);
	if (listener->socket)
		g_socket_close(listener->socket, NULL);
	g_clear_object(&listener->socket);
	if (listener->socket_path)
		unlink(listener->socket_path);
	g_main_context_unref(listener->context);
	g_free(listener->socket_path);
	g_free(listener->address);
	g_free(listener);
}

bool http_listener_share(struct http_listener *listener, gid_t group, GError **error)
{
	const char *path = listener->socket_path ?: "";

	if (chown(path, (uid_t)-1, group) == 0 && chmod(path, 0660) == 0)
		return true;
	return error_fail(error, G_IO_ERROR, g_io_error_from_errno(errno),
			  "cannot let group %u use the socket \"%s\": %s", (unsigned)group, path,
			  g_strerror(errno));
}

const char *http_listener_address(const struct http_listener *listener)
{
	return listener->address;
}

bool http_listener_is_local(const struct http_listener *listener)
{
	return listener->local;
}
