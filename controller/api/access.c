/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/api/access.h"

#include <unistd.h>

#include "controller/access/token_book.h"

struct http_identity access_of_peer(const char *authorization, int64_t peer_uid, void *data)
{
	struct http_identity identity = {.role = HTTP_ROLE_USER, .uid = peer_uid};

	if (peer_uid == 0 || peer_uid == (int64_t)geteuid())
		identity = (struct http_identity){HTTP_ROLE_OPERATOR, peer_uid, true};
	return identity;
}

struct http_identity access_of_token(const char *authorization, int64_t peer_uid, void *data)
{
	const struct token *token = token_book_look_up(data, authorization);

	if (!token)
		return (struct http_identity){.role = HTTP_ROLE_NONE, .uid = HTTP_PEER_UNKNOWN};
	return (struct http_identity){.role = token->role, .uid = token->uid};
}
