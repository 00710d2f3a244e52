/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages of libsoup: their sockets and their answers. */
#include <libsoup/soup.h>
#include <string.h>

#include "common/http_connections.h"
#include "common/http_private.h"
#include "common/json.h"

GSocket *http_message_socket(SoupServerMessage *message)
{
	return http_connections_socket(soup_server_message_get_remote_address(message));
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
