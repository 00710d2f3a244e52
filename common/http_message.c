/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages of libsoup: their framing, their routes, their connections and their answers. */
#include <libsoup/soup.h>
#include <string.h>

#include "common/http_error.h"
#include "common/http_private.h"
#include "common/json.h"
#include "common/read_number.h"

G_DEFINE_QUARK(virtbed_http, http_error)

/* Framing. */

/* Headers that may appear only once, since the server uses them. */
static const char *const single[] = {
	"Authorization", "Content-Length", "Content-Type", "Host", "Origin", "Transfer-Encoding",
};

/* The number of a header's occurrences. */
struct count {
	const char *name;
	guint times;
};

static void count_header(const char *name, const char *value, gpointer data)
{
	struct count *count = data;

	count->times += g_ascii_strcasecmp(name, count->name) == 0;
}

static const char *find_repeated(SoupMessageHeaders *headers)
{
	for (gsize i = 0; i < G_N_ELEMENTS(single); i++) {
		struct count count = {.name = single[i]};

		soup_message_headers_foreach(headers, count_header, &count);
		if (count.times > 1)
			return single[i];
	}
	return NULL;
}

/*
 * libsoup takes the last of several lengths, accepts a length besides chunks, and reads a large
 * number as -1: another server on the way may see a second request there, or a body that never
 * comes.
 */
char *http_framing_fault(SoupServerMessage *message)
{
	SoupMessageHeaders *headers = soup_server_message_get_request_headers(message);
	const char *coding = soup_message_headers_get_one(headers, "Transfer-Encoding");
	const char *length = soup_message_headers_get_one(headers, "Content-Length");
	const char *repeated = find_repeated(headers);
	uint64_t bytes;

	if (repeated)
		return g_strdup_printf("%s: a request has it once at most", repeated);
	if (coding && length)
		return g_strdup(
			"Content-Length and Transfer-Encoding: a request has one of them at most");
	if (coding && (g_ascii_strcasecmp(coding, "chunked") != 0 ||
		       soup_server_message_get_http_version(message) == SOUP_HTTP_1_0))
		return g_strdup_printf("Transfer-Encoding: '%.32s' is not chunked, of HTTP/1.1",
				       coding);
	if (length && !read_number_unsigned(length, 0, G_MAXINT64, &bytes))
		return g_strdup_printf("Content-Length: '%.32s' is no number of bytes", length);
	return NULL;
}

/* Routes. */

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

/* Answers. */

GIOStream *http_message_stream(SoupServerMessage *message)
{
	return http_listener_stream(soup_server_message_get_remote_address(message));
}

/* Clears the answer first, since libsoup appends. */
void http_message_begin_answer(SoupServerMessage *message, int status)
{
	soup_server_message_set_status(message, (guint)status, NULL);
	soup_server_message_set_response(message, NULL, SOUP_MEMORY_STATIC, NULL, 0);
	soup_message_body_truncate(soup_server_message_get_response_body(message));
}

void http_message_answer(SoupServerMessage *message, int status, json_t *body)
{
	http_message_begin_answer(message, status);
	if (body) {
		char *text = json_text(body);

		soup_server_message_set_response(message, "application/json", SOUP_MEMORY_TAKE,
						 text, strlen(text));
	}
}

void http_message_refuse(SoupServerMessage *message, int status, const char *word,
			 const char *reason)
{
	g_autofree char *valid = g_utf8_make_valid(reason, -1);
	g_autoptr(json_t) body = json_pack("{s:s, s:s*}", "error", valid, "refusal", word);

	http_message_answer(message, status, body);
}

void http_message_fail(SoupServerMessage *message, int status, const char *reason)
{
	http_message_refuse(message, status, NULL, reason);
}
