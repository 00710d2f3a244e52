/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>

#include "common/http_listener.h"

/*
 * The connections of a listener, from when they are accepted until their sockets are closed.
 *
 * Who has no token costs next to nothing. Until its first bytes are there a connection is a socket that nobody reads;
 * by TLS, until the first record of the handshake is whole. Few handshakes are under way at a time; who has the fewest
 * is next, and one that takes long gives way to those that wait. A connection on which no request comes is closed
 * after HTTP_LISTENER_REQUEST_S. Beyond a number of connections, in all and of one peer, the one that has been there
 * longest without a request that may be answered gives way to the next; where all ask for something, or came just
 * now, the next one is closed at once, with 503 where there is no TLS. Root, and the user that we run as, are not
 * counted on a Unix socket: they could do worse, and must get through.
 */
struct http_connections;

/*
 * A set without connections, on the thread's default main context. Takes references to `certificate` (NULL: no TLS) and
 * `clients`, of whose CAs peers must show certificates (NULL: of none). Never NULL.
 */
struct http_connections *http_connections_new(GTlsCertificate *certificate, GTlsDatabase *clients,
					      http_accepted_f accepted, void *data);

/* Closes those that have not been handed over; the others live on. NULL is allowed. */
void http_connections_free(struct http_connections *set);

/* A socket that was accepted (reference taken): `accepted` is called once it has begun to speak, or never. */
void http_connections_add(struct http_connections *set, GSocket *socket);

/*
 * The peer with the address that `accepted` got has asked for what it may have: gives it so many seconds from now
 * (INFINITY: for ever) before its connection is closed. At first these are HTTP_LISTENER_REQUEST_S.
 */
void http_connections_give_time(GSocketAddress *remote, double seconds);

/*
 * The network that counts as one peer: of an IPv4 address itself, also where it is mapped into IPv6 ("::ffff:10.0.0.1"),
 * of an IPv6 address its first 64 bits ("2001:db8::"), as whoever has one address has all of these. The caller frees.
 */
char *http_connections_network(GInetAddress *address);

/* The socket that an address which `accepted` got came from (borrowed), or NULL: another address. */
GSocket *http_connections_socket(GSocketAddress *remote);
