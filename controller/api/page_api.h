/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/http_server.h"

/*
 * The controller's web page and the description of its API: files that are compiled in (page/,
 * docs/reference/controller-api.json), each with an ETag. Handlers of status_api.c's table.
 */
void page_api_index(struct http_request *request, const char *const *arguments, json_t *body,
		    void *data);
void page_api_style(struct http_request *request, const char *const *arguments, json_t *body,
		    void *data);
void page_api_script(struct http_request *request, const char *const *arguments, json_t *body,
		     void *data);
void page_api_charts(struct http_request *request, const char *const *arguments, json_t *body,
		     void *data);
void page_api_icon(struct http_request *request, const char *const *arguments, json_t *body,
		   void *data);
void page_api_document(struct http_request *request, const char *const *arguments, json_t *body,
		       void *data);

/* The bytes of a compiled-in file, e.g. "controller-api.json"; NULL: no such file. */
GBytes *page_api_file(const char *name);
