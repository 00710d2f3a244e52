/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/http_server.h"

/*
 * The controller's web page and the description of its API: files that are compiled in (page/,
 * docs/reference/controller-api.json), each with an ETag.
 */

/* The files, as the `what` of their routes. */
enum {
	PAGE_API_INDEX = 0,
	PAGE_API_STYLE,
	PAGE_API_SCRIPT,
	PAGE_API_CHARTS,
	PAGE_API_ICON,
	PAGE_API_DOCUMENT,
};

/* Answers with the file. A handler of status_api.c's table. */
void page_api_get(struct http_request *request, const char *const *arguments, json_t *body,
		  void *data);

/* The bytes of a compiled-in file, e.g. "controller-api.json"; NULL: no such file. */
GBytes *page_api_file(const char *name);
