/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>

/*
 * Wraps the connection `base`. Reading fails (G_IO_ERROR_INVALID_DATA), after an answer of 501,
 * unless the input begins with an HTTP method (RFC 9110, 9.3; PATCH) and a space; empty lines may
 * precede it (RFC 9112, 2.2). libsoup takes any text of up to 100 KiB for a method, and keeps each
 * different text as long as the process lives (g_intern_string()). Reading also fails, after an
 * answer of 400, for headers with a NUL, a folded line, a length that is no number, and a transfer
 * coding other than chunked: for these libsoup never frees the target. For a connection with a
 * single request. Never NULL; the caller unreferences it; takes a reference to `base`.
 */
GIOStream *http_method_filter_new(GIOStream *base);
