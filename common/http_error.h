/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* Errors of HTTP clients and servers, and of what carries their bytes. */
#define HTTP_ERROR (http_error_quark())
GQuark http_error_quark(void);
enum http_error {
	HTTP_ERROR_TRANSPORT = 1, /* no answer: refused, timed out, reset; try again */
	HTTP_ERROR_STATUS, /* refused with status 400 or above; the message holds its reason */
	/* no answer of the API (http_client_expect()), not JSON, or too large */
	HTTP_ERROR_BODY,
	/* the address of a client or server is malformed, or unencrypted and not of loopback */
	HTTP_ERROR_ADDRESS,
	HTTP_ERROR_TRUST, /* TLS: the server's certificate is not trusted */
	HTTP_ERROR_NAME,  /* TLS: the server's certificate is trusted, and is for another name */
};
