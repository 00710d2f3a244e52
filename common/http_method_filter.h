/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>

/*
 * The connection `base`, but that reading fails (G_IO_ERROR_INVALID_DATA), after an answer of 501, unless what comes
 * first is a method of HTTP (RFC 9110, 9.3; PATCH) and a space; empty lines may stand before it (RFC 9112, 2.2).
 * libsoup takes anything there, up to 100 KiB, for a method, and keeps each different one for as long as the process
 * lives (g_intern_string()). After an answer of 400 it fails for headers with a NUL, a folded line, a length that is no
 * number, and a coding other than chunked: of those libsoup keeps the target for ever. For a connection with one request. Never NULL; to be unreferenced; takes a reference to
 * `base`.
 */
GIOStream *http_method_filter_new(GIOStream *base);
