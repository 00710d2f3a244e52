/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>
#include <stdbool.h>
#include <sys/types.h>

#include "common/platform.h"

/*
 * The listening socket of an HTTP server: a Unix socket ("unix:/path", mode 0600, a stale socket
 * file is replaced), a loopback address ("http://127.0.0.1:port") or, with TLS, any address of this
 * machine ("https://0.0.0.0:port"): no traffic on a network is unencrypted. It runs on the main
 * context that is the thread's default when it is made.
 *
 * A peer without a token must cost next to nothing. A new connection is a socket that is not read
 * until its first bytes arrive; with TLS, until the first record of the handshake is complete. Few
 * handshakes run at a time; the peer with the fewest is next, and a long handshake makes room for
 * waiting ones. A connection without a request is closed after HTTP_LISTENER_REQUEST_S. If there
 * are too many connections, in all or of one peer, the connection that has been open longest
 * without an acceptable request makes room for the next one; if all have such requests or are new,
 * the next one is closed at once, without TLS after a 503. On a Unix socket root and the user of
 * this process are not counted: they must get through, and could do worse anyway.
 *
 * libsoup has its own listener, but that of version 3.2 (Debian 12) leaks the descriptor of every
 * connection that its client closes between requests, and stops listening after the first failed
 * accept().
 */
struct http_listener;

/*
 * The maximum number of connections at a time, of all peers and of a single peer: a user id, an
 * IPv4 address, or 64 bits of IPv6.
 */
#define HTTP_LISTENER_CONNECTIONS_MAX 400
#define HTTP_LISTENER_PEER_MAX 100

/* How long a peer may take until its request has arrived, the TLS handshake included, seconds. */
#define HTTP_LISTENER_REQUEST_S 30.0

/* The certificates of a TLS server: PEM files, read when the listener is made. */
struct http_tls {
	const char *certificate; /* its own, and those between it and its CA */
	const char *key;         /* of the certificate; only its owner may be able to read it */
	/*
	 * clients without a certificate of these CAs get no answer; NULL: no certificate required
	 */
	const char *client_ca;
};

/*
 * The first bytes of a connection have arrived: `stream` can be read and written, `remote` is the
 * peer's address, for which http_listener_stream() returns the connection. All are borrowed for the
 * call.
 */
typedef void (*http_accepted_f)(GIOStream *stream, GSocketAddress *local, GSocketAddress *remote,
				void *data);

/*
 * Starts to listen on `address`, with TLS (1.2 or later) if `tls` is not NULL. Returns NULL with
 * `error`: HTTP_ERROR_ADDRESS, HTTP_ERROR_TRUST for unusable files, or G_IO_ERROR. A socket on
 * which another process answers is not replaced (G_IO_ERROR_ADDRESS_IN_USE).
 */
struct http_listener *http_listener_new(const struct platform *platform, const char *address,
					const struct http_tls *tls, http_accepted_f accepted,
					void *data, GError **error);

/*
 * Stops listening and removes the socket file; NULL is allowed. Streams that `accepted` got stay
 * open.
 */
void http_listener_free(struct http_listener *listener);
typedef struct http_listener http_listener_t;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(http_listener_t, http_listener_free)

/* Gives its Unix socket to `group`, mode 0660. False with `error` (G_IO_ERROR): not done. */
bool http_listener_share(struct http_listener *listener, gid_t group, GError **error);

/* The address that it listens at, with the actual port if port 0 was given. Borrowed. */
const char *http_listener_address(const struct http_listener *listener);

/* Whether only processes of this machine can connect. */
bool http_listener_is_local(const struct http_listener *listener);

/*
 * The peer with the address that `accepted` got has made an acceptable request: its connection may
 * stay open for `seconds` from now (INFINITY: without limit). The initial time is
 * HTTP_LISTENER_REQUEST_S.
 */
void http_listener_give_time(GSocketAddress *remote, double seconds);

/*
 * The network that counts as one peer: an IPv4 address itself, also if mapped into IPv6
 * ("::ffff:10.0.0.1"), and the first 64 bits of an IPv6 address ("2001:db8::"), since a host has
 * all addresses below these. The caller frees.
 */
char *http_listener_network(GInetAddress *address);

/*
 * The connection that belongs to an address which `accepted` got (borrowed); NULL for any other
 * address.
 */
GIOStream *http_listener_stream(GSocketAddress *remote);
