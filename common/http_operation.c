/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/http_operation.h"

#include <string.h>

#include "common/error_fail.h"
#include "common/http_client.h"
#include "common/json_shape.h"

#define JSON_TYPE "application/json"

/* The parts of a path, without the query. */
static char **split(const char *path)
{
	g_autofree char *bare = g_strndup(path, strcspn(path, "?"));

	return g_strsplit(bare, "/", -1);
}

/* The name in "{name}", which the caller frees; NULL: a literal part. */
static char *name_of(const char *part)
{
	const size_t length = strlen(part);

	return length >= 2 && part[0] == '{' && part[length - 1] == '}'
		       ? g_strndup(part + 1, length - 2)
		       : NULL;
}

static bool is_at(const struct http_operation *operation, char *const *parts)
{
	g_auto(GStrv) pattern = split(operation->path);

	if (g_strv_length(pattern) != g_strv_length((char **)parts))
		return false;
	for (gsize i = 0; pattern[i]; i++)
		if (pattern[i][0] != '{' && !g_str_equal(pattern[i], parts[i]))
			return false;
	return true;
}

const struct http_operation *http_operation_find(const struct http_operation *operations,
						 const char *method, const char *path)
{
	g_auto(GStrv) parts = split(path);

	for (; operations && operations->method; operations++)
		if (g_str_equal(operations->method, method) && is_at(operations, parts))
			return operations;
	return NULL;
}

#define fail_shape(error, ...) error_fail(error, HTTP_ERROR, HTTP_ERROR_BODY, __VA_ARGS__)

/* Whether a Content-Type says JSON, whatever its parameters. */
static bool is_json(const char *content_type)
{
	return content_type &&
	       g_ascii_strncasecmp(content_type, JSON_TYPE, strlen(JSON_TYPE)) == 0 &&
	       (content_type[strlen(JSON_TYPE)] == '\0' ||
		strchr("; \t", content_type[strlen(JSON_TYPE)]));
}

/* A value as it is written in a path; NULL: its type is impossible there. The caller frees. */
static char *as_part(const json_t *value)
{
	if (json_is_integer(value))
		return g_strdup_printf("%" JSON_INTEGER_FORMAT, json_integer_value(value));
	return json_is_string(value) ? g_strdup(json_string_value(value)) : NULL;
}

/* Whether the body is about what the path names. */
static bool is_about(const struct http_operation *operation, const char *path, const json_t *body,
		     GError **error)
{
	g_auto(GStrv) pattern = split(operation->path);
	g_auto(GStrv) parts = split(path);

	for (gsize i = 0; pattern[i]; i++) {
		g_autofree char *name = name_of(pattern[i]);
		g_autofree char *wanted = name ? g_uri_unescape_string(parts[i], NULL) : NULL;
		const json_t *value = name ? json_object_get(body, name) : NULL;
		g_autofree char *part = as_part(value);

		if (value && g_strcmp0(part, wanted) != 0)
			return fail_shape(error, "asked about %s %s it answers about %s", name,
					  wanted, part ?: "none");
	}
	return true;
}

bool http_operation_check(const struct http_operation *operation, const char *path, int status,
			  const char *content_type, const json_t *body, GError **error)
{
	g_autoptr(GError) reason = NULL;

	if (status != operation->status && (status != operation->other_status || !status))
		return fail_shape(error, "status %d instead of %d", status, operation->status);
	if (!body)
		return fail_shape(error, "status %d and an empty answer", status);
	if (!is_json(content_type))
		return fail_shape(error, "the answer's content type is %s%s%s, not " JSON_TYPE,
				  content_type ? "\"" : "", content_type ?: "not told",
				  content_type ? "\"" : "");
	if (!json_shape_check(operation->shape, body, &reason))
		return fail_shape(error, "the answer has another shape: %s", reason->message);
	return is_about(operation, path, body, error);
}
