/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

/*
 * The answers of an API to the requests that it carries out, for its clients. An answer with
 * another status, content type or shape does not come from that API: a redirecting proxy, another
 * service at that address, or half an answer. A table of operations ends with a row without a
 * method.
 */
struct http_operation {
	const char *method;
	/*
	 * Parts in braces match any text, "/v1/tasks/{task}/hold". If an object in the answer has
	 * such a key, its value must be that part of the request's path.
	 */
	const char *path;
	int status;        /* of an answer */
	int other_status;  /* also allowed; 0: none */
	const char *shape; /* of its body, which is application/json (json_shape.h) */
};

/*
 * The operation of a request, whose path may have a query; NULL: the table, which may be NULL, has
 * none.
 */
const struct http_operation *http_operation_find(const struct http_operation *operations,
						 const char *method, const char *path);

/*
 * Whether an answer to a request for `path` is valid for the operation: `content_type` and `body`
 * are NULL if it had none. Returns true, or false with HTTP_ERROR_BODY, whose message continues
 * "ADDRESS: ".
 */
bool http_operation_check(const struct http_operation *operation, const char *path, int status,
			  const char *content_type, const json_t *body, GError **error);
