/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * Where an HTTP server listens: a Unix socket ("unix:/path", mode 0600, a stale socket file is
 * replaced) or a loopback address ("http://127.0.0.1:port", or https with a certificate). On the
 * main context that was the thread's default when it was made.
 *
 * libsoup has a listener of its own, but the one of 3.2 (Debian 12) keeps the descriptor of every
 * connection that its client closes between requests, and listens no more after the first accept()
 * that fails.
 */
struct http_listener;

/*
 * Somebody connected: `stream` can be read and written, `remote` is the peer's address, by which
 * http_listener_socket() finds the socket. All are borrowed for the call.
 */
typedef void (*http_accepted_f)(GIOStream *stream, GSocketAddress *local, GSocketAddress *remote,
				void *data);

/*
 * Starts to listen on `address`; with `certificate` (kept) it speaks TLS. Returns NULL with `error`
 * (HTTP_ERROR_ADDRESS, or G_IO_ERROR) set on failure; a socket on which another process answers is
 * not replaced.
 */
struct http_listener *http_listener_new(const char *address, GTlsCertificate *certificate,
					http_accepted_f accepted, void *data, GError **error);

/* Stops listening and removes the socket file; NULL is allowed. What was accepted lives on. */
void http_listener_free(struct http_listener *listener);
typedef struct http_listener http_listener_t;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(http_listener_t, http_listener_free)

/* Gives its Unix socket to `group`, mode 0660. False with `error` (G_IO_ERROR): not done. */
bool http_listener_share(struct http_listener *listener, gid_t group, GError **error);

/* Where it listens, with the real port where 0 was given. Borrowed. */
const char *http_listener_address(const struct http_listener *listener);

/* The socket that an address which `accepted` got came from (borrowed), or NULL: another address. */
GSocket *http_listener_socket(GSocketAddress *remote);
