/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <libsoup/soup.h>
#include <string.h>

#include "common/http_private.h"

/* Whether `path` matches `pattern`, in which `*` matches any part that is not empty. */
static bool matches(const char *pattern, const char *path)
{
	while (true) {
		const size_t wanted = strcspn(pattern, "/");
		const size_t given = strcspn(path, "/");
		const bool any = wanted == 1 && *pattern == '*' && given > 0;

		if (!any && (wanted != given || strncmp(pattern, path, given) != 0))
			return false;
		pattern += wanted;
		path += given;
		if (*pattern != *path || !*path)
			return *pattern == *path;
		pattern++;
		path++;
	}
}

/* The parts of `path` that the `*` of `pattern` match; `path` matches `pattern`. */
static char **arguments_of(const char *pattern, const char *path)
{
	g_auto(GStrv) wanted = g_strsplit(pattern, "/", -1);
	g_auto(GStrv) given = g_strsplit(path, "/", -1);
	g_autoptr(GStrvBuilder) arguments = g_strv_builder_new();

	for (gsize i = 0; wanted[i]; i++)
		if (strcmp(wanted[i], "*") == 0)
			g_strv_builder_add(arguments, given[i]);
	return g_strv_builder_end(arguments);
}

const struct http_route *http_route_find(const struct http_route *routes, const char *method,
					 const char *path, char ***ret_arguments,
					 char **ret_allowed)
{
	g_autoptr(GString) allowed = g_string_new(NULL);

	for (const struct http_route *route = routes; route->method; route++) {
		if (!matches(route->path, path))
			continue;
		if (strcmp(route->method, method) == 0) {
			*ret_arguments = arguments_of(route->path, path);
			return route;
		}
		g_string_append_printf(allowed, "%s%s", allowed->len ? ", " : "", route->method);
	}
	*ret_allowed = g_string_free(g_steal_pointer(&allowed), FALSE);
	return NULL;
}

void http_route_refuse(SoupServerMessage *message, const char *method, const char *path,
		       const char *allowed)
{
	g_autofree char *reason = NULL;

	if (!*allowed) {
		reason = g_strdup_printf("no such path \"%s\"", path);
		http_message_fail(message, SOUP_STATUS_NOT_FOUND, reason);
		return;
	}
	reason = g_strdup_printf("\"%s\" has no method %s; it has %s", path, method, allowed);
	soup_message_headers_replace(soup_server_message_get_response_headers(message), "Allow",
				     allowed);
	http_message_fail(message, SOUP_STATUS_METHOD_NOT_ALLOWED, reason);
}
