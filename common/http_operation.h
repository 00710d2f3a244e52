/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

/*
 * What an API answers to requests that it carries out, for its clients. An answer of another status, content type or
 * shape is none of that API, whoever gave it: a proxy that redirects, another service at that address, half an answer.
 * A table of operations ends with a row without a method.
 */
struct http_operation {
	const char *method;
	/*
	 * Parts in braces are any, "/v1/tasks/{task}/hold". Where an object that is answered has such a key, its value
	 * is that part of the request's path.
	 */
	const char *path;
	int status;	   /* of an answer */
	int other_status;  /* also; 0: none */
	const char *shape; /* of its body, which is application/json (json_shape.h) */
};

/* The operation of a request, whose path may have a query; NULL: the table, which may be NULL, has none. */
const struct http_operation *http_operation_find(const struct http_operation *operations, const char *method,
						 const char *path);

/*
 * Whether an answer to a request for `path` is one of the operation: `content_type` and `body` are NULL where it had
 * none. Returns true, or false with HTTP_ERROR_BODY, which says what is wrong in words that follow "ADDRESS: ".
 */
bool http_operation_check(const struct http_operation *operation, const char *path, int status,
			  const char *content_type, const json_t *body, GError **error);
