/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * Where an HTTP server listens: a Unix socket ("unix:/path", mode 0600, a stale socket file is
 * replaced), a loopback address ("http://127.0.0.1:port") or, with TLS, any address of this machine
 * ("https://0.0.0.0:port"): nothing that goes over a network is unencrypted. On the
 * main context that was the thread's default when it was made.
 *
 * Peers are not trusted: http_connections.h.
 *
 * libsoup has a listener of its own, but the one of 3.2 (Debian 12) keeps the descriptor of every
 * connection that its client closes between requests, and listens no more after the first accept()
 * that fails.
 */
struct http_listener;

/* How many connections there can be at a time, of all peers and of one: a user id, an IPv4 address, or 64 bits of IPv6. */
#define HTTP_LISTENER_CONNECTIONS_MAX 400
#define HTTP_LISTENER_PEER_MAX 100

/* How long a peer may take until its request, the handshake of TLS included, is there. */
#define HTTP_LISTENER_REQUEST_S 30.0

/* With what a server speaks TLS: PEM files, read when it is made. */
struct http_tls {
	const char *certificate; /* its own, and those between it and its CA */
	const char *key;	 /* of the certificate; nobody but its owner may be able to read it */
	const char *client_ca;	 /* who shows no certificate of these CAs gets no answer; NULL: anybody does */
};

/*
 * Somebody connected and has begun to speak: `stream` can be read and written, `remote` is the peer's address, by which
 * http_connections_socket() finds the socket. All are borrowed for the call.
 */
typedef void (*http_accepted_f)(GIOStream *stream, GSocketAddress *local, GSocketAddress *remote,
				void *data);

/*
 * Starts to listen on `address`, by TLS (1.2 or later) if `tls` is not NULL. Returns NULL with `error`
 * (HTTP_ERROR_ADDRESS, HTTP_ERROR_TRUST for files that cannot be gone by, or G_IO_ERROR) set on failure; a
 * socket on which another process answers is not replaced (G_IO_ERROR_ADDRESS_IN_USE).
 */
struct http_listener *http_listener_new(const char *address, const struct http_tls *tls,
					http_accepted_f accepted, void *data, GError **error);

/* Stops listening and removes the socket file; NULL is allowed. What `accepted` got lives on. */
void http_listener_free(struct http_listener *listener);
typedef struct http_listener http_listener_t;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(http_listener_t, http_listener_free)

/* Gives its Unix socket to `group`, mode 0660. False with `error` (G_IO_ERROR): not done. */
bool http_listener_share(struct http_listener *listener, gid_t group, GError **error);

/* Where it listens, with the real port where 0 was given. Borrowed. */
const char *http_listener_address(const struct http_listener *listener);

/* Whether only processes of this machine can connect. */
bool http_listener_is_local(const struct http_listener *listener);
