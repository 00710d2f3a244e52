/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Checks the framing of a request. libsoup takes the last of several lengths, accepts a length
 * besides chunks, and reads a large number as -1: another server on the way may see a second
 * request there, or a body that never comes.
 */
#include <libsoup/soup.h>

#include "common/http_private.h"
#include "common/read_number.h"

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
