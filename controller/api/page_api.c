/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/api/page_api.h"

#include "controller/api/page_resource.h"

GBytes *page_api_file(const char *name)
{
	g_autofree char *path = g_strconcat("/virtbed/", name, NULL);

	return g_resource_lookup_data(virtbed_page_get_resource(), path, G_RESOURCE_LOOKUP_FLAGS_NONE,
				      NULL);
}

/* A browser with a cached copy sends its ETag. */
static void reply_file(struct http_request *request, const char *name, const char *type)
{
	g_autoptr(GBytes) bytes = page_api_file(name);
	g_autofree char *sum = g_compute_checksum_for_bytes(G_CHECKSUM_SHA256, bytes);
	g_autofree char *tag = g_strdup_printf("\"%.16s\"", sum);
	const char *known = http_request_header(request, "If-None-Match");

	http_request_set_header(request, "ETag", tag);
	http_request_set_header(request, "Cache-Control", "no-cache");
	if (g_strcmp0(known, tag) == 0)
		http_request_reply(request, 304, NULL);
	else
		http_request_reply_bytes(request, 200, type, bytes);
}

void page_api_index(struct http_request *request, const char *const *arguments, json_t *body,
		    void *data)
{
	reply_file(request, "index.html", "text/html; charset=utf-8");
}

void page_api_style(struct http_request *request, const char *const *arguments, json_t *body,
		    void *data)
{
	reply_file(request, "page.css", "text/css; charset=utf-8");
}

void page_api_script(struct http_request *request, const char *const *arguments, json_t *body,
		     void *data)
{
	reply_file(request, "page.js", "text/javascript; charset=utf-8");
}

void page_api_charts(struct http_request *request, const char *const *arguments, json_t *body,
		     void *data)
{
	reply_file(request, "charts.js", "text/javascript; charset=utf-8");
}

void page_api_icon(struct http_request *request, const char *const *arguments, json_t *body,
		   void *data)
{
	reply_file(request, "icon.svg", "image/svg+xml");
}

void page_api_document(struct http_request *request, const char *const *arguments, json_t *body,
		       void *data)
{
	reply_file(request, "controller-api.json", "application/json");
}
