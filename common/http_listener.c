/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/http_listener.h"

#include <errno.h>
#include <gio/gunixsocketaddress.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error_fail.h"
#include "common/http_client.h"
#include "common/http_connections.h"
#include "common/listen_address.h"
#include "common/tls_files.h"

#define LOG_SUBSYSTEM "http"
#include "common/log.h"

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
			http_connections_add(listener->connections, socket);
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
	listener->connections = http_connections_new(certificate, clients, accepted, data);
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
	http_connections_free(listener->connections);
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
