/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/loopback.h"

#include <gio/gio.h>
#include <string.h>

bool loopback_is(const char *host)
{
	const bool brackets = host && host[0] == '[' && g_str_has_suffix(host, "]");
	g_autofree char *bare = brackets ? g_strndup(host + 1, strlen(host) - 2) : g_strdup(host);
	g_autoptr(GInetAddress) address = bare ? g_inet_address_new_from_string(bare) : NULL;

	if (address)
		return g_inet_address_get_is_loopback(address);
	return bare && g_ascii_strcasecmp(bare, "localhost") == 0;
}
