/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/listen_address.h"

#include <gio/gunixsocketaddress.h>
#include <string.h>
#include <sys/un.h>

#include "common/error_fail.h"
#include "common/http_error.h"

#define UNIX "unix:"

static GSocketAddress *parse_unix(const char *address, GError **error)
{
	const char *path = address + strlen(UNIX);

	if (strlen(path) < sizeof(((struct sockaddr_un *)NULL)->sun_path))
		return g_unix_socket_address_new(path);
	return error_null(error, HTTP_ERROR, HTTP_ERROR_ADDRESS,
			  "cannot listen on \"%s\": the path of a Unix socket may have 107 bytes",
			  path);
}

/* Whether `address` is exactly the URI of these parts. */
static bool is_plain(const char *address, const char *scheme, const char *host, int port)
{
	g_autofree char *plain = g_strdup_printf(strchr(host, ':') ? "%s://[%s]:%d" : "%s://%s:%d",
						 scheme, host, port);
	g_autofree char *closed = g_strconcat(plain, "/", NULL);

	return g_str_equal(address, plain) || g_str_equal(address, closed);
}

GSocketAddress *listen_address_parse(const char *address, bool secure, GError **error)
{
	const char *scheme = secure ? "https" : "http";
	g_autoptr(GInetAddress) host = NULL;
	g_autoptr(GUri) uri = NULL;

	if (!secure && g_str_has_prefix(address, UNIX "/"))
		return parse_unix(address, error);
	uri = g_uri_parse(address, G_URI_FLAGS_NONE, NULL);
	if (uri && g_uri_get_host(uri) && g_uri_get_port(uri) >= 0 &&
	    g_uri_get_port(uri) <= G_MAXUINT16 &&
	    is_plain(address, scheme, g_uri_get_host(uri), g_uri_get_port(uri)))
		host = g_inet_address_new_from_string(g_uri_get_host(uri));
	if (host && (secure || g_inet_address_get_is_loopback(host)))
		return g_inet_socket_address_new(host, (guint16)g_uri_get_port(uri));
	return error_null(
		error, HTTP_ERROR, HTTP_ERROR_ADDRESS,
		secure ? "cannot listen on \"%s\": expected https://ADDRESS:PORT, with the address "
			 "in digits"
		       : "cannot listen on \"%s\": expected unix:/PATH or "
			 "http://127.0.0.1:PORT, or https with a certificate and a key",
		address);
}
