/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>

#include "common/http_listener.h"

/*
 * The connections of a listener, from accept() until their sockets are closed.
 *
 * A peer without a token must cost next to nothing. A new connection is a socket that is not read
 * until its first bytes arrive; with TLS, until the first record of the handshake is complete. Few
 * handshakes run at a time; the peer with the fewest is next, and a long handshake makes room for
 * waiting ones. A connection without a request is closed after HTTP_LISTENER_REQUEST_S. If there
 * are too many connections, in all or of one peer, the connection that has been open longest
 * without an acceptable request makes room for the next one; if all have such requests or are new,
 * the next one is closed at once, without TLS after a 503. On a Unix socket root and the user of
 * this process are not counted: they must get through, and could do worse anyway.
 */
struct http_connections;

/*
 * An empty set, on the thread's default main context. Takes references to `certificate` (NULL: no
 * TLS) and `clients`, the CAs of the certificates that peers must show (NULL: none required). Never
 * NULL.
 */
struct http_connections *http_connections_new(GTlsCertificate *certificate, GTlsDatabase *clients,
					      http_accepted_f accepted, void *data);

/* Closes the connections that have not been handed over; the others stay open. NULL is allowed. */
void http_connections_free(struct http_connections *set);

/*
 * Adds an accepted socket (reference taken): `accepted` is called when its first bytes have
 * arrived, or never.
 */
void http_connections_add(struct http_connections *set, GSocket *socket);

/*
 * The peer with the address that `accepted` got has made an acceptable request: its connection may
 * stay open for `seconds` from now (INFINITY: without limit). The initial time is
 * HTTP_LISTENER_REQUEST_S.
 */
void http_connections_give_time(GSocketAddress *remote, double seconds);

/*
 * The network that counts as one peer: an IPv4 address itself, also if mapped into IPv6
 * ("::ffff:10.0.0.1"), and the first 64 bits of an IPv6 address ("2001:db8::"), since a host has
 * all addresses below these. The caller frees.
 */
char *http_connections_network(GInetAddress *address);

/*
 * The socket that belongs to an address which `accepted` got (borrowed); NULL for any other
 * address.
 */
GSocket *http_connections_socket(GSocketAddress *remote);
