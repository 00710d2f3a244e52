/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/http_listener.h"

#include <errno.h>
#include <gio/gunixsocketaddress.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/http_client.h"
#include "common/listen_address.h"
#include "common/tls_files.h"

#define LOG_SUBSYSTEM "http"
#include "common/log.h"

enum {
	BACKLOG = 64,
	/*
	 * Of those who wait so many are accepted before others have a turn: a turn of the main loop looks at the
	 * sockets of all local schedulers, which takes about as long as answering somebody.
	 */
	ACCEPTED_AT_ONCE = 16,
	/* Where accept() fails for want of descriptors or memory, to try again at once is no use. */
	RETRY_MS = 100,
};

/* What an address that a connection came from holds: its struct connection. */
#define CONNECTION_KEY "virtbed-connection"

/*
 * How often connections are looked at whose time may be up. GLib's timers of whole seconds are due at the same moment
 * in all processes of a machine: of hundreds of local schedulers they held up whoever wanted a processor then.
 */
#define SWEEP_MS 2000

/* To peers that cannot be answered now, where no TLS is in the way. */
static const char busy[] = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\n"
			   "Content-Type: application/json\r\nContent-Length: 43\r\n\r\n"
			   "{\"error\":\"too many connections; try again\"}";

struct http_listener {
	GSocket *socket;
	char *address;
	char *socket_path; /* to be removed, or NULL */
	bool local;		     /* a Unix socket, or on loopback */
	GTlsCertificate *certificate; /* NULL: no TLS */
	GTlsDatabase *clients;	     /* whose certificates they must show; NULL: none need be */
	GMainContext *context;
	GSource *source; /* waits for connections, or to try again */
	GSource *sweep;	 /* NULL: there are no connections */
	GQueue connections; /* struct connection, of those that live */
	http_accepted_f accepted;
	void *data;
};

/* From when it is accepted until its socket is closed. */
struct connection {
	struct http_listener *listener; /* NULL: it is gone */
	GList link;			/* in its list of connections */
	GSocket *socket;		/* borrowed: it goes with it */
	char *peer;			/* whose it is: "uid 7", or an address; NULL: it is not counted */
	int64_t until_ns;		/* INT64_MAX: for ever */
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

/* Looks away from the socket for a moment. */
static void pause_watching(struct http_listener *listener)
{
	unwatch(listener);
	listener->source = g_timeout_source_new(RETRY_MS);
	g_source_set_callback(listener->source, on_retry, listener, NULL);
	g_source_attach(listener->source, listener->context);
}

/* Counting. */

/* Who is at the other end, as far as limits are concerned; NULL: somebody to whom none apply. */
static char *peer_of(GSocket *socket, GSocketAddress *remote)
{
	struct ucred peer;
	socklen_t length = sizeof(peer);

	if (G_IS_INET_SOCKET_ADDRESS(remote))
		return g_inet_address_to_string(
			g_inet_socket_address_get_address(G_INET_SOCKET_ADDRESS(remote)));
	if (getsockopt(g_socket_get_fd(socket), SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0)
		return g_strdup("unknown");
	return peer.uid == 0 || peer.uid == geteuid() ? NULL : g_strdup_printf("uid %u", peer.uid);
}

/* Whether one more connection of `peer` is too many. */
static bool is_full(const struct http_listener *listener, const char *peer)
{
	guint all = 0;
	guint own = 0;

	for (const GList *at = listener->connections.head; peer && at; at = at->next) {
		const struct connection *connection = at->data;

		all += connection->peer != NULL;
		own += g_strcmp0(connection->peer, peer) == 0;
	}
	return all >= HTTP_LISTENER_CONNECTIONS_MAX || own >= HTTP_LISTENER_PEER_MAX;
}

static void forget(struct connection *connection)
{
	struct http_listener *listener = connection->listener;

	connection->listener = NULL;
	if (!listener)
		return;
	g_queue_unlink(&listener->connections, &connection->link);
	if (!g_queue_is_empty(&listener->connections) || !listener->sweep)
		return;
	g_source_destroy(listener->sweep);
	g_clear_pointer(&listener->sweep, g_source_unref);
}

/* Its socket is closed. */
static void on_closed(gpointer data, GObject *socket)
{
	struct connection *connection = data;

	forget(connection);
	connection->socket = NULL;
}

/* Nobody asks by its address any more. */
static void connection_free(gpointer data)
{
	struct connection *connection = data;

	if (connection->socket)
		g_object_weak_unref(G_OBJECT(connection->socket), on_closed, connection);
	forget(connection);
	g_free(connection->peer);
	g_free(connection);
}

/* Ends connections whose time is up: whoever reads and writes them finds that out. */
static gboolean on_sweep(gpointer data)
{
	struct http_listener *listener = data;
	const int64_t now_ns = clock_now_ns();

	for (GList *at = listener->connections.head; at; at = at->next) {
		struct connection *connection = at->data;

		if (connection->until_ns > now_ns)
			continue;
		connection->until_ns = INT64_MAX;
		g_socket_shutdown(connection->socket, TRUE, TRUE, NULL);
	}
	return G_SOURCE_CONTINUE;
}

/* From now on the address knows its socket, and the listener its connection. */
static void note(struct http_listener *listener, GSocket *socket, GSocketAddress *remote, char *peer)
{
	struct connection *connection = g_new0(struct connection, 1);

	connection->listener = listener;
	connection->socket = socket;
	connection->peer = peer;
	connection->link.data = connection;
	g_queue_push_tail_link(&listener->connections, &connection->link);
	g_object_weak_ref(G_OBJECT(socket), on_closed, connection);
	g_object_set_data_full(G_OBJECT(remote), CONNECTION_KEY, connection, connection_free);
	http_listener_give_time(remote, HTTP_LISTENER_REQUEST_S);
	if (listener->sweep)
		return;
	listener->sweep = g_timeout_source_new(SWEEP_MS);
	g_source_set_callback(listener->sweep, on_sweep, listener, NULL);
	g_source_attach(listener->sweep, listener->context);
}

void http_listener_give_time(GSocketAddress *remote, double seconds)
{
	struct connection *connection =
		remote ? g_object_get_data(G_OBJECT(remote), CONNECTION_KEY) : NULL;

	if (connection)
		connection->until_ns =
			isfinite(seconds) ? clock_now_ns() + (int64_t)(seconds * 1e9) : INT64_MAX;
}

/* GIO leaves it to us on the server's side: nothing may be wrong with a client's certificate. */
static gboolean on_client_certificate(GTlsConnection *tls, GTlsCertificate *certificate,
				      GTlsCertificateFlags errors, gpointer data)
{
	return errors == 0;
}

/* TLS over a connection; the handshake comes with the first bytes that are read. */
static GIOStream *wrap(const struct http_listener *listener, GIOStream *connection)
{
	GIOStream *tls = g_tls_server_connection_new(connection, listener->certificate, NULL);

	if (tls && listener->clients) {
		g_tls_connection_set_database(G_TLS_CONNECTION(tls), listener->clients);
		g_object_set(tls, "authentication-mode", G_TLS_AUTHENTICATION_REQUIRED, NULL);
		g_signal_connect(tls, "accept-certificate", G_CALLBACK(on_client_certificate),
				 NULL);
	}
	return tls;
}

/* A peer that is gone already has no address, and gets no answer. */
static void hand_over(struct http_listener *listener, GSocket *socket)
{
	g_autoptr(GSocketAddress) remote = g_socket_get_remote_address(socket, NULL);
	g_autoptr(GSocketAddress) local = g_socket_get_local_address(socket, NULL);
	g_autoptr(GSocketConnection) connection = NULL;
	g_autoptr(GIOStream) stream = NULL;
	g_autofree char *peer = NULL;

	if (!remote || !local)
		return;
	peer = peer_of(socket, remote);
	if (is_full(listener, peer)) {
		if (!listener->certificate)
			g_socket_send(socket, busy, strlen(busy), NULL, NULL);
		return;
	}
	if (!listener->socket_path)
		g_socket_set_option(socket, IPPROTO_TCP, TCP_NODELAY, TRUE, NULL);
	note(listener, socket, remote, g_steal_pointer(&peer));
	connection = g_socket_connection_factory_create_connection(socket);
	stream = listener->certificate ? wrap(listener, G_IO_STREAM(connection))
				       : G_IO_STREAM(g_object_ref(connection));
	if (stream)
		listener->accepted(stream, local, remote, listener->data);
}

static gboolean on_connection(GSocket *listening, GIOCondition condition, gpointer data)
{
	struct http_listener *listener = data;

	for (int i = 0; i < ACCEPTED_AT_ONCE; i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(GSocket) socket = g_socket_accept(listening, NULL, &error);

		if (socket) {
			hand_over(listener, socket);
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

/* Removes a socket file on which nobody listens. Returns false if somebody does. */
static bool clear_stale_socket(const char *path, GSocketAddress *address, GError **error)
{
	g_autoptr(GSocket) probe = NULL;
	struct stat status;

	if (lstat(path, &status) < 0)
		return true;
	if (!S_ISSOCK(status.st_mode)) {
		g_set_error(error, HTTP_ERROR, HTTP_ERROR_ADDRESS,
			    "cannot listen on \"%s\": it exists and is no socket; remove it", path);
		return false;
	}
	probe = g_socket_new(G_SOCKET_FAMILY_UNIX, G_SOCKET_TYPE_STREAM, G_SOCKET_PROTOCOL_DEFAULT,
			     error);
	if (!probe)
		return false;
	if (g_socket_connect(probe, address, NULL, NULL)) {
		g_set_error(error, G_IO_ERROR, G_IO_ERROR_ADDRESS_IN_USE,
			    "cannot listen on \"%s\": another process does; stop it first", path);
		return false;
	}
	unlink(path);
	return true;
}

/* Listens on a Unix socket that only we may connect to. */
static bool listen_unix(struct http_listener *listener, GSocketAddress *address, GError **error)
{
	const char *path = g_unix_socket_address_get_path(G_UNIX_SOCKET_ADDRESS(address));

	if (!clear_stale_socket(path, address, error))
		return false;
	listener->socket = g_socket_new(G_SOCKET_FAMILY_UNIX, G_SOCKET_TYPE_STREAM,
					G_SOCKET_PROTOCOL_DEFAULT, error);
	if (!listener->socket)
		return false;
	/* Linux gives the file the socket's mode: no instant at which others may connect. */
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

/* "SCHEME://HOST:PORT" of where the socket is bound. */
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

static bool listen_inet(struct http_listener *listener, const char *address, GSocketAddress *where, GError **error)
{
	const char *scheme = listener->certificate ? "https" : "http";

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

static bool read_tls(struct http_listener *listener, const struct http_tls *tls, GError **error)
{
	g_autoptr(GError) reason = NULL;

	listener->certificate = tls_files_certificate(tls->certificate, tls->key, error);
	if (!listener->certificate)
		return false;
	if (!tls->client_ca)
		return true;
	if (!tls_files_check_ca(tls->client_ca, error))
		return false;
	listener->clients = g_tls_file_database_new(tls->client_ca, &reason);
	if (!listener->clients)
		g_set_error(error, HTTP_ERROR, HTTP_ERROR_TRUST,
			    "the CA's certificates '%s' are of no use: %s", tls->client_ca,
			    reason->message);
	return listener->clients != NULL;
}

struct http_listener *http_listener_new(const char *address, const struct http_tls *tls,
					http_accepted_f accepted, void *data, GError **error)
{
	g_autoptr(http_listener_t) listener = g_new0(struct http_listener, 1);
	g_autoptr(GSocketAddress) where = NULL;
	bool bound;

	listener->context = g_main_context_ref_thread_default();
	listener->accepted = accepted;
	listener->data = data;
	where = listen_address_parse(address, tls != NULL, error);
	if (!where || (tls && !read_tls(listener, tls, error)))
		return NULL;
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
	while (!g_queue_is_empty(&listener->connections))
		forget(g_queue_peek_head(&listener->connections));
	if (listener->socket)
		g_socket_close(listener->socket, NULL);
	g_clear_object(&listener->socket);
	g_clear_object(&listener->certificate);
	g_clear_object(&listener->clients);
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
	g_set_error(error, G_IO_ERROR, g_io_error_from_errno(errno),
		    "cannot let group %u use the socket \"%s\": %s", (unsigned)group, path,
		    g_strerror(errno));
	return false;
}

const char *http_listener_address(const struct http_listener *listener)
{
	return listener->address;
}

bool http_listener_is_local(const struct http_listener *listener)
{
	return listener->local;
}

GSocket *http_listener_socket(GSocketAddress *remote)
{
	const struct connection *connection =
		remote ? g_object_get_data(G_OBJECT(remote), CONNECTION_KEY) : NULL;

	return connection ? connection->socket : NULL;
}
