/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/api/page_api.h"

#include "controller/api/page_resource.h"
#include "controller/api/status_api_private.h"

GBytes *page_api_file(const char *name)
{
	g_autofree char *path = g_strconcat("/virtbed/", name, NULL);

	return g_resource_lookup_data(virtbed_page_get_resource(), path,
				      G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);
}

static const struct {
	const char *name;
	const char *type;
} files[] = {
	[PAGE_API_INDEX] = {"index.html", "text/html; charset=utf-8"},
	[PAGE_API_STYLE] = {"page.css", "text/css; charset=utf-8"},
	[PAGE_API_SCRIPT] = {"page.js", "text/javascript; charset=utf-8"},
	[PAGE_API_CHARTS] = {"charts.js", "text/javascript; charset=utf-8"},
	[PAGE_API_ICON] = {"icon.svg", "image/svg+xml"},
	[PAGE_API_DOCUMENT] = {"controller-api.json", "application/json"},
};

void page_api_get(struct http_request *request, const char *const *arguments, json_t *body,
		  void *data)
{
	const int what = http_request_what(request);
	g_autoptr(GBytes) bytes = page_api_file(files[what].name);
	g_autofree char *sum = g_compute_checksum_for_bytes(G_CHECKSUM_SHA256, bytes);
	g_autofree char *tag = g_strdup_printf("\"%.16s\"", sum);

	api_reply_tagged(request, tag, "no-cache", files[what].type, bytes);
}
