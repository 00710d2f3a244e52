/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>
#include <stdbool.h>

/*
 * Addresses that servers listen at: "unix:/PATH", "http://ADDRESS:PORT" on loopback, or with a
 * certificate "https://ADDRESS:PORT". ADDRESS is numeric, an IPv6 address in brackets; PORT is 0 to
 * 65535, 0 for any free port. No other parts are allowed. Readers of configurations and listeners
 * use the same check.
 */

/*
 * Whether a server can listen at `address`, with a certificate if `secure`, and without one
 * otherwise. Returns a new GUnixSocketAddress or GInetSocketAddress, or NULL with `error`
 * (HTTP_ERROR_ADDRESS). The address is only parsed, not tried.
 */
GSocketAddress *listen_address_parse(const char *address, bool secure, GError **error);
