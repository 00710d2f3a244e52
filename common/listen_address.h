/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>
#include <stdbool.h>

/*
 * Addresses that servers listen at: "unix:/PATH", "http://ADDRESS:PORT" on loopback, or with a certificate
 * "https://ADDRESS:PORT"; ADDRESS in digits, an IPv6 one in brackets, PORT 0 to 65535, 0 for any that is free. Nothing
 * else may be in them. Those who read configurations judge them by this, and those who listen.
 */

/*
 * Whether one can listen at `address`, with a certificate if `secure`, and without one otherwise. Returns where, a new
 * GUnixSocketAddress or GInetSocketAddress, or NULL with `error` (HTTP_ERROR_ADDRESS). Nothing is tried.
 */
GSocketAddress *listen_address_parse(const char *address, bool secure, GError **error);
